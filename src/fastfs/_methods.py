"""Facts about each method that the command line, the tools for AnnData, reports and the demo use."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class Picture(NamedTuple):
    """A plot of `fastfs.pl` that is drawn next to the ranking."""

    function: str
    title: str
    of_features: bool = False  # takes their names and how many to draw


@dataclass(frozen=True)
class Method:
    """Facts about one method. Attributes of estimators are named without their final underscore."""

    word: str  # its name on the command line and in `fastfs.tl`
    estimator: str  # its class in `fastfs`; the parameters are the options of the method
    genes: str = ""  # the genes that it finds, in one sentence
    sparse: bool = False  # sparse data stay sparse
    streams: bool = False  # reads data in chunks, in one pass
    class_scores: bool = False  # one fit scores the features for each class
    targets: bool = False  # explains columns of numbers, too
    classes: bool = True  # tells classes apart; otherwise it explains numbers only
    selects: bool = False  # looks for n_features_to_select features; other methods rank all
    pairs: bool = False  # finds pairs of features
    pair_of_sigmas: bool = False  # sigma may be two numbers
    unranked: tuple[tuple[str, Any], ...] = ()  # values of parameters that leave no features to rank
    table: tuple[str, ...] = ()  # columns of its `sensitivity_` that JSON holds
    of_fit: tuple[str, ...] = ()  # attributes that JSON holds under the word of the method
    by_class: tuple[str, ...] = ()  # attributes of this kind with one row per class
    of_classes: tuple[str, ...] = ()  # attributes that JSON holds under the word of the method and the class
    picture: Picture | None = None
    no_given: str = ""  # why it takes no `given`, and what to do with such columns
    scale: str = ""  # the parameter that a report halves and doubles: how far a sample or a feature sees
    reported: tuple[tuple[str, Any], ...] = ()  # parameters that a report sets, unless they are given

    @property
    def only_ranks(self) -> bool:
        """True if the method finds nothing but scores, so that it can be wrapped."""
        return not self.selects and self.picture is None


# Reasons of methods that take no `given`.
_FITTED_TOGETHER = (
    "it fits all weights together, so a weight that is kept would only scale the others: leave these columns in X, and "
    "the others are weighed next to them"
)
_EXPLAINS_NOTHING = (
    "it compares how features relate to each other in each class, and explains no target to which others could add: "
    "ask ProjSe or ReliefF"
)


def _table_method(word: str, estimator: str, genes: str = "", **facts: Any) -> Method:
    """Return a method of the RELIEF family other than RELIEF."""
    return Method(word, estimator, genes, sparse=True, targets=True, **facts)


_ALL = (
    Method(
        "manifest",
        "ManiFeSt",
        "Genes with relations to the other genes that differ between groups.",
        sparse=True,
        class_scores=True,
        pair_of_sigmas=True,
        table=("scale", "normalize", "spearman_next", "overlap_next", "contrast"),
        no_given=_EXPLAINS_NOTHING,
        scale="sigma_factor",
    ),
    Method(
        "projse",
        "ProjSe",
        "Few genes that together tell the groups apart, without saying the same thing twice.",
        sparse=True,
        streams=True,
        targets=True,
        selects=True,
    ),
    Method(
        "relief",
        "Relief",
        "Genes in which a cell's nearest neighbour in another group is farther than the nearest one in its group.",
    ),
    _table_method(
        "relieff",
        "ReliefF",
        "Genes in which a cell's nearest neighbours in other groups are farther.",
        scale="n_neighbors",
    ),
    _table_method("surf", "SURF", "ReliefF with all cells as neighbours that are nearer than the mean distance."),
    _table_method("multisurf", "MultiSURF", "ReliefF without a number of neighbours to choose."),
    _table_method("swrf", "SWRF", "SURF with weights of the neighbours that fall with the distance."),
    _table_method(
        "murelief",
        "MuRelief",
        "ReliefF with the cells of each group at the most unusual distance.",
        scale="n_neighbors",
    ),
    _table_method("rrelieff", "RReliefF", classes=False),
    Method(
        "im4e",
        "IM4E",
        "Weights of genes that enlarge the margins between groups.",
        no_given=_FITTED_TOGETHER,
        scale="sigma",
    ),
    Method(
        "immigrate",
        "Immigrate",
        "Genes, and pairs of genes, that enlarge the margins between groups.",
        pairs=True,
        picture=Picture("interactions", "weights of pairs", of_features=True),
        no_given=_FITTED_TOGETHER,
        scale="sigma",
    ),
    Method(
        "disc",
        "DiSC",
        "Groups of genes that are connected in one group of cells and not in the others.",
        sparse=True,
        class_scores=True,
        of_classes=("significance", "trivial", "n_differential", "ratio", "gap", "n_connected_components"),
        picture=Picture("significance", "how many vectors matter"),
        no_given=_EXPLAINS_NOTHING,
        scale="bandwidth_neighbors",
        reported=(("n_groups", 6),),
    ),
    Method(
        "ikdr",
        "IKDR",
        "Few genes with kernels by which mixtures of cells tell the groups apart.",
        unranked=(("groups", "all"), ("kernel", "precomputed")),
        of_fit=("interpretability", "objective", "similarity", "n_iter", "converged"),
        by_class=("class_profile",),
        picture=Picture("class_profile", "classes of each dimension"),
        no_given=_FITTED_TOGETHER,
    ),
)

METHODS = {method.word: method for method in _ALL}

# Default methods of a report: one of each family.
REPORTED = ("multisurf", "manifest", "projse")

# Attributes, without their final underscores, for the form of a method that ran, and for the value of a rule.
FORM = ("accuracy", "accuracy_reason", "graph")
RULES = ("sigma", "center")


def why_no_given(called: str) -> str:
    """Return why the method behind a public name takes no `given`; nothing for other names."""
    stem = called.rpartition(".")[2].partition("_")[0]
    return next((one.no_given for one in METHODS.values() if stem in (one.word, one.estimator)), "")


class Flag(NamedTuple):
    """A parameter of estimators that is an option of the command line, for each method that has it.

    All other parameters can be set by ``--method-option``.
    """

    name: str
    kind: type
    metavar: str
    help: str
    low: int | None = None
    or_number: bool = False  # a word, or a number
    columns: bool = False  # names of features, with commas between them
    sigmas: tuple[str, ...] = ()  # the rules of sigma under which it has an effect; it chooses the first by itself


FLAGS = (
    Flag(
        "sigma",
        str,
        "RULE",
        "Scale: for manifest median, percentile, grid (compares many), or 0.5,0.7; for projse mean, sqrt_m or a "
        "number; for im4e and immigrate auto or a number; for rrelieff a number of neighbours.",
        or_number=True,
    ),
    Flag("sigma_factor", float, "F", "For manifest: the median distance times this.", sigmas=("median", "grid")),
    Flag("sigma_percentile", float, "Q", "For manifest: this percentile of the distances.", sigmas=("percentile",)),
    Flag("normalize", int, "N", "For manifest: symmetric normalisations of the kernels, such as 3."),
    Flag("missing", str, "HOW", "For the RELIEF family but relief: missing values are an error, or ignore, or class."),
    Flag(
        "categorical_features",
        str,
        "A,B,...",
        "For the RELIEF family but relief: features in which numbers are codes of categories.",
        columns=True,
    ),
    Flag(
        "given",
        str,
        "A,B,...",
        "For projse and the RELIEF family: features that you have; scores tell what others add.",
        columns=True,
    ),
    Flag("n_components", int, "K", "Number of dimensions; ikdr: default is that of the classes.", low=1),
)
