"""`census check`: packages → tables by `deburr scan`, and tables → docs/results/census/results.json by SQL.

What has not changed since the last time is not checked again; the queries take the latest run of each package.
"""

import os
import shutil

from censused import groups, results, sample, scan
from censused.groups import Fault, run


def check(work, deburr, again):
    tables, cache = os.path.join(work, "tables"), os.path.join(work, "cache")
    if again:
        shutil.rmtree(cache, ignore_errors=True)
    scan.packages(deburr, tables, os.path.join(work, "packages"), cache)
    known = checked(tables)
    lacking = [f"{group.name} {package.name}" for group in groups.GROUPS for package in groups.read(group.list_path) if package.sha256 not in known]
    if lacking:
        raise Fault(f"{len(lacking)} listed packages are not checked, and nothing is counted: {', '.join(lacking[:10])}…")
    figures = results.census(tables)
    sample.write(figures.pop("found"))
    results.renew("census", figures)


def checked(tables):
    if not os.path.isdir(os.path.join(tables, "artefacts")):
        return set()
    return {row["sha256"] for row in results.rows(tables, "SELECT sha256 FROM read_parquet('artefacts/*.parquet')")}


def version(deburr):
    done = run([deburr, "--version"])
    if done.returncode != 0:
        raise Fault(f"{deburr}: {done.stderr.strip()}")
    return done.stdout.strip()
