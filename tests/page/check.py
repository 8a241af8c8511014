"""Looks at a page of `deburr check` in a browser: python check.py PAGE REPORT PICTURES

PAGE is what `--format html` made, REPORT what `--format json` made in the same run. Fails with what is wrong: a message on the
console, something that axe objects to, a number that is not the report's, a name that became markup. Leaves pictures of the
page: light, dark, and as narrow as a telephone.
"""

import json
import re
import sys
from pathlib import Path
from urllib.parse import quote

from browser import PATIENCE, Browser, keyboard, launched, looks, place, shown, treemap
from playwright.sync_api import sync_playwright

PAGE, REPORT, PICTURES = (Path(argument).resolve() for argument in sys.argv[1:4])
REPORTS = json.loads(REPORT.read_text())
FILES = REPORTS["files"]
# Those that do not count are a sentence.
FINDINGS = [(file, finding) for file in FILES for finding in file["findings"] if finding.get("counted", True)]
# What a profile brings is looked at in all its parts: a program with one is made to have them.
PROFILED = any("profile" in file for file in FILES)
FUNCTIONS = [(file, function) for file in FILES for function in file["isa_functions"]]


def link(kind, file, item):
    last = f":{item['rule']}" if kind == "finding" else ""
    return "#open=" + quote(f"{kind}:{shown(file['path'])}:{shown(place(item))}{last}", safe="")


def sums(browser):
    """The numbers of the first screen, and of the lists, are those of the report."""
    statistics = REPORTS["statistics"]
    for severity, count in statistics["findings_by_severity"].items():
        browser.shows(f"data.count.{severity}", count, severity)
    if FINDINGS:
        browser.shows("#finding-count data", len(FINDINGS))
        rows = browser.tab.locator("#finding-table table")
        browser.until(lambda: int(rows.get_attribute("aria-rowcount")) == len(FINDINGS) + 1, "rows of findings")
    if FUNCTIONS:
        browser.shows("#function-count data", len(FUNCTIONS))
    for reach in {function["reach"] for _, function in FUNCTIONS}:
        of_reach = [function for _, function in FUNCTIONS if function["reach"] == reach]
        browser.shows(f"#share data.verdict.{reach}", len(of_reach), reach)
    if len(FILES) > 1:
        for row in browser.tab.locator(".levels tbody tr").all():
            level = row.locator("th").inner_text()
            assert float(row.locator("data").get_attribute("value")) == sum(file["level"] == level for file in FILES), level
    elif FILES and FILES[0]["coverage"]["executable_bytes"]:
        assert browser.tab.locator("#level").inner_text().startswith(FILES[0]["level"])


def filters(browser):
    """Each filter leaves what the report has of it, and the address says so."""
    tab = browser.tab
    for key in ("rule", "severity"):
        for value in sorted({finding[key] for _, finding in FINDINGS}):
            browser.open(f"#{key}={value}")
            wanted = sum(finding[key] == value for _, finding in FINDINGS)
            browser.shows("#finding-count data", wanted, (key, value))
            select = tab.locator("#finding-filters select").nth(0 if key == "rule" else 1)
            browser.until(lambda: select.input_value() == value, (key, value))
    browser.open()
    tab.locator("#search").fill("no such function anywhere")
    browser.shows("#finding-count data", 0)
    browser.until(lambda: "no+such" in tab.evaluate("location.href"), "the address has the search")
    tab.locator("#finding-filters .clear").click()
    browser.shows("#finding-count data", len(FINDINGS))


