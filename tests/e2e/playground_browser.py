#!/usr/bin/env python3
"""Uses the playground as a person would: playground_browser.py FOLDER [PICTURES].

Opened from the folder, without a server, at the width of a desk and of a phone. Fails with a
message at the first thing that is wrong. PICTURES: where to leave pictures of the page.
"""

import base64
import json
import pathlib
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

PATIENCE_S = 60  # for an answer, on a busy machine
DROP = """
    const data = new DataTransfer();
    data.items.add(new File([arguments[1]], arguments[0]));
    document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true}));
"""


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def browser(downloads):
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--force-prefers-reduced-motion", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {
        "download.default_directory": str(downloads),
        "profile.default_content_setting_values.automatic_downloads": 1})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class Page:
    """The playground at one width."""

    def __init__(self, driver, folder, width, state=""):
        self.driver = driver
        self.name = f"{width} px"
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        driver.get("about:blank")
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get((folder / "index.html").as_uri() + state)
        self.wait_for("document.documentElement.dataset.answers > 0", "the first answer")

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def check(self, condition, message):
        check(condition, f"{self.name}: {message}")

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not self.script(f"return Boolean({condition})"):
            self.check(time.monotonic() < end,
                       f"no {what}: {self.driver.get_log('browser')[:3]} {self.verdict()}")
            time.sleep(0.02)

    def verdict(self):
        return self.script("return document.getElementById('main').querySelector("
                           "'.verdict, .alert')?.textContent || ''")

    def settled(self):
        """All that was asked is answered: the curve comes last."""
        before = None
        while True:
            time.sleep(0.5)
            now = self.script("return document.getElementById('main').innerText.length + "
                              "document.querySelectorAll('.chart path').length")
            if now == before:
                return
            before = now

    def change(self, code, what):
        """Runs `code`, which changes the state, and waits for its answer."""
        answers = int(self.script("return document.documentElement.dataset.answers"))
        self.script(code)
        self.wait_for(f"document.documentElement.dataset.answers > {answers}", what)
        self.settled()

    def drop(self, name, text):
        self.change(f"(function() {{ {DROP} }})({json.dumps(name)}, {json.dumps(text)})",
                    f"answer to {name}")

    def field(self, name, side="a"):
        return (f"document.querySelector(`fieldset[data-side={side}] [data-name={name}]`)"
                if side else f"document.querySelector(`[data-name={name}]`)")

    def choose(self, name, value, side="a", event="change"):
        self.change(f"const field = {self.field(name, side)}; field.value = {json.dumps(value)};"
                    f"field.dispatchEvent(new Event('{event}'));", f"answer to {name}")

    def check_drawn(self, least):
        charts = self.script("""
            return [...document.querySelectorAll('figure:not([hidden]) .chart')].map((chart) =>
              [chart.getAttribute('aria-label') || '',
               chart.querySelectorAll('svg path, svg text').length]);""")
        self.check(len(charts) >= least, f"{len(charts)} charts, not {least}")
        for label, marks in charts:
            self.check(marks > 5, f"nothing is drawn: {label}")
            self.check(label, "a chart without a label")
        text = self.script("return document.body.innerText")
        for wrong in ("NaN", "undefined", "[object", "Infinity"):
            self.check(wrong not in text, f"'{wrong}' in the page")

    def check_width(self):
        width, inner = self.script(
            "return [document.documentElement.scrollWidth, window.innerWidth]")
        self.check(width <= inner, f"{width} px wide in a window of {inner}")

    def check_labels(self):
        bare = self.script("""
            return [...document.querySelectorAll('#setup input, #setup select, #setup textarea')]
              .filter((field) => field.type !== 'file' && !field.labels.length)
              .map((field) => field.dataset.name);""")
        self.check(not bare, f"fields without a label: {bare}")

    def check_quiet(self):
        errors = [entry["message"] for entry in self.driver.get_log("browser")]
        self.check(not errors, f"console: {errors[:3]}")
        asked = [part.split('"')[0] for entry in self.driver.get_log("performance")
                 if '"Network.requestWillBeSent"' in entry["message"]
                 for part in entry["message"].split('"url":"')[1:]]
        strange = [url for url in asked
                   if not url.startswith(("file:", "data:", "blob:", "about:"))]
        self.check(not strange, f"asks for {strange[:3]}")

    def picture(self, folder, name):
        if folder is None:
            return
        height = self.script("window.scrollTo(0, 0); return document.documentElement.scrollHeight")
        width = self.script("return window.innerWidth")
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True, "format": "png",
            "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
        (folder / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def check_sliders(page):
    """Each slider moves by the keyboard, and its answer follows."""
    page.check("Holds" in page.verdict(), f"the demo holds, but: {page.verdict()}")
    slider = page.driver.find_element(By.CSS_SELECTOR, "[data-name=rate]")
    before = slider.get_attribute("aria-valuetext")
    for _ in range(14):
        slider.send_keys(Keys.ARROW_RIGHT)
    page.check(slider.get_attribute("aria-valuetext") != before, "the slider has not moved")
    page.wait_for("document.querySelector('.verdict.bad')", "overload at a high rate")
    page.settled()
    page.choose("batch", "3", event="input")
    page.check("batch" in page.verdict(), f"a batch of 2 binds, but: {page.verdict()}")


def check_link(page, folder):
    address = page.driver.current_url
    page.check("rate=" in address and "batch=" in address, f"not in the link: {address}")
    verdict = page.verdict()
    again = Page(page.driver, folder, 1280, "#" + address.split("#")[1])
    again.settled()
    again.check(again.verdict() == verdict, "the link gives another answer")


def check_compare(page, pictures):
    page.change("document.querySelector('[data-name=compare]').click();", "answer of B")
    page.choose("device", "l40s", "b")
    page.check_drawn(10)
    page.check(len(page.driver.find_elements(By.CSS_SELECTOR, "#main .verdict")) == 2,
               "not two verdicts")
    page.picture(pictures, f"beside-{page.name.split()[0]}")


def check_paste(page):
    page.choose("source", "vllm serve Qwen/Qwen2.5-7B-Instruct --max-num-seqs 8 --nonsense 1")
    text = page.script("return document.getElementById('main').innerText")
    page.check("qwen2.5-7b" in text.lower(), "the command's model is not the one simulated")
    page.check("--nonsense" in text, "an unknown flag is not named")
    page.choose("source", "vllm serve 'open")
    page.check("quot" in page.verdict(), f"an open quote: {page.verdict()}")
    page.choose("source", "")
    page.choose("model", "no-such-model")
    page.check("no-such-model" in page.verdict(), f"an unknown model: {page.verdict()}")


def check_config(page):
    """A config.json of a small model that no catalog has."""
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048,
              "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32,
              "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 16384,
              "torch_dtype": "bfloat16"}
    page.drop("config.json", json.dumps(config))
    page.check("config" in page.script("return document.getElementById('main').innerText"),
               f"a dropped config.json is not simulated: {page.verdict()}")


