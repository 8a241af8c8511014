"""`census page`: docs/results/census/results.json → docs/results/census.md, its charts and its tables. The same figures give the same bytes.

What was read by eye is in docs/results/census/readings.tsv: group, package, file, address, rule, whether it is right, and why.
"""

import collections
import csv
import os
import re

from censused import chart, groups, results
from censused.groups import GROUPS, LISTS

ARM = [group for group in GROUPS if group.isa == "aarch64"]
X86 = [group for group in GROUPS if group.isa == "x86_64"]
CLASSES = ["outlined", "mixed", "LL/SC only", "LSE", "none"]
RULES = "../../crates/deburr-core/pages"
# Rules with what a chart calls their findings, and whether only warnings and errors count.
FOUND = [
    ("llsc-loop", "LL/SC loops with no LSE path", True),
    ("outlined-atomic", "calls of outlined helpers", False),
    ("yield-in-spin-loop", "yield in spin loops", True),
    ("split-frame-reload", "Go frames of before 1.24", False),
    ("barrier-around-atomic", "barriers next to atomics", False),
    ("cas-for-rmw", "compare-and-swap loops", False),
    ("llsc-pair", "16-byte loops of pairs", False),
    ("software-crc", "CRC by a table", False),
    ("software-popcount", "population count by masks", False),
    ("claim-exceeded", "code above the claim", True),
]

# Rules about how a file was built, with what they find. All findings count.
BUILDS = [
    ("unoptimised-code", "code that no optimiser has seen"),
    ("assertions-left-in", "ten assertions or more, or overflow checks"),
    ("instrumentation-left-in", "tracing, sanitizers, coverage"),
    ("interposable-call", "calls of own exported functions through the PLT or GOT"),
    ("tls-by-call", "calls of `__tls_get_addr`"),
    ("refused-by-loader", "files that a loader refuses"),
    ("page-size", "files that larger pages stop"),
    ("fast-math-at-load", "libraries that flush subnormal numbers"),
    ("debug-information-left-in", "files of which a tenth or more is debug information"),
]


def write(folder):
    figures = results.load()
    os.makedirs(os.path.join(folder, "census"), exist_ok=True)
    files = {**charts(figures), **tables(figures), "../census.md": "\n".join(page(figures)) + "\n"}
    for name, content in files.items():
        with open(os.path.join(folder, "census", name), "w", encoding="utf-8") as out:
            out.write(content)


def tables(figures):
    """What the page has no room for: a row for each package, as tab-separated values."""
    census = Census(figures["census"])
    worst = [[row["group"], "unoptimised-code", row["package"], f"{row['percent_of_code']:.1f} % of code"] for row in census.figures["unoptimised"]]
    worst += [[row["group"], row["rule"], row["package"], f"{row['counted']} calls"] for row in census.figures["top-builds"] if row["counted"]]
    worst += [[row["group"], rule, row["package"], f"{row['findings']} findings"] for rule, _, is_strict in FOUND
              for row in census.figures["top-strict" if is_strict else "top-any"] if row["rule"] == rule]
    return {
        "worst.tsv": separated(["group", "rule", "package", "number"], worst),
        "refused.tsv": separated(["group", "rule", "package", "severity", "files", "example"], columns(census.figures["refused"], "group rule package severity files example")),
        "exceeded.tsv": separated(["group", "package", "files", "findings", "example"], columns(census.figures["exceeded"], "group package files findings example")),
        "not-checked.tsv": separated(["group", "reason", "packages", "files"], columns(census.figures["not-checked"], "group error packages files")),
        "gains.tsv": separated(list(figures["levels"]["gains"][0]), [list(row.values()) for row in figures["levels"]["gains"]]),
    }


def columns(rows, names):
    return [["" if row[name] is None else row[name] for name in names.split()] for row in rows]


def separated(head, rows):
    return "".join("\t".join(str(cell).replace("\t", " ") for cell in row) + "\n" for row in [head, *rows])


def share(part, whole):
    return 100 * part / whole if whole else 0


def percent(part, whole):
    return f"{share(part, whole):.1f} %"


