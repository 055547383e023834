"""Ways to give a scenario, and what is said about wrong ones."""

from __future__ import annotations

import json
import pickle
import unittest
from pathlib import Path

import headroom
import numpy as np
from support import InFolder, small


class Sources(InFolder):
    def test_dict_text_yaml_file_and_name_are_one_scenario(self) -> None:
        import yaml

        Path("small.json").write_text("// a comment\n" + json.dumps(small()))
        Path("small.yaml").write_text(yaml.safe_dump(small()))
        digests = {headroom.run(source).digest for source in
                   (small(), json.dumps(small()), yaml.safe_dump(small()), "small.json",
                    Path("small.yaml"), headroom.Scenario(small()))}
        self.assertEqual(len(digests), 1)
        self.assertEqual(headroom.run("demo", {"workload.num_requests": 5}).summary.scenario,
                         "demo")

    def test_settings_are_values_by_path(self) -> None:
        one = headroom.run(small(), {"engine.max_num_seqs": np.int64(4)})
        two = headroom.run(small(), **{"engine.max_num_seqs": 4})  # type: ignore[arg-type]
        three = headroom.run(headroom.Scenario(small()).changed(engine={"max_num_seqs": 4}))
        self.assertEqual({one.digest, two.digest, three.digest}, {one.digest})
        self.assertNotEqual(one.digest, headroom.run(small()).digest)

    def test_a_copy_goes_its_own_way(self) -> None:
        scenario = headroom.Scenario(small())
        self.assertEqual(scenario.changed(seed=7).to_dict()["seed"], 7)
        self.assertNotIn("seed", scenario.to_dict())

    def test_files_that_a_scenario_names_lie_beside_it(self) -> None:
        Path("folder").mkdir()
        Path("folder/trace.csv").write_text("arrived,prompt,answer\n0,100,10\n1,200,20\n")
        columns = "time=arrived:s,in=prompt,out=answer"
        workload = {"trace": {"file": "trace.csv", "columns": columns}}
        Path("folder/mine.json").write_text(json.dumps({**small(), "workload": workload}))
        answer = headroom.run("folder/mine.json")
        self.assertEqual(answer.requests["prompt_tokens"].tolist(), [100, 200])
        replayed = headroom.run(small(), {"workload.trace.columns": columns},
                                trace="folder/trace.csv")
        self.assertEqual(replayed.requests["output_tokens"].tolist(), [10, 20])


class WrongInput(InFolder):
    def test_a_wrong_value_has_a_place_and_what_is_allowed(self) -> None:
        error = self.error(small(), **{"engine.max_num_seqs": 0})
        self.assertEqual((error.kind, error.pointer, error.value),
                         ("value", "/engine/max_num_seqs", "0"))
        self.assertIn("1", error.allowed)
        self.assertIn("max_num_seqs", str(error))

    def test_an_unknown_key_has_what_was_meant(self) -> None:
        error = self.error({**small(), "devise": "h100-sxm"})
        self.assertEqual((error.kind, error.origin, error.pointer, error.nearest),
                         ("unknown", "scenario", "/devise", "device"))

    def test_no_such_name_or_file(self) -> None:
        self.assertEqual(self.error("dmo").nearest, "demo")
        self.assertEqual(self.error(Path("none.json")).kind, "unreadable")
        with self.assertRaises(headroom.Error) as caught:
            headroom.sweep("rate-curv")
        self.assertEqual(caught.exception.nearest, "rate-curve")
        with self.assertRaises(headroom.Error):
            headroom.plan("no-such-plan")

    def test_texts_that_are_no_documents(self) -> None:
        self.assertEqual(self.error("{").kind, "unreadable")
        self.assertEqual(self.error("a: [1\nb: 2").kind, "unreadable")
        self.assertEqual(self.error("- 1\n- 2").origin, "scenario")
        Path("latin.json").write_bytes(b'{"model": "\xe9"}')
        self.assertEqual(self.error("latin.json").kind, "unreadable")

    def test_values_that_json_cannot_hold(self) -> None:
        self.assertEqual(self.error(small(), seed=float("nan")).origin, "seed")
        self.assertEqual(self.error(small(), seed=object()).origin, "seed")
        with self.assertRaises(TypeError):
            headroom.run(5)  # type: ignore[arg-type]

    def test_arguments_out_of_range(self) -> None:
        for question in (
            lambda: headroom.capacity(small(), [0]),
            lambda: headroom.audit(small(), 0),
            lambda: headroom.audit(small(), 4096, 0),
            lambda: headroom.compare(small(), small(), 0),
            lambda: headroom.compare(small(), small(), workers=0),
            lambda: headroom.ask(small(), "ttft=1s"),
        ):
            with self.assertRaises(headroom.Error):
                question()

    def test_an_error_survives_pickling(self) -> None:
        error = pickle.loads(pickle.dumps(self.error(small(), **{"engine.max_num_seqs": 0})))
        self.assertEqual(error.pointer, "/engine/max_num_seqs")


if __name__ == "__main__":
    unittest.main()
