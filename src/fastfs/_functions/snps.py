"""Pairs of SNPs with genotypes that interact in their effect on a target, and clumps of SNPs in disequilibrium."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fastfs._functions.interactions import InteractionScan, interaction_scan, target_values
from fastfs._functions.options import Options, option_class, option_field, takes
from fastfs._functions.pairs import (
    DesignCall,
    PairsFields,
    PairsOptions,
    PairsResult,
    chosen_columns,
    excluded_numbers,
    holds_fractions,
    limit_pairs,
    names_in_lists,
    naming_classes,
    outcome_of_test,
    two_classes,
)
from fastfs._inputs.design import read_covariates
from fastfs._inputs.entry import entry
from fastfs._inputs.genotypes import Genotypes
from fastfs._inputs.labels import as_labels, mark_missing
from fastfs._inputs.matrix import as_array, as_numbers, column_names
from fastfs._inputs.response import read_response
from fastfs._inputs.values import for_core
from fastfs._machine.errors import last_warnings
from fastfs._machine.params import as_count, as_int, as_not_negative, check_choice
from fastfs._machine.results import DrawnResult, RankedResult, result_class
from fastfs._machine.run import Run, load_core, warn
from fastfs._types import Array, Floats, Integers, Progress
from fastfs.io._genotypes import pack_genotypes


@result_class
class SnpPairs(PairsResult, DrawnResult):
    """Pairs of SNPs found by :func:`fastfs.snp_pairs`, the strongest first.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        The columns of G, the lower one first.
    statistics : ndarray of shape (n_pairs,)
        Of classes the likelihood ratio G^2 of interaction beyond both main effects; of numbers and times F times its
        first degrees of freedom. Both are asymptotically chi^2.
    degrees : ndarray of shape (n_pairs,)
        Its degrees of freedom: 4 if all genotypes of both SNPs occur.
    rest_degrees : ndarray of shape (n_pairs,) or None
        Of numbers and times the degrees of freedom of what is left: F is ``statistics / degrees``.
    effects, standard_errors : None
        A table has four effects.
    scores : ndarray of shape (n_snps,) or None
        The largest statistic of the pairs that a SNP is in. None with classes: the search passes over pairs that can't
        be among the strongest.
    tables : ndarray of shape (n_pairs, 3, 3, 2)
        By the genotypes of the first SNP (0, 1, 2) and of the second one: the samples of each class that have both; of
        numbers and times these samples, and their mean.
    <test_of_pairs>
    classes : ndarray of shape (2,) or None
        The first class and the second one.
    target_type : {"class", "number", "survival"}
    excluded_features : ndarray
        Chosen SNPs that were left out because fewer than two genotypes occur in them.
    n_excluded_pairs : dict of str to int
        Number of pairs left out, by reason. Of numbers and times: "product", genotypes of single SNPs explain all that
        occur together; "samples", fewer than three residual degrees of freedom; "target", both SNPs determine it
        without an interaction. Empty with classes: all pairs are compared.
    excluded_pairs : ndarray of shape (at most 10, 2)
        The first of these pairs.
    feature_names : list of str or None
        Names of the SNPs, if G has some.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> G = np.random.default_rng(0).integers(0, 3, (400, 30))
    >>> y = (G[:, 4] == 1) ^ (G[:, 9] == 1)
    >>> result = fastfs.snp_pairs(G, y, n_permutations=19)
    >>> result.pairs[0].tolist(), result.degrees[0].item(), result.pvalues_max[0].item()
    ([4, 9], 4, 0.05)
    >>> result.tables[0, 1].tolist()  # the first SNP heterozygous: samples by the second one and by class
    [[0, 29], [38, 0], [0, 46]]
    """

    degrees: Integers
    rest_degrees: Integers | None
    tables: Array
    target_type: str

    _picture = "ranking"

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        names = self.feature_names
        of_pairs = [" x ".join(str(j) if names is None else names[j] for j in pair) for pair in self.pairs.tolist()]
        return self.statistics, {"feature_names": of_pairs, "title": "statistics of the strongest pairs"}

    _of_pairs: ClassVar = {
        "tables": None,
        "statistics": "statistic",
        "degrees": "degrees",
        "rest_degrees": "rest_degrees",
        **PairsResult._of_pairs,
    }


@option_class
class SnpPairsCall(PairsFields, DesignCall):
    G: Any = field(kw_only=False)
    y: Any = field(kw_only=False)
    snps: Any = None
    target_type: str = "auto"
    coding: str = "auto"
    n_permutations: int = 0


@takes(SnpPairsCall)
def snp_pairs(call: SnpPairsCall) -> SnpPairs | InteractionScan:
    r"""Find the pairs of SNPs with genotypes that interact in their effect on a class, a number or a time to an event.

    All pairs are compared. Of two classes, by the likelihood ratio of interaction beyond both main effects of genotypes
    as categories; of numbers and times, by the partial F of the product of copies of an allele, as
    :func:`fastfs.interaction_scan` does, or by that of all genotypes as categories. No table of all pairs is stored.

    Parameters
    ----------
    G : Genotypes or array-like of shape (n_samples, n_snps)
        From :func:`fastfs.io.read_plink` or :func:`fastfs.io.pack_genotypes`; an array of 0, 1, 2 and, if a genotype is
        missing, NaN or a negative number is packed.
    y : array-like of shape (n_samples,)
        Labels of two classes, numbers, or records of an event and a time.
    snps : array-like, optional
        Compare the pairs among these only: a mask, column numbers or names, such as the first ones of a ranking.
        Default: all.
    target_type : {"auto", "class", "number", "survival"}
        Kind of y. "auto": numbers if it holds fractions, times if it holds records, else classes.
    coding : {"auto", "additive", "genotypic"}
        How genotypes enter the linear model of numbers and times. "additive": as copies of an allele, with one degree
        of freedom of interaction; "genotypic": as categories, with up to four, which finds any interaction, such as
        that of being heterozygous. "auto": additive; of classes always genotypic.
    n_pairs : int
        How many of the strongest pairs to report.
    n_permutations : int
        Labelings to compare with the true one; p-values can't be below 1 / (1 + n_permutations). If the design allows
        no more than that, all of them are taken, and p-values are exact. 0: no p-values. A labeling takes about 0.6 of
        the time of a call without any: 99 labelings of 100,000 SNPs and 1600 samples take more than an hour.
    <alpha_of_pairs>
    <design_of_pairs>
        Of numbers, covariates are part of the model of each pair, too.
    <draws_and_machine>

    Returns
    -------
    SnpPairs or InteractionScan
        The latter for numbers and times with additive coding.

    Raises
    ------
    ValueError
        y has other than two classes, or no label for a sample; with additive coding, G has missing genotypes; additive
        coding of classes; covariates with times; fewer than two SNPs vary; G holds numbers other than genotypes, such
        as dosages; the design allows no labeling but the true one; parameters out of range.
    TypeError
        A parameter has the wrong type.
    MemoryError
        The call needs more memory than `max_memory`: about n_samples n_snps / 4 bytes, half as much more if genotypes
        are missing, and for permutations up to 256 MB more and 8 n_samples n_permutations for the labelings; with
        additive coding about 16 n_samples n_snps bytes.

    Warns
    -----
    fastfs.DataWarning
        SNPs in which fewer than two genotypes occur, or pairs without a test, were left out; the design is weak.

    Notes
    -----
    O(n_samples n_snps^2) time for each labeling, 64 samples an operation. A pair is compared on the samples that have
    both genotypes. The statistic is G^2 = 2 (log-likelihood of the full 3 x 3 x 2 table - that of the table without a
    three-way term) [1]_: logistic regression of the class on both genotypes as factors against the full model. It is
    asymptotically chi^2 with (r - 1)(s - 1) degrees of freedom for SNPs with r and s genotypes, for any main
    effects are. p-values are family-wise under the hypothesis that no genotype says anything about the class; they hold
    approximately with main effects too. The genotypic statistic of numbers and times is F times its first degrees of
    freedom: of the linear model of y on both genotypes as factors, their interaction and the covariates against the
    model without the interaction. If y chose the SNPs, each permutation would have to repeat the choice.

    References
    ----------
    .. [1] X. Wan, C. Yang, Q. Yang, H. Xue, X. Fan, N. L. S. Tang, W. Yu, "BOOST: A fast approach to detecting
       gene-gene interactions in genome-wide case-control studies", American Journal of Human Genetics 87, 2010.
    .. [2] P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley, 1993: step-down p-values.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> G = np.random.default_rng(0).integers(0, 3, (400, 30))
    >>> y = np.where((G[:, 4] == 1) ^ (G[:, 9] == 1), "case", "control")  # either SNP alone says nothing
    >>> result = fastfs.snp_pairs(G, y)
    >>> result.pairs[0].tolist(), result.n_tested
    ([4, 9], 435)
    >>> height = G[:, 4] * G[:, 9] + np.random.default_rng(1).normal(size=400)
    >>> result = fastfs.snp_pairs(G, height, n_permutations=19)
    >>> result.pairs[0].tolist(), result.degrees, result.effects[0].round(1).item(), result.pvalue
    ([4, 9], (1, 396), 0.4, 0.05)
    >>> both = ((G[:, 4] == 1) ^ (G[:, 9] == 1)) + np.random.default_rng(1).normal(size=400)
    >>> result = fastfs.snp_pairs(G, both, coding="genotypic", n_permutations=19)
    >>> result.pairs[0].tolist(), result.degrees[0].item(), result.pvalue
    ([4, 9], 4, 0.05)
    """
    options = PairsOptions.from_arguments(call)
    n_permutations = as_int("n_permutations", call.n_permutations, low=0)
    check_choice("target_type", call.target_type, ("auto", "class", "number", "survival"))
    check_choice("coding", call.coding, ("auto", "additive", "genotypic"))
    run = call.make_run()
    G, names = _pack_with_names(call.G, run)
    known_names = None if names is None else names.tolist()
    chosen = chosen_columns("snps", call.snps, G.shape[1], known_names)
    kind = _kind_of(call.y, call.target_type, *G.shape)
    if kind != "survival":
        _require_values(call.y, *G.shape, "label" if kind == "class" else "number")
    if kind == "class" and call.coding == "additive":
        raise ValueError(
            "coding must be 'genotypic' for classes; got 'additive': give their copies to fastfs.interaction_scan"
        )
    if kind != "class" and call.coding != "genotypic":
        return _scan_copies(call, G, known_names, chosen, kind)
    core_options = options.core_options() | {"snps": chosen}
    labels, classes = None, None
    if kind == "class":
        classes, labels = two_classes("pairs of SNPs are compared between", call.y, *G.shape)
        call.check_test(n_permutations, "blocks", "groups", "covariates")
        design, labelings = call.read_design(labels, classes[labels], n_permutations, run, shuffled=True)
        core_options["labelings"] = labelings
    else:
        values = target_values(read_response(call.y, *G.shape, kind), call.covariates)
        call.check_test(n_permutations, "blocks", "groups")
        design, labelings = call.read_design(values, None, n_permutations, run)
        core_options |= {"y": for_core(values), "y_permutations": labelings}
        if call.covariates is not None:
            core_options["covariates"] = for_core(read_covariates(call.covariates, G.shape[0]))
    with nullcontext() if classes is None else naming_classes(classes):
        core_result = load_core(with_blas=False).snp_pairs(G, labels, core_options, run)
    warn(last_warnings(names_in_lists(known_names)))
    result = SnpPairs(
        pairs=core_result["pairs"],
        statistics=core_result["statistics"],
        effects=None,
        standard_errors=None,
        degrees=core_result["degrees"],
        rest_degrees=core_result.get("rest_degrees"),
        tables=core_result["tables"],
        scores=core_result.get("scores"),
        n_tested=core_result["n_tested"],
        classes=classes,
        target_type=kind,
        excluded_features=np.flatnonzero(core_result["constant"]),
        excluded_pairs=core_result.get("excluded", np.empty((0, 2), np.int64)),
        n_excluded_pairs=excluded_numbers(core_result),
        stopped=False,
        feature_names=known_names,
        **outcome_of_test(core_result, design, exact=design.exact and labelings is not None),
    )
    return limit_pairs(result, call.alpha)


def _kind_of(y: Any, target_type: str, n_samples: int, n_snps: int) -> str:
    """Return "class", "number" or, for records, "survival"."""
    if target_type != "auto":
        return target_type
    if getattr(getattr(y, "dtype", None), "names", None):
        return "survival"
    return "number" if holds_fractions(y, n_samples, n_snps) else "class"


def _scan_copies(
    call: SnpPairsCall, G: Genotypes, names: list[Any] | None, chosen: Integers | None, kind: str
) -> InteractionScan:
    """Find the pairs of SNPs with a product of copies of an allele that says more about numbers or times than both.

    Raise ValueError for missing genotypes.
    """
    if n_missing := G.count_missing():
        raise ValueError(
            f"G must have no missing genotypes if y holds numbers or times; got {n_missing}: impute them, or leave out "
            "their SNPs or samples"
        )
    return interaction_scan(
        G,
        call.y,
        features=chosen,
        feature_names=names,
        target_type=kind,
        n_pairs=call.n_pairs,
        n_permutations=call.n_permutations,
        alpha=call.alpha,
        blocks=call.blocks,
        groups=call.groups,
        covariates=call.covariates,
        random_state=call.random_state,
        n_threads=call.n_threads,
        max_memory=call.max_memory,
        progress=call.progress,
    )


def _pack_with_names(G: Any, run: Run) -> tuple[Genotypes, Array | None]:
    """Return G packed at two bits per genotype, and the names of its SNPs if it has any."""
    names = column_names(G)
    G = as_array(G, run, "G")
    if isinstance(G, Genotypes):
        return G, G.names
    return pack_genotypes(G), None if names is None else np.array([str(n) for n in names], np.str_)


def _require_values(y: Any, n_samples: int, n_snps: int, what: str) -> None:
    """Raise ValueError if a sample has no phenotype, a label or a number, and say how to drop these samples."""
    missing = np.flatnonzero(mark_missing(as_labels(y, n_samples, n_snps, what)))
    if len(missing):
        raise ValueError(
            f"y has no {what} for {len(missing)} of {n_samples} samples, first for sample {missing[0]}: drop them, as "
            "in keep = numpy.isfinite(G.phenotype) and fastfs.snp_pairs(G[keep], G.phenotype[keep])"
        )


@dataclass(kw_only=True)
class LdClumpsOptions(Options):
    """Options of `ld_clumps`."""

    r2: float = option_field(as_not_negative)
    window: int = option_field(lambda name, value: as_int(name, value, low=0, high=1 << 50))
    n_clumps: int = option_field(as_count)


@result_class
class LdClumps(RankedResult):
    """Clumps of SNPs found by :func:`fastfs.ld_clumps`.

    Parameters
    ----------
    leads : ndarray of shape (n_clumps,)
        The columns of G that lead a clump, by descending score.
    names : ndarray of str, shape (n_clumps,), or None
        Their names, if G has some.
    scores : ndarray of shape (n_clumps,)
        Scores of the leads.
    clump : ndarray of shape (n_snps,)
        The number of the clump that each SNP is in, as in `leads`; -1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> G = np.random.default_rng(0).integers(0, 3, (50, 4))
    >>> G[:, 2] = 2 - G[:, 0]  # the same SNP, counted by its other allele
    >>> result = fastfs.ld_clumps(G, scores=[0.1, 0.9, 0.4, 0.2])
    >>> result.leads.tolist(), result.clump.tolist()
    ([1, 2, 3], [1, 0, 1, 2])
    """

    leads: Integers
    names: Array | None
    scores: Floats
    clump: Integers

    _row = "clump"

    def _table(self) -> dict[str, Any]:
        sizes = np.bincount(self.clump[self.clump >= 0], minlength=len(self.leads))
        names = {} if self.names is None else {"name": self.names}
        return {"lead": self.leads, **names, "score": self.scores, "size": sizes}

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        names = [f"SNP {lead}" for lead in self.leads] if self.names is None else self.names
        return self.scores, {"feature_names": names}


@entry
def ld_clumps(
    G: Any,
    scores: Any,
    *,
    r2: float = 0.5,
    window: int = 250_000,
    n_clumps: int | None = None,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> LdClumps:
    """Group SNPs in linkage disequilibrium into clumps, each led by its SNP of the largest score.

    The first SNPs of a ranking can be copies of one signal; one lead per clump represents it.

    Parameters
    ----------
    G : Genotypes or array-like of shape (n_samples, n_snps)
        From :func:`fastfs.io.read_plink` or :func:`fastfs.io.pack_genotypes`, with chromosomes and positions; of an
        array, all SNPs are within the window of each other, and time grows with the square of their number: for a
        window in SNPs, give their numbers as positions to :func:`fastfs.io.pack_genotypes`.
    scores : array-like of shape (n_snps,)
        Scores of the SNPs, for example the ``scores_`` of an estimator; larger is better.
    r2 : float
        A SNP joins a clump if its squared correlation with the lead is above this.
    window : int
        Largest distance from the lead, in base pairs, at which a SNP on the same chromosome joins a clump.
    n_clumps : int, optional
        Stop after this number of clumps. Default: when each SNP is in one.
    n_threads, max_memory, progress
        As for :func:`fastfs.affinity`.

    Returns
    -------
    LdClumps

    Raises
    ------
    ValueError
        Scores aren't numbers, one per SNP; parameters out of range.
    TypeError
        A parameter has the wrong type.
    MemoryError
        The call needs more memory than `max_memory`: about n_samples n_snps / 4 bytes, half as much more if genotypes
        are missing.

    Notes
    -----
    O(n_samples n_snps w) time for w SNPs in a window, 64 samples an operation. SNPs are taken by descending score; one
    that is in no clump yet leads a new one, which takes those in no clump near it. Correlations are of copies of an
    allele, over the samples that have both genotypes. PLINK's ``--clump`` walks down p-values in the same way, with
    the same defaults ``--clump-r2 0.5`` and ``--clump-kb 250``, but correlates haplotypes that it estimates by maximum
    likelihood, so its clumps differ.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> G = fastfs.io.pack_genotypes(
    ...     np.random.default_rng(0).integers(0, 3, (50, 1)).repeat(3, axis=1), position=[1000, 90_000, 900_000]
    ... )
    >>> fastfs.ld_clumps(G, scores=[1, 3, 2]).leads.tolist()
    [1, 2]
    """
    options = LdClumpsOptions.from_arguments(locals())
    run = Run(n_threads, max_memory, progress)
    G, names = _pack_with_names(G, run)
    values = as_numbers(scores, "scores")
    if values.shape != (G.shape[1],):
        raise ValueError(f"scores must be one for each of the {G.shape[1]} SNPs; got the shape {values.shape}")
    chromosomes = np.unique(G.chromosome, return_inverse=True)[1].astype(np.int64)
    core_options = options.core_options() | {"positions": for_core(G.position), "chromosomes": chromosomes}
    core_result = load_core(with_blas=False).ld_clumps(G, values, core_options, run)
    return LdClumps(
        leads=core_result["leads"],
        names=None if names is None else names[core_result["leads"]],
        scores=values[core_result["leads"]],
        clump=core_result["clumps"],
    )
