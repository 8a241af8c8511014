"""`census check`: packages → tables by `deburr check`, and tables → docs/census/results.json by SQL.

Packages are checked in parts, each a shard of the tables, so that an interrupted run goes on. A package counts as checked where the
tables have its bytes.
"""

import datetime
import glob
import os
import sys

from censused import groups, results
from censused.groups import Fault, run

PART = 40


def check(chosen, work, deburr, again):
    tables = os.path.join(work, "tables")
    for group in chosen:
        listed = {package.sha256 for package in groups.read(group.list_path)}
        there = {groups.sha256(path): path for path in glob.glob(os.path.join(glob.escape(group.folder(work)), "*.*"))}
        known = set() if again else checked(tables)
        paths = sorted(os.path.relpath(path, os.path.join(work, "packages")) for sha256, path in there.items() if sha256 in listed - known)
        print(f"census: {group.name}: {len(paths)} packages to check", file=sys.stderr, flush=True)
        for start in range(0, len(paths), PART):
            part(deburr, work, tables, paths[start:start + PART])
            print(f"census: {group.name}: {min(start + PART, len(paths))} of {len(paths)}, {datetime.datetime.now():%H:%M:%S}", file=sys.stderr, flush=True)
    known = checked(tables)
    lacking = [f"{group.name} {package.name}" for group in groups.GROUPS for package in groups.read(group.list_path) if package.sha256 not in known]
    if lacking:
        raise Fault(f"{len(lacking)} listed packages are not checked, and nothing is counted: {', '.join(lacking[:10])}…")
    results.renew("census", results.census(tables))


def checked(tables):
    if not os.path.isdir(os.path.join(tables, "artefacts")):
        return set()
    return {row["sha256"] for row in results.rows(tables, "SELECT sha256 FROM read_parquet('artefacts/*.parquet')")}


def part(deburr, work, tables, paths):
    """Checks some packages. Findings, and packages that claim nothing, are no failure; a shard that is not written is."""
    command = [deburr, "check", "--baseline", "claim", "--format", f"parquet={tables}", *paths]
    done = run(["nice", "-n", "10", *command], cwd=os.path.join(work, "packages"))
    with open(os.path.join(work, "check.log"), "a", encoding="utf-8") as log:
        log.write(done.stderr)
    missing = {groups.sha256(os.path.join(work, "packages", path)) for path in paths} - checked(tables)
    if done.returncode not in (0, 1, 2) or missing:
        raise Fault(f"{paths[0]} and {len(paths) - 1} more: status {done.returncode}, {len(missing)} have no rows: {done.stderr.strip()[-2000:]}")


def version(deburr):
    done = run([deburr, "--version"])
    if done.returncode != 0:
        raise Fault(f"{deburr}: {done.stderr.strip()}")
    return done.stdout.strip()
