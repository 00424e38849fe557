"""Damaged and foreign files of every format: a glance here, minutes of it by `nox -s fuzz`."""

import os

import pytest

pytest.importorskip("rds2py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.huge
def test_damaged_files_end_in_a_table_or_a_sentence(capsys):
    from fuzz import readers

    assert readers.run(minutes=5, seed=1, most=150) == 0, capsys.readouterr().out
