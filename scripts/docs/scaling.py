"""Draws docs/questions/pictures/scaling.png from what the benchmarks measured.

    scripts/bench.sh --benchmark_filter='^(requests|.*_length|batch_limit|replicas)/' \\
        --benchmark_repetitions=5 --benchmark_out=scaling.json
    python3 scripts/docs/scaling.py scaling.json

Each point is the median of the repetitions, each bar reaches from the slowest to the quickest one.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "notebooks"))

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from headroom import plots  # noqa: E402

PICTURE = ROOT / "docs" / "questions" / "pictures" / "scaling.png"
PANELS = (("requests", "requests"), ("output_length", "output tokens of each"),
          ("context_length", "prompt tokens of each"), ("batch_limit", "max_num_seqs, all taken"),
          ("replicas", "replicas"))


def rates(path: str) -> dict[str, dict[int, list[float]]]:
    """Requests per second by benchmark and argument, one for each repetition."""
    found: dict[str, dict[int, list[float]]] = {}
    for one in json.loads(Path(path).read_text(encoding="utf-8"))["benchmarks"]:
        name, _, rest = one["name"].partition("/")
        argument = rest.partition("/")[0]
        if one.get("run_type") == "iteration" and argument.isdigit():
            found.setdefault(name, {}).setdefault(int(argument), []).append(one["requests/s"])
    return found


def draw(measured: dict[str, dict[int, list[float]]]) -> None:
    plots.use_style()
    plt.rcParams["font.size"] = 9
    figure, axes = plt.subplots(1, len(PANELS), figsize=(10.4, 2.8), sharey=True,
                                layout="constrained")
    for panel, (name, label) in zip(axes, PANELS):
        points = sorted(measured[name].items())
        medians = [statistics.median(values) / 1000 for _, values in points]
        below = [median - min(values) / 1000 for median, (_, values) in zip(medians, points)]
        above = [max(values) / 1000 - median for median, (_, values) in zip(medians, points)]
        panel.errorbar([x for x, _ in points], medians, [below, above], marker="o", markersize=4,
                       capsize=2)
        panel.set(xscale="log", xlabel=label)
        panel.set_xticks([x for x, _ in points], [f"{x:,}" for x, _ in points], fontsize=8,
                         rotation=30)
        panel.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    quickest = max(value for points in measured.values() for values in points.values()
                   for value in values)
    axes[0].set(ylabel="thousand requests/s", ylim=(0, 1.08 * quickest / 1000))
    figure.savefig(PICTURE, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    draw(rates(sys.argv[1]))
    print(PICTURE)
