"""`census levels`: builds each project at two levels, compares both builds, and counts what the higher one adds.

Each build is a package of its own (build.py). The tables of all builds are in one directory, as `deburr query who-gains` wants them, and
`deburr diff` says of each function what became of it.
"""

import json
import os
import sys

from censused import build, check, groups, results
from censused.groups import ROOT, Fault, run
from censused.projects import PROJECTS

LEVELS = {"v1": "x86-64", "v3": "x86-64-v3"}


def levels(work, deburr):
    work = os.path.join(work, "levels")
    os.makedirs(work, exist_ok=True)
    built, faults = [], []
    for project in PROJECTS:
        try:
            built.append(pair(project, work))
        except Fault as fault:
            faults.append(str(fault))
            print(f"census: {fault}", file=sys.stderr, flush=True)
    tables = os.path.join(work, "tables")
    known = check.checked(tables)
    fresh = [path for paths in built for path in paths if groups.sha256(os.path.join(work, path)) not in known]
    if fresh:
        done = run([deburr, "check", "--format", f"parquet={tables}", *fresh], cwd=work)
        if done.returncode not in (0, 1):
            raise Fault(f"status {done.returncode}: {done.stderr.strip()}")
    differences(built, work, deburr, os.path.join(tables, "diff.json"))
    rows = results.answers(tables, "levels")
    faults += [f"{row['package']}: the build does not take the flags" for row in rows["gains"] if row["level"] == "x86-64-v1"]
    compiler = run(["gcc", "--version"]).stdout.split("\n")[0]
    results.renew("levels", {"tool": check.version(deburr), "compiler": compiler, "flags": build.flags("LEVEL"), **rows})
    if faults:
        raise Fault(f"{len(faults)} of {len(PROJECTS)} projects are left out:\n  " + "\n  ".join(faults))


def pair(project, work):
    """The packages of both builds, as paths in `work`; what is there stays."""
    paths = [os.path.join(level, project.source) for level in LEVELS]
    if not all(os.path.exists(os.path.join(work, path + ".deb")) for path in paths):
        source, version = fetched(project, work)
        for path, level in zip(paths, LEVELS.values()):
            folder = os.path.join(work, path)
            products = build.build(project, source, folder, level)
            build.package(project, products, version, folder)
        print(f"census: {project.source} {version}: {len(products)} files", file=sys.stderr, flush=True)
    return [path + ".deb" for path in paths]


def fetched(project, work):
    done = run([os.path.join(ROOT, "scripts/fetch-package"), work, "source", project.source])
    if done.returncode != 0:
        raise Fault(f"{project.source}: {done.stderr.strip()}")
    folder = done.stdout.split("\n")[-2]
    stamp = next(entry for entry in os.listdir(folder) if entry.startswith(".from-"))
    return folder, stamp[len(".from-"):]


def differences(built, work, deburr, path):
    """What `deburr diff` says of the functions of all pairs, a row for each change of one."""
    rows = []
    for old, new in built:
        done = run([deburr, "diff", "--format", "json", old, new], cwd=work)
        if done.returncode not in (0, 1):
            raise Fault(f"deburr diff {old} {new}: {done.stderr.strip()}")
        for file in json.loads(done.stdout)["files"]:
            for function in file["functions"]:
                rows += [{"path": file["new"], "svma": function["new_svma"], **change} for change in function["changes"]]
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
