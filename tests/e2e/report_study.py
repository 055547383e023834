#!/usr/bin/env python3
"""Writes the database of a small study: report_study.py FILE [--points N].

Context x request rate x two engines with two replications each; at high rates runs are not
stationary, and at the longest contexts memory runs out. Names are as a hostile user would choose
them.
"""

import argparse
import json
import sqlite3

HOSTILE = '<img src=x onerror="document.title=1">'
SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE parameters(point INTEGER, path TEXT, value TEXT, PRIMARY KEY(point, path)) WITHOUT ROWID;
CREATE TABLE runs(run INTEGER PRIMARY KEY, point INTEGER, replication INTEGER, seed INTEGER,
  status TEXT, error TEXT, digest TEXT, stationary INTEGER, summary TEXT);
CREATE TABLE metrics(run INTEGER, name TEXT, value REAL, PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE oom(run INTEGER, kind TEXT, count INTEGER, first_time_s REAL, PRIMARY KEY(run, kind))
  WITHOUT ROWID;
"""


def summary(context, warnings):
    """What a page reads of summary.json."""
    return json.dumps({
        "memory": {"capacity_bytes": 80 << 30, "kv_tokens": 400000,
                   "budget_bytes": {"weights": 15 << 30, "kv_pool": 50 << 30,
                                    "activations": context << 16}},
        "expected_error": {"situation": "same model", "measured_runs": 3,
                           "mean_ttft_ms_percent": [-12.5, 8.25]},
        "warnings": warnings})


def add_run(database, run, point, values, replication):
    """One row of everything."""
    context, rate, engine = values
    load = rate * context / 60000
    failed = engine == HOSTILE and rate == 16 and context == 16384
    starts = not (context == 65536 and engine == "vllm")
    stationary = None if failed or not starts else int(load < 1)
    database.execute("INSERT INTO runs VALUES(?,?,?,?,?,?,?,?,?)", (
        run, point, replication, 100 + run, "failed" if failed else "done",
        "scenario.json: " + HOSTILE if failed else None, None if failed else f"d{run}", stationary,
        None if failed else summary(context, ["a warning of all points", HOSTILE])))
    if failed:
        return
    if not starts:
        database.execute("INSERT INTO oom VALUES(?,?,?,?)", (run, "startup", 1, 0.0))
        return
    wobble = 1 + 0.04 * (replication - 0.5)
    throughput = min(rate, 60000 / context) * 200 * wobble
    metrics = {"output_throughput": throughput, "request_throughput": throughput / 200,
               "completed": 1000, "preemptions": int(100 * max(0, load - 0.8)),
               "max_kv_used_share": min(1, load)}
    if stationary:
        metrics["p99_ttft_ms"] = 80 * wobble / (1.02 - load)
        metrics["median_ttft_ms"] = 30 * wobble / (1.02 - load)
        metrics["mean_tpot_ms"] = 12 + 10 * load
    if load > 1.5:
        database.execute("INSERT INTO oom VALUES(?,?,?,?)", (run, "thrash", 3, 12.5))
    database.executemany("INSERT INTO metrics VALUES(?,?,?)",
                         [(run, name, value) for name, value in metrics.items()])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--points", type=int, default=0, help="more rates, for a large study")
    parser.add_argument("--schema", default="1")
    arguments = parser.parse_args()
    rates = [1, 2, 4, 8, 12, 16]
    if arguments.points:
        rates = [0.5 + i * 0.01 for i in range(arguments.points // 8)]
    points = [(context, rate, engine) for engine in ("vllm", HOSTILE)
              for context in (2048, 8192, 16384, 65536) for rate in rates]
    with sqlite3.connect(arguments.file) as database:
        database.executescript(SCHEMA)
        database.executemany("INSERT INTO meta VALUES(?,?)", [
            ("schema_version", arguments.schema), ("headroom_version", "0.1.0"),
            ("study_name", "context and rate " + HOSTILE), ("study", '{"name": "context and rate"}'),
            ("study_sha256", "0" * 64), ("total_runs", str(2 * len(points)))])
        for point, values in enumerate(points):
            names = ("workload.prompt.tokens", "workload.arrivals.request_rate", "engine.name")
            database.executemany("INSERT INTO parameters VALUES(?,?,?)", [
                (point, name, json.dumps(value)) for name, value in zip(names, values)])
            for replication in range(2):
                add_run(database, 2 * point + replication, point, values, replication)


if __name__ == "__main__":
    main()
