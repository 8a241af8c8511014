"""What a caller may write: mypy --strict reads it."""

from __future__ import annotations

from pathlib import Path

import deburr


def hot(report: deburr.Report) -> list[str]:
    found: list[str] = []
    for file in report.files:
        for finding in file.findings:
            for place in finding.places:
                if finding.severity == "warning" and place.source is not None:
                    found.append(f"{place.source.file}:{place.source.line}: {finding.message}")
        for function in file.isa_functions:
            if function.reach == "required" and function.guard is None:
                found.append(f"{function.function or function.svma}: {sorted(function.features)}")
        found += file.runs_on.not_
    return found


def main() -> None:
    report = deburr.check([Path("/usr/bin/bash"), ("name", b"")], target=["x86-64-v2"], tables=True)
    rows: int = len(report.tables()["files"])
    compared = deburr.compare([1, 2, 3], [1.0, 2.0, 3.0], paired=True, better="larger")
    interval: tuple[float, float] | None = compared.interval
    print(rows, interval, compared.metric.better, hot(report), [rule.id for rule in deburr.rules()])
    summary = deburr.scan([("a.deb", Path("a.deb")), (deburr.Package("b.deb", 5, "0" * 64), "b.deb"), "c.deb"], "tables", run=1)
    packages: tuple[deburr.Package, ...] = deburr.list_archive("pool", options=["--no-index"]).packages
    print(summary.shard, [failure.reason for failure in summary.failures], packages)
    try:
        deburr.check(b"")
    except deburr.Error as error:
        print(error.path, error.reason, error.report and error.report.status)
