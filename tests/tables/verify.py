"""Reads tables of deburr by pyarrow, and compares every row with the JSON report of the same run.

    verify.py DIR REPORT DOCUMENT

DOCUMENT is docs/reference/tables.md: columns, types and fields of the JSON report come from there, as a user has them.
"""

import collections
import hashlib
import json
import os
import re
import sys

import pyarrow
import pyarrow.parquet

TYPES = {
    "VARCHAR": lambda it: pyarrow.types.is_string(it),
    "VARCHAR[]": lambda it: pyarrow.types.is_list(it) and pyarrow.types.is_string(it.value_type),
    "MAP(VARCHAR, BIGINT)": lambda it: pyarrow.types.is_map(it) and it.item_type == pyarrow.int64(),
    "BIGINT": lambda it: it == pyarrow.int64(),
    "DOUBLE": lambda it: it == pyarrow.float64(),
    "BOOLEAN": lambda it: it == pyarrow.bool_(),
    "TIMESTAMP WITH TIME ZONE": lambda it: it == pyarrow.timestamp("us", tz="UTC"),
}


def documented(path):
    """By table: columns as (name, type, whether there may be none, field of the report)."""
    tables, current = collections.defaultdict(list), None
    for line in open(path, encoding="utf-8"):
        if line.startswith("### "):
            current = line[4:].strip()
        match = re.match(r"\| `(\w+)` \| ([^|,]+(?:\([^)]*\))?)(, none)? \| [^|]* \| [^|]* \| (?:`([^`]+)`)? ?\|$", line)
        if match and current:
            tables[current].append((match[1], match[2].strip(), bool(match[3]), match[4]))
    return tables


def value_at(entry, steps):
    """The value of a field, whose path begins at the entry."""
    for step in steps:
        if entry is None:
            return None
        entry = entry.get(step)
    return entry


def normal(value, kind):
    """What is left out of the JSON where it is nothing is nothing here, too."""
    if kind == "VARCHAR[]":
        return tuple(value or ())
    if kind.startswith("MAP"):
        return tuple(sorted(dict(value or {}).items()))
    if kind == "BIGINT":
        return value or 0
    if kind == "BOOLEAN":
        return bool(value)
    return value


def rows(table, columns):
    """A table's rows as tuples of the columns that the report has."""
    return [tuple(normal(row[name], kind) for name, kind, _, _ in columns) for row in table.to_pylist()]


def expected(entry, columns, prefix):
    found = []
    for name, kind, _, field in columns:
        value = value_at(entry, field[len(prefix):].split("."))
        if name == "evidence":
            value = json.dumps(value)
        found.append(normal(value, kind))
    return tuple(found)


def by_place(findings):
    """One entry for each place of each finding, with the facts of both."""
    for finding in findings:
        assert finding["count"] == len(finding["places"]) > 0
        for place in finding["places"]:
            # What is left out counts.
            yield {"counted": True, **finding, "places[]": place, "evidence": {**finding["evidence"], **place.get("evidence", {})}}


def same(what, found, wanted):
    found, wanted = collections.Counter(found), collections.Counter(wanted)
    for row in (found - wanted):
        sys.exit(f"{what}: a row that the report does not have: {row}")
    for row in (wanted - found):
        sys.exit(f"{what}: a row that is not there: {row}")
    print(what, sum(found.values()))


def loads(rows, at):
    """Evidence as its value, whatever its spaces."""
    return [row[:at] + (json.dumps(json.loads(row[at]), sort_keys=True),) + row[at + 1:] for row in rows]


