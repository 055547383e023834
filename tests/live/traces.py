"""Recorded traces: a scenario and what an engine did in each step.

A step is [time, rows, admitted, preempted, free blocks]; a row is [request, context, tokens].
"""

import dataclasses
import gzip
import json

import scenario


def pack(s, steps):
    known = {f.name: f.default for f in dataclasses.fields(s)}
    changed = {k: v for k, v in dataclasses.asdict(s).items() if v != known[k] and v != []}
    return {"scenario": changed, "steps": steps}


def load(path):
    """Yields (scenario, steps)."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt") as lines:
        for line in lines:
            trace = json.loads(line)
            yield scenario.Scenario(**trace["scenario"]), trace["steps"]
