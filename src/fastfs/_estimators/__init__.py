"""The scikit-learn estimators."""

# False in the process of `fastfs score`: `contract` then doesn't import scikit-learn.
needs_sklearn = True


def do_without_sklearn() -> None:
    """Let the estimators of this process, if none is imported yet, do without scikit-learn."""
    global needs_sklearn
    needs_sklearn = False
