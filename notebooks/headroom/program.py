"""The program itself: where it is, and how it is called."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


class HeadroomError(RuntimeError):
    """The program refused: its message names the file, the place and what is allowed."""


def find_program() -> Path:
    """`$HEADROOM`, else the newest build of this checkout, else `headroom` on the PATH."""
    named = os.environ.get("HEADROOM")
    if named:
        return Path(named)
    builds = [_ROOT / "build" / preset / "bin" / "headroom" for preset in ("program", "release")]
    built = [path for path in builds if path.exists()]
    if built:
        return max(built, key=lambda path: path.stat().st_mtime)
    installed = shutil.which("headroom")
    if installed:
        return Path(installed)
    raise HeadroomError("no headroom program: run scripts/demo.sh, or set HEADROOM to its path")


def call(*arguments: str | os.PathLike[str], allowed: Sequence[int] = (0,)) -> str:
    """Standard output of one command. HeadroomError with its message when it fails."""
    command = [str(find_program()), *(os.fspath(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        raise HeadroomError(done.stderr.strip() or f"exit code {done.returncode}")
    return done.stdout
