"""Questions without traffic: what fits, where memory goes, what a step costs, what was measured."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .program import call


def ask(command: str, *positional: str | os.PathLike[str],
        settings: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """The JSON that a command prints. Options are those of the command line with `_` for `-`; lists
    are joined by commas, and True is a flag. `settings` are values to set, by path."""
    flags: list[str | os.PathLike[str]] = [*positional]
    for path, value in (settings or {}).items():
        flags += ["--set", f"{path}={value if isinstance(value, str) else json.dumps(value)}"]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            flags.append(flag)
        elif isinstance(value, (list, tuple)):
            flags += [flag, ",".join(str(one) for one in value)]
        else:
            flags += [flag, str(value)]
    return json.loads(call(command, *flags, "--json"))


def capacity(*scenario: str, **options: Any) -> list[dict[str, Any]]:
    """What fits: `headroom capacity`, e.g. model="qwen2.5-7b", device="h100-sxm",
    engine=["vllm", "trtllm"], context="2k,8k". One dict for each combination."""
    answer = ask("capacity", *scenario, **options)
    return list(answer.get("systems", [answer]))


def worksheet(**options: Any) -> dict[str, dict[str, Any]]:
    """The hand worksheet of one model, in GB of 10^9 bytes: its columns by title, and `audit`."""
    answer = ask("capacity", worksheet=True, **options)["worksheets"][0]
    return {column["title"]: column for column in answer["columns"]} | {"audit": answer["audit"]}


def step(scenario: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """What one step costs: `headroom step`, e.g. decode=64, context=2000. Times in ms."""
    return dict(ask("step", scenario, **options))


def audit(*target: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Where every byte goes, and what to change: `headroom audit` of a scenario, a log, or a
    recording (series="memory.csv")."""
    return dict(ask("audit", *target, **options))


def validate(what: str, directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Models beside measurements: `headroom validate memory|runs DIRECTORY`."""
    return dict(ask("validate", what, directory))


def shared(*names: str) -> Path | None:
    """A file of the measurements that are no part of this repository (`$HEADROOM_SHARED`, else
    `../shared` beside the checkout); None where it is not there."""
    beside = Path(__file__).resolve().parents[3] / "shared"
    path = Path(os.environ.get("HEADROOM_SHARED", beside)).joinpath(*names)
    return path if path.exists() else None
