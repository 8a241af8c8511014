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
    assert (tab.locator("h1").inner_text() == "The new build is worse") == DIFF["worse"]
    for fate, count in SUMS.items():
        assert browser.number(f"data.fate.{fate}") == count, fate
    if sum(SUMS.values()):
        assert browser.number("#finding-count data") == sum(SUMS.values())
    for part, kind in (("came", "appeared"), ("went", "gone")):
        count = sum(file[f"functions_{part}"] for file in FILES)
        assert browser.number(f"data.functions-{part}") == count
        own = tab.locator(f"#share data.verdict.{kind}")
        on_map = float(own.get_attribute("value")) if own.count() else 0
        # All functions of a file that only the new build has are new, too.
        assert on_map == count if all(file["old"] for file in FILES) else on_map >= count, (kind, on_map, count)
    shown_levels = tab.locator("#facts .mark-of.v-raised, #facts .mark-of.v-lowered").count()
    assert shown_levels == min(6, sum(len(file["levels"]) for file in FILES))
    for name, paths in (("only in the old build", DIFF["only_old"]), ("not compared", DIFF["skipped"])):
        if paths:
            assert tab.locator("#limits summary", has_text=f"{len(paths)} file").filter(has_text=name).count() == 1, name


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
        assert browser.number("#finding-count data") == count, fate
        assert browser.tab.locator("#finding-table tbody tr").count() <= MOST_ROWS, "rows out of view"
    for key in ("rule", "severity"):
        for value in sorted({group[key] for _, _, group in GROUPS}):
            for change in ("appeared", "gone"):
                browser.open(f"#{key}={value}&change={change}")
                wanted = sum(group["count"] for fate, _, group in GROUPS if group[key] == value and fate == change)
                assert browser.number("#finding-count data") == wanted, (key, value, change)
    for file in FILES[:5]:
        browser.open("#in=" + quote(shown(file["new"]), safe=""))
        wanted = sum(group["count"] for part in ("came", "went", "moved") for group in file[part]) + file["same"]
        assert browser.number("#finding-count data") == wanted, file["new"]
    browser.open()
    if not sum(SUMS.values()):
        assert browser.tab.locator("#findings").is_hidden()
        return
    browser.tab.locator("#search").fill("no such function anywhere")
    assert browser.number("#finding-count data") == 0
    browser.tab.locator("#finding-filters .clear").click()
    assert browser.number("#finding-count data") == sum(SUMS.values())


def details(browser):
    """A deep link opens its finding with the code of the build that has it."""
    detail = browser.tab.locator("#detail")
    for change, file, group in GROUPS[:: max(1, len(GROUPS) // 12)]:
        browser.open(link(change, file, group))
        assert detail.locator(".message").inner_text() == shown(group["message"])
        assert detail.locator("h2 .mark-of").first.inner_text() == change
        pointed = detail.locator("#pointed-at .address")
        assert pointed.count() == 1, f"{file['new']}: no code at {place(group)}"
        assert pointed.inner_text() == group["svma"][2:]
        path = file["old"] if change == "gone" else file["new"]
        assert shown(path) in detail.locator(".copyable code").last.inner_text().replace("'\\''", "'"), path
        if group.get("source"):
            assert f":{group['source']['line']}" in detail.locator("dl").first.inner_text()


def others(browser):
    """What moved says from where, and what remained has the code of the new build."""
    detail = browser.tab.locator("#detail")
    for change, words in (("moved", "Moved from"), ("remained", "both builds have it")):
        if SUMS[change]:
            browser.open(f"#change={change}")
            browser.tab.locator("#finding-table tbody a").first.click()
            browser.tab.wait_for_selector("#detail[open]")
            text = detail.inner_text()
            assert words in text and detail.locator("#pointed-at .address").count() == 1, change
    # One place may have findings of several functions: each has a row, which opens as itself.
    expected = sorted((shown(moved["from"]), shown(moved["to"])) for file in FILES for moved in file["moved"])
    if 0 < len(expected) <= 10:
        browser.open("#change=moved")
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
            assert detail.locator("h2 .mark-of").count() >= 1, function
            text = detail.inner_text()
            for change in function["changes"]:
                if change["what"] != "size":
                    assert change["old"] in text and change["new"] in text, change
            assert function["new_svma"] in text
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
