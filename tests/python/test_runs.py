import json
import tempfile
import unittest
from pathlib import Path

import headroom
from scenarios import small


class Runs(unittest.TestCase):
    result: headroom.Result

    @classmethod
    def setUpClass(cls) -> None:
        cls.result = headroom.run(small())

    def test_the_frame_of_requests_gives_the_metrics_of_the_summary(self) -> None:
        requests, metrics = self.result.requests, self.result.metrics
        self.assertEqual(len(requests), 200)
        self.assertEqual((requests.outcome == "finished").sum(), metrics["completed"])
        self.assertEqual(requests.output_tokens.sum(), metrics["total_output_tokens"])
        for column in ("ttft_ms", "tpot_ms", "e2el_ms"):
            values = requests[column].dropna()
            self.assertAlmostEqual(values.mean(), metrics[f"mean_{column}"], delta=1e-6)
            self.assertAlmostEqual(values.median(), metrics[f"median_{column}"], delta=1e-6)
            self.assertAlmostEqual(values.quantile(0.99), metrics[f"p99_{column}"], delta=1e-6)

    def test_the_timeline_stays_within_the_pool(self) -> None:
        timeline = self.result.timeline
        parts = ["used", "reserved", "internal", "external", "cached"]
        taken = timeline[[f"kv_{part}_tokens" for part in parts]].sum(axis=1)
        self.assertTrue((taken <= timeline.kv_capacity_tokens).all())
        self.assertEqual(timeline.kv_capacity_tokens.iloc[0], self.result.memory["kv_tokens"])
        self.assertEqual(timeline.time_s.iloc[1], 1.0)

    def test_a_setting_is_in_the_resolved_scenario(self) -> None:
        one = headroom.run(small(), {"engine.max_num_seqs": 1})
        self.assertEqual(one.timeline.running_requests.max(), 1)
        self.assertIn("max_num_seqs", json.dumps(one.resolved))
        self.assertGreater(one.metrics["mean_ttft_ms"], self.result.metrics["mean_ttft_ms"])

    def test_a_dict_a_file_and_a_name_are_scenarios(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "small.json"
            file.write_text(json.dumps(small()), encoding="utf-8")
            self.assertEqual(headroom.run(file).summary["digest"], self.result.summary["digest"])
        self.assertEqual(headroom.run("demo", {"workload.num_requests": 5}).metrics["completed"], 5)

    def test_many_runs_come_in_the_order_of_their_settings(self) -> None:
        settings = [{"workload.num_requests": number} for number in (30, 10, 20)]
        results = headroom.run_many(small(), settings, jobs=2)
        self.assertEqual([result.metrics["completed"] for result in results], [30, 10, 20])

    def test_a_kept_folder_is_loaded_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            kept = headroom.run(small(20), output=Path(folder) / "kept")
            again = headroom.load(Path(folder) / "kept")
            self.assertEqual(again.summary, kept.summary)
            self.assertEqual(len(again.requests), 20)
            with self.assertRaisesRegex(headroom.HeadroomError, "no summary.json"):
                headroom.load(folder)

    def test_temporary_tables_live_as_long_as_their_result(self) -> None:
        result = headroom.run(small(5))
        directory = result.directory
        self.assertTrue((directory / "requests.csv").exists())
        del result
        self.assertFalse(directory.exists())

    def test_an_engine_that_does_not_start_is_a_result(self) -> None:
        result = headroom.run("llama-70b-does-not-fit")
        self.assertFalse(result.started)
        self.assertEqual(result.oom_kinds(), ["startup"])
        self.assertTrue(result.requests.empty and result.timeline.empty)
        self.assertEqual(list(result.events.kind), ["oom"])

    def test_a_wrong_setting_is_an_error_with_its_place(self) -> None:
        with self.assertRaisesRegex(headroom.HeadroomError, "max_num_seqs"):
            headroom.run(small(), {"engine.max_num_seqs": 0})
        with self.assertRaisesRegex(headroom.HeadroomError, "no_such_key"):
            headroom.run(small(), {"engine.no_such_key": 1})

    def test_the_basis_counts_each_note_once_per_run(self) -> None:
        uncalibrated = headroom.run(small(5), {"engine": {"name": "tgi"}})
        basis = headroom.basis([self.result, self.result, uncalibrated]).set_index("note").runs
        self.assertEqual(basis[f"expected error: {self.result.expected_error['situation']}"], 2)
        self.assertEqual(basis["expected error: uncalibrated"], 1)
        self.assertTrue(basis.is_monotonic_decreasing)


if __name__ == "__main__":
    unittest.main()
