"""Base classes of the scikit-learn estimators."""

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatch, singledispatchmethod, wraps
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np

from fastfs._docs import fill_shared
from fastfs._estimators.contract import (
    BaseEstimator,
    SelectorMixin,
    Tags,
    check_array,
    check_is_fitted,
    validate_data,
)
from fastfs._functions.options import drop_class_defaults, option_class, own_first
from fastfs._inference.permutation import PermutationResult, permutation_test
from fastfs._inference.scorers import LabelScorer
from fastfs._inputs.design import SIGNIFICANT
from fastfs._inputs.entry import entry
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.labels import encode_labels
from fastfs._inputs.matrix import as_array, column_names, load_stream, require_table
from fastfs._inputs.paths import open_path
from fastfs._inputs.source import Source, as_stream
from fastfs._inputs.sparse import Sparse
from fastfs._inputs.streams import as_chunks, same_columns
from fastfs._machine.params import count_selected, is_auto
from fastfs._machine.run import Run
from fastfs._types import Array, Progress

_Estimator = TypeVar("_Estimator")


@dataclass_transform(eq_default=False)
def estimator_class(cls: type[_Estimator]) -> type[_Estimator]:
    """Decorate an estimator that has the annotated fields of its class as parameters, with their defaults.

    scikit-learn's contract is that of a dataclass: `__init__` only assigns its parameters. It is wrapped with `entry`,
    and its signature has the fields of the class before those of its bases. The class itself doesn't keep the defaults,
    which the documentation would list as attributes.
    """
    made = dataclass(eq=False, repr=False)(cls)
    made.__init__.__signature__ = own_first(made)  # type: ignore[attr-defined]
    made.__init__ = entry(made.__init__)  # type: ignore[method-assign]
    drop_class_defaults(made)
    return made


@option_class
class _Resources:
    """Parameters of the estimators that run on several threads."""

    n_jobs: int | None = None
    max_memory: int | str | None = None
    verbose: bool | Progress = False


