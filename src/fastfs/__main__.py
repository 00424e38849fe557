"""``python -m fastfs`` and the command ``fastfs``."""

import sys

from fastfs._estimators import do_without_sklearn
from fastfs._machine.embed import ANSWERS

# The extra that installs each package that the command line may need.
_EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "matplotlib": "plot",
    "jinja2": "report",
    "pyarrow": "parquet",
    "anndata": "h5ad",
    "h5py": "h5ad",
    "zarr": "h5ad",
    "rds2py": "rds",
    "openpyxl": "excel",
    "pgenlib": "pgen",
}


def _answer(arguments: list[str]) -> int:
    """Print the paths that a build asks for on one line, as pybind11-config does, and return the exit code.

    It is 2, with a message, if an argument isn't one of ANSWERS. Needs none of the extras.
    """
    for unknown in arguments:
        if unknown not in ANSWERS:
            print(f"Error: {unknown} can't be combined with {', '.join(ANSWERS)}.", file=sys.stderr)
            return 2
    # --includes and --cflags have one answer, which is printed once.
    print(*dict.fromkeys(ANSWERS[argument]() for argument in arguments))
    return 0


def main() -> int:
    """Run the command line, or answer a build's question such as --includes; return the exit code.

    It is 2, with advice, if a package is missing, and 130 after Ctrl-C. `score` does without scikit-learn.
    """
    arguments = sys.argv[1:]
    if arguments and arguments[0] in ANSWERS:
        return _answer(arguments)
    if arguments[:1] == ["score"]:
        do_without_sklearn()
    try:
        from .cli import run

        return run(arguments)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        print(
            f"Error: this needs {error.name}, which is not installed; get it with "
            f"python -m pip install 'scikit-fastfs[{extra}]'.",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
