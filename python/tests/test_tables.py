"""Rows are those of --format parquet, and everybody takes them."""

from __future__ import annotations

from pathlib import Path

import deburr
import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from conftest import FIXTURES, command

NAMES = ["artefacts", "files", "functions", "findings"]


@pytest.fixture(scope="module")
def report(programs: list[Path]) -> deburr.Report:
    return deburr.check([FIXTURES, *programs], tables=True)


def test_rows_are_those_of_parquet(report: deburr.Report, programs: list[Path], tmp_path: Path) -> None:
    done = command("check", "--format", f"parquet={tmp_path}", FIXTURES, *programs)
    assert done.returncode == report.status, done.stderr
    tables = report.tables()
    assert sorted(tables) == sorted(NAMES)
    for name, table in tables.items():
        (file,) = (tmp_path / name).glob("*.parquet")
        of_command, own = pyarrow.parquet.read_table(file), pyarrow.table(table)
        assert own.drop_columns("run").equals(of_command.drop_columns("run")), name
        # All rows are of one moment.
        assert len(set(own["run"].to_pylist())) == 1
        assert own.num_rows == len(table) > 0
    assert len(tables["files"]) == len(report.files)
    assert len(tables["findings"]) == sum(finding.count for file in report.files for finding in file.findings) + len(report.across_files)


def test_polars_duckdb_pandas_and_pyarrow_take_a_table(report: deburr.Report) -> None:
    findings = report.tables()["findings"]
    rules = sorted(finding.rule for file in report.files for finding in file.findings for _ in finding.places)
    rules = sorted(rules + [finding.rule for finding in report.across_files])
    assert sorted(polars.DataFrame(findings)["rule"].to_list()) == rules
    assert sorted(pyarrow.table(findings)["rule"].to_pylist()) == rules
    assert sorted(pandas.DataFrame.from_arrow(findings)["rule"]) == rules
    rows = duckdb.sql("SELECT rule FROM findings").fetchall()
    assert sorted(rule for (rule,) in rows) == rules


def test_nothing_is_copied(report: deburr.Report) -> None:
    table = report.tables()["functions"]
    places = [
        [buffer.address for chunk in pyarrow.table(table)["svma"].chunks for buffer in chunk.buffers() if buffer]
        for _ in range(2)
    ]
    assert places[0] == places[1] != []


def test_a_table_outlives_its_report() -> None:
    table = deburr.check(FIXTURES, tables=True).tables()["files"]
    read = pyarrow.table(table)
    count = len(table)
    del table
    assert len(read["path"].to_pylist()) == count == read.num_rows


def test_a_stream_that_nobody_reads_is_let_go(report: deburr.Report) -> None:
    table = report.tables()["files"]
    for _ in range(1000):
        table.__arrow_c_stream__()
        table.__arrow_c_schema__()
    assert pyarrow.schema(table) == pyarrow.table(table).schema


def test_an_empty_table_has_its_schema(tmp_path: Path, report: deburr.Report) -> None:
    for name, table in deburr.check(tmp_path, tables=True).tables().items():
        assert len(table) == 0
        assert pyarrow.table(table).schema == pyarrow.table(report.tables()[name]).schema


def test_without_tables_there_are_none() -> None:
    with pytest.raises(deburr.Error, match="tables=True"):
        deburr.check(FIXTURES).tables()
