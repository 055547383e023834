import json
import sqlite3
import tempfile
import unittest
from contextlib import closing
from pathlib import Path

import headroom

# The results store, as `headroom sweep` writes it; version 1 had no searches.
SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE parameters(point INTEGER, path TEXT, value TEXT, PRIMARY KEY(point, path))
  WITHOUT ROWID;
CREATE TABLE runs(run INTEGER PRIMARY KEY, point INTEGER, replication INTEGER, seed INTEGER,
  status TEXT, error TEXT, digest TEXT, stationary INTEGER, summary TEXT);
CREATE TABLE metrics(run INTEGER, name TEXT, value REAL, PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE oom(run INTEGER, kind TEXT, count INTEGER, first_time_s REAL, PRIMARY KEY(run, kind))
  WITHOUT ROWID;
"""
SEARCHES = """
CREATE TABLE searches(search INTEGER, point INTEGER, name TEXT, kind TEXT, value REAL, low REAL,
  high REAL, status TEXT, detail TEXT, PRIMARY KEY(search, point)) WITHOUT ROWID;
"""


def write_store(path: Path) -> None:
    """Two engines x one rate, two replications each; run 3 failed, run 2 was not stationary."""
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(SCHEMA)
        store.executemany("INSERT INTO meta VALUES (?, ?)",
                          [("schema_version", "1"), ("study_name", "engines"), ("total_runs", "4")])
        for point, engine in enumerate(("vllm", "trtllm")):
            varied = {"engine.name": engine, "workload.arrivals.request_rate": 2.5}
            store.executemany("INSERT INTO parameters VALUES (?, ?, ?)",
                              [(point, name, json.dumps(value)) for name, value in varied.items()])
        rows = [(0, "done", None, 1), (1, "done", None, 1), (2, "done", None, 0),
                (3, "failed", "no memory", None)]
        for run, status, error, stationary in rows:
            store.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, NULL, ?, NULL)",
                          (run, run // 2, run % 2, 100 + run, status, error, stationary))
        for run, rate in ((0, 2.0), (1, 3.0), (2, 1.0)):
            store.execute("INSERT INTO metrics VALUES (?, 'request_throughput', ?)", (run, rate))
        store.execute("INSERT INTO metrics VALUES (0, 'p99_ttft_ms', 12.5)")
        store.execute("INSERT INTO oom VALUES (2, 'thrash', 3, 60.0)")


class Studies(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.database = Path(self.folder.name) / "study.db"
        write_store(self.database)

    def test_a_row_per_run_with_what_was_varied_and_measured(self) -> None:
        study = headroom.load_study(self.database)
        self.assertEqual(study.name, "engines")
        self.assertEqual(sorted(study.varied), ["engine.name", "workload.arrivals.request_rate"])
        self.assertEqual(list(study.runs.index), [0, 1, 2, 3])
        self.assertEqual(list(study.runs["engine.name"]), ["vllm", "vllm", "trtllm", "trtllm"])
        self.assertEqual(list(study.runs["workload.arrivals.request_rate"]), [2.5] * 4)
        self.assertEqual(study.runs.loc[0, "p99_ttft_ms"], 12.5)

    def test_what_was_withheld_or_failed_is_nan(self) -> None:
        runs = headroom.load_study(self.database).runs
        self.assertTrue(runs.p99_ttft_ms[1:].isna().all())
        self.assertTrue(runs.request_throughput.isna()[3])
        self.assertEqual((runs.status[3], runs.error[3]), ("failed", "no memory"))
        self.assertEqual(list(runs.stationary[:3]), [1, 1, 0])

    def test_points_are_summed_up_over_replications(self) -> None:
        study = headroom.load_study(self.database)
        points = study.points("request_throughput").set_index("engine.name")
        self.assertEqual(list(points.loc["vllm", ["mean", "min", "max", "count"]]), [2.5, 2, 3, 2])
        self.assertEqual(points.loc["trtllm", "count"], 1)

    def test_out_of_memory_by_kind(self) -> None:
        oom = headroom.load_study(self.database).oom
        self.assertEqual(oom.to_dict("records"),
                         [{"run": 2, "kind": "thrash", "count": 3, "first_time_s": 60.0}])

    def test_version_1_has_no_searches(self) -> None:
        self.assertTrue(headroom.load_study(self.database).searches.empty)

    def test_what_was_found_with_what_was_varied(self) -> None:
        with closing(sqlite3.connect(self.database)) as store, store:
            store.executescript(SEARCHES)
            store.execute("UPDATE meta SET value = '2' WHERE key = 'schema_version'")
            store.execute("INSERT INTO searches VALUES (0, 1, 'rate', 'max_request_rate', 4.5, 4.5,"
                          " 4.6, 'found', '{\"monotone\": true}')")
        searches = headroom.load_study(self.database).searches
        self.assertEqual(list(searches["engine.name"]), ["trtllm"])
        self.assertEqual(list(searches.value), [4.5])
        self.assertTrue(searches.detail[0]["monotone"])

    def test_no_file_and_no_study(self) -> None:
        with self.assertRaisesRegex(headroom.HeadroomError, "no such file"):
            headroom.load_study(Path(self.folder.name) / "other.db")
        text = Path(self.folder.name) / "text.db"
        text.write_text("not a database, but long enough to be none\n" * 100, encoding="utf-8")
        with self.assertRaisesRegex(headroom.HeadroomError, "text.db: not a results store"):
            headroom.load_study(text)

    def test_another_version_is_refused(self) -> None:
        with closing(sqlite3.connect(self.database)) as store, store:
            store.execute("UPDATE meta SET value = '9' WHERE key = 'schema_version'")
        with self.assertRaisesRegex(headroom.HeadroomError, "schema version 9"):
            headroom.load_study(self.database)


if __name__ == "__main__":
    unittest.main()
