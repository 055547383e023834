import os
import unittest
from pathlib import Path
from unittest import mock

import headroom


class Program(unittest.TestCase):
    def test_the_environment_names_the_program(self) -> None:
        with mock.patch.dict(os.environ, {"HEADROOM": "/somewhere/headroom"}):
            self.assertEqual(headroom.find_program(), Path("/somewhere/headroom"))

    def test_a_command_that_fails_raises_what_the_program_says(self) -> None:
        with self.assertRaisesRegex(headroom.HeadroomError, "no-such-model"):
            headroom.capacity(model="no-such-model", device="h100-sxm")

    def test_without_a_program_the_message_says_what_to_do(self) -> None:
        nowhere = mock.patch("headroom.program._ROOT", Path("/nowhere"))
        path = mock.patch.dict(os.environ, {"PATH": "/nowhere"})
        with nowhere, path:
            os.environ.pop("HEADROOM", None)
            with self.assertRaisesRegex(headroom.HeadroomError, "scripts/demo.sh"):
                headroom.find_program()


class Questions(unittest.TestCase):
    def test_capacity_answers_once_for_each_combination(self) -> None:
        one = headroom.capacity(model="qwen2.5-7b", device="h100-sxm", context="2k,8k")
        self.assertEqual([row["tokens"] for row in one[0]["contexts"]], [2048, 8192])
        four = headroom.capacity(model=["qwen2.5-7b", "llama-3.1-8b"], device="h100-sxm",
                                 engine=["vllm", "trtllm"])
        self.assertEqual({(row["model"], row["engine"]) for row in four},
                         {(model, engine) for model in ("qwen2.5-7b", "llama-3.1-8b")
                          for engine in ("vllm", "trtllm")})

    def test_settings_change_the_answer(self) -> None:
        for kind, token_bytes in (("auto", 131_072), ("fp8", 65_536)):
            answer = headroom.capacity(model="llama-3.1-8b", device="h100-sxm",
                                       settings={"engine.kv_cache_dtype": kind})
            self.assertEqual(answer[0]["memory"]["kv_bytes_per_token"], token_bytes)

    def test_the_worksheet_of_the_document(self) -> None:
        sheet = headroom.worksheet(model="llama_70b", context=8192, concurrency=10,
                                   gpu_memory_gb=80,
                                   settings={"engine.tensor_parallel_size": 4})
        titles = ("as written", "corrected", "by geometry")
        self.assertEqual([sheet[title]["max_concurrent"] for title in titles], [2, 8, 61])
        self.assertEqual(sheet["audit"]["available_for_kv_gb"], 41.5)

    def test_a_step_adds_up(self) -> None:
        step = headroom.step("demo", decode=64, context=2000)
        terms = sum(term["priced_ms"] for term in step["terms"].values())
        self.assertAlmostEqual(terms, step["priced_ms"], places=6)

    def test_an_audit_adds_up(self) -> None:
        report = headroom.audit("demo", context=8192)
        terms = sum(term["bytes"] for term in report["terms"])
        self.assertEqual(terms, report["system"]["capacity_bytes"])

    def test_shared_measurements_are_found_or_none(self) -> None:
        with mock.patch.dict(os.environ, {"HEADROOM_SHARED": "/nowhere"}):
            self.assertIsNone(headroom.shared("seeds"))
        with mock.patch.dict(os.environ, {"HEADROOM_SHARED": os.fspath(Path(__file__).parent)}):
            self.assertEqual(headroom.shared("test_program.py"), Path(__file__))


if __name__ == "__main__":
    unittest.main()
