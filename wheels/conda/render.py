"""Render the recipe for every Python and print what each package needs: `nox -s conda`.

This checks the recipe's form and templates. Building needs the channel conda-forge: `rattler-build build --recipe
wheels/conda/recipe.yaml --variant-config wheels/conda/variants.yaml --channel conda-forge`.
"""

import sys
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

HERE = Path(__file__).parent


def main() -> int:
    """Print the packages; 1 unless there are both."""
    recipe = Stage0Recipe.from_file(HERE / "recipe.yaml")
    found = recipe.render(VariantConfig.from_file(HERE / "variants.yaml"))
    names = []
    for variant in found:
        package = variant.recipe.package
        names.append(package.name)
        print(package.name, package.version, variant.variant)
    return int(set(names) != {"libfastfs", "scikit-fastfs"})


if __name__ == "__main__":
    sys.exit(main())