def check_trace(page):
    page.drop("mine.csv", "arrival_s,prompt_tokens,output_tokens\n" +
              "".join(f"{i / 10},500,20\n" for i in range(300)))
    page.check("all of 300" in page.script("return document.getElementById('main').innerText"),
               f"a dropped trace is not simulated: {page.verdict()}")
    page.script(DROP, "mine.csv", "a,b\n1,2\n")
    page.wait_for("document.querySelector('#main .alert.bad')", "complaint about a bad trace")
    page.change("document.querySelector('[data-name=no-trace]').click()", "answer without it")
    page.script(DROP, "config.json", "{ no JSON")
    page.wait_for("document.querySelector('#main .alert.bad')", "complaint about bad JSON")
    page.check("config.json" in page.verdict(), f"which file: {page.verdict()}")


def check_choices(page):
    """Every engine, and a model of each sort, has an answer."""
    engines = page.script(f"return [...{page.field('engine')}.options].map((one) => one.value)")
    for engine in engines[1:] + engines[:1]:
        page.choose("engine", engine)
        page.check(page.script("return Boolean(document.querySelector('#main .verdict'))"),
                   f"{engine}: {page.verdict()}")
    for model, device in (("qwen3-30b-a3b", "b200"), ("deepseek-v3", "h200-sxm"),
                          ("llama-3.1-8b", "gb10")):
        page.choose("device", device)
        page.choose("model", model)
        page.check(page.script("return Boolean(document.querySelector('#main .verdict'))"),
                   f"{model} on {device}: {page.verdict()}")


def check_advice(page):
    page.script("document.querySelector('[data-name=advice]').click()")
    page.wait_for("document.querySelectorAll('#change table').length === 2", "advice")


def check_export(page, downloads):
    for label, name in (("Scenario", "playground.json"), ("Study", "playground-study.json"),
                        ("PNG", "headroom.png")):
        page.script("[...document.querySelectorAll('#share button')].find((one) => "
                    "one.textContent === arguments[0]).click();", label)
        end = time.monotonic() + PATIENCE_S
        while not (downloads / name).exists():
            page.check(time.monotonic() < end, f"no {name}")
            time.sleep(0.05)
    json.loads((downloads / "playground.json").read_text())
    page.script("[...document.querySelectorAll('#share button')].find((one) => "
                "one.textContent === 'Serve command').click();")
    page.wait_for("document.querySelector('#share pre')", "command")


def check_theme(page):
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = page.script(ground)
    page.driver.find_element(By.ID, "theme").click()
    page.check(page.script(ground) != before, "the toggle changes no colour")


def check_desk(driver, folder, downloads, pictures):
    page = Page(driver, folder, 1280)
    print(f"first answer {page.script('return document.documentElement.dataset.answeredMs')} ms "
          "after the page began to load")
    page.settled()
    page.check_drawn(6)
    page.check_labels()
    page.picture(pictures, "desk")
    check_export(page, downloads)
    check_sliders(page)
    page.picture(pictures, "desk-overload")
    check_link(page, folder)
    check_compare(page, pictures)
    check_theme(page)
    page.settled()
    page.picture(pictures, "desk-dark")
    page.change("document.querySelector('[data-name=compare]').click();", "answer without B")
    page.check(len(page.driver.find_elements(By.CSS_SELECTOR, "#main .verdict")) == 1,
               "B is still there")
    check_theme(page)
    page.check_width()
    page.check_quiet()
    page = Page(driver, folder, 1280)
    check_paste(page)
    check_config(page)
    page = Page(driver, folder, 1280)
    check_advice(page)
    check_trace(page)
    check_choices(page)
    page.check_quiet()


def check_phone(driver, folder, pictures):
    page = Page(driver, folder, 390)
    page.settled()
    page.check_drawn(6)
    page.check_width()
    page.picture(pictures, "phone")
    page.choose("prompt", "30", None, "input")
    check_compare(page, pictures)
    page.check_width()
    page.check_quiet()


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    pictures = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    downloads = pathlib.Path("downloads").resolve()
    downloads.mkdir(exist_ok=True)
    driver = browser(downloads)
    try:
        check_desk(driver, folder, downloads, pictures)
        check_phone(driver, folder, pictures)
    finally:
        driver.quit()
    print("the playground works")


if __name__ == "__main__":
    main()
