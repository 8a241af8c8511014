"""The pages that scripts/survey writes: how often each rule is right, functions by verdict, unknown ones by cause, and each file."""

import collections
import datetime
import platform

from surveyed.fetch import ROOT, run
from surveyed.rules import ELFX86EXTS, OTHERS, judge
from surveyed.truth import CPUS

VERDICTS = ["required", "under-guarded", "covered", "unknown", "presumed", "guarded", "unreached"]


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


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


def page(rows, left_out, program, title, introduction, others, of=None):
    qemu = run(["qemu-x86_64", "--version"]).stdout.split("\n")[0]
    tools = [run([program, "--version"]).stdout.strip() + f" ({of or revision()})", qemu, platform.platform()]
    if others:
        tools[1:1] = [run([ELFX86EXTS, "--version"]).stdout.strip(), run(["objdump", "--version"]).stdout.split("\n")[0]]
    rules = [*(OTHERS if others else []), "deburr"]
    lines = [f"# {title}", "", f"Measured on {datetime.date.today()} by `scripts/survey`: {', '.join(tools)}.", "", *introduction, "",
             "What a file truly needs rests on one of three:", "",
             "- *run*: it was loaded and used under `qemu-x86_64 -cpu " + ", ".join(cpu for _, cpu in CPUS["x86_64"]) + "` in turn, or `qemu-aarch64 -cpu "
             + ", ".join(cpu for _, cpu in CPUS["aarch64"]) + "`. The first CPU is named on which it does not die with SIGILL.",
             "- *loaded*: the same with the loading alone. All static constructors run, the functions do not.",
             "- *stated*: with the reason.", "",
             "A run shows only that the used part runs. `cortex-a53` has CRC-32 and AES, so that code which needs only these runs on it. A right level does "
             "not mean that each function is judged rightly: features outside the levels (RTM, AES) do not move it.", ""]
    if others:
        lines += ["The rules:", "",
                  "- *ELF note*: the level in `GNU_PROPERTY_X86_ISA_1_NEEDED` as auditwheel reads it, silent without one.",
                  "- *AVX, no cpuid*: AVX instructions and no `cpuid` in the file mean v3, anything else less (counted right for v1 and v2 alike).",
                  "- *elfx86exts*: the level of the extensions that it lists.", "- *deburr*: `files[].level`.", "", "Only deburr reads AArch64.", ""]
    lines += ["deburr counts as silent where the level is too low but functions are left `unknown`, or where it took longer than ten minutes.", "",
              "| rule | level right | too high | too low | silent |", "|---|---:|---:|---:|---:|"]
    for rule in rules:
        counted = tally(rows, rule)
        lines.append(f"| {rule} | {counted['right']} | {counted['high']} | {counted['low']} | {counted['silent']} |")
    lines += ["", *functions(rows), "", *files(rows, rules)]
    if left_out:
        lines += ["", "Left out, because the distribution has another version by now:", "", *(f"- {reason}" for reason in left_out)]
    return lines


def functions(rows):
    verdicts, causes = totals(rows)
    whole = sum(verdicts.values())
    lines = [f"{whole:,} functions need more than the first level:", "", "| verdict | functions | share |", "|---|---:|---:|"]
    lines += [f"| `{verdict}` | {verdicts[verdict]:,} | {share(verdicts[verdict], whole)} |" for verdict in VERDICTS if verdicts[verdict]]
    lines += ["", "The unknown ones by cause (`because` in JSON), with the files that have most of them:", "",
              "| cause | functions | share of all | files |", "|---|---:|---:|---|"]
    for cause, count in causes.most_common():
        most = sorted((row for row in rows if row.digest and row.digest["causes"].get(cause)), key=lambda row: -row.digest["causes"][cause])
        named = ", ".join(f"{row.file.split('.')[0]} {row.arch} {row.digest['causes'][cause]}" for row in most[:4])
        lines.append(f"| {cause} | {count:,} | {share(count, whole)} | {named} |")
    return lines


WORDS = {"right": "right", "silent": "silent", "high": "too high", "low": "too low"}


def files(rows, rules):
    settled = sum(1 for row in rows if row.digest and judge(row.truth, row.answers["deburr"]) == "right" and not row.digest["verdicts"].get("unknown"))
    lines = [f"Of deburr's right answers, {settled} have no function left `unknown`.", "",
             "| file | from | needs | rests on | " + " | ".join(rules) + " | deburr's functions |", "|---|---|---|---|" + "---|" * (len(rules) + 1)]
    for row in rows:
        cells = []
        for rule in rules:
            answer = row.answers.get(rule)
            result = judge(row.truth, answer, row.digest if rule == "deburr" else None)
            cells.append(WORDS[result] + (f" ({answer})" if result in ("high", "low") else ""))
        found = row.digest["verdicts"] if row.digest else {}
        counts = ", ".join(f"{found[verdict]:,} {verdict}" for verdict in VERDICTS if found.get(verdict))
        lines.append(f"| {row.file} | {row.source}, {row.arch} | {row.truth} | {row.evidence} | " + " | ".join(cells) + f" | {counts} |")
    return lines
