"""What the tests share: small scenarios, and the program inside the package."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import headroom

SOURCE = Path(os.environ["HEADROOM_SOURCE_DIR"])


def small(requests: int = 200) -> dict[str, Any]:
    """One engine, a few seconds of traffic."""
    return {
        "name": "small",
        "model": "llama-3.1-8b",
        "device": "h100-sxm",
        "workload": {
            "num_requests": requests,
            "arrivals": {"request_rate": 8},
            "prompt": {"law": "lognormal", "median": 500, "sigma": 0.6, "max": 4000},
            "output": {"law": "lognormal", "median": 100, "sigma": 0.6, "max": 500},
        },
    }


def program(*words: str | Path) -> str:
    """What `headroom WORDS` prints."""
    command = [sys.executable, "-m", "headroom", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class InFolder(unittest.TestCase):
    """Each test has an empty folder of its own as the current one."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        before = Path.cwd()
        os.chdir(folder.name)
        self.addCleanup(os.chdir, before)

    def error(self, *arguments: Any, **settings: Any) -> headroom.Error:
        """Of a run that is refused."""
        with self.assertRaises(headroom.Error) as caught:
            headroom.run(*arguments, **settings)
        return caught.exception
