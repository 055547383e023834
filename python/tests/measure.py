"""What Python costs over C++. Not a test: times depend on the machine.

    HEADROOM_SOURCE_DIR=. python python/tests/measure.py
    scripts/python_cost.sh                                  against a program in C++, in turn
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import headroom
from support import small
from test_running import resident_bytes


def seconds(work: Callable[[], object], rounds: int) -> float:
    """The median of `rounds` calls."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def handing_over() -> None:
    """From the end of a run of a million requests to NumPy columns."""
    ended: list[float] = []
    run = headroom.run("chat-million", {"workload.num_requests": 1_000_000},
                       progress=lambda done, of: ended.append(time.perf_counter()))
    back = time.perf_counter()
    begin = time.perf_counter()
    total = sum(int(run.requests[name][-1]) for name in run.requests)
    columns = time.perf_counter() - begin
    print(f"{run.requests.rows} rows: all columns in {1000 * columns:.1f} ms "
          f"({1000 * (back - ended[-1]):.1f} ms from the last report; {total != 0})")


def small_runs() -> None:
    """Memory over 10,000 runs in a loop."""
    scenario = headroom.Scenario(small(20))

    def rounds(count: int) -> None:
        for number in range(count):
            headroom.run(scenario, seed=number)
        gc.collect()

    rounds(500)
    before = resident_bytes()
    begin = time.perf_counter()
    rounds(10_000)
    print(f"10,000 runs in {time.perf_counter() - begin:.1f} s: memory grew by "
          f"{(resident_bytes() - before) / 2**20:.2f} MiB")


def one_run() -> None:
    scenario = headroom.Scenario(small())
    with_tables = seconds(lambda: headroom.run(scenario), 200)
    core = seconds(lambda: headroom._core.run(scenario._core, None, False), 200)
    print(f"a run of 200 requests: {1000 * with_tables:.3f} ms; in the compiled module "
          f"{1000 * core:.3f} ms")


def beside_cpp(program: str, rounds: int = 500) -> None:
    """One run in Python and one in C++ (tests/library/cost.cpp) in turn, from text to answer;
    CPU time, which other work on the machine changes least."""
    for requests in (20, 200):
        with open("scenario.json", "w", encoding="utf-8") as file:
            json.dump(small(requests), file)
        text = json.dumps(small(requests))
        mine: list[float] = []
        theirs: list[float] = []
        with subprocess.Popen([program, "scenario.json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1) as other:
            assert other.stdin is not None and other.stdout is not None
            for _ in range(rounds + 20):  # the first ones warm up
                other.stdin.write("run\n")
                theirs.append(int(other.stdout.readline()) / 1e3)
                begin = time.process_time_ns()
                headroom.run(text)
                mine.append((time.process_time_ns() - begin) / 1e6)
        more = [a - b for a, b in zip(mine[20:], theirs[20:])]
        low, middle, high = statistics.quantiles(more, n=4)
        print(f"a run of {requests} requests, median of {rounds}: "
              f"{statistics.median(mine[20:]):.3f} ms of CPU in Python, "
              f"{statistics.median(theirs[20:]):.3f} ms in C++; "
              f"difference {middle:+.3f} ms (half of the pairs: {low:+.3f} to {high:+.3f})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--cost"]:
        beside_cpp(sys.argv[2])
    else:
        one_run()
        handing_over()
        small_runs()