def number(value):
    return f"{value or 0:,}"


def table(head, rows):
    """A table of Markdown; what follows the first column is numbers where its heading ends with `:`."""
    lines = ["| " + " | ".join(name.rstrip(":") for name in head) + " |", "|" + "|".join("---:" if name.endswith(":") else "---" for name in head) + "|"]
    return [*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)]


class Census:
    """The figures of the packages, by group."""

    def __init__(self, figures):
        self.figures = figures
        self.packages = {row["group"]: row for row in figures["packages"]}

    def whole(self, group):
        return self.packages[group.name]["with_code"]

    def row(self, query, group, **keys):
        return next((row for row in self.figures[query] if row["group"] == group.name and all(row[key] == value for key, value in keys.items())), None)

    def rows(self, query, group):
        return [row for row in self.figures[query] if row["group"] == group.name]

    def built(self, group, rule):
        """Packages, files and calls with findings of a rule about builds, without packages for development and tests; and packages of these."""
        row = self.row("builds", group, rule=rule, is_for_development=False) or {"packages": 0, "files": 0, "counted": 0}
        apart = self.row("builds", group, rule=rule, is_for_development=True) or {"packages": 0}
        return row["packages"], row["files"], row["counted"], apart["packages"]

    def found(self, group, rule, is_strict):
        """Packages with findings of a rule, and findings; of a strict one only warnings and errors, of which a rule has one kind."""
        severity = {"claim-exceeded": "error"}.get(rule, "warning")
        row = self.row("rules", group, rule=rule, severity=severity) if is_strict else self.row("rules-any", group, rule=rule)
        return (row["packages"], row["findings"]) if row else (0, 0)


def charts(figures):
    census, names = Census(figures["census"]), [group.title for group in ARM]
    classes = [(group.title, [(census.row("atomics-classes", group, **{"class": name}) or {"packages": 0})["packages"] for name in CLASSES]) for group in ARM]
    found = [(title, [share(census.found(group, rule, is_strict)[0], census.whole(group)) for group in ARM])
             for rule, title, is_strict in FOUND]
    above = [(group.title, [share(packages_above(census, group), census.whole(group)), share(sum(row["packages"] for row in census.rows("guarded", group)), census.whole(group))])
             for group in GROUPS]
    gains = [(row["package"], [row["percent_of_code"], row["percent_wide"]]) for row in figures["levels"]["gains"]]
    return {
        "atomics.svg": chart.stacked("AArch64 packages by how their atomics were compiled", CLASSES, classes),
        "found.svg": chart.grouped("AArch64 packages with findings of a rule", names, found),
        "levels.svg": chart.grouped("Packages with code above the first level", ["needed without a check", "after a check of the CPU"], above),
        "gains.svg": chart.grouped("Share of code in functions that use more at x86-64-v3", ["256-bit vectors or bit manipulation", "of that, 256-bit vectors"], gains),
    }


def packages_above(census, group):
    first = {"aarch64": "armv8.0-a", "x86_64": "x86-64-v1"}[group.isa]
    return sum(row["packages"] for row in census.rows("levels", group) if row["level"] != first)


def page(figures):
    census = Census(figures["census"])
    checked, [run] = sum(row["checked"] for row in census.packages.values()), census.figures["runs"]
    days = run["first"] if run["first"] == run["last"] else f"{run['first']} to {run['last']}"
    lines = [f"# What {checked:,} packages hold", "",
             f"`scripts/census page` writes this page, its charts and its tables from [results.json](census/results.json): deburr {run['tool_version']} checked {checked:,} packages ({days}). "
             "`deburr scan --baseline claim` wrote tables, and the [SQL](../../scripts/censused/sql) of the census counted them. "
             "A share is one of the packages that hold code of the architecture. It says what the code is, and nothing about its speed.", ""]
    lines += [*summary(census, figures["levels"]["gains"]), ""]
    for part in (sample, builds, atomics, rules, levels, compilers, lambda census: gains(figures["levels"]), lambda census: read_by_eye()):
        lines += [*part(census), ""]
    return lines[:-1]


