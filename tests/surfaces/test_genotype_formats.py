"""Genotypes of other formats, by the ways that docs/genotypes.md shows."""

import shutil
import subprocess

import numpy as np
import pytest

from fastfs.io import pack_genotypes, read_plink

# The third line has two alternative alleles; a call with one allele known is missing.
VCF = """\
##fileformat=VCFv4.2
##contig=<ID=1>
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT a b c d e
1 10 rs1 A G . . . GT 0/0 0/1 1|1 ./. 1|0
1 20 rs2 C T . . . GT 1/1 0/0 0/0 0/1 ./1
1 30 rs3 C T,G . . . GT 1/2 0/0 0/0 0/1 0/1
2 15 . G A . . . GT 0/0 0/0 0/1 0/1 0/0
"""
EXPECTED = np.array([[0, 1, 2, np.nan, 1], [2, 0, 0, 1, np.nan], [0, 0, 1, 1, 0]]).T


@pytest.fixture
def vcf(tmp_path):
    path = tmp_path / "study.vcf"
    head, body = VCF.split("#CHROM")
    path.write_text(head + ("#CHROM" + body).replace(" ", "\t"))
    return path


def test_vcf_by_cyvcf2(vcf):
    cyvcf2 = pytest.importorskip("cyvcf2")
    reader = cyvcf2.VCF(str(vcf), gts012=True, strict_gt=True)
    calls = [(v.gt_types.copy(), v.ID or ".", (v.ALT[0], v.REF), v.CHROM, v.POS) for v in reader if len(v.ALT) == 1]
    X, names, alleles, chromosome, position = zip(*calls, strict=True)
    G = pack_genotypes(
        np.where(np.array(X).T == 3, -1, np.array(X).T),
        names=names,
        samples=reader.samples,
        alleles=alleles,
        chromosome=chromosome,
        position=position,
    )
    np.testing.assert_array_equal(np.asarray(G), EXPECTED)
    assert (G.names.tolist(), G.position.tolist(), G.samples.tolist()) == (
        ["rs1", "rs2", "."],
        [10, 20, 15],
        [*"abcde"],
    )


def test_vcf_by_plink(vcf, tmp_path):
    plink = shutil.which("plink1.9") or shutil.which("plink")
    if plink is None:
        pytest.skip("plink isn't installed")
    arguments = [
        "--vcf",
        vcf,
        "--biallelic-only",
        "strict",
        "--vcf-half-call",
        "missing",
        "--keep-allele-order",
        "--make-bed",
    ]
    subprocess.run([plink, *arguments, "--out", tmp_path / "study"], check=True, capture_output=True)
    G = read_plink(tmp_path / "study.bed")
    np.testing.assert_array_equal(np.asarray(G), EXPECTED)
    assert G.alleles.tolist() == [["G", "A"], ["T", "C"], ["A", "G"]]
