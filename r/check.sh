#!/usr/bin/env bash
# Builds the R package and runs its tests, its vignette and the R code of the documents.
#
#     r/check.sh            the whole package: R CMD build, then R CMD check --as-cran
#     r/check.sh address    the tests under the address sanitizer, the core included; with a FOLDER, as below, without it
#     r/check.sh FOLDER     quick: with the core of FOLDER/libfastfs.so, of which only R's shims are compiled
#
# Scores are compared with those of the Python that FASTFS_PYTHON names (default: python), if it has fastfs; the
# vignette reads the colon tissues from FASTFS_TEST_DATA. MAKEFLAGS=-j2 compiles on two cores.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mode=${1:-full}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v R > /dev/null; then
    echo "R isn't installed, so the R package isn't tested (Debian: r-base-dev r-cran-testthat)"
    exit 0
fi
if ! Rscript -e 'quit(status = !(requireNamespace("testthat") && requireNamespace("knitr")))' > /dev/null 2>&1; then
    echo "R has no testthat or no knitr, so the R package isn't tested (Debian: r-cran-testthat r-cran-knitr)"
    exit 0
fi
Rscript "$here/build.R" "$work"

python=${FASTFS_PYTHON:-python}
if "$python" -c "import fastfs" 2> /dev/null; then
    "$python" "$here/reference.py" "$work/reference"
    export FASTFS_R_REFERENCE=$work/reference
    core=$("$python" -c "import fastfs, pathlib; print(pathlib.Path(fastfs.get_include()).parent / 'lib')")
else
    echo "$python has no fastfs, so scores aren't compared with Python's"
fi

mkdir "$work/lib"
run_tests() {
    NOT_CRAN=true R_LIBS="$work/lib" Rscript -e 'library(fastfs)' -e "testthat::test_dir('$work/fastfs/tests/testthat',
        package = 'fastfs', load_package = 'installed', stop_on_failure = TRUE, reporter = 'summary')"
}

run_snippets() {
    (cd "$here/.." && R_LIBS="$1" Rscript r/snippets.R README.md docs/*.md "$work"/fastfs/man/*.Rd)
}

case $mode in
full)
    cd "$work"
    # For the vignette, R CMD build installs the package: with the core that Python has, if there is one.
    FASTFS_LIB=${core:-} R CMD build fastfs
    # The log says what the installation takes: [CPU seconds / seconds].
    _R_CHECK_TIMINGS_=0 _R_CHECK_CRAN_INCOMING_=false R CMD check --as-cran --no-manual fastfs_*.tar.gz
    grep -E '^Status|NOTE|WARNING|ERROR|can be installed' fastfs.Rcheck/00check.log || true
    if grep -qE '(WARNING|ERROR)$' fastfs.Rcheck/00check.log; then exit 1; fi
    run_snippets "$work/fastfs.Rcheck"
    ;;
address)
    flags="-fsanitize=address -fno-omit-frame-pointer -g -O1"
    { for name in CFLAGS CXXFLAGS CXX20FLAGS; do echo "$name = $flags"; done
      echo "LDFLAGS = -fsanitize=address"; } > "$work/Makevars"
    if [ $# -gt 1 ]; then FASTFS_LIB=$(cd "$2" && pwd); export FASTFS_LIB; fi
    R_MAKEVARS_USER="$work/Makevars" R CMD INSTALL --no-docs --no-test-load --library="$work/lib" "$work/fastfs"
    # R isn't built with the sanitizer, and keeps memory until the process ends.
    LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 run_tests
    ;;
*)
    FASTFS_LIB=$(cd "$mode" && pwd) R CMD INSTALL --no-html --library="$work/lib" "$work/fastfs"
    Rscript -e "stopifnot(!length(tools::codoc('fastfs', lib.loc = '$work/lib')))" \
        -e "stopifnot(!length(tools::checkDocFiles('fastfs', lib.loc = '$work/lib')))"
    run_tests
    cd "$work"
    R_LIBS="$work/lib" Rscript -e 'knitr::purl("fastfs/vignettes/colon.Rmd", "colon.R", quiet = TRUE)' \
        -e 'source("colon.R")' > vignette.log 2>&1 || { cat vignette.log; exit 1; }
    tail -n 3 vignette.log
    run_snippets "$work/lib"
    ;;
esac
