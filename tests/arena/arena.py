"""What the arena's programs share: measured points, predictions of them, and the files of both."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path

# Of mean TPOT and TTFT in ms, and of output tokens per second.
METRICS = ("tpot_ms", "ttft_ms", "tokens_per_s")


class Refused(Exception):
    """A simulator does not take a point; the text says why."""


@dataclass
class Point:
    """One measured figure of a server, and all that a simulator may want to know of it.

    kind: closed_loop  `users` requests at a time, ten times as many in all
          rate         requests arrive at `rate` a second, whatever the server does
          batch        `users` requests at once, no others
          job          `users` requests, all there from the start: the greatest throughput
    Lengths are means. Of a point with a `spread` they are uniform between 80 and 100 % of a nominal
    length, and the mean is 90 %.
    """

    id: str
    source: str
    kind: str
    engine: str
    release: str
    device: str
    model: str
    model_class: str
    weights: str
    kv_cache: str
    devices: int
    expert_ranks: int
    data_ranks: int
    step_tokens: int
    prompt_tokens: int
    output_tokens: int
    spread: int
    users: int
    rate: float
    prefix_tokens: int
    tpot_ms: float
    ttft_ms: float
    tokens_per_s: float

    @property
    def nominal_prompt(self) -> int:
        return round(self.prompt_tokens / 0.9) if self.spread else self.prompt_tokens

    @property
    def nominal_output(self) -> int:
        return round(self.output_tokens / 0.9) if self.spread else self.output_tokens

    @property
    def measured(self) -> dict[str, float]:
        return {m: getattr(self, m) for m in METRICS if getattr(self, m)}


@dataclass
class Prediction:
    """Zero: not predicted. `refused` says why nothing was."""

    id: str
    tpot_ms: float = 0
    ttft_ms: float = 0
    tokens_per_s: float = 0
    seconds: float = 0
    refused: str = ""
    knew: str = ""

    def of(self, metric: str) -> float:
        return getattr(self, metric)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.5g}" if value else ""
    return "" if value == 0 else str(value)


def _write(path: Path, kind: type, rows: Iterable[object]) -> None:
    names = [field.name for field in fields(kind)]
    with path.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            writer.writerow([_text(getattr(row, name)) for name in names])


def _read(path: Path, kind: type) -> list:
    makers = {field.name: {"int": int, "float": float}.get(str(field.type), str)
              for field in fields(kind)}
    with path.open(newline="") as rows:
        return [kind(**{name: makers[name](text or (0 if makers[name] is not str else ""))
                        for name, text in row.items()})
                for row in csv.DictReader(rows)]


def write_points(path: Path, points: Iterable[Point]) -> None:
    _write(path, Point, points)


def read_points(path: Path) -> list[Point]:
    return _read(path, Point)


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    _write(path, Prediction, predictions)


def read_predictions(path: Path) -> dict[str, Prediction]:
    return {prediction.id: prediction for prediction in _read(path, Prediction)}


def cpu_seconds() -> float:
    """Of this process and the programs that it ran: a busy machine does not stretch them."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def predict_all(points: Path, predict: Callable[[Point], Prediction], out: Path) -> None:
    """Each point in turn, timed; what a simulator raises is why it refuses the point. Written as
    they come, so that what was predicted outlives a run that is broken off."""
    with out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = [field.name for field in fields(Prediction)]
        writer.writerow(names)
        for point in read_points(points):
            start = cpu_seconds()
            try:
                prediction = predict(point)
            except Exception as error:  # whatever a simulator of others raises
                words = " ".join(str(error).split()) or type(error).__name__
                prediction = Prediction(point.id, refused=words[:120])
            prediction.seconds = cpu_seconds() - start
            writer.writerow([_text(getattr(prediction, name)) for name in names])
            file.flush()
