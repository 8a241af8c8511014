"""Looks at a page of `deburr diff` in a browser: python diff.py PAGE REPORT PICTURES CHROMIUM

PAGE is what `--format html` made, REPORT what `--format json` made of the same two builds. Fails with what is wrong: a message on
the console, something that axe objects to, a number that is not the report's, a finding without its code, a name that became
markup. Leaves pictures of the page: light, dark, and as narrow as a telephone.
"""

import json
import re
import sys
from pathlib import Path
from urllib.parse import quote

from browser import Browser, keyboard, launched, looks, place, shown, treemap
from playwright.sync_api import sync_playwright

PAGE, REPORT, PICTURES = (Path(argument).resolve() for argument in sys.argv[1:4])
DIFF = json.loads(REPORT.read_text())
FILES = DIFF["files"]
SUMS = {
    "appeared": sum(group["count"] for file in FILES for group in file["came"]),
    "gone": sum(group["count"] for file in FILES for group in file["went"]),
    "moved": sum(moved["count"] for file in FILES for moved in file["moved"]),
    "remained": sum(file["same"] for file in FILES),
}
GROUPS = [(change, file, group) for change, part in (("appeared", "came"), ("gone", "went")) for file in FILES for group in file[part]]
MOST_ROWS = 100


def link(change, file, group):
    return "#open=" + quote(f"{change}:{shown(file['new'])}:{shown(place(group))}:{group['rule']}", safe="")


def function_link(file, name):
    return "#open=" + quote(f"function:{shown(file['new'])}:{shown(name)}", safe="")


def sums(browser):
    """The numbers of the first screen, of the lists and of the map are those of the report."""
    tab = browser.tab
    browser.until(lambda: (tab.locator("h1").inner_text() == "The new build is worse") == DIFF["worse"], "the heading")
    for fate, count in SUMS.items():
        browser.shows(f"data.fate.{fate}", count, fate)
    if sum(SUMS.values()):
        browser.shows("#finding-count data", sum(SUMS.values()))
    for part, kind in (("came", "appeared"), ("went", "gone")):
        count = sum(file[f"functions_{part}"] for file in FILES)
        browser.shows(f"data.functions-{part}", count, part)
        own = tab.locator(f"#share data.verdict.{kind}")
        on_map = float(own.get_attribute("value")) if own.count() else 0
        # All functions of a file that only the new build has are new, too.
        assert on_map == count if all(file["old"] for file in FILES) else on_map >= count, (kind, on_map, count)
    shown_levels = tab.locator("#facts .mark-of.v-raised, #facts .mark-of.v-lowered")
    browser.has(shown_levels, min(6, sum(len(file["levels"]) for file in FILES)), "levels")
    for name, paths in (("only in the old build", DIFF["only_old"]), ("not compared", DIFF["skipped"])):
        if paths:
            browser.has(tab.locator("#limits summary", has_text=f"{len(paths)} file").filter(has_text=name), 1, name)


def without_rows(chromium):
    """The first screen does not depend on the rows, which have no room in a large run."""
    def first_screen(page):
        browser = Browser(chromium, "light", page)
        browser.open()
        said = [browser.tab.locator(part).inner_text() for part in ("h1", "#lead", "#facts")]
        browser.context.close()
        return said

    def bare(found):
        records = json.loads(found.group(2))
        for record in records:
            record.pop("findings", None)
        return found.group(1) + json.dumps(records).replace("<", "\\u003c") + "</script>"
    page = PICTURES / "without-rows.html"
    page.write_text(re.sub(r'(<script type="application/json" class="files">)(.*?)</script>', bare, PAGE.read_text()))
    whole = first_screen(PAGE)
    assert first_screen(page) == whole
    for severity in {group["severity"] for change, _, group in GROUPS if change == "appeared"}:
        count = sum(group["count"] for change, _, group in GROUPS if change == "appeared" and group["severity"] == severity)
        assert f"{count:,} {severity}" in whole[2], (severity, count, whole[2])