def details(browser):
    """A deep link opens its finding: message, place, and the code around it."""
    tab = browser.tab
    step = max(1, len(FINDINGS) // 12)
    for file, finding in FINDINGS[::step]:
        browser.open(link("finding", file, finding))
        detail = tab.locator("#detail")
        message = shown(finding["message"])
        browser.until(lambda: detail.locator(".message").inner_text() == message, message)
        browser.says(detail.locator("dl").first, shown(place(finding)))
        pointed = detail.locator("#pointed-at .address")
        browser.has(pointed, 1, f"{file['path']}: code at {place(finding)}")
        browser.until(lambda: pointed.inner_text() == finding["svma"][2:], finding["svma"])
        if finding.get("source"):
            browser.says(detail.locator("dl").first, f":{finding['source']['line']}")
    for file, function in FUNCTIONS[:: max(1, len(FUNCTIONS) // 6)]:
        browser.open(link("function", file, function))
        browser.has(tab.locator("#detail h2 .mark-of"), 1, function)
        names = [step["function"] for step in function["path"] if step["function"]]
        proof = tab.locator("#detail .proof")
        browser.until(lambda: not names or all(shown(name) in proof.inner_text() for name in names), names)
        for feature, count in function["features"].items():
            uses = re.compile(rf"\b{re.escape(feature)} {count:,}\b")
            browser.until(lambda: uses.search(tab.locator("#detail dl").first.inner_text()), feature)


def callers(browser):
    """The calls that a helper's samples were given back to are a table of those in the report, with links to what is there."""
    tab = browser.tab
    called = [(file, finding) for file, finding in FINDINGS if finding.get("callers")]
    assert called or not PROFILED, "no finding has callers"
    for file, finding in called:
        browser.open(link("finding", file, finding))
        rows = tab.locator("#detail .callers tbody tr")
        browser.has(rows, len(finding["callers"]), "callers")
        for row, caller in zip(rows.all(), finding["callers"]):
            assert shown(caller["function"] or "no name") in row.locator("th").inner_text()
            assert row.locator("code").inner_text() == caller["svma"]
            assert abs(float(row.locator("data").get_attribute("value")) - caller["weight"]["share"]) < 1e-6
        browser.check("callers")
        tab.screenshot(path=PICTURES / "callers.png")
        # Hot callers are on the page themselves, and so are calls that are findings.
        first = rows.first.locator("a")
        hot = [function["function"] for function in file["profile"]["functions"]]
        assert first.count() or finding["callers"][0]["function"] not in hot
        if first.count():
            first.click()
            browser.says(tab.locator("#detail"), shown(finding["callers"][0]["function"]))


def hot(browser):
    """Each of the heaviest functions has a rectangle, can be found, and opens with its weight and its code, or a word on that."""
    tab = browser.tab
    heaviest = [(file, function) for file in FILES for function in file.get("profile", {}).get("functions", [])[:10]]
    assert heaviest or not PROFILED, "no function is hot"
    for file, function in heaviest:
        browser.open(link("function", file, function))
        browser.has(tab.locator("#detail[open]"), 1, function)
        weight = tab.locator("#detail dl .weight data").first.get_attribute("value")
        assert abs(float(weight) - function["share"]) < 1e-6, function
        bars, detail = tab.locator("#detail .code .samples .bar"), tab.locator("#detail")
        browser.until(lambda: bars.count() > 0 or "not on this page" in detail.inner_text(), f"{function}: its code")
        browser.check("hot function")
        browser.open("#by=weight&find=" + quote(function["function"] or function["svma"]))
        tile = tab.locator("#treemap a.tile:not(.faded)").first
        browser.until(lambda: (function["function"] or function["svma"]) in tile.get_attribute("aria-label"), function)


def weights(chromium):
    """With a profile in the data: bars, the heaviest first, a filter, and the map's second measure."""
    page = PAGE.read_text()
    columns = json.loads(re.search(r'id="run">(.*?)</script>', page).group(1))["columns"]
    shares = iter(range(1, 10_000))

    def weighed(rows, kind):
        for row in rows:
            at = columns[kind].index("weight")
            row.extend([0] * (at + 1 - len(row)))
            row[at] = next(shares) / 10_000
    def files(found):
        records = json.loads(found.group(2))
        for record in records:
            record["profile"] = {"what": "cycles", "weight": 1}
            for part, kind in (("findings", "finding"), ("functions", "function"), ("others", "other")):
                weighed(record.get(part, []), kind)
        return found.group(1) + json.dumps(records).replace("<", "\\u003c") + "</script>"
    def code(found):
        listings = json.loads(found.group(2))
        for listing in listings:
            weighed(listing["rows"], "insn")
        return found.group(1) + json.dumps(listings).replace("<", "\\u003c") + "</script>"
    page = re.sub(r'(<script type="application/json" class="files">)(.*?)</script>', files, page)
    page = re.sub(r'(<script type="application/json" class="code"[^>]*>)(.*?)</script>', code, page)
    weighed_page = PICTURES / "weighed.html"
    weighed_page.write_text(page)
    browser = Browser(chromium, "light", weighed_page)
    browser.open()
    bars = browser.tab.locator("#finding-table tbody .weight data")
    browser.until(lambda: bars.count() > 0, "no weight")
    shown_first = [float(data.get_attribute("value")) for data in bars.all()]
    assert shown_first == sorted(shown_first, reverse=True), "the heaviest first"
    least = 100 * shown_first[0]
    browser.tab.locator("#finding-filters input[type=number]").fill(f"{least}")
    browser.until(lambda: 1 <= browser.number("#finding-count data") <= len(FINDINGS), "some are as heavy")
    measure = browser.tab.locator("#map-filters select").first
    browser.until(lambda: measure.input_value() == "weight", "the map by weight")
    browser.check("weights")
    browser.tab.locator("#finding-table tbody a").first.click()
    browser.until(lambda: browser.tab.locator("#detail .code .samples .bar").count() > 0, "weights of instructions")
    browser.check("weights of instructions")
    browser.tab.screenshot(path=PICTURES / "weights.png")
    browser.context.close()


def without_script(chromium):
    """Without its script the page is a table of the findings, and does not wait for anything."""
    context = chromium.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    tab.goto(PAGE.as_uri())
    assert tab.locator("h1").inner_text() == "deburr check"
    rows = tab.locator("table.plain tbody tr")
    across = REPORTS["across_files"]
    assert rows.count() == min(500, len(FINDINGS) + len(across)), rows.count()
    for row, (file, finding) in zip(rows.all(), FINDINGS[:20]):
        said = row.inner_text()
        assert finding["rule"] in said and shown(place(finding)) in said, (finding["rule"], said)
    tab.screenshot(path=PICTURES / "without-script.png")
    context.close()


def main():
    with sync_playwright() as playwright:
        chromium = launched(playwright, sys.argv[4])
        looks(chromium, PAGE, PICTURES, sums, {kind: link(kind, *items[0]) for kind, items in (("finding", FINDINGS), ("function", FUNCTIONS)) if items})
        assert FINDINGS or not PROFILED, "a profile without a finding"
        if FINDINGS:
            browser = Browser(chromium, "light", PAGE)
            for part in (filters, details, callers, hot, keyboard, treemap):
                part(browser)
            browser.check("after all")
            browser.context.close()
            if not PROFILED:
                weights(chromium)
        without_script(chromium)
        chromium.close()


main()
