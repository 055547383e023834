"""Simulates LLM serving: throughput, latency and memory of your traffic on a machine.

    import headroom
    run = headroom.run("demo", **{"engine.max_num_seqs": 64})
    run.metrics["p99_ttft_ms"], run.requests["first_token_ns"], run.warnings

Scenarios, studies and plans are dicts, files, their texts, or names of those that come with
Headroom (`headroom list scenarios`). Whatever is wrong is an `Error` with its place. Functions work
without the interpreter's lock, so several run at once in threads; Ctrl-C stops them.
`progress(done, all)` is called about ten times a second; `all` is 0 where it is not known.
`workers` is the number of runs at a time; None: every core. Results do not depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core
from ._answers import (
    Answer,
    Ask,
    Assertion,
    Audit,
    Capacity,
    Change,
    Check,
    Comparison,
    Context,
    Deployment,
    Difference,
    Fix,
    Plan,
    Point,
    Record,
    Run,
    Study,
    Tune,
)
from ._core import OUTCOMES, __version__, deployment_forms
from ._documents import (
    Path,
    Scenario,
    ScenarioLike,
    Settings,
    Source,
    json_of,
    plan_document,
    study_document,
    threads_of,
)
from ._error import Error, wrong_value
from ._tables import NO_REPLICA, Requests, Table

Progress = Callable[[int, int], object]

__all__ = [
    "NO_REPLICA",
    "OUTCOMES",
    "Answer",
    "Ask",
    "Assertion",
    "Audit",
    "Capacity",
    "Change",
    "Check",
    "Comparison",
    "Context",
    "Deployment",
    "Difference",
    "Error",
    "Fix",
    "Plan",
    "Point",
    "Record",
    "Requests",
    "Run",
    "Scenario",
    "Study",
    "Table",
    "Tune",
    "__version__",
    "ask",
    "audit",
    "capacity",
    "check",
    "compare",
    "deployment_forms",
    "emit",
    "plan",
    "run",
    "sweep",
    "tune",
]


def run(
    scenario: ScenarioLike,
    settings: Settings | None = None,
    *,
    trace: Path | None = None,
    tables: bool = True,
    progress: Progress | None = None,
    **paths: Any,
) -> Run:
    """Simulates a scenario. Running out of memory is a result, not an error.

    `settings` and further keywords are values by path; `trace` is a recorded trace in place of the
    scenario's traffic. Without `tables`, the answer keeps no memory of requests and samples.
    """
    ready = Scenario(scenario, settings, trace=trace, **paths)
    fields = _core.run(ready._core, progress, tables)
    setup = json.loads(fields["json"])["setup"]
    fields["requests"] = Requests(fields["requests"], setup)
    fields["timeline"] = Table(fields["timeline"])
    return Run(**fields)


def capacity(
    scenario: ScenarioLike,
    contexts: Sequence[int] = (2048, 8192, 32768, 131072),
    settings: Settings | None = None,
    **paths: Any,
) -> Capacity:
    """How many requests of each length (prompt and output tokens) fit in memory, without
    traffic: a scenario needs `model` and `device` alone."""
    ready = Scenario(scenario, settings, **paths)
    fields = _core.capacity(ready._core, list(contexts))
    fields["contexts"] = [Context(**one) for one in fields["contexts"]]
    return Capacity(**fields)


def audit(
    scenario: ScenarioLike,
    context: int | None = None,
    concurrency: int = 1,
    settings: Settings | None = None,
    **paths: Any,
) -> Audit:
    """Where device memory goes, and the smallest change with which `concurrency` requests of
    `context` tokens fit (None: of the longest that the engine takes)."""
    if context is not None and context < 1:
        raise wrong_value("context", context, "expected at least 1 token")
    ready = Scenario(scenario, settings, **paths)
    fields = _core.audit(ready._core, context or 0, concurrency)
    fields["fixes"] = [Fix(**one) for one in fields["fixes"]]
    return Audit(**fields)


def ask(
    scenario: ScenarioLike,
    targets: str = "",
    settings: Settings | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    **paths: Any,
) -> Ask:
    """Whether the scenario's load holds within `targets` ("p99_ttft=2s,p95_tpot=50ms"), by how
    much, and which changes help most."""
    ready = Scenario(scenario, settings, **paths)
    fields = _core.ask(ready._core, targets, threads_of(workers), progress)
    for kind in ("changes", "hardware"):
        fields[kind] = [Change(**one) for one in fields[kind]]
    return Ask(**fields)


def tune(
    scenario: ScenarioLike,
    targets: str = "",
    settings: Settings | None = None,
    *,
    objective: str = "goodput",
    price: float | None = None,
    keep: Sequence[str] = (),
    tries: Mapping[str, Sequence[Any]] | None = None,
    only_tries: bool = False,
    budget: int = 1000,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    **paths: Any,
) -> Tune:
    """The engine flags that serve most within `targets`, found by simulation.

    `objective`: goodput (the largest load), dollars (per million tokens) or joules (per token).
    `price`: $ for an hour of one device. `keep`: options that stay as they stand. `tries`: values
    of your own by path, and with `only_tries` no others. `budget`: runs of the search.
    """
    ready = Scenario(scenario, settings, **paths)
    values = [f"{path}={','.join(_text_of(value, path) for value in given)}"
              for path, given in (tries or {}).items()]
    fields = _core.tune(ready._core, targets, objective, price, list(keep), values, only_tries,
                        budget, seed, threads_of(workers), progress)
    fields["settings"] = {path: json.loads(to) for path, to in fields["settings"].items()}
    fields["scenario"] = json.loads(fields["scenario"] or "{}")
    return Tune(**fields)


def check(
    scenario: ScenarioLike | list[ScenarioLike],
    *assertions: str,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Check:
    """What must hold in a scenario, or in each of several:
    `assert headroom.check("demo", "p99_ttft_ms < 800", "oom == 0")`."""
    several = scenario if isinstance(scenario, list) else [scenario]
    fields = _core.check([Scenario(one)._core for one in several], list(assertions),
                         threads_of(workers), progress)
    fields["assertions"] = [Assertion(**one) for one in fields["assertions"]]
    return Check(**fields)


def emit(
    scenario: ScenarioLike,
    form: str,
    settings: Settings | None = None,
    *,
    progress: Progress | None = None,
    **paths: Any,
) -> Deployment:
    """The fleet of a scenario as files to deploy; `deployment_forms()` lists the forms."""
    ready = Scenario(scenario, settings, **paths)
    return Deployment(**_core.emit(ready._core, form, progress))


def compare(
    a: ScenarioLike,
    b: ScenarioLike,
    replications: int = 5,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Two scenarios under the same traffic, `replications` times with other seeds:
    `compare("demo", Scenario("demo", **{"engine.max_num_seqs": 64}))`."""
    fields = _core.compare(Scenario(a)._core, Scenario(b)._core, replications,
                           threads_of(workers), progress)
    fields["metrics"] = {name: Difference(**one) for name, one in fields["metrics"].items()}
    return Comparison(**fields)


def sweep(
    study: Source, *, workers: int | None = None, progress: Progress | None = None
) -> Study:
    """Every point of a study that does not search (those: `headroom sweep`)."""
    points = _core.sweep(*study_document(study), threads_of(workers), progress)
    for point in points:
        point["parameters"] = {path: json.loads(value)
                               for path, value in point["parameters"].items()}
    return Study([Point(**point) for point in points])


def plan(plan: Source, *, workers: int | None = None, progress: Progress | None = None) -> Plan:
    """The cheapest fleet that keeps the targets of a plan."""
    return Plan(**_core.plan(*plan_document(plan), threads_of(workers), progress))


def _text_of(value: Any, path: str) -> str:
    """As `--try` takes it."""
    return value if isinstance(value, str) else json_of(value, path)
