#!/usr/bin/env python3
"""Lets a module be linked for an older C library than this one (cmake/HeadroomPortable.cmake).

    old_glibc.py libraries VERSION FOLDER COMPILER    makes libc.so.6 and its companions there
    old_glibc.py check VERSION FILE                   fails if FILE needs a newer one

The libraries have no code. They define the symbols of this machine's C library, each in the newest
version that glibc VERSION had: a later glibc keeps those for programs that were linked before.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# glibc 2.34 moved what these held into libc.so.6, under a new version. Names by their beginning;
# any other symbol that was moved was in libpthread.so.0.
MOVED_FROM = {"dl": "libdl.so.2", "aio_": "librt.so.1", "lio_": "librt.so.1", "mq_": "librt.so.1",
              "shm_": "librt.so.1", "timer_": "librt.so.1"}


class Symbol(NamedTuple):
    name: str
    version: tuple[int, ...]  # of glibc; () is none
    versioned: bool  # by glibc or another library
    kind: str  # of readelf: FUNC, IFUNC, OBJECT, TLS, NOTYPE
    size: int
    bind: str
    defined: bool
    default: bool  # what a linker takes when no version is named


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def symbols_of(path: Path) -> list[Symbol]:
    """The dynamic symbols of a file, but for those that only glibc itself may use."""
    shown = subprocess.run(["readelf", "--wide", "--dyn-syms", path], check=True,
                           capture_output=True, text=True).stdout
    found = []
    for line in shown.splitlines():
        words = line.split()
        if len(words) < 8 or not words[0][:-1].isdigit() or words[6] == "ABS":
            continue
        name, at, version = words[7].partition("@")
        version = version.lstrip("@")
        if version == "GLIBC_PRIVATE" or not name:
            continue
        glibc = re.fullmatch(r"GLIBC_([0-9.]+)", version)
        found.append(Symbol(name, numbers(glibc[1]) if glibc else (), at != "", words[3],
                            int(words[2], 0), words[4], words[6] != "UND",
                            words[7].count("@") == 2))
    return found


def of_then(here: list[Symbol], limit: tuple[int, ...]) -> dict[str, Symbol]:
    """Of each name the newest version that is not newer than the limit."""
    chosen: dict[str, Symbol] = {}
    for symbol in here:
        known = chosen.get(symbol.name)
        if symbol.defined and symbol.version and symbol.version <= limit and (
                known is None or known.version < symbol.version):
            chosen[symbol.name] = symbol
    return chosen


def write_library(path: Path, symbols: list[Symbol], compiler: str) -> None:
    by_version: dict[tuple[int, ...], list[str]] = {}
    code = []
    for symbol in sorted(symbols):
        name = symbol.name
        by_version.setdefault(symbol.version, []).append(name)
        kind = "object" if symbol.kind in ("OBJECT", "TLS") else "function"
        code += [f".globl {name}", f".type {name}, %{kind}", f"{name}:",
                 f".size {name}, {symbol.size}"]
    nodes = [f"GLIBC_{'.'.join(map(str, version))} {{ global: {'; '.join(names)}; }};"
             for version, names in sorted(by_version.items())]
    source, script = path.with_suffix(".s"), path.with_suffix(".map")
    source.write_text("\n".join([".data", *code, ""]), encoding="utf-8")
    script.write_text("\n".join([*nodes, ""]), encoding="utf-8")
    versions = [f"-Wl,--version-script={script}"] if nodes else []
    subprocess.run([compiler, "-shared", "-nostdlib", f"-Wl,-soname,{path.name}", *versions,
                    "-o", path, source], check=True)


def make_libraries(limit: tuple[int, ...], folder: Path, compiler: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    libraries: dict[str, list[Symbol]] = {"libpthread.so.0": [], "libdl.so.2": [], "librt.so.1": []}
    for library in ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"):
        where = subprocess.run([compiler, f"-print-file-name={library}"], check=True,
                               capture_output=True, text=True).stdout.strip()
        here = symbols_of(Path(where))
        newest = {symbol.name: symbol.version for symbol in here if symbol.default}
        for symbol in of_then(here, limit).values():
            owner = library
            if library == "libc.so.6" and newest.get(symbol.name, ()) > limit:
                owner = next((old for start, old in MOVED_FROM.items()
                              if symbol.name.startswith(start)), "libpthread.so.0")
            libraries.setdefault(owner, []).append(symbol)
    for name, symbols in libraries.items():
        write_library(folder / name, symbols, compiler)


def newer_needs(path: Path, limit: tuple[int, ...]) -> list[str]:
    """What the file needs that a C library of that version and Python do not have."""
    missing = []
    for symbol in symbols_of(path):
        # Python defines its own and libgcc_s has versions; a weak symbol may be missing.
        free = (symbol.defined or symbol.versioned or symbol.bind == "WEAK" or
                symbol.name.startswith(("Py", "_Py")))
        if symbol.version > limit:
            missing.append(f"{symbol.name} of glibc {'.'.join(map(str, symbol.version))}")
        elif not free:
            missing.append(f"{symbol.name}, which glibc did not have")
    return missing


def main(words: list[str]) -> None:
    if len(words) == 4 and words[0] == "libraries":
        make_libraries(numbers(words[1]), Path(words[2]), words[3])
    elif len(words) == 3 and words[0] == "check":
        missing = newer_needs(Path(words[2]), numbers(words[1]))
        if missing:
            sys.exit(f"{words[2]} must run with glibc {words[1]}, and needs:\n  " +
                     "\n  ".join(missing))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
