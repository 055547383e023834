"""Figures for papers and notebooks, from results; each takes axes and returns them.

    python3 -m headroom.plots latency results/demo -o latency.svg
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize

from .program import HeadroomError
from .runs import Result, load

# Okabe and Ito: told apart by readers with any colour vision.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"]
_STYLE = {
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "figure.figsize": (7, 3.6),
    "figure.dpi": 110,
    "legend.frameon": False,
    "svg.hashsalt": "headroom",  # the same bytes each time
}


# What a pool is used for, and what device memory is, in one order and colour everywhere.
_KV_PARTS = {"used": "#0072B2", "reserved": "#E69F00", "internal": "#D55E00", "cached": "#C8C8C8"}
_PURPOSES = {
    "weights": "#0072B2",
    "activations": "#56B4E9",
    "graphs": "#009E73",
    "context": "#F0E442",
    "communication": "#CC79A7",
    "others": "#8C6BB1",
    "page_cache": "#7F7F7F",
    "engine_host": "#B15928",
    "kv_pool": "#E69F00",
    "margin": "#C8C8C8",
}


def use_style() -> None:
    """One look for all figures and tables."""
    plt.rcParams.update(_STYLE)
    pd.options.display.float_format = "{:,.4g}".format
    pd.options.display.max_colwidth = None
    pd.options.display.max_rows = 100


def _axes(axes: Axes | None) -> Axes:
    return plt.subplots(layout="constrained")[1] if axes is None else axes


def latency_cdf(
    results: Mapping[str, Result], metric: str = "ttft_ms", axes: Axes | None = None
) -> Axes:
    """Share of finished requests below a latency (`ttft_ms`, `tpot_ms`, `e2el_ms`), a line each."""
    axes = _axes(axes)
    for label, result in results.items():
        values = np.sort(result.requests[metric].dropna())
        if len(values) > 0:
            shares = np.arange(1, len(values) + 1) / len(values)
            axes.step(values, shares, where="post", label=label)
    axes.set(xscale="log", ylim=(0, 1), xlabel=f"{metric.removesuffix('_ms').upper()} (ms)",
             ylabel="share of requests")
    if len(results) > 1:
        axes.legend()
    return axes


def kv_over_time(result: Result, axes: Axes | None = None) -> Axes:
    """The KV pools by what is in them, replicas together; OOMs marked."""
    axes = _axes(axes)
    samples = result.timeline[result.timeline.cause == "interval"]
    sums = samples.groupby("time_s")[[f"kv_{part}_tokens" for part in _KV_PARTS]].sum()
    capacity = samples.groupby("time_s").kv_capacity_tokens.sum()
    axes.stackplot(sums.index, sums.T.to_numpy(), labels=list(_KV_PARTS),
                   colors=list(_KV_PARTS.values()))
    axes.plot(capacity.index, capacity, color="black", linewidth=1, linestyle="--",
              label="capacity")
    for time_s in result.timeline[result.timeline.cause == "oom"].time_s:
        axes.axvline(time_s, color="#D55E00", linewidth=1)
    axes.set(xlabel="time (s)", ylabel="KV tokens", ylim=(0, None))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1))
    return axes


def queue_over_time(result: Result, axes: Axes | None = None) -> Axes:
    """Requests that run and that wait, replicas together."""
    axes = _axes(axes)
    samples = result.timeline[result.timeline.cause == "interval"]
    for state in ("running", "waiting"):
        axes.plot(samples.groupby("time_s")[f"{state}_requests"].sum(), label=state)
    axes.set(xlabel="time (s)", ylabel="requests", ylim=(0, None))
    axes.legend()
    return axes


def budget_bars(budgets: Mapping[str, Mapping[str, float]], axes: Axes | None = None) -> Axes:
    """Device memory by purpose (`memory["budget_bytes"]`), one bar for each label."""
    axes = _axes(axes)
    frame = pd.DataFrame(budgets).T.reindex(columns=list(_PURPOSES)).fillna(0) / 2**30
    frame = frame.loc[:, (frame > 0.005).any()]
    left = np.zeros(len(frame))
    for purpose in frame.columns:
        axes.barh(frame.index, frame[purpose], left=left, label=purpose.replace("_", " "),
                  color=_PURPOSES[purpose])
        left += frame[purpose].to_numpy()
    axes.invert_yaxis()
    axes.set(xlabel="GiB")
    axes.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1))
    return axes


def heat_map(
    frame: pd.DataFrame, unit: str, axes: Axes | None = None, *, logarithmic: bool = False
) -> Axes:
    """A table of numbers as colours, with the numbers in the cells; NaN is a cell without colour.
    `logarithmic` colours are for positive numbers only."""
    axes = _axes(axes)
    norm = LogNorm() if logarithmic else Normalize()
    values = frame.to_numpy(float)
    image = axes.imshow(values, aspect="auto", cmap="cividis", origin="lower", norm=norm)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
            axes.text(column, row, text, ha="center", va="center", fontsize=8,
                      color="black" if norm(value) > 0.5 else "white")
    axes.set_xticks(range(len(frame.columns)), [str(name) for name in frame.columns])
    axes.set_yticks(range(len(frame.index)), [str(name) for name in frame.index])
    axes.set(xlabel=frame.columns.name, ylabel=frame.index.name)
    axes.grid(False)
    axes.figure.colorbar(image, ax=axes, label=unit)
    return axes


def _budget(result: Result) -> Axes:
    return budget_bars({result.summary["scenario"]: result.memory["budget_bytes"]})


_FIGURES: dict[str, Callable[[Result], Axes]] = {
    "latency": lambda result: latency_cdf({result.summary["scenario"]: result}),
    "kv": kv_over_time,
    "queue": queue_over_time,
    "budget": _budget,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="headroom.plots",
                                     description="One figure of a run as a file.")
    parser.add_argument("figure", choices=sorted(_FIGURES))
    parser.add_argument("directory", help="folder of a run")
    parser.add_argument("-o", "--output", required=True, help="file.svg, .png or .pdf")
    chosen = parser.parse_args(arguments)
    matplotlib.use("Agg")
    use_style()
    try:
        axes = _FIGURES[chosen.figure](load(chosen.directory))
        # No date in the file: the same result gives the same bytes.
        dates = {".svg": "Date", ".pdf": "CreationDate"}
        date = dates.get(Path(chosen.output).suffix)
        axes.figure.savefig(chosen.output, metadata={date: None} if date else None)
    except (HeadroomError, OSError, ValueError) as error:
        print(f"headroom.plots: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
