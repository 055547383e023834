"""Recorded traces: a scenario of an engine and what that engine did in each step.

A step is [time, rows, admitted, preempted, free blocks]; a row is [request, context, tokens].
"""

import dataclasses
import gzip
import json

import scenario
import sglang_scenario

SCENARIOS = {"vllm": scenario, "sglang": sglang_scenario}


def module_of(s):
    """Which has make(), to_headroom() and spare() of its engine."""
    return SCENARIOS[s.ENGINE]


def pack(s, steps):
    known = {f.name: f.default for f in dataclasses.fields(s)}
    changed = {k: v for k, v in dataclasses.asdict(s).items() if v != known[k] and v != []}
    return {"engine": s.ENGINE, "scenario": changed, "steps": steps}


def load(path):
    """Yields (scenario, steps)."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt") as lines:
        for line in lines:
            trace = json.loads(line)
            module = SCENARIOS[trace.get("engine", "vllm")]
            yield module.Scenario(**trace["scenario"]), trace["steps"]
