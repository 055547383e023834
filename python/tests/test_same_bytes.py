"""What Python answers is what the program prints, byte for byte."""

from __future__ import annotations

import csv
import json
import unittest
from pathlib import Path
from typing import Any

import headroom
from support import SOURCE, InFolder, program, small

# The scenarios of tests/golden/golden_test.cpp.
GOLDENS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat-vllm": ("demo", {}),
    "chat-vllm-sync-kv-bound": (
        "demo",
        {
            "engine.async_scheduling": False,
            "engine.num_gpu_blocks_override": 2000,
            "workload.num_requests": 2000,
        },
    ),
    "chat-orca": (
        "demo",
        {"engine": {"name": "orca", "max_model_len": 16384}, "workload.num_requests": 2000},
    ),
    "chat-static": (
        "demo",
        {
            "engine": {"name": "static", "batch_wait_ms": 200, "max_model_len": 16384},
            "workload.num_requests": 1000,
            "workload.arrivals.request_rate": 1,
        },
    ),
    "llama-70b-does-not-fit": ("llama-70b-does-not-fit", {}),
    "llama-8b-4090-thrash": ("llama-8b-4090-thrash", {}),
}


def flags(settings: dict[str, Any]) -> list[str]:
    return [word for path, value in settings.items()
            for word in ("--set", f"{path}={json.dumps(value)}")]


class Goldens(InFolder):
    def test_there_are_as_many_as_golden_files(self) -> None:
        files = (SOURCE / "tests/golden/expected").glob("*.txt")
        self.assertEqual(sorted(path.stem for path in files), sorted(GOLDENS))

    def test_runs_equal_the_program_and_the_golden_files(self) -> None:
        for name, (scenario, settings) in GOLDENS.items():
            with self.subTest(name):
                answer = headroom.run(scenario, settings)
                self.assertEqual(answer.json, program("run", scenario, "--json", *flags(settings)))
                golden = SOURCE / "tests/golden/expected" / f"{name}.txt"
                self.assertTrue(golden.read_text().endswith(f"digest {answer.digest}\n"))


