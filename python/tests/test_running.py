"""Threads, progress, interruption, memory, and answers in notebooks."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import headroom
import numpy as np
from support import InFolder, program, small

LONG = {"workload.num_requests": 20_000_000, "output.streaming": True}  # many seconds


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Running(InFolder):
    def test_two_threads_run_at_once_and_answer_as_alone(self) -> None:
        settings = [{"seed": seed, "engine.max_num_seqs": 8 * seed} for seed in range(1, 9)]
        alone = [headroom.run(small(), one).json for one in settings]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda one: headroom.run(small(), one).json, settings))
        self.assertEqual(together, alone)

    def test_python_goes_on_during_a_run(self) -> None:
        counted = 0
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(headroom.run, small(), {"workload.num_requests": 200_000})
            while not run.done():
                counted += 1
                time.sleep(0.001)
        self.assertGreater(counted, 5)

    def test_progress_counts_up(self) -> None:
        calls: list[tuple[int, int]] = []
        headroom.run(small(), progress=lambda done, of: calls.append((done, of)))
        self.assertEqual(calls[-1], (200, 0))
        calls.clear()
        study = {"base": small(50), "vary": [{"path": "engine.max_num_seqs", "values": [2, 4, 8]}]}
        headroom.sweep(study, workers=2, progress=lambda done, of: calls.append((done, of)))
        self.assertEqual(calls[-1], (3, 3))

    def test_what_progress_raises_ends_the_run(self) -> None:
        def stop(done: int, of: int) -> None:
            raise RuntimeError("enough")

        begin = time.monotonic()
        with self.assertRaisesRegex(RuntimeError, "enough"):
            headroom.run(small(), LONG, progress=stop)
        self.assertLess(time.monotonic() - begin, 5)

    def test_ctrl_c_ends_every_long_question(self) -> None:
        # A shell starts what it runs in the background with the signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        study = {"base": {**small(), "output": {"streaming": True}},
                 "vary": [{"path": "workload.num_requests", "values": [20_000_000]}]}
        for question in (
            lambda: headroom.run(small(), LONG),
            lambda: headroom.compare(headroom.Scenario(small(), LONG), small()),
            lambda: headroom.ask(small(), "p99_ttft=1s", LONG),
            lambda: headroom.sweep(study),
            lambda: headroom.tune(small(), "p99_ttft=1s", LONG),
            lambda: headroom.check(headroom.Scenario(small(), LONG), "oom == 0"),
            lambda: headroom.emit(small(), "kubernetes", LONG),
        ):
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            begin = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                question()
            self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(headroom.run(small()).stop, "drained")

    def test_memory_stays_flat_over_many_runs(self) -> None:
        scenario = headroom.Scenario(small(20))

        def rounds(count: int) -> None:
            for number in range(count):
                answer = headroom.run(scenario, seed=number)
                self.assertEqual(answer.requests["outcome"].sum(), 20)
                answer.timeline["time_ns"], answer.metrics, answer._repr_html_()
                with self.assertRaises(headroom.Error):
                    headroom.run(scenario, seed=-1)
            gc.collect()

        rounds(300)
        before = resident_bytes()
        rounds(2000)
        self.assertLess(resident_bytes() - before, 4 << 20)


class Tables(InFolder):
    def test_columns_are_views_that_outlive_their_answer(self) -> None:
        answer = headroom.run(small())
        column = answer.requests["finish_ns"]
        self.assertFalse(column.flags.writeable or column.flags.owndata)
        self.assertEqual(column.dtype, np.int64)
        values = column.tolist()
        del answer
        gc.collect()
        headroom.run(small(), seed=2)
        self.assertEqual(column.tolist(), values)

    def test_latencies_give_the_metrics_of_the_summary(self) -> None:
        answer = headroom.run(small())
        frame = answer.requests.to_pandas()
        self.assertEqual(list(frame["outcome"].unique()), ["finished"])
        for name in ("ttft_ms", "tpot_ms", "e2el_ms"):
            values = getattr(answer.requests, name)()
            self.assertAlmostEqual(np.nanmean(values), answer.metrics[f"mean_{name}"], delta=1e-6)
            self.assertAlmostEqual(np.nanpercentile(values, 99), answer.metrics[f"p99_{name}"],
                                   delta=1e-6)
            self.assertAlmostEqual(frame[name].median(), answer.metrics[f"median_{name}"],
                                   delta=1e-6)

    def test_runs_without_records_have_empty_tables(self) -> None:
        for answer in (headroom.run("llama-70b-does-not-fit"), headroom.run(small(), tables=False),
                       headroom.run(small(), {"output.streaming": True})):
            self.assertEqual(answer.requests.rows, 0)
            self.assertEqual(answer.requests.to_pandas().shape[0], 0)
        self.assertFalse(headroom.run("llama-70b-does-not-fit").started)


class Shown(InFolder):
    def test_every_answer_is_a_table_in_a_notebook(self) -> None:
        named = {**small(), "name": "<script>"}
        study = headroom.sweep({"base": small(30),
                                "vary": [{"path": "engine.max_num_seqs", "values": [1, 2]}]})
        for answer in (headroom.run(named), headroom.run("llama-70b-does-not-fit"),
                       headroom.capacity(small()), headroom.audit(small()),
                       headroom.ask(small(), "p99_ttft=1s"),
                       headroom.compare(small(), small(50), 2), study,
                       headroom.check(small(), "oom == 0"),
                       headroom.tune(small(50), "p99_ttft=1s", budget=20)):
            shown = answer._repr_html_()
            self.assertIn("<table>", shown + "<table>" * (shown.count("does not start")))
            self.assertNotIn("<script>", shown)
        self.assertEqual(study.to_pandas()["engine.max_num_seqs"].tolist(), [1, 2])

    def test_objects_have_attributes(self) -> None:
        answer = headroom.run(small())
        self.assertEqual(answer.summary.memory.kv_tokens, answer["memory"]["kv_tokens"])
        self.assertIn("memory", dir(answer.summary))
        with self.assertRaises(AttributeError):
            answer.summary.no_such_key

    def test_the_program_is_inside(self) -> None:
        self.assertEqual(program("--version"), f"headroom {headroom.__version__}\n")


if __name__ == "__main__":
    unittest.main()
