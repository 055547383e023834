"""Answers in notebooks: small tables, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._answers import Ask, Audit, Capacity, Check, Comparison, Run, Study, Tune

_LATENCIES = ("ttft", "tpot", "itl", "e2el")
_STATISTICS = ("mean", "median", "p90", "p99")
_GIB = 2**30
_MOST_ROWS = 20


def number(value: Any) -> str:
    """Four digits; a gap where there is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    def cells(tag: str, values: Iterable[Any]) -> str:
        return "".join(f"<{tag}>{escape(number(value))}</{tag}>" for value in values)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def notes(title: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<details><summary>{escape(title)}</summary><ul>{items}</ul></details>" if items else ""


def title(text: str) -> str:
    return f"<p><b>{escape(text)}</b></p>"


def record(values: Mapping[str, Any]) -> str:
    """What is no list and no object."""
    plain = [(key, value) for key, value in values.items() if not isinstance(value, (dict, list))]
    return table(("", "value"), plain)


def run(answer: Run) -> str:
    setup, metrics = answer.summary.setup, answer.metrics
    text = title(f"{answer.summary.scenario}: {setup.model} on {setup.device}, engine "
                 f"{setup.engine} {setup.engine_version}")
    if not answer.started:
        return text + title(f"does not start: {answer.failure}") + notes("warnings",
                                                                         answer.warnings)
    rows = [[name.upper() + " (ms)"]
            + [metrics.get(f"{statistic}_{name}_ms") for statistic in _STATISTICS]
            for name in _LATENCIES]
    counts = [(key, metrics.get(key)) for key in
              ("completed", "request_throughput", "output_throughput", "duration")]
    counts.append(("kv_tokens", answer.summary.memory.kv_tokens))
    counts.append(("stop", answer.stop))
    return (text + table(("", *_STATISTICS), rows) + table(("", "value"), counts)
            + notes("warnings", answer.warnings))


def capacity(answer: Capacity) -> str:
    text = title(f"{answer.kv_tokens:,} tokens of KV" if answer.starts
                 else f"does not start: {answer.failure}")
    rows = [(one.tokens, one.requests, one.limit) for one in answer.contexts]
    return text + table(("tokens", "requests", "limit"), rows) + notes("warnings", answer.warnings)


def audit(answer: Audit) -> str:
    rows = [(purpose, size / _GIB) for purpose, size in answer.bytes.items()]
    fixes = [f"{fix.option}: {fix.before} → {fix.after} (costs {fix.cost})" for fix in answer.fixes]
    return title(answer.verdict) + table(("purpose", "GiB"), rows) + notes("fixes", fixes)


def ask(answer: Ask) -> str:
    changes = [*answer.changes, *answer.hardware]
    rows = [(one.option, one.to, one.largest_load, one.cost) for one in changes]
    return (title(f"{answer.verdict}: {answer.reason}")
            + table(("change", "to", "largest load", "cost"), rows))


def tune(answer: Tune) -> str:
    gain = "" if answer.gain is None else (f": {answer.gain:+.1%}, give or take "
                                           f"{answer.gain_half_width:.1%}")
    return (title(f"{len(answer.settings)} options changed{gain}" if answer.found
                  else "no configuration holds the targets")
            + table(("option", "to"), answer.settings.items()) + title(answer.command))


def check(answer: Check) -> str:
    rows = [(one.scenario, one.text, one.verdict, one.value) for one in answer.assertions]
    return (title("holds" if answer.holds else "broken")
            + table(("scenario", "assertion", "verdict", "simulated"), rows))


def comparison(answer: Comparison) -> str:
    rows = [(name, one.mean_a, one.mean_b, one.difference, one.half_width)
            for name, one in answer.metrics.items()]
    return table(("metric", "A", "B", "B less A", "±"), rows)


def study(answer: Study) -> str:
    metrics = ("request_throughput", "p99_ttft_ms", "p99_tpot_ms")
    varied = list(answer[0].parameters) if len(answer) > 0 else []
    rows = [[*point.parameters.values(), *(point.metrics.get(name) for name in metrics)]
            for point in answer[:_MOST_ROWS]]
    text = table((*varied, *metrics), rows)
    left = len(answer) - len(rows)
    return text if left == 0 else text + title(f"and {left} more runs: to_pandas()")
