"""Runs the simulator and gives its results as pandas frames.

    import headroom
    result = headroom.run("demo", {"engine.max_num_seqs": 64})
    result.metrics["p99_ttft_ms"], result.requests.ttft_ms.describe()

Every function calls the `headroom` program (see `headroom.program`), so that what it returns is
what the command line prints: nothing is computed twice.
"""

from .program import HeadroomError, call, find_program
from .questions import ask, audit, capacity, shared, step, validate, worksheet
from .runs import Result, basis, load, run, run_many
from .studies import Study, load_study, sweep

__all__ = [
    "HeadroomError",
    "Result",
    "Study",
    "ask",
    "audit",
    "basis",
    "call",
    "capacity",
    "find_program",
    "load",
    "load_study",
    "run",
    "run_many",
    "shared",
    "step",
    "sweep",
    "validate",
    "worksheet",
]
