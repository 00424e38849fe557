"""A MultiQC module that shows the reports of `fastfs report`, found by their JSON files."""

import json
import logging
from typing import Any

from multiqc import config
from multiqc.base_module import BaseMultiqcModule, ModuleNoSamplesFound
from multiqc.plots import linegraph, table

log = logging.getLogger(__name__)

HEADERS = {
    "n_samples": {"title": "Samples", "description": "Samples of the study", "format": "{:,d}", "scale": False},
    "n_features": {"title": "Features", "description": "Features of the study", "format": "{:,d}", "scale": False},
    "pvalue": {
        "title": "p",
        "description": "p-value of the best feature against permuted labels, and so of the ranking as a whole",
        "format": "{:.3g}",
        "min": 0,
        "max": 1,
        "scale": "RdYlGn-rev",
    },
    "n_significant": {
        "title": "Significant",
        "description": "Features with a family-wise p-value of at most 0.05",
        "format": "{:,d}",
    },
    "stability": {
        "title": "Stability",
        "description": "Nogueira's index of the best features over subsamples: 1 if they are always the same",
        "format": "{:.2f}",
        "max": 1,
    },
    "best": {"title": "Best feature", "scale": False},
}


def register() -> None:
    """Tell MultiQC which files are reports; the plug-in hook `before_config`."""
    pattern = {"fn": "*.json", "contents": '"shuffled_twin"', "num_lines": 20000}
    config.update_dict(config.sp, {"fastfs": pattern})


class MultiqcModule(BaseMultiqcModule):
    """One row for each report and method, and the accuracy on new samples where the report has it."""

    def __init__(self) -> None:
        super().__init__(
            name="fastfs",
            anchor="fastfs",
            info="Ranks features by multivariate methods and tests the rankings against permuted labels.",
        )
        rows: dict[str, dict[str, Any]] = {}
        accuracy: dict[str, dict[int, float]] = {}
        for file in self.find_log_files("fastfs"):
            try:
                report = json.loads(file["f"])
                name = self.clean_s_name(file["fn"].removesuffix(".json"), file)
                rows |= rows_of(name, report)
                accuracy |= accuracy_of(name, report)
            except (KeyError, TypeError, ValueError) as error:
                log.warning("%s isn't a report of fastfs that this plug-in can read: %r", file["fn"], error)
                continue
            self.add_data_source(file, name)
            self.add_software_version(report["environment"]["fastfs"], name)
        rows, accuracy = self.ignore_samples(rows), self.ignore_samples(accuracy)
        if not rows:
            raise ModuleNoSamplesFound
        self.write_data_file(rows, "multiqc_fastfs")
        shape = {"id": "fastfs_rankings_table", "title": "fastfs: rankings", "col1_header": "Report, method"}
        self.add_section(
            name="Rankings",
            anchor="fastfs-rankings",
            description="Each ranking of each report against permuted labels, under the design that the report states.",
            plot=table.plot(rows, HEADERS, shape),
        )
        if accuracy:
            axes = {
                "id": "fastfs_new_samples",
                "title": "fastfs: balanced accuracy on new samples",
                "xlab": "Features",
                "ylab": "Balanced accuracy",
                "xlog": True,
                "ymin": 0,
                "ymax": 1,
            }
            self.add_section(
                name="New samples",
                anchor="fastfs-new-samples",
                description="Features were selected within the training samples of each fold.",
                plot=linegraph.plot(accuracy, axes),
            )


def rows_of(name: str, report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a row for each method of a report, by "name, method"."""
    data = report["data"]
    return {
        f"{name}, {of_method['estimator']}": {
            "n_samples": data["n_samples"],
            "n_features": data["n_features"],
            "pvalue": of_method["permutation_test"]["pvalue"],
            "n_significant": sum(row["pvalue_max"] <= 0.05 for row in of_method["ranking"]),
            "stability": of_method["stability"]["stability"],
            "best": of_method["ranking"][0]["feature"],
        }
        for of_method in report["methods"]
    }


def accuracy_of(name: str, report: dict[str, Any]) -> dict[str, dict[int, float]]:
    """Return the balanced accuracy by the number of features, for each method, if the report has it."""
    curves: dict[str, dict[int, float]] = {}
    for row in (report.get("new_samples") or {}).get("rows", []):
        if row.get("balanced_accuracy") is not None:
            curves.setdefault(f"{name}, {row['method']}", {})[row["n_features"]] = row["balanced_accuracy"]
    return curves
