"""``python -m fastfs`` and the command ``fastfs``."""

import sys

# Which extra brings what the command line may need.
_EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "matplotlib": "plot",
    "pyarrow": "parquet",
    "anndata": "h5ad",
    "pynndescent": "approximate",
}


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        from .cli import run

        return run(sys.argv[1:])
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
