"""What mkdocs does besides, so that pages mean the same here and where the repository is read.

Links to files of the repository outside docs/ ([the scenario](../scenarios/demo.json)): the file is
copied to its path in the repository, Markdown as a page, and the link follows it. Lists as in
CommonMark: they need no empty line before them, and what is in an item is as far in as its text.
The playground, if it was built, becomes a part of the site.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

# [text](target), [text](target#anchor); no addresses, no anchors of the page itself.
_LINK = re.compile(r"(\]\()(?![a-z]+:)([^)#\s]+)((?:#[^)\s]*)?\))")
_ITEM = re.compile(r"( *)(?:[-*+]|\d+[.)]) ")
_FENCE = re.compile(r" *```")


def _root(config) -> Path:
    return Path(config["config_file_path"]).resolve().parent


def _repository_path(file: File, root: Path) -> str:
    return Path(file.abs_src_path).resolve().relative_to(root).as_posix()


def _targets(source: Path, root: Path) -> list[Path]:
    """Files of the repository that a page links to."""
    found = []
    for link in _LINK.finditer(source.read_text(encoding="utf-8")):
        target = (source.parent / link[2]).resolve()
        if target.is_file() and target.is_relative_to(root):
            found.append(target)
    return found


def _playground(root: Path) -> list[str]:
    """The files of the playground below build/, if scripts/playground.sh has built it."""
    build = root / "build"
    return sorted(path.relative_to(build).as_posix()
                  for path in (build / "playground").rglob("*") if path.is_file())


def on_files(files, config):
    root, docs = _root(config), Path(config["docs_dir"]).resolve()
    queue = [Path(page.abs_src_path).resolve() for page in files.documentation_pages()]
    known = set(queue)
    while queue:
        for target in _targets(queue.pop(), root):
            if target in known or target.is_relative_to(docs):
                continue
            known.add(target)
            path = target.relative_to(root).as_posix()
            file = File(path, str(root), config["site_dir"], config["use_directory_urls"])
            if any(other.dest_uri == file.dest_uri for other in files):
                raise PluginError(f"{path}: the site has another page at {file.dest_uri}")
            files.append(file)
            if target.suffix == ".md":
                queue.append(target)
    for path in _playground(root):
        files.append(File(path, str(root / "build"), config["site_dir"],
                          config["use_directory_urls"]))
    return files


def on_nav(nav, config, files):
    """A page of docs/ that nobody can find is an error."""
    docs = Path(config["docs_dir"]).resolve()
    found = {page.file.src_uri for page in nav.pages}
    lost = sorted(
        file.src_uri
        for file in files.documentation_pages()
        if file.src_uri not in found and Path(file.abs_src_path).resolve().is_relative_to(docs)
    )
    if lost:
        raise PluginError(f"mkdocs.yml: nav has no place for {', '.join(lost)}")
    return nav


def common_lists(markdown: str) -> str:
    """The same text for Python-Markdown, which wants an empty line before a list, and everything
    inside an item four spaces further in, however short the item's mark is."""
    lines: list[str] = []
    in_fence = False
    mark = 0  # length of "- " or "1. " of the list that this line may belong to; 0: of none
    for line in markdown.split("\n"):
        if _FENCE.match(line):
            in_fence = not in_fence
        item = None if in_fence else _ITEM.match(line)
        indent = len(line) - len(line.lstrip())
        if item and not indent:
            if not mark and lines and lines[-1].strip():
                lines.append("")
            mark = len(item[0])
        elif item and mark and 2 <= indent <= 3:
            line = " " * 4 + line.lstrip()
        elif mark and indent >= mark + 4:  # an indented block of code
            line = " " * (4 - mark) + line
        elif mark and line and not indent and not lines[-1].strip():
            mark = 0  # a paragraph of its own behind the list
        lines.append(line)
    return "\n".join(lines)


def on_page_markdown(markdown, page, config, files):
    root = _root(config)
    here = posixpath.dirname(_repository_path(page.file, root))

    def in_site(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, link[2]))
        if not (root / target).is_file():
            return link[0]  # mkdocs --strict names it
        uri = target.removeprefix("docs/")
        start = posixpath.dirname(page.file.src_uri) or "."
        return link[1] + os.path.relpath(uri, start) + link[3]

    if page.file.src_uri == "playground.md" and _playground(root):
        markdown += "\n[Open the playground of this site](playground/index.html).\n"
    return common_lists(_LINK.sub(in_site, markdown))
