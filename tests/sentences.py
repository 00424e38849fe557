"""What an error must look like."""

import re


def assert_one_sentence(error, *parts):
    """The message of an error that was raised is a single sentence, which has these parts."""
    message = str(error.value)
    assert "\n" not in message, message
    assert len(message) > 20
    assert not re.search(r"[.!?] +[A-Z]", message), message
    for part in parts:
        assert part in message, message