class Questions(InFolder):
    def setUp(self) -> None:
        super().setUp()
        Path("a.json").write_text(json.dumps(small()))
        Path("b.json").write_text(json.dumps({**small(), "engine": {"max_num_seqs": 8}}))

    def test_run(self) -> None:
        answer = headroom.run("a.json")
        self.assertEqual(answer.json, program("run", "a.json", "--json"))
        self.assertEqual(answer.json, headroom.run(Path("a.json")).json)

    def test_capacity(self) -> None:
        answer = headroom.capacity("a.json", [2048, 8192])
        printed = program("capacity", "a.json", "--context", "2048,8192", "--json")
        self.assertEqual(answer.json, printed)
        self.assertEqual([one.tokens for one in answer.contexts], [2048, 8192])

    def test_audit(self) -> None:
        answer = headroom.audit("a.json", 4096, 8)
        printed = program("audit", "a.json", "--context", "4096", "--concurrency", "8", "--json")
        self.assertEqual(answer.json, printed)
        self.assertEqual(answer.bytes["weights"], 16094076928)

    def test_ask(self) -> None:
        answer = headroom.ask("a.json", "p99_ttft=1s")
        self.assertEqual(answer.json, program("ask", "a.json", "--slo", "p99_ttft=1s", "--json"))
        self.assertEqual(answer.verdict, answer.summary.verdict)

    def test_compare(self) -> None:
        answer = headroom.compare("a.json", "b.json", 2)
        printed = program("compare", "a.json", "b.json", "--replications", "2", "--json")
        self.assertEqual(answer.json, printed)
        self.assertGreater(answer.metrics["mean_ttft_ms"].difference, 0)

    def test_tune(self) -> None:
        answer = headroom.tune("a.json", "p99_ttft=1s", only_tries=True, budget=40,
                               tries={"engine.max_num_seqs": [8, 64]})
        printed = program("tune", "a.json", "--slo", "p99_ttft=1s", "--budget", "40",
                          "--only-tries", "--try", "engine.max_num_seqs=8,64", "--json")
        self.assertEqual(answer.json, printed)
        self.assertTrue(answer.found)
        self.assertTrue(answer.command.startswith("vllm serve "))
        self.assertEqual(headroom.run(answer.scenario).stop, "drained")

    def test_check(self) -> None:
        texts = ["p99_ttft_ms < 2000", "oom == 0"]
        answer = headroom.check(["a.json", "b.json"], *texts)
        self.assertEqual(answer.json, program("assert", "a.json", "b.json", *texts, "--json"))
        self.assertTrue(answer)
        self.assertEqual([one.text for one in answer.assertions], texts * 2)
        broken = headroom.check("a.json", "p99_ttft_ms < 1")
        self.assertFalse(broken)
        self.assertEqual([one.verdict for one in broken.broken], ["broken"])

    def test_emit(self) -> None:
        for form in headroom.deployment_forms():
            if form in ("systemd", "sglang-args", "tgi-args", "trtllm-args"):
                continue
            answer = headroom.emit("a.json", form)
            (text,) = answer.files.values()
            self.assertEqual(text, program("emit", "a.json", "--form", form))
        answer.save("out")
        self.assertEqual(sorted(path.name for path in Path("out").iterdir()),
                         sorted(answer.files))
        with self.assertRaises(headroom.Error) as caught:
            headroom.emit("a.json", "kubernets")
        self.assertEqual(caught.exception.nearest, "kubernetes")

    def test_plan(self) -> None:
        plan = {
            "name": "two",
            "traffic": {"scenario": small(), "scale": 2},
            "slo": {"p99_ttft_ms": 500},
            "models": [{"model": "llama-3.1-8b"}],
            "instances": [{"device": "h100-sxm", "price_per_hour": 2.5}],
            "replications": 1,
        }
        Path("plan.json").write_text(json.dumps(plan))
        answer = headroom.plan("plan.json")
        self.assertEqual(answer.json, program("fleet", "plan", "plan.json", "--json"))
        self.assertTrue(answer.found)

    def test_sweep_points_are_runs(self) -> None:
        study = {"base": small(50),
                 "vary": [{"path": "engine.max_num_seqs", "values": [2, 64]}], "replications": 2}
        points = headroom.sweep(study)
        self.assertEqual([point.parameters["engine.max_num_seqs"] for point in points],
                         [2, 2, 64, 64])
        alone = headroom.run(small(50), {"engine.max_num_seqs": 64})
        self.assertEqual(points[2].digest, alone.digest)
        self.assertEqual(points[2].metrics["p99_ttft_ms"], alone.metrics.p99_ttft_ms)
        self.assertEqual(points[2:][0], points[2])


class Tables(InFolder):
    def check(self, table: headroom.Table, file: Path) -> None:
        with file.open() as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual(table.rows, len(rows))
        for name in set(rows[0]) - {"index", "cause", "outcome"}:
            written = [int(row[name]) if row[name] else -1 for row in rows]
            values = table[name].astype("int64")
            values[values == headroom.NO_REPLICA] = -1
            self.assertEqual(values.tolist(), written, name)

    def test_columns_are_those_of_the_files(self) -> None:
        for name in ("llama-8b-4090-thrash", "fleet-two-choices"):
            with self.subTest(name):
                settings = {"workload.num_requests": 3000}
                answer = headroom.run(name, settings)
                program("run", name, "-o", name, *flags(settings))
                self.check(answer.requests, Path(name) / "requests.csv")
                self.check(answer.timeline, Path(name) / "timeline.csv")
                with (Path(name) / "requests.csv").open() as lines:
                    outcomes = [row["outcome"] for row in csv.DictReader(lines)]
                self.assertEqual([headroom.OUTCOMES[i] for i in answer.requests["outcome"]],
                                 outcomes)


if __name__ == "__main__":
    unittest.main()
