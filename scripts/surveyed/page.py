"""The tables that scripts/survey writes: how often each rule is right, functions by verdict, unknown ones by cause, and each file."""

import collections
import datetime
import platform

from surveyed.fetch import ROOT, run
from surveyed.rules import ELFX86EXTS, OTHERS, judge

VERDICTS = ["required", "under-guarded", "covered", "unknown", "presumed", "guarded", "unreached"]


def tally(rows, rule):
    """Rows by judgement of one rule."""
    return collections.Counter(judge(row.truth, row.answers.get(rule), row.digest if rule == "deburr" else None) for row in rows)


def totals(rows):
    """Functions above the first level by verdict, and the unknown ones by cause."""
    verdicts, causes = collections.Counter(), collections.Counter()
    for row in rows:
        if row.digest:
            verdicts.update(row.digest["verdicts"])
            causes.update(row.digest["causes"])
    return verdicts, causes


def figures(rows):
    """What is frozen of a run, and what a later run is compared with."""
    verdicts, _ = totals(rows)
    return {"files": len(rows), "level": dict(tally(rows, "deburr")), "verdicts": dict(verdicts)}


def revision():
    dirty = run(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"]).stdout.strip()
    return run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"]).stdout.strip() + (" and changes" if dirty else "")


def table(comments, head, rows):
    """A table of tab-separated values. Lines of `#` before its head say when and by which programs it was measured, and its sums."""
    return [*(f"# {comment}" for comment in comments), "\t".join(head), *("\t".join(str(cell) for cell in row) for row in rows)]


def page(rows, left_out, program, option, others, of=None):
    qemu = run(["qemu-x86_64", "--version"]).stdout.split("\n")[0]
    tools = [run([program, "--version"]).stdout.strip() + f" ({of or revision()})", qemu, platform.platform()]
    if others:
        tools[1:1] = [run([ELFX86EXTS, "--version"]).stdout.strip(), run(["objdump", "--version"]).stdout.split("\n")[0]]
    rules = [*(OTHERS if others else []), "deburr"]
    measured = f"Measured on {datetime.date.today()} by scripts/survey{option}: {', '.join(tools)}."
    comments = [measured, *sums(rows, rules), *functions(rows), settled(rows)]
    comments += [f"Left out, because the distribution has another version by now: {reason}." for reason in left_out]
    return table(comments, ["file", "package", "architecture", "needs", "rests on", *rules, "deburr's functions"], files(rows, rules))


def sums(rows, rules):
    for rule in rules:
        counted = tally(rows, rule)
        yield f"{rule}: level right {counted['right']}, too high {counted['high']}, too low {counted['low']}, silent {counted['silent']}."


def functions(rows):
    verdicts, causes = totals(rows)
    counted = ", ".join(f"{verdict} {verdicts[verdict]:,}" for verdict in VERDICTS if verdicts[verdict])
    yield f"{sum(verdicts.values()):,} functions need more than the first level: {counted}."
    if causes:
        yield "Unknown by cause: " + ", ".join(f"{cause} {count:,}" for cause, count in causes.most_common()) + "."


def settled(rows):
    count = sum(1 for row in rows if row.digest and judge(row.truth, row.answers["deburr"]) == "right" and not row.digest["verdicts"].get("unknown"))
    return f"Of deburr's right answers, {count} have no function left unknown."


WORDS = {"right": "right", "silent": "silent", "high": "too high", "low": "too low"}


def files(rows, rules):
    for row in rows:
        cells = []
        for rule in rules:
            answer = row.answers.get(rule)
            result = judge(row.truth, answer, row.digest if rule == "deburr" else None)
            cells.append(WORDS[result] + (f" ({answer})" if result in ("high", "low") else ""))
        found = row.digest["verdicts"] if row.digest else {}
        counts = ", ".join(f"{found[verdict]:,} {verdict}" for verdict in VERDICTS if found.get(verdict))
        yield [row.file, row.source, row.arch, row.truth, row.evidence, *cells, counts]