def summary(census, gains):
    """What a reader should know who reads no further."""
    def shares(count, chosen):
        each = [f"{percent(count(group), census.whole(group))} of {group.title.replace(', ', ' for ')}" for group in chosen]
        return ", ".join(each[:-1]) + " and " + each[-1]

    def of(rule, is_strict):
        return lambda group: census.found(group, rule, is_strict)[0]

    go = sum(row["packages"] for row in census.rows("compilers", ARM[0]) if row["compiler"].startswith("Go "))
    calls = sum(census.found(group, "outlined-atomic", False)[1] for group in ARM)
    [bundled] = census.figures["bundled"]
    shares_of_code = sorted(row["percent_of_code"] for row in gains)
    exceeded = [row["right"] for row in readings() if row["rule"] == "claim-exceeded"]

    def built(rule):
        return lambda group: census.built(group, rule)[0]

    def calls_of(rule):
        return sum(census.built(group, rule)[2] for group in GROUPS)

    refused = sum(census.built(group, "refused-by-loader")[1] for group in GROUPS)
    return [f"- Code that no optimiser has seen, a tenth of a file or 32 KiB: in {shares(built('unoptimised-code'), GROUPS)}.",
            f"- Assertions: ten or more in a file, in {shares(built('assertions-left-in'), GROUPS)}, {calls_of('assertions-left-in'):,} calls.",
            f"- Calls of a library's own exported functions that another library could replace: in {shares(built('interposable-call'), GROUPS)}, "
            f"{calls_of('interposable-call'):,} calls.",
            f"- Files that the loader of a system refuses, or may refuse: {refused}, in {shares(built('refused-by-loader'), GROUPS)}.",
            f"- Calls of outlined atomics are in {shares(of('outlined-atomic', False), ARM)}, {calls:,} calls.",
            f"- Loops of load-exclusive and store-exclusive with no LSE path are in {shares(of('llsc-loop', True), ARM)}. Of {bundled['packages']} wheels, "
            f"{bundled['bundled']} have them only in libraries that were put into the wheel.",
            f"- `yield` in spin loops, which most cores ignore: {shares(of('yield-in-spin-loop', True), ARM)}.",
            f"- Frames of Go before 1.24 are in {of('split-frame-reload', False)(ARM[0])} packages of Debian, of {go} with Go code, and in "
            f"{of('split-frame-reload', False)(ARM[1])} wheels.",
            f"- Code after a check of the CPU: {shares(lambda group: sum(row['packages'] for row in census.rows('guarded', group)), GROUPS)}. On AArch64 most of it is LSE in helpers.",
            f"- Code above what the package promises, with no check, was found in {shares(of('claim-exceeded', True), GROUPS)}. {exceeded.count('yes')} of {len(exceeded)} "
            f"places that were read are right; places where the analysis has since found the check are not among them.",
            f"- Of {len(gains)} projects that were built for x86-64-v3 as well, half have at least {shares_of_code[len(shares_of_code) // 2]:.0f} % of their code in functions that then use "
            "256-bit vectors or bit manipulation."]


def sample(census):
    rows = []
    for group in GROUPS:
        row = census.packages[group.name]
        rows.append([f"[{group.title}](census/{group.name}.tsv)", row["checked"], row["with_code"], number(row["files"]), number(row["functions"]),
                     f"{row['code_bytes'] / 1e6:,.0f} MB", f"{row['undecoded_bytes']:,}"])
    lines = ["## The packages", "", *table(["list", "packages:", "with code:", "ELF files:", "functions:", "code:", "bytes not decoded:"], rows), ""]
    lines += ["The lists have name, version and SHA-256. They were made before deburr saw a package of them, by what is popular:", "",
              "- Debian: the same packages for both architectures. *depended on*: the 170 packages of the architecture, not named below, on which "
              "most packages of other sources depend, one of each source. *named*: servers, databases, languages, codecs, compression, cryptography, concurrency, numerics and tools, by hand. "
              "Packages over 60 MB are left out: Chromium, Firefox, Thunderbird, GHC, Racket, Go's own toolchain.",
              "- PyPI: projects with native code among the 5,000 most downloaded, picked by hand from the top, that have wheels of CPython 3.11 or its stable "
              "ABI for both architectures. PyTorch, TensorFlow, Triton, XGBoost, Ray and bitsandbytes are left out for their size.", "",
              "Packages without code are kept in the lists: they hold scripts, data, or programs of another architecture alone."]
    missing = collections.Counter()
    for row in census.figures["not-checked"]:
        missing[re.sub(r"(, [\d,]+ bytes.*)?: not .*", "", row["error"])] += row["files"]
    counted = ", ".join(f"{reason} {files:,}" for reason, files in missing.most_common())
    return lines + (["", f"Files that were not checked ([not-checked.tsv](census/not-checked.tsv)): {counted}."] if missing else [])