class _Selector(LabelScorer, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: validates input, and selects features by `ranking_`."""

    n_features_to_select: int | float | str | None
    _ignores_names = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap `__init__` and the public methods that take X with `entry`, and complete the documentation.

        Also replace `fit` by one that makes the permutation test and sets `test_` if `n_features_to_select` is "auto".
        """
        super().__init_subclass__(**kwargs)
        cls.__doc__ = fill_shared(cls.__doc__)
        for name, method in list(vars(cls).items()):
            if not inspect.isfunction(method):
                continue
            if name == "fit":
                method = _fit_and_test(method)
            takes_X = not name.startswith("_") and "X" in inspect.signature(method).parameters
            if name == "__init__" or takes_X:
                setattr(cls, name, entry(method))

    def _read_chunks_and_labels(self, X: Any, y: Any, run: Run) -> tuple[list[Any], Array, Array]:
        """Return X as row chunks, the classes, and the class of each sample as a number."""
        X = self._validate_chunks(X, run) if hasattr(X, "__next__") else self._validate_matrix(X, run)
        chunks = as_chunks(X, run, y)
        return chunks, *encode_labels(y, sum(chunk.shape[0] for chunk in chunks), chunks[0].shape[1])

    @contextmanager
    def _all_or_nothing(self, *, forget: bool = True) -> Iterator[None]:
        """Delete the results of an earlier fit unless `forget` is False; restore all attributes if the block fails."""
        before = self.__dict__.copy()
        for name in [name for name in before if forget and name.endswith("_")]:
            delattr(self, name)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _set_results(self, result: Any, names: Sequence[str]) -> None:
        """Set these fields of a result as attributes, except fields that are None."""
        for name in names:
            if (value := getattr(result, name)) is not None:
                setattr(self, f"{name}_", value)

    def _validate_chunks(self, X: Iterator[Any], run: Run) -> Iterator[Any]:
        """Validate the first chunk, which sets the number and names of the features; later chunks must have equal
        columns.
        """
        for number, chunk in enumerate(same_columns(chunk for chunk in X if np.shape(chunk)[:1] != (0,))):
            yield chunk if number else self._validate_matrix(chunk, run)

    def _validate_matrix(self, X: Any, run: Run, *, reset: bool = True) -> Any:
        """Return X as an array, a sparse matrix or genotypes; set its columns, or compare them with the fit's."""
        X = load_stream(X, run)
        return self._check_values(X, as_array(X, run), reset=reset)

    def _check_values(self, X: Any, values: Any, *, reset: bool = True) -> Any:
        """Return the values of X after scikit-learn's checks; set the columns, or compare them with the fit's."""
        self._check_columns(X, reset=reset)
        return _checked_by_sklearn(values, self)

    def _block_check(self, source: Source, run: Run) -> Callable[[Any], None] | None:
        """Return the check of the first block of a stream, which sets the columns.

        The blocks of a Dask array stay on workers: None is returned, and the number of features, which is known, is set
        immediately.
        """
        if source.dask is not None:
            self.n_features_in_ = int(source.dask.shape[1])
            self._check_width()
            return None

        def check_block(block: Any) -> None:
            self._validate_matrix(block, run)
            self._check_width()

        return check_block

    def _check_width(self) -> None:
        """Raise ValueError for parameters that don't fit `n_features_in_`, before the work."""

    def _check_columns(self, X: Any, *, reset: bool = True) -> None:
        """Set the number and the names of the columns with `reset`; otherwise compare them, and raise ValueError if
        they differ.

        Names come from frames, and from data that knows the names of its SNPs.
        """
        names = _names_beyond_frames(X)
        fitted = None if reset else getattr(self, "feature_names_in_", None)
        if names is None or fitted is None:
            validate_data(self, X, skip_check_array=True, reset=reset)
        elif fitted.tolist() != names:
            pairs = enumerate(zip(names, fitted.tolist(), strict=False))
            differing = next(
                (f": {j} is {one!r}, in the fit {other!r}" for j, (one, other) in pairs if one != other), ""
            )
            raise ValueError(
                "The feature names should match those that were passed during fit: give X the SNPs of the fit, in "
                f"their order; it has {len(names)}, the fit {len(fitted)}{differing}"
            )
        if names is not None and reset:
            self.feature_names_in_ = np.array(names, dtype=object)

    @entry
    def transform(self, X: Any) -> Any:
        """Return the selected columns of X.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_features), or Genotypes
            Or a path, data on disk, a Dask array, a function or an iterator of blocks of rows, as for `fit`: blocks are
            read, and only their selected columns stay in memory.

        Returns
        -------
        array of shape (n_samples, n_selected_features)
            Genotypes are decoded to float32; ``X[:, selector.get_support()]`` keeps them at two bits.

        Raises
        ------
        ValueError
            X has other features than the fit.
        """
        mask = self._get_support_mask()  # raises an error before X is read if nothing is selected
        X = open_path(X)
        source = as_stream(X)
        if source is not None:
            try:
                selected = source.load_rows(Run(), columns=mask)
            except IndexError:
                raise ValueError(f"X must have the {len(mask)} features of the fit; got fewer columns") from None
            return selected if isinstance(selected, Sparse) else np.asarray(selected)
        require_table(X)
        return self._transform_table(X, mask)

    @singledispatchmethod
    def _transform_table(self, X: Any, mask: Array) -> Any:
        """Return the selected columns of a table."""
        return super().transform(X)

    @_transform_table.register
    def _transform_genotypes(self, X: Genotypes, mask: Array) -> Any:
        self._check_columns(X, reset=False)
        return np.asarray(X[:, mask])

    @entry
    def inverse_transform(self, X: Any) -> Any:
        """Put the selected columns back in their places, with zeros in all other columns.

        Parameters
        ----------
        X : array-like, DataFrame or sparse of shape (n_samples, n_selected_features)

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        require_table(X)
        return super().inverse_transform(X)

    @property
    def feature_importances_(self) -> Array:
        """`scores_`, with 0 for negative ones, because scikit-learn's tools compare magnitudes."""
        importances: Array = np.maximum(self.scores_, 0)
        return importances

    def _get_support_mask(self) -> Array:
        """Return the mask of the selected features; with "auto", of the significant ones among them.

        Raise NotFittedError without a fit or, with "auto", without its test.
        """
        check_is_fitted(self, "ranking_")
        if not is_auto(self.n_features_to_select):
            return self._chosen_features()
        if not hasattr(self, "test_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("n_features_to_select='auto' needs the test that fit makes: call fit(X, y)")
        significant: Array = self._chosen_features() & (self.test_.pvalues_max <= SIGNIFICANT)
        return significant

    def _chosen_features(self) -> Array:
        """Return True for the features that `n_features_to_select` keeps, before a test."""
        if is_auto(self.n_features_to_select):
            return np.ones(len(self.ranking_), dtype=bool)
        mask: Array = self.ranking_ <= count_selected(self.n_features_to_select, len(self.ranking_))
        return mask

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def _fit_and_test(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fit` with a permutation test before it, which sets `test_`, if `n_features_to_select` is "auto"."""
    signature = inspect.signature(fit)

    @wraps(fit)
    def fit_and_test(self: _Selector, *args: Any, **kwargs: Any) -> Any:
        """Call `fit`, and set `test_` to the permutation test if `n_features_to_select` is "auto"; return self."""
        test: PermutationResult | None = None
        if is_auto(getattr(self, "n_features_to_select", None)):
            params = dict(signature.bind(self, *args, **kwargs).arguments)
            X, y = params.pop("X"), params.pop("y", None)
            params |= params.pop("fit_params", {})
            params = {name: value for name, value in params.items() if name != "self" and value is not None}
            test = permutation_test(self, X, y, params=params or None)
        fit(self, *args, **kwargs)
        if test is not None:
            self.test_ = test
        return self

    return fit_and_test


@singledispatch
def _checked_by_sklearn(values: Any, estimator: BaseEstimator) -> Any:
    """Return the values after scikit-learn's checks.

    The core checks finiteness: it reads every value anyway, and names the first bad one.
    """
    return check_array(values, accept_sparse=("csr", "csc"), dtype=None, ensure_all_finite=False, estimator=estimator)


@_checked_by_sklearn.register
def _(values: Genotypes, estimator: BaseEstimator) -> Any:
    check_array(np.broadcast_to(np.float32(0), values.shape), estimator=estimator)  # a stand-in, which takes no memory
    return values


@singledispatch
def _names_beyond_frames(X: Any) -> list[Any] | None:
    """Return the names of the columns if scikit-learn, which knows those of DataFrames, doesn't find them."""
    return None


@_names_beyond_frames.register
def _(X: Genotypes) -> list[Any] | None:
    return column_names(X)


class _KernelSelector(_Selector):
    """Base of selectors with a kernel that can be a C function; clones share it, because it can't be copied."""

    kernel: Any

    def __sklearn_clone__(self) -> Self:
        shell = copy.copy(self)
        shell.kernel = None
        twin: Self = super(_KernelSelector, shell).__sklearn_clone__()
        twin.kernel = self.kernel
        return twin
