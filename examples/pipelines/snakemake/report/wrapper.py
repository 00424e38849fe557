"""Run `fastfs report` on a table or an AnnData file, for the directive `wrapper:` of Snakemake."""

from pathlib import Path

from snakemake.shell import shell

log = snakemake.log_fmt_shell(stdout=True, stderr=True)  # noqa: F821
label = snakemake.params.label  # noqa: F821
extra = snakemake.params.get("extra", "")  # noqa: F821
page = Path(str(snakemake.output.html))  # noqa: F821

# The numbers lie next to the page, under its name.
for name, suffix in (("json", ".json"), ("csv", ".csv")):
    wanted = snakemake.output.get(name)  # noqa: F821
    if wanted and Path(str(wanted)) != page.with_suffix(suffix):
        raise ValueError(f"output `{name}` must be '{page.with_suffix(suffix)}', next to the page; got '{wanted}'")

shell(
    "fastfs report {snakemake.input.table:q} --label {label:q} --out {page:q} "
    "--threads {snakemake.threads} {extra} {log}"
)
