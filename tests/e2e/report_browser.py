#!/usr/bin/env python3
"""Looks at pages of `headroom report` as a user's browser does: report_browser.py FOLDER.

FOLDER has a page for each of FIGURES. Fails with a message at the first thing that is wrong.
"""

import pathlib
import sys

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

FIGURES = {"run": 7, "comparison": 10, "study": 4, "front": 5, "searches": 2, "oom": 1}
# The chart that a pointer surely hits something of.
POINTED_AT = {"run": 0, "comparison": 1, "study": 2, "front": 3, "searches": 0}


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def browser():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--force-prefers-reduced-motion", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class Page:
    """One page at one width."""

    def __init__(self, driver, path, width):
        self.driver = driver
        self.name = f"{path.name} at {width}"
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get(path.as_uri())
        self.check(self.script("return document.documentElement.dataset.ready === 'yes'"),
                   "the page did not come up")

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def check(self, condition, message):
        check(condition, f"{self.name}: {message}")

    def check_figures(self, least):
        drawn = self.script("""
            return [...document.querySelectorAll('.chart')].map((chart) => {
              const svg = chart.querySelector('svg');
              return [chart.getAttribute('aria-label') || '',
                      svg ? svg.querySelectorAll('path, text').length : 0];
            });""")
        self.check(len(drawn) >= least, f"{len(drawn)} figures, not {least}")
        for label, marks in drawn:
            self.check(marks > 5, f"nothing is drawn: {label}")
            self.check(label, "a chart without a label")
            self.check("NaN" not in label and "undefined" not in label, f"label: {label}")
        text = self.script("return document.body.innerText")
        for wrong in ("NaN", "undefined", "[object", "Infinity"):
            self.check(wrong not in text, f"'{wrong}' in the page")

    def check_width(self):
        width, inner = self.script(
            "return [document.documentElement.scrollWidth, window.innerWidth]")
        self.check(width <= inner, f"{width} px wide in a window of {inner}")

    def check_tooltip(self, at):
        chart = self.all(".chart")[at]
        self.script("arguments[0].scrollIntoView({block: 'center'})", chart)
        size = chart.size
        for share in range(-45, 46, 3):
            for height in (0, -0.2, 0.2, 0.35):
                ActionChains(self.driver, duration=0).move_to_element_with_offset(
                    chart, int(size["width"] * share / 100), int(size["height"] * height)).perform()
                tips = [tip.text for tip in self.all(".tip") if tip.is_displayed()]
                if tips:
                    self.check(any(c.isdigit() for c in tips[0]), f"tooltip: {tips[0]}")
                    return
        self.check(False, "no tooltip")

    def check_sort(self):
        """The first table with numbers: by a column of numbers, both ways."""
        for box in self.all(".table-box"):
            heads = box.find_elements(By.CSS_SELECTOR, "th.number button")
            rows = box.find_elements(By.CSS_SELECTOR, "tbody tr")
            if heads and len(rows) > 2 and box.is_displayed():
                break
        else:
            self.check(False, "no table to sort")
        at = self.script("return arguments[0].closest('th').cellIndex", heads[-1])

        def column():
            return self.script("""
                return [...arguments[0].querySelectorAll('tbody tr')].map((row) =>
                  row.cells[arguments[1]].innerText).filter((text) => text !== '–');""", box, at)

        def click():
            self.script("""
                arguments[0].querySelectorAll('th')[arguments[1]].querySelector('button').click()
                """, box, at)
            return self.script("return arguments[0].querySelectorAll('th')[arguments[1]]"
                               ".getAttribute('aria-sort')", box, at)

        before = sorted(column())
        self.check(click() == "descending", "aria-sort of the first click")
        falling = column()
        self.check(click() == "ascending", "aria-sort of the second click")
        self.check(sorted(column()) == before, "sorting lost rows")
        if len(set(before)) > 1:
            self.check(falling[0] != column()[0], "sorting changed nothing")

    def check_theme(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        before = self.script(ground)
        stroke = "return document.querySelector('.chart svg text').getAttribute('fill')"
        ink = self.script(stroke)
        self.driver.find_element(By.ID, "theme").click()
        self.check(self.script(ground) != before, "the toggle changes no colour")
        self.check(self.script(stroke) != ink, "the toggle changes no chart")
        self.driver.find_element(By.ID, "theme").click()
        self.check(self.script(ground) == before, "the toggle does not go back")

    def check_tables(self):
        """Every table behind a chart opens and has rows."""
        self.script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        self.script("return new Promise((done) => setTimeout(done, 100))")
        empty = self.script("""
            return [...document.querySelectorAll('figure details')].filter((one) =>
              one.querySelectorAll('tbody tr').length === 0).length;""")
        self.check(empty == 0, f"{empty} tables behind charts are empty")
        self.check_width()
        self.check_sideways()

    def check_sideways(self):
        """A table wider than its frame scrolls in it and says so; any other does not."""
        self.script("return new Promise((done) => setTimeout(done, 100))")
        for name, beyond, hidden in self.script("""
                return [...document.querySelectorAll('.table-box')].map((box) => {
                  const frame = box.querySelector('.scroll');
                  return [frame.getAttribute('aria-label'), frame.scrollWidth - frame.clientWidth,
                          box.querySelector('.wider').hidden];
                });"""):
            self.check(hidden == (beyond <= 1),
                       f"table {name}: {beyond} px beyond its frame, hint hidden: {hidden}")

    def check_quiet(self):
        errors = [entry["message"] for entry in self.driver.get_log("browser")]
        self.check(not errors, f"console: {errors[:3]}")
        asked = [part.split('"')[0] for entry in self.driver.get_log("performance")
                 if '"Network.requestWillBeSent"' in entry["message"]
                 for part in entry["message"].split('"url":"')[1:]]
        strange = [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
        self.check(not strange, f"asks for {strange[:3]}")
        self.check(self.script("return document.querySelectorAll('img, iframe').length") == 0,
                   "text of the results became HTML")


def check_choices(page):
    """A study: another metric draws another chart."""
    chart = "return document.querySelectorAll('.chart')[0].innerHTML"
    before = page.script(chart)
    page.script("""
        const select = document.querySelector('figure select');
        select.value = 'output_throughput';
        select.dispatchEvent(new Event('change'));""")
    page.check(page.script(chart) != before, "another metric draws the same chart")
    page.check(page.script("return document.querySelectorAll('figure')[0].querySelectorAll("
                           "'select').length") == 4, "choices: metric, axis, lines, engine")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    driver = browser()
    try:
        for name, figures in FIGURES.items():
            for width in (1280, 375):
                page = Page(driver, folder / f"{name}.html", width)
                page.check_figures(figures)
                page.check_width()
                page.check_theme()
                if name != "oom":
                    page.check_sort()
                    page.check_tooltip(POINTED_AT[name])
                if name == "study":
                    check_choices(page)
                page.check_tables()
                page.check_quiet()
                print(f"ok: {page.name}")
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