def main():
    folder, report, document = sys.argv[1:]
    report, documents = json.load(open(report, encoding="utf-8")), documented(document)
    tables = {}
    for name, columns in documents.items():
        table = tables[name] = pyarrow.parquet.read_table(f"{folder}/{name}")
        assert table.column_names == [column[0] for column in columns], (name, table.column_names)
        for column, kind, may_be_none, _ in columns:
            field = table.schema.field(column)
            assert TYPES[kind](field.type), (name, column, field.type)
            assert field.nullable == may_be_none, (name, column)
    assert sorted(tables) == ["artefacts", "files", "findings", "functions"], sorted(tables)
    (run,) = set(tables["artefacts"].column("run").to_pylist()) or {None}
    assert all(moment == run for table in tables.values() for moment in table.column("run").to_pylist())

    # Files: what was checked, and what was not.
    of = [column for column in documents["files"] if (column[3] or "").startswith("files[].")]
    files = tables["files"]
    whole = files.filter(pyarrow.compute.is_null(files.column("error")))
    same("files", rows(whole.select([it[0] for it in of]), of), [expected(it, of, "files[].") for it in report["files"]])
    broken = files.filter(pyarrow.compute.is_valid(files.column("error")))
    same("skipped", [(row["path"], row["error"]) for row in broken.to_pylist()],
         [(it["path"], it["reason"]) for it in report["skipped"]])
    paths = {row["file"]: row["path"] for row in files.to_pylist()}
    assert len(paths) == files.num_rows, "ids of files are unique"

    # Functions: those above the first level as in the report, others only with findings.
    prefix = "files[].isa_functions[]."
    of = [it for it in documents["functions"] if (it[3] or "").startswith(prefix) and it[0] != "route"]
    functions = tables["functions"]
    above = functions.filter(pyarrow.compute.is_valid(functions.column("reach")))
    found = [(paths[row["file"]], tuple(row["route"])) for row in above.to_pylist()]
    found = [key + row for key, row in zip(found, rows(above.select([it[0] for it in of]), of))]
    wanted = [
        (file["path"], tuple(step["function"] or step["svma"] for step in function["path"])) + expected(function, of, prefix)
        for file in report["files"] for function in file["isa_functions"]
    ]
    same("functions", found, wanted)
    others = functions.filter(pyarrow.compute.is_null(functions.column("reach"))).to_pylist()
    assert all(row["findings"] > 0 for row in others)

    # Findings, and the functions that they are in.
    prefix = "files[].findings[]."
    of = [it for it in documents["findings"] if (it[3] or "").startswith(prefix)]
    at = [it[0] for it in of].index("evidence") + 1
    findings = tables["findings"]
    within = findings.filter(pyarrow.compute.is_null(findings.column("other_path")))
    found = [(paths[row["file"]],) for row in within.to_pylist()]
    found = [key + row for key, row in zip(found, rows(within.select([it[0] for it in of]), of))]
    wanted = [(file["path"],) + expected(it, of, prefix) for file in report["files"] for it in by_place(file["findings"])]
    same("findings", loads(found, at), loads(wanted, at))
    across = findings.filter(pyarrow.compute.is_valid(findings.column("other_path"))).to_pylist()
    same("across", [(paths.get(row["file"]), row["rule"], row["svma"], row["other_path"], row["other_svma"]) for row in across],
         [(it["path"], it["rule"], it["svma"], it["other"]["path"], it["other"]["svma"]) for it in report["across_files"]])
    prints = [(row["file"], row["fingerprint"]) for row in findings.to_pylist()]
    assert len(set(prints)) == len(prints), "fingerprints are unique in their file"
    counts = collections.Counter(
        (row["file"], row["function_section"], row["function_svma"])
        for row in findings.to_pylist() if row["function_svma"])
    stated = {(row["file"], row["section"], row["svma"]): row["findings"] for row in functions.to_pylist()}
    assert len(stated) == functions.num_rows, "functions are unique by file, section and address"
    assert counts == +collections.Counter(stated), "every function's findings are counted"

    # Artefacts: hashes and sizes of the files that they are.
    artefacts = {row["artefact"]: row for row in tables["artefacts"].to_pylist()}
    for row in artefacts.values():
        if os.path.isfile(row["path"]):
            content = open(row["path"], "rb").read()
            assert row["sha256"] == hashlib.sha256(content).hexdigest(), row["path"]
            assert row["bytes"] == len(content), row["path"]
    for row in whole.to_pylist():
        artefact = artefacts[row["artefact"]]
        assert row["path"].startswith(artefact["path"]), row["path"]
        if row["path"] == artefact["path"]:
            assert row["sha256"] == artefact["sha256"] and row["bytes"] == artefact["bytes"]
    print("artefacts", len(artefacts))


main()
