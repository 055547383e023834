"""What the functions answer. Each has the JSON of the program, byte by byte, as `json`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from . import _html
from ._tables import Requests, Table

if TYPE_CHECKING:
    import pandas as pd


class Record(dict[str, Any]):
    """A JSON object; its keys are attributes, too."""

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


@dataclass(frozen=True)
class Answer:
    json: str

    @cached_property
    def summary(self) -> Record:
        """The JSON as objects: `answer.summary["memory"]`, `answer.summary.memory`."""
        return Record(json.loads(self.json, object_hook=Record))

    def __getitem__(self, key: str) -> Any:
        return self.summary[key]

    def _repr_html_(self) -> str:
        return _html.record(self.summary)


@dataclass(frozen=True)
class Run(Answer):
    started: bool  # False: the engine does not start, for want of memory
    failure: str  # why not
    stop: str  # drained, until, max_events, no_progress, interrupted, startup_oom
    digest: str  # of every record: equal digests, equal results
    warnings: list[str]  # what the answer rests on
    requests: Requests
    timeline: Table  # each replica at a fixed interval and at each OOM: `timeline.csv`

    @property
    def metrics(self) -> Record:
        """By the names of `vllm bench serve`: ms, 1/s, tokens/s. Empty where nothing ran."""
        return Record(self.summary.get("metrics") or {})

    def __repr__(self) -> str:
        return f"<headroom.Run {self.summary.scenario}: {self.stop}, digest {self.digest[:12]}>"

    def _repr_html_(self) -> str:
        return _html.run(self)


@dataclass(frozen=True)
class Context:
    tokens: int  # of a request, prompt and output
    requests: int  # served together
    kv_bytes: int  # of one request, on the rank that keeps most
    limit: str  # blocks, max_num_seqs, does_not_fit, max_model_len


@dataclass(frozen=True)
class Capacity(Answer):
    starts: bool
    failure: str  # why not
    kv_tokens: int  # that the pool holds for requests
    contexts: list[Context]
    warnings: list[str]

    def _repr_html_(self) -> str:
        return _html.capacity(self)


@dataclass(frozen=True)
class Fix:
    option: str  # "engine.max_model_len"
    before: str
    after: str
    cost: str  # none, limits, speed, quality, hardware


@dataclass(frozen=True)
class Audit(Answer):
    verdict: str  # fits, does_not_start, ...
    bytes: dict[str, int]  # of device memory by purpose
    fixes: list[Fix]  # the smallest first

    def _repr_html_(self) -> str:
        return _html.audit(self)


@dataclass(frozen=True)
class Change:
    option: str  # "engine.max_num_seqs"
    to: str  # JSON value
    cost: str  # none, limits, speed, quality, hardware
    largest_load: float
    holds: bool  # the scenario's own load


@dataclass(frozen=True)
class Ask(Answer):
    verdict: str  # holds, tight, does_not_hold, does_not_start
    reason: str  # in one sentence
    largest_load: float | None  # in the unit of the scenario's: requests/s, users, ...
    binds: str  # pool, batch_limit, prefill, decode, ...
    changes: list[Change]  # on the same devices; the best first
    hardware: list[Change]  # with more or other devices

    def _repr_html_(self) -> str:
        return _html.ask(self)


@dataclass(frozen=True)
class Tune(Answer):
    found: bool  # a configuration holds some load
    merit: float | None  # of the best: the largest load, tokens/s, tokens/J, ...
    gain: float | None  # over the scenario as it stands: 0.2 is a fifth more
    gain_half_width: float  # of its interval of 95 %
    settings: dict[str, Any]  # by path, that make the best of the scenario
    scenario: dict[str, Any]  # with these
    command: str  # of the engine; empty: none is known

    def _repr_html_(self) -> str:
        return _html.tune(self)


@dataclass(frozen=True)
class Assertion:
    scenario: str  # its name
    text: str  # as it was given
    verdict: str  # holds, tight (measured runs might break it), broken
    value: float | None  # simulated; None: the run has no such figure
    low: float  # where measured runs of similar systems would lie
    high: float


@dataclass(frozen=True)
class Check(Answer):
    holds: bool  # none is broken
    assertions: list[Assertion]  # in each scenario, in their order

    def __bool__(self) -> bool:
        return self.holds

    @property
    def broken(self) -> list[Assertion]:
        return [one for one in self.assertions if one.verdict == "broken"]

    def _repr_html_(self) -> str:
        return _html.check(self)


@dataclass(frozen=True)
class Deployment:
    """Files to deploy, by name."""

    files: dict[str, str]
    not_said: list[str]  # options that were simulated, but that no file says

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the files into a folder, which is made if it is not there."""
        os.makedirs(folder, exist_ok=True)
        for name, text in self.files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)


@dataclass(frozen=True)
class Difference:
    mean_a: float
    mean_b: float
    difference: float  # b less a
    half_width: float  # of the interval of 95 %


@dataclass(frozen=True)
class Comparison(Answer):
    metrics: dict[str, Difference]

    def _repr_html_(self) -> str:
        return _html.comparison(self)


@dataclass(frozen=True)
class Point:
    """One run of a study."""

    parameters: dict[str, Any]  # what was varied, by path
    replication: int
    error: str  # of a run that failed; empty: none
    metrics: dict[str, float]
    digest: str


class Study(Sequence[Point]):
    """The runs of a study, in their order."""

    def __init__(self, points: list[Point]) -> None:
        self._points = points

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> Study: ...
    def __getitem__(self, index: int | slice) -> Point | Study:
        found = self._points[index]
        return Study(found) if isinstance(found, list) else found

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self._points)

    def __repr__(self) -> str:
        return f"<headroom.Study of {len(self)} runs>"

    def to_pandas(self) -> pd.DataFrame:
        """A row per run: parameters by path, replication, error, digest, metrics."""
        import pandas

        rows = [{**point.parameters, "replication": point.replication, "error": point.error,
                 "digest": point.digest, **point.metrics} for point in self._points]
        return pandas.DataFrame(rows)

    def _repr_html_(self) -> str:
        return _html.study(self)


@dataclass(frozen=True)
class Plan(Answer):
    found: bool  # a fleet keeps every target
