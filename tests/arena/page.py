#!/usr/bin/env python3
"""docs/arena.md from tests/arena/data: what was measured, what each simulator said, who was right.

usage: page.py [--check]     --check: fail if the page is not what the data gives
"""

from __future__ import annotations

import collections
import json
import math
import statistics
import sys
from pathlib import Path

from arena import METRICS, Point, Prediction, read_points, read_predictions

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/arena.md"
DATA = HERE / "data"
NAMES = {"tpot_ms": "TPOT", "ttft_ms": "TTFT", "tokens_per_s": "tokens/s"}
# TTFT has a few errors of hundreds of per cent (queues); its median says more of the rest.
AVERAGES = {"tpot_ms": statistics.mean, "ttft_ms": statistics.median,
            "tokens_per_s": statistics.mean}
FEWEST = 3  # points of a class that a comparison needs

Errors = dict[str, float]  # by point: predicted over measured, less one
Class = tuple[str, str, str]  # engine, device, class of models


class Arena:
    def __init__(self, folder: Path) -> None:
        self.facts = json.loads((folder / "simulators.json").read_text(encoding="utf-8"))
        self.points: dict[str, Point] = {p.id: p for p in read_points(folder / "points.csv")}
        self.names = [entry["name"] for entry in self.facts["simulators"]]
        # Files of simulators that were not asked again may speak of points that are gone.
        self.said: dict[str, dict[str, Prediction]] = {
            entry["name"]: {point: said for point, said in
                            read_predictions(folder / entry["file"]).items()
                            if point in self.points}
            for entry in self.facts["simulators"]}

    def errors(self, name: str, metric: str) -> Errors:
        found = {}
        for point, prediction in self.said[name].items():
            measured = self.points[point].measured.get(metric)
            if measured and prediction.of(metric):
                found[point] = prediction.of(metric) / measured - 1
        return found

    def by_class(self) -> dict[Class, list[str]]:
        classes = collections.defaultdict(list)
        for point in self.points.values():
            classes[point.engine, point.device, point.model_class].append(point.id)
        return dict(sorted(classes.items()))


def size(errors: Errors, metric: str) -> float:
    return 100 * AVERAGES[metric](abs(error) for error in errors.values())