def filters(browser):
    """Each filter leaves what the report has of it, and the address says so."""
    for fate, count in SUMS.items():
        browser.open(f"#change={fate}")
        browser.shows("#finding-count data", count, fate)
        browser.until(lambda: browser.tab.locator("#finding-table tbody tr").count() <= MOST_ROWS, "rows out of view")
    for key in ("rule", "severity"):
        for value in sorted({group[key] for _, _, group in GROUPS}):
            for change in ("appeared", "gone"):
                browser.open(f"#{key}={value}&change={change}")
                wanted = sum(group["count"] for fate, _, group in GROUPS if group[key] == value and fate == change)
                browser.shows("#finding-count data", wanted, (key, value, change))
    for file in FILES[:5]:
        browser.open("#in=" + quote(shown(file["new"]), safe=""))
        wanted = sum(group["count"] for part in ("came", "went", "moved") for group in file[part]) + file["same"]
        browser.shows("#finding-count data", wanted, file["new"])
    browser.open()
    if not sum(SUMS.values()):
        browser.until(lambda: browser.tab.locator("#findings").is_hidden(), "a list of nothing")
        return
    browser.tab.locator("#search").fill("no such function anywhere")
    browser.shows("#finding-count data", 0)
    browser.tab.locator("#finding-filters .clear").click()
    browser.shows("#finding-count data", sum(SUMS.values()))


def details(browser):
    """A deep link opens its finding with the code of the build that has it."""
    detail = browser.tab.locator("#detail")
    for change, file, group in GROUPS[:: max(1, len(GROUPS) // 12)]:
        browser.open(link(change, file, group))
        message = shown(group["message"])
        browser.until(lambda: detail.locator(".message").inner_text() == message, message)
        browser.until(lambda: detail.locator("h2 .mark-of").first.inner_text() == change, change)
        pointed = detail.locator("#pointed-at .address")
        browser.has(pointed, 1, f"{file['new']}: code at {place(group)}")
        browser.until(lambda: pointed.inner_text() == group["svma"][2:], group["svma"])
        path = file["old"] if change == "gone" else file["new"]
        command = detail.locator(".copyable code").last
        browser.until(lambda: shown(path) in command.inner_text().replace("'\\''", "'"), path)
        if group.get("source"):
            browser.says(detail.locator("dl").first, f":{group['source']['line']}")


def others(browser):
    """What moved says from where, and what remained has the code of the new build."""
    detail = browser.tab.locator("#detail")
    for change, words in (("moved", "Moved from"), ("remained", "both builds have it")):
        if SUMS[change]:
            browser.open(f"#change={change}")
            browser.tab.locator("#finding-table tbody a").first.click()
            browser.tab.wait_for_selector("#detail[open]")
            browser.says(detail, words, change)
            browser.has(detail.locator("#pointed-at .address"), 1, change)
    # One place may have findings of several functions: each has a row, which opens as itself.
    expected = sorted((shown(moved["from"]), shown(moved["to"])) for file in FILES for moved in file["moved"])
    if 0 < len(expected) <= 10:
        browser.open("#change=moved")
        browser.shows("#finding-count data", SUMS["moved"])
        addresses = [row.get_attribute("href") for row in browser.tab.locator("#finding-table tbody a").all()]
        seen = []
        for address in addresses:
            browser.open(address)
            said = [detail.locator("dt", has_text=re.compile(f"^{term}$")).locator("xpath=following-sibling::dd").inner_text() for term in ("Moved from", "Function")]
            seen.append(tuple(said))
        assert sorted(seen) == expected, (seen, expected)


def functions(browser):
    """A function opens with what changed, as the report has it."""
    detail = browser.tab.locator("#detail")
    for file in FILES:
        for function in file["functions"][:: max(1, len(file["functions"]) // 5)]:
            browser.open(function_link(file, function["function"]))
            browser.until(lambda: detail.locator("h2 .mark-of").count() >= 1, function)
            browser.says(detail, function["new_svma"])
            text = detail.inner_text()
            for change in function["changes"]:
                if change["what"] != "size":
                    assert change["old"] in text and change["new"] in text, change
        for call in file["calls"][:: max(1, len(file["calls"]) // 5)]:
            browser.open(function_link(file, call["function"]))
            cells = [cell.inner_text() for cell in detail.locator("tr", has_text="calls of it").locator("td").all()]
            assert cells == [f"{call['old_calls']:,}", f"{call['new_calls']:,}"], call


def main():
    with sync_playwright() as playwright:
        chromium = launched(playwright, sys.argv[4])
        opened = [(change, link(change, file, group)) for change, file, group in GROUPS]
        opened += [("function", function_link(file, function["function"])) for file in FILES for function in file["functions"]]
        # The first of each kind.
        looks(chromium, PAGE, PICTURES, sums, dict(reversed(opened)))
        browser = Browser(chromium, "light", PAGE)
        parts = [filters, details, others, functions] if FILES else []
        parts += [keyboard] if sum(SUMS.values()) else []
        browser.open()
        parts += [treemap] if browser.tab.locator("#map:not([hidden])").count() else []
        for part in parts:
            part(browser)
        browser.check("after all")
        browser.context.close()
        without_rows(chromium)
        chromium.close()


main()
