"""What looks at pages of `deburr check` and `deburr diff` share: a browser that notes what goes wrong, and uses of a page without a
pointer that both must allow.
"""

import re
import time

from axe_playwright_python.sync_playwright import Axe

# Milliseconds that anything may take beside other tests on a busy machine. Only what never happens takes so long.
PATIENCE = 300_000
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 900}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 400, "height": 800}},
}


def place(item):
    return f"{item['section']}+{item['svma']}" if item.get("section") else item["svma"]


def shown(text):
    """As the page spells out what would steer its layout."""
    def hidden(character):
        return f"⟨U+{ord(character):04X}⟩"
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", lambda found: hidden(found[0]), text)


def launched(playwright, program):
    """Without a sandbox, which there is none of where tests run as root, in containers: the page is a file of ours."""
    return playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=PATIENCE)


class Browser:
    """One look at the page, with all that its console said."""

    def __init__(self, chromium, look, page):
        self.page = page
        self.context = chromium.new_context(**LOOKS[look])
        self.context.set_default_timeout(PATIENCE)
        self.tab = self.context.new_page()
        self.said = []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.said.append("a dialog opened"), dialog.dismiss()))
        self.tab.on("request", lambda request: request.url.startswith("file://") or self.said.append(f"fetched {request.url}"))

    def open(self, state=""):
        self.tab.goto("about:blank")
        self.tab.goto(self.page.as_uri() + state)
        self.tab.wait_for_selector("html[data-ready]", state="attached")

    def check(self, what):
        """Nothing on the console, nothing that axe objects to, nothing wider than the window, no name that became markup."""
        assert not self.said, f"{what}: {self.said}"
        faults = [(fault["id"], [node["html"][:200] for node in fault["nodes"]]) for fault in Axe().run(self.tab).response["violations"]]
        assert not faults, f"{what}: {faults}"
        overflow = self.tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"{what}: {overflow} pixels wider than its window"
        assert self.tab.evaluate("window.injected") is None, what
        strange = self.tab.evaluate("document.querySelectorAll('body img, body iframe, body object, body style, body link, marquee').length")
        assert strange == 0, f"{what}: markup of others"

    def number(self, selector):
        return float(self.tab.locator(selector).first.get_attribute("value"))

    def until(self, is_so, what):
        """Waits, frame by frame, until the page shows what it is to show."""
        latest = time.monotonic() + PATIENCE / 1000
        while not is_so():
            assert time.monotonic() < latest, what() if callable(what) else what
            self.tab.evaluate("new Promise(requestAnimationFrame)")

    def shows(self, selector, wanted, what=""):
        """Waits until an element's number is the one that is wanted."""
        element = self.tab.locator(selector).first
        def is_shown():
            value = element.get_attribute("value")
            return value is not None and float(value) == wanted
        self.until(is_shown, lambda: f"{selector} is {element.get_attribute('value')}, not {wanted}: {what}")

    def has(self, locator, count, what):
        """Waits until there are so many of some elements."""
        self.until(lambda: locator.count() == count, lambda: f"{locator.count()}, not {count}: {what}")

    def says(self, locator, text, what=""):
        """Waits until an element's text has another in it."""
        self.until(lambda: text in locator.inner_text(), lambda: f"{text!r} is not in {locator.inner_text()!r}: {what}")


def looks(chromium, page, pictures, sums, states):
    """The page in each look: the numbers on its first screen, which `sums` reads, and what each of the named states opens."""
    pictures.mkdir(parents=True, exist_ok=True)
    for look in LOOKS:
        browser = Browser(chromium, look, page)
        browser.open()
        browser.check(look)
        sums(browser)
        browser.tab.screenshot(path=pictures / f"{look}.png", full_page=True)
        for name, state in states.items():
            browser.open(state)
            browser.tab.wait_for_selector("#detail[open]")
            browser.check(f"{look}, {name}")
            browser.tab.screenshot(path=pictures / f"{look}-{name}.png")
        browser.context.close()


def keyboard(browser):
    """Without a pointer: to the table, down its rows, into a finding, on to the next, and back."""
    tab = browser.tab
    browser.open()
    tab.locator("#finding-table .frame").focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("End")
    rows = int(tab.locator("#finding-table table").get_attribute("aria-rowcount")) - 1
    active = "document.activeElement.closest('tr')?.dataset.index"
    browser.until(lambda: tab.evaluate(active) == str(rows - 1), "End goes to the last row")
    tab.keyboard.press("Home")
    browser.until(lambda: tab.evaluate(active) == "0", "Home goes to the first row")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#detail[open]")
    browser.until(lambda: tab.evaluate("document.activeElement.id") == "detail-title", "the focus is in what opened")
    first = tab.evaluate("location.href")
    if rows > 1:
        tab.keyboard.press("j")
        tab.wait_for_function("before => location.href !== before", arg=first)
        tab.keyboard.press("k")
        tab.wait_for_function("before => location.href === before", arg=first)
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#detail:not([open])", state="attached")
    browser.until(lambda: tab.evaluate("Boolean(document.activeElement.closest('#finding-table'))"), "where the reader was")
    tab.keyboard.press("/")
    browser.until(lambda: tab.evaluate("document.activeElement.id") == "search", "/ goes to the search")


def treemap(browser):
    """The map has a rectangle for each function that is large enough, one stop for Tab, and opens what is entered."""
    tab = browser.tab
    browser.open()
    tiles = tab.locator("#treemap a.tile")
    browser.until(lambda: tiles.count() > 0, "the map has no rectangle")
    browser.has(tab.locator("#treemap a[tabindex='0']"), 1, "stops for Tab")
    label = tiles.first.get_attribute("aria-label")
    tiles.first.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#detail[open]")
    browser.until(lambda: tab.locator("#detail-title .name").inner_text() in label, label)
    tab.keyboard.press("Escape")
    tab.locator("#map-filters input").fill("no such function anywhere")
    tab.wait_for_function("document.querySelector('#map-note').innerText.includes('0 functions are found')")