def percent(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def who_took_part(arena: Arena) -> str:
    rows = []
    for entry in arena.facts["simulators"]:
        said = arena.said[entry["name"]]
        taken = sum(not prediction.refused for prediction in said.values())
        seconds = [p.seconds for p in said.values()]
        rows.append([entry["name"], entry["version"], entry["licence"],
                     f"{len(said)}", f"{taken} ({100 * taken / len(said):.0f} %)",
                     f"{statistics.mean(seconds):.3f}".replace("0.000", "< 0.001"),
                     f"{entry['first_answer_cpu_s']:.2f}",
                     f"{entry['memory_mib']}"])
    return table(["simulator", "version", "licence", "points asked", "taken", "CPU s a point",
                  "CPU s of one answer from a cold start", "MiB"], rows)


def on_the_same_points(arena: Arena) -> str:
    """Each rival beside Headroom, on the points that both take."""
    ours, rows = arena.names[0], []
    for name in arena.names[1:]:
        for metric in METRICS:
            theirs, mine = arena.errors(name, metric), arena.errors(ours, metric)
            both = [point for point in theirs if point in mine]
            if not both:
                continue
            unseen = [point for point in both if not arena.said[ours][point].knew]
            closer = sum(abs(theirs[point]) < abs(mine[point]) for point in both)

            def pair(points: list[str], metric: str = metric, theirs: Errors = theirs,
                     mine: Errors = mine) -> str:
                if len(points) < FEWEST:
                    return "–"
                each = [percent(size({p: errors[p] for p in points}, metric))
                        for errors in (theirs, mine)]
                return f"{each[0]} / {each[1]}"

            rows.append([name, NAMES[metric], str(len(both)), pair(both), str(len(unseen)),
                         pair(unseen), f"{100 * closer / len(both):.0f} %"])
    return table(["simulator", "of", "points of both", "its error / Headroom's, %",
                  "of these, not used to fit Headroom", "its error / Headroom's there, %",
                  "points where it is closer"], rows)


def class_table(arena: Arena, metric: str) -> str:
    errors = {name: arena.errors(name, metric) for name in arena.names}
    rows = []
    for (engine, device, model_class), points in arena.by_class().items():
        known = [point for point in points if point in errors[arena.names[0]]]
        if not known:
            continue
        fitted = sum(bool(arena.said[arena.names[0]][point].knew) for point in known)
        cells, best = {}, math.inf
        for name in arena.names:
            own = {point: errors[name][point] for point in points if point in errors[name]}
            if own:
                bias = 100 * statistics.median(own.values())
                part = f", {len(own)}" if len(own) != len(known) else ""
                value = size(own, metric)
                cells[name] = value, f" ({bias:+.0f}{part})"
                if len(own) >= min(FEWEST, len(known)):
                    best = min(best, value)
        shown = []
        for name in arena.names:
            if name not in cells:
                shown.append("")
                continue
            value, rest = cells[name]
            text = percent(value)
            shown.append((f"**{text}**" if value == best and len(cells) > 1 else text) + rest)
        rows.append([f"{engine}, {device}, {model_class}", str(len(known)),
                     f"{100 * fitted / len(known):.0f} %", *shown])
    return table(["engine, device, models", "points", "fitted", *arena.names], rows)


def losses(arena: Arena) -> str:
    """Classes in which a rival is closer than Headroom, on the points that both take."""
    ours, causes, rows = arena.names[0], arena.facts["causes"], []
    for metric in METRICS:
        mine = arena.errors(ours, metric)
        for name in arena.names[1:]:
            theirs = arena.errors(name, metric)
            for key, points in arena.by_class().items():
                both = [point for point in points if point in theirs and point in mine]
                if len(both) < FEWEST:
                    continue
                them = size({p: theirs[p] for p in both}, metric)
                us = size({p: mine[p] for p in both}, metric)
                if them < us:
                    cause = causes.get(" ".join((NAMES[metric], *key)), "not known")
                    rows.append([", ".join(key), NAMES[metric], name, str(len(both)),
                                 percent(them), percent(us), cause])
    if not rows:
        return "None."
    return table(["engine, device, models", "of", "closer", "points", "its error, %",
                  "Headroom's, %", "likely cause"], rows)


def sources(arena: Arena) -> str:
    rows = []
    for entry in arena.facts["sources"]:
        points = [p for p in arena.points.values() if p.source == entry["id"]]
        fitted = sum(bool(arena.said[arena.names[0]][p.id].knew) for p in points)
        rows.append([entry["what"], entry["licence"], str(len(points)), f"{fitted}",
                     entry["others"]])
    return table(["measured by", "licence", "points", "used to fit Headroom",
                  "seen by the others"], rows)


def refusals(arena: Arena) -> str:
    rows = []
    for name in arena.names:
        why = collections.Counter(p.refused.partition(":")[0]
                                  for p in arena.said[name].values() if p.refused)
        if why:
            rows.append([name, "; ".join(f"{count} {reason}" for reason, count in
                                         why.most_common(5))])
    return table(["simulator", "points not taken, and why (its words or the adapter's)"], rows)


def counts(arena: Arena) -> str:
    points = arena.points.values()
    return (f"{len(points)} measured points, {len({p.engine for p in points})} engines, "
            f"{len({p.device for p in points})} devices, {len({p.model for p in points})} models")


def page(arena: Arena) -> str:
    facts = arena.facts
    listed = "\n".join(f"- **{entry['name']}** {entry['version']}: {entry['how']}"
                       for entry in facts["simulators"])
    absent = "\n".join(f"- **{entry['name']}**: {entry['why']}" for entry in facts["absent"])
    text = (HERE / "page.md").read_text(encoding="utf-8")
    parts = {"date": facts["date"], "machine": facts["machine"], "counts": counts(arena),
             "took_part": who_took_part(arena), "same_points": on_the_same_points(arena),
             "tpot": class_table(arena, "tpot_ms"), "ttft": class_table(arena, "ttft_ms"),
             "throughput": class_table(arena, "tokens_per_s"), "losses": losses(arena),
             "sources": sources(arena), "refusals": refusals(arena), "how": listed,
             "absent": absent}
    for name, part in parts.items():
        text = text.replace(f"<<{name}>>", part)
    return text


def main() -> int:
    text = page(Arena(DATA))
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE.name} is not what tests/arena/data gives: run tests/arena/page.py",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
