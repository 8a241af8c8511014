"""`census sample`: some packages of each list, drawn with a seed, checked anew, and compared with what the census found in them.

docs/results/census/found.tsv has the findings of each package by rule and severity. A package that the distribution no longer has is left out and
named.
"""

import csv
import os
import random
import shutil
import sys

from censused import fetch, groups, results, scan
from censused.groups import GROUPS, LISTS, Fault

FOUND = os.path.join(LISTS, "found.tsv")
COLUMNS = ["group", "package", "rule", "severity", "findings"]


def write(rows):
    with open(FOUND + ".part", "w", encoding="utf-8", newline="") as out:
        table = csv.writer(out, delimiter="\t", quoting=csv.QUOTE_NONE, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows([row[column] for column in COLUMNS] for row in rows)
    os.replace(FOUND + ".part", FOUND)


def sample(work, deburr, seed, count):
    """Whether all that was drawn is as the census found it."""
    work = os.path.join(work, f"sample-{seed}")
    shutil.rmtree(os.path.join(work, "tables"), ignore_errors=True)
    there = set()
    for group in GROUPS:
        drawn = random.Random(f"{seed}/{group.name}").sample(groups.read(group.list_path), count)
        os.makedirs(group.folder(work), exist_ok=True)
        missing = [package for package in drawn if not fetch.has(group, work, package, False)]
        faults = fetch.CLIENTS[group.kind](group, work, missing, False) if missing else []
        faults += fetch.set_aside(group, work, drawn)
        for fault in faults:
            print(f"census: left out: {fault}", file=sys.stderr)
        there |= {(group.name, package.name) for package in drawn if fetch.has(group, work, package, False)}
    if 2 * len(there) < count * len(GROUPS):
        raise Fault(f"only {len(there)} of {count * len(GROUPS)} packages could be had")
    tables = os.path.join(work, "tables")
    scan.packages(deburr, tables, os.path.join(work, "packages"), None)
    found = {key(row): row["findings"] for row in results.answer(tables, "census", "found")}
    with open(FOUND, encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        expected = {key(row): int(row["findings"]) for row in rows if (row["group"], row["package"]) in there}
    differing = sorted(one for one in found.keys() | expected.keys() if found.get(one) != expected.get(one))
    for one in differing:
        print(f"{' '.join(one)}: {found.get(one, 0)} findings, and {expected.get(one, 0)} in the census")
    print(f"{len(there)} packages with {len(expected)} kinds of findings: {len(differing)} differ")
    return not differing


def key(row):
    return tuple(row[column] for column in COLUMNS[:-1])