def builds(census):
    lines = ["## How they were built", "", "Packages with findings of the rules about a build, and what these count: calls, or files where a finding is about a file. "
             "Packages for development, debugging and tests are counted apart, after `+`. [docs/explanation/provenance.md](../explanation/provenance.md) says how the rules were measured. "
             "[worst.tsv](census/worst.tsv) has the packages with most of them, and with most findings of the other rules. "
             "[refused.tsv](census/refused.tsv) has the files that a loader refuses or may refuse, or that larger pages stop.", ""]
    rows = []
    for rule, title in BUILDS:
        cells = []
        for group in GROUPS:
            packages, files, calls, apart = census.built(group, rule)
            what = f"{calls:,} calls" if calls else f"{files} files"
            extra = f" + {apart}" if apart else ""
            cells.append(f"{packages} ({percent(packages, census.whole(group))}){extra}, {what}" if packages + apart else "-")
        rows.append([f"[{rule}]({RULES}/{rule}.md)", title, *cells])
    return lines + table(["rule", "finds", *(group.title + ":" for group in GROUPS)], rows)


def atomics(census):
    lines = ["## Atomics on AArch64", "", "![AArch64 packages by how their atomics were compiled](census/atomics.svg)", "",
             "*outlined*: calls of helpers that test for LSE each time, and no loop. *mixed*: loops next to one of the others. *LL/SC only*: loops, and neither LSE "
             "nor helpers. *LSE*: LSE instructions alone. *none*: none of these in the code.", ""]
    words = {"inline_llsc": "inline loops of load-exclusive and store-exclusive", "not_a_missed_flag": "of these, loops that no flag removes",
             "helper_bodies": "bodies of outlined helpers", "outlined_calls": "calls of outlined helpers", "inline_lse": "inline LSE instructions",
             "run_time_choice": "loops next to LSE, chosen at run time"}
    rows = []
    for what, title in words.items():
        cells = [title]
        for group in ARM:
            row = census.row("atomics", group, what=what)
            cells += [f"{row['packages']} ({percent(row['packages'], census.whole(group))})", number(row["places"])]
        rows.append(cells)
    head = ["in the code", *(f"{group.title}{word}:" for group in ARM for word in (", packages", ", places"))]
    return lines + table(head, rows)


def rules(census):
    lines = ["## Findings", "", "![AArch64 packages with findings of a rule](census/found.svg)", "", "Packages with findings, and findings. Of `llsc-loop` and "
             "`yield-in-spin-loop` only warnings count, and of `claim-exceeded` errors. [Findings read by eye](#findings-read-by-eye) says how often a rule was right.", ""]
    rows = []
    for rule, title, is_strict in FOUND:
        cells = []
        for group in GROUPS:
            packages, findings = census.found(group, rule, is_strict)
            cells.append(f"{packages} ({percent(packages, census.whole(group))}), {findings:,}" if packages else "-")
        rows.append([f"[{rule}]({RULES}/{rule}.md)", title, *cells])
    return lines + table(["rule", "finds", *(group.title + ":" for group in GROUPS)], rows)


