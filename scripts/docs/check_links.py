"""Checks a folder of HTML pages, and Markdown files where they lie.

    python3 check_links.py SITE [FILE.md...]

In both: every relative link has its file, and every anchor its heading or id. In the site also:
nothing is fetched from elsewhere (a page must work offline), every picture has a text, and no line
of a list or table became text (Markdown wants an empty line before them). Addresses of other sites
are not visited. Prints a line for each fault, and exits with 1 when there is one.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import markdown

# Attributes with an address; those that a browser fetches by itself.
_FETCHED = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"),
            ("link", "href")}
_ADDRESSES = _FETCHED | {("a", "href")}
_NOT_FETCHED_LINKS = {"canonical", "author", "prev", "next"}
_FETCHED_BY_STYLE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?((?:https?:)?//[^\"')\s]+)")
_LOST_LINE = re.compile(r"^\s*([-*|] |\d+\. |\|)", re.MULTILINE)


@dataclass
class Page:
    """What one page refers to, and what may be referred to in it."""

    links: list[tuple[str, bool]] = field(default_factory=list)  # address; is it fetched?
    anchors: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._paragraph: list[str] | None = None

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        for name in ("id", "name"):
            if values.get(name) and (name == "id" or tag == "a"):
                self.page.anchors.add(values[name])
        for name, value in attrs:
            if (tag, name) in _ADDRESSES and value:
                passive = tag == "link" and values.get("rel") in _NOT_FETCHED_LINKS
                self.page.links.append((value, (tag, name) in _FETCHED and not passive))
        if tag == "img" and not values.get("alt"):
            self.page.faults.append(f"picture without a text: {values.get('src')}")
        if tag == "p":
            self._paragraph = []
        elif tag == "code" and self._paragraph is not None:
            self._paragraph.append("`")

    def handle_data(self, data):
        if self._paragraph is not None:
            self._paragraph.append(data)

    def handle_endtag(self, tag):
        if tag == "p" and self._paragraph is not None:
            lost = _LOST_LINE.search("".join(self._paragraph))
            if lost:
                line = "".join(self._paragraph)[lost.start():].strip().splitlines()[0]
                self.page.faults.append(f"a list or table that is none: {line[:60]}")
            self._paragraph = None


def read_html(text: str) -> Page:
    reader = _Reader()
    reader.feed(text)
    return reader.page


def read_markdown(text: str) -> Page:
    page = read_html(markdown.markdown(text, extensions=["tables", "toc", "fenced_code"]))
    page.faults.clear()  # how it looks is for the reader of the repository to say
    return page


class Checker:
    """Reads each page once."""

    def __init__(self) -> None:
        self._pages: dict[Path, Page] = {}
        self.links = 0

    def page(self, path: Path) -> Page:
        if path not in self._pages:
            text = path.read_text(encoding="utf-8")
            self._pages[path] = read_markdown(text) if path.suffix == ".md" else read_html(text)
        return self._pages[path]

    def faults(self, path: Path, root: Path | None) -> list[str]:
        """`root`: the folder that links may not leave and in which `/` begins."""
        page = self.page(path)
        found = list(page.faults)
        for address, fetched in page.links:
            self.links += 1
            fault = self._fault(path, root, address, fetched)
            if fault:
                found.append(f"{address}: {fault}")
        return found

    def _fault(self, path: Path, root: Path | None, address: str, fetched: bool) -> str | None:
        parts = urlsplit(address)
        if parts.scheme == "data":
            return None
        if parts.scheme or parts.netloc:
            return "fetched from elsewhere" if fetched else None
        target = path
        if parts.path:
            base = root if root and parts.path.startswith("/") else path.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve()
            if root and target.is_dir():
                target = target / "index.html"
        if root and not target.is_relative_to(root):
            return "leaves the site"
        if not target.exists():
            return "no such file"
        if parts.fragment and target.suffix in (".html", ".md"):
            if unquote(parts.fragment) not in self.page(target).anchors:
                return "no such anchor"
        return None


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    site = Path(arguments[0]).resolve()
    jobs = [(page, site) for page in sorted(site.rglob("*.html"))]
    if not jobs:
        print(f"check_links.py: no page in {site}", file=sys.stderr)
        return 2
    jobs += [(Path(name).resolve(), None) for name in arguments[1:]]
    checker = Checker()
    count = 0
    for path, root in jobs:
        name = path.relative_to(site) if root else path.name
        for fault in checker.faults(path, root):
            print(f"{name}: {fault}")
            count += 1
    for style in sorted(site.rglob("*.css")):
        for address in _FETCHED_BY_STYLE.findall(style.read_text(encoding="utf-8")):
            print(f"{style.relative_to(site)}: {address}: fetched from elsewhere")
            count += 1
    print(f"check_links.py: {len(jobs)} pages, {checker.links} links, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
