"""scikit-learn's checks of an estimator, which are one promise and so one test."""

import sklearn
from sklearn.utils.estimator_checks import check_estimator

# Made with a y that the RELIEF family refuses.
OF_1_6 = {"check_positive_only_tag_during_fit": "a y of few different numbers"}


def assert_passes_checks(estimator, expected_failures=None):
    """Make all checks of scikit-learn for `estimator`; those of `expected_failures`, by their names, must fail."""
    known = OF_1_6 if sklearn.__version__.startswith("1.6.") else {}
    expected = expected_failures or {}
    results = check_estimator(estimator, expected_failed_checks=known | expected, on_skip=None)
    assert len(results) > 30
    assert not [r["check_name"] for r in results if r["check_name"] in expected and r["status"] != "xfail"]