def levels(census):
    lines = ["## Levels", "", "![Packages with code above the first level](census/levels.svg)", "",
             "Packages by the level that their most demanding file needs, reached without a check of the CPU, and files by level. A file that offers functions above "
             "the first level to its callers, who are to check, needs them here, and so does one whose check is not understood: these figures are upper limits.", ""]
    rows = [[group.title, f"`{row['level']}`", f"{row['packages']} ({percent(row['packages'], census.whole(group))})", number(row["files"])]
            for group in GROUPS for row in census.rows("levels", group)]
    lines += [*table(["list", "needs", "packages:", "files:"], rows), "", "Packages with code after checks of the CPU, by the highest level among it:", ""]
    rows = [[group.title, f"`{row['level_guarded']}`", f"{row['packages']} ({percent(row['packages'], census.whole(group))})", number(row["files"])]
            for group in GROUPS for row in census.rows("guarded", group)]
    lines += [*table(["list", "after checks", "packages:", "files:"], rows), "", "Features that functions above the first level use, by packages: with a check before "
              "them, and reached without one.", ""]
    rows = []
    for group in GROUPS:
        most = ", ".join(f"{row['feature']} {row['packages']} ({row['guarded']}, {row['required']})" for row in census.rows("features", group)[:10])
        unknown = census.row("unknown", group) or {"packages": 0, "functions": 0}
        rows.append([group.title, most, f"{unknown['packages']}, {unknown['functions']:,} functions"])
    lines += [*table(["list", "feature: packages (with a check, without)", "packages with unknown functions:"], rows), ""]
    return lines + ["[exceeded.tsv](census/exceeded.tsv) has the packages that need more than they promise (`claim-exceeded`, errors)."]


def compilers(census):
    lines = ["## Compilers", "", "Packages with a file that names the compiler, whole or in part; versions of one package count once each. Debian strips the section of most "
             "programs and libraries, so that only Go, static archives and a few more say it there.", ""]
    rows = [[group.title, ", ".join(f"{row['compiler']}: {row['packages']}" for row in census.rows("compilers", group)[:14])] for group in GROUPS]
    return lines + table(["list", "compiler: packages"], rows)


def gains(figures):
    rows = figures["gains"]
    chosen = sum(1 for row in rows if row["chosen_at_run_time"])
    lines = ["## Who would gain", "", f"{len(rows)} projects in C and C++, from Debian's sources, built twice by `{figures['compiler']}` with `{figures['flags']}`, LEVEL being "
             "`x86-64` and `x86-64-v3`, compared by `deburr diff`. The chart counts functions whose vectors are of 256 bits in the second build and narrower or absent in "
             "the first, and functions with bit manipulation (BMI1, BMI2, LZCNT, MOVBE) that had none. What changes is the code; whether a program runs faster is a "
             "question for `deburr compare`.", "", "![Share of code in functions that use more at x86-64-v3](census/gains.svg)", "",
             f"*chosen*: functions of the first build that it provably enters only after a check of the CPU, in {chosen} projects. They are no gain. What they replace is counted "
             "if it changes, so that the share is an upper limit there. A function counts as a whole, with one such instruction as with a hundred. "
             "[gains.tsv](census/gains.tsv) has the figures of each project."]
    return lines


def readings():
    with open(os.path.join(LISTS, "readings.tsv"), encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def read_by_eye():
    read, rules = readings(), {}
    for row in read:
        rules.setdefault(row["rule"], {"yes": 0, "no": 0, "open": 0, "missed": 0})[row["right"]] += 1
    lines = ["## Findings read by eye", "", f"{len(read)} places were read in `objdump -d` ([readings.tsv](census/readings.tsv)). They are not a random sample: some of each rule were taken, and of `claim-exceeded` one of each of "
             "many packages, because there an error weighs most. *Right*: the code is there, and does what the finding says. Where the place is *all*, places "
             "in a file were counted a second time, by `objdump`; *missed* is what a rule did not find.", ""]
    return lines + table(["rule", "read:", "right:", "wrong:", "open:", "missed:"], [[f"`{rule}`", sum(counts.values()), *counts.values()] for rule, counts in sorted(rules.items())])
