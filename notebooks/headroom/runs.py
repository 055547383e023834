"""Single runs: a scenario in, tables out."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from .program import HeadroomError, call

Scenario = str | os.PathLike[str] | Mapping[str, Any]
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """A run's summary, and its tables while their folder is there."""

    summary: dict[str, Any]
    directory: Path
    _keeper: tempfile.TemporaryDirectory[str] | None = None  # removes a temporary folder

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of `vllm bench serve`, by their names there: ms, 1/s, tokens/s."""
        return dict(self.summary["metrics"])

    @property
    def memory(self) -> dict[str, Any]:
        return dict(self.summary["memory"])

    @property
    def started(self) -> bool:
        """False: memory ran out while the engine started."""
        return bool(self.summary["started"])

    @property
    def warnings(self) -> list[str]:
        """What the answer rests on, in sentences."""
        return list(self.summary["warnings"])

    @property
    def expected_error(self) -> dict[str, Any]:
        """How far runs like this one were from measured ones, in percent; {} where nothing ran."""
        return dict(self.summary.get("expected_error") or {})

    @property
    def stationary(self) -> bool:
        """False: the backlog grows, and latencies depend on how long the run was."""
        return bool(self.summary["windows"]["stationary"])

    @cached_property
    def requests(self) -> pd.DataFrame:
        """One row per request, in order of arrival. Instants and latencies in ms; NaN where a
        request never got there. `client_latency_ms` of the step-time model is part of TTFT and
        E2EL, and so is `client_prompt_token_us` of each prompt token."""
        frame = pd.read_csv(self.directory / "requests.csv", index_col="index")
        out = frame.drop(columns=[c for c in frame if c.endswith("_ns")])
        for column in (c for c in frame if c.endswith("_ns")):
            out[column.removesuffix("_ns") + "_ms"] = frame[column].where(frame[column] >= 0) / 1e6
        setup = self.summary["setup"]
        # In whole nanoseconds, as the program adds it.
        prompts_ns = out.prompt_tokens * round(setup.get("client_prompt_token_us", 0) * 1e6) // 1000
        client = setup["client_latency_ms"] + prompts_ns / 1e6
        out["queue_ms"] = out.first_scheduled_ms - out.queued_ms
        out["ttft_ms"] = out.first_token_ms - out.arrival_ms + client
        out["e2el_ms"] = out.finish_ms - out.arrival_ms + client
        gaps = (out.output_tokens - 1).where(out.output_tokens > 1)
        out["tpot_ms"] = (out.finish_ms - out.first_token_ms) / gaps
        finished = out.outcome == "finished"
        for column in ("ttft_ms", "e2el_ms", "tpot_ms"):
            out[column] = out[column].where(finished)
        return out

    @cached_property
    def timeline(self) -> pd.DataFrame:
        """Requests and KV tokens at a fixed interval, and at every OOM; `time_s` in seconds."""
        frame = pd.read_csv(self.directory / "timeline.csv")
        if frame.empty:  # did not start: columns without values are numbers all the same
            frame = frame.astype({column: float for column in frame if column != "cause"})
        frame.insert(0, "time_s", frame.pop("time_ns") / 1e9)
        return frame

    @cached_property
    def events(self) -> pd.DataFrame:
        """Preemptions, rejections, refusals, OOMs."""
        with open(self.directory / "events.jsonl", encoding="utf-8") as lines:
            frame = pd.DataFrame([json.loads(line) for line in lines])
        if "time_ns" in frame:
            frame.insert(0, "time_s", frame.pop("time_ns") / 1e9)
        return frame

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """Every value of the run, and what set it."""
        return dict(json.loads((self.directory / "resolved.json").read_text(encoding="utf-8")))

    def oom_kinds(self) -> list[str]:
        """Ways in which memory ran out, in order of time, each once."""
        return list(dict.fromkeys(entry["kind"] for entry in self.summary["oom"]))


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _flags(settings: Settings | None, trace: str | os.PathLike[str] | None) -> list[str]:
    flags = []
    for path, value in (settings or {}).items():
        flags += ["--set", f"{path}={_value(value)}"]
    return flags if trace is None else [*flags, "--trace", os.fspath(trace)]


def load(directory: str | os.PathLike[str]) -> Result:
    """The result that `headroom run -o DIRECTORY` left there."""
    path = Path(directory)
    summary = path / "summary.json"
    if not summary.exists():
        raise HeadroomError(f"{path}: no summary.json: not the folder of a run")
    return Result(json.loads(summary.read_text(encoding="utf-8")), path)


def run(
    scenario: Scenario,
    settings: Settings | None = None,
    *,
    trace: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Result:
    """Simulates a scenario: the name of one, its file, or its content as a dict.

    `settings` are values to set, by path: {"engine.max_num_seqs": 64}. Tables are kept in `output`,
    or in a temporary folder that lives as long as the result.
    """
    keeper = tempfile.TemporaryDirectory(prefix="headroom-") if output is None else None
    directory = Path(keeper.name) / "run" if keeper else Path(os.fspath(output or ""))
    with tempfile.TemporaryDirectory(prefix="headroom-") as scratch:
        if isinstance(scenario, Mapping):
            file = Path(scratch) / "scenario.json"
            file.write_text(json.dumps(dict(scenario)), encoding="utf-8")
            scenario = file
        call("run", scenario, "-o", directory, *_flags(settings, trace))
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    return Result(summary, directory, keeper)


def run_many(
    scenario: Scenario, settings: Iterable[Settings], *, jobs: int | None = None
) -> list[Result]:
    """The same scenario with each of the settings, in their order; all cores, or so many jobs."""
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(lambda one: run(scenario, one), settings))


def basis(results: Iterable[Result]) -> pd.DataFrame:
    """What a set of results rests on: each warning once, with the number of runs that gave it, and
    the situation of the expected error (whether constants were fitted for it)."""
    counts: dict[str, int] = {}
    for result in results:
        situation = result.expected_error.get("situation")
        notes = [f"expected error: {situation}"] if situation else []
        for note in dict.fromkeys(notes + result.warnings):
            counts[note] = counts.get(note, 0) + 1
    notes = pd.DataFrame({"runs": counts.values(), "note": counts.keys()})
    return notes.sort_values("runs", ascending=False, kind="stable", ignore_index=True)
