"""The frozen figures of the fresh sample, file by file, and whether a run is worse.

Only files that both have are compared, so that a package which the distribution has replaced moves nothing; but if too many are
gone, the sample has to be renewed, and that is a fault as well.
"""

import json
import os

from surveyed.fetch import ROOT
from surveyed.rules import judge

FILE = os.path.join(ROOT, "scripts", "surveyed", "frozen.json")
# One file in a hundred may go wrong, and one function in a hundred become unknown, before it counts as worse.
MARGIN = 0.01
# Of the files, so many have to be there still.
LEAST = 0.75


def figures(row):
    return {"truth": row.truth, "level": row.digest and row.digest["level"], "verdicts": row.digest["verdicts"] if row.digest else {}}


def write(rows):
    frozen = {row.key: figures(row) for row in rows}
    with open(FILE, "w", encoding="utf-8") as out:
        out.write("{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in frozen.items()) + "\n}\n")


def summed(entries):
    """Files whose level is right, functions, and unknown functions."""
    right = sum(1 for entry in entries if judge(entry["truth"], entry["level"]) == "right")
    functions = sum(sum(entry["verdicts"].values()) for entry in entries)
    return right, functions, sum(entry["verdicts"].get("unknown", 0) for entry in entries)


def worse(rows, left_out):
    """What is worse than the frozen figures, in sentences; empty if nothing is."""
    with open(FILE, encoding="utf-8") as file:
        frozen = json.load(file)
    now = {row.key: figures(row) for row in rows if row.key in frozen}
    if len(now) < LEAST * len(frozen):
        return [f"only {len(now)} of the {len(frozen)} frozen files can be had: renew the sample ({'; '.join(left_out)})"]
    was = summed([frozen[key] for key in now])
    has = summed(list(now.values()))
    faults = []
    if has[0] < was[0] - MARGIN * len(now):
        wrong = [f"{key} {now[key]['level']}, needs {now[key]['truth']}" for key in now
                 if judge(now[key]["truth"], now[key]["level"]) != "right"]
        faults.append(f"the level is right in {has[0]} of {len(now)} files, and was in {was[0]}: {'; '.join(wrong)}")
    if has[2] / max(has[1], 1) > was[2] / max(was[1], 1) + MARGIN:
        more = sorted(now, key=lambda key: frozen[key]["verdicts"].get("unknown", 0) - now[key]["verdicts"].get("unknown", 0))[:3]
        faults.append(f"{has[2]} of {has[1]} functions are unknown, and were {was[2]} of {was[1]}; most of the new ones in {', '.join(more)}")
    return faults
