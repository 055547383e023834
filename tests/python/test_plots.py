import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import headroom
from headroom import plots
from scenarios import small


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.run_folder = Path(cls.folder.name) / "run"
        cls.result = headroom.run(small(), output=cls.run_folder)
        plots.use_style()

    def tearDown(self) -> None:
        plt.close("all")

    def draw(self, *arguments: str) -> tuple[int, str]:
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            code = plots.main(list(arguments))
        return code, errors.getvalue()

    def test_every_figure_becomes_a_file(self) -> None:
        for figure in ("latency", "kv", "queue", "budget"):
            for kind, beginning in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
                file = Path(self.folder.name) / f"{figure}.{kind}"
                self.assertEqual(self.draw(figure, str(self.run_folder), "-o", str(file)), (0, ""))
                self.assertTrue(file.read_bytes().startswith(beginning), file)

    def test_the_same_result_gives_the_same_bytes(self) -> None:
        for kind in ("svg", "png", "pdf"):
            files = [Path(self.folder.name) / f"{name}.{kind}" for name in ("first", "second")]
            for file in files:
                self.draw("kv", str(self.run_folder), "-o", str(file))
            self.assertNotIn(b"CreationDate", files[0].read_bytes())
            self.assertEqual(files[0].read_bytes(), files[1].read_bytes(), kind)

    def test_no_run_and_no_such_format_are_errors(self) -> None:
        code, error = self.draw("kv", self.folder.name, "-o", "kv.svg")
        self.assertEqual(code, 2)
        self.assertIn("no summary.json", error)
        other = Path(self.folder.name) / "kv.xyz"
        code, error = self.draw("kv", str(self.run_folder), "-o", str(other))
        self.assertEqual(code, 2)
        self.assertIn("xyz", error)

    def test_the_bars_of_a_budget_add_up_to_the_device(self) -> None:
        axes = plots.budget_bars({"run": self.result.memory["budget_bytes"]})
        width = sum(bar.get_width() for bar in axes.patches)
        self.assertAlmostEqual(width, self.result.memory["capacity_bytes"] / 2**30, delta=0.05)

    def test_a_latency_curve_ends_at_one(self) -> None:
        axes = plots.latency_cdf({"a": self.result, "b": self.result})
        self.assertEqual(axes.lines[0].get_ydata()[-1], 1)
        self.assertEqual(axes.get_xlabel(), "TTFT (ms)")
        self.assertEqual([text.get_text() for text in axes.get_legend().get_texts()], ["a", "b"])

    def test_a_heat_map_writes_its_numbers_and_leaves_gaps(self) -> None:
        frame = pd.DataFrame([[1.0, 2000.0], [np.nan, 3.5]], index=["x", "y"], columns=[1, 2])
        axes = plots.heat_map(frame, "tokens/s")
        self.assertEqual([text.get_text() for text in axes.texts], ["1", "2,000", "3.5"])

    def test_a_run_without_tables_has_empty_figures(self) -> None:
        result = headroom.run("llama-70b-does-not-fit")
        for figure in (plots.kv_over_time, plots.queue_over_time):
            self.assertEqual(figure(result).get_xlabel(), "time (s)")


if __name__ == "__main__":
    unittest.main()
