"""Draws the pictures of the question pages from what the commands on the pages leave.

    python3 scripts/docs/pictures.py [PAGE...]      all pages with a picture, or some by name

The commands of docs/questions/PAGE.md run in a temporary folder; the figure goes to
docs/questions/pictures/PAGE.png. Equal results give equal figures (with one release of matplotlib);
only `speed` shows times of this machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "notebooks"), str(ROOT / "scripts" / "docs")]

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

import commands  # noqa: E402
import headroom  # noqa: E402
from headroom import plots  # noqa: E402

PAGES = ROOT / "docs" / "questions"
BLUE, ORANGE, GREEN, PINK, YELLOW = plots.COLOURS[:5]
RED = "#B00020"


def _panels(count: int, height: float = 3.4, **options) -> tuple[Figure, list]:
    figure, axes = plt.subplots(1, count, figsize=(9.2, height), layout="constrained", **options)
    return figure, list(np.atleast_1d(axes))


def _plain_ticks(axis, values) -> None:
    axis.set_ticks(values, [f"{value:g}" for value in values])
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def _two_digits(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.applymap(lambda value: float(f"{value:.2g}"))


def _cells(axes, frame: pd.DataFrame, title: str, unit: str, empty: str, **options) -> None:
    """A heat map whose cells without a value say `empty`."""
    plots.heat_map(frame, unit, axes, **options)
    for (row, column), value in np.ndenumerate(frame.to_numpy(float)):
        if not np.isfinite(value):
            axes.text(column, row, empty, ha="center", va="center", fontsize=7, color=RED)
    axes.set_title(title, fontsize=10)


def concurrent_users(folder: Path) -> Figure:
    runs = headroom.load_study(folder / "users.db").runs
    runs["context"] = [f"{tokens // 1024}k" for tokens in runs["engine.max_model_len"]]
    order = list(dict.fromkeys(runs.context))
    figure, axes = _panels(2)

    def table(metric: str, factor: float) -> pd.DataFrame:
        frame = runs.pivot(index="workload.closed_loop.users", columns="context", values=metric)
        frame = frame[order].rename_axis(columns="context (tokens)", index="users at once") * factor
        return frame.where(runs.pivot(index="workload.closed_loop.users", columns="context",
                                      values="started")[order] > 0)

    _cells(axes[0], table("output_throughput", 1).round(), "throughput", "output tokens/s",
           "no start")
    seconds = _two_digits(table("p99_ttft_ms", 1e-3))
    _cells(axes[1], seconds, "time to first token, p99", "s", "no start",
           logarithmic=True)
    return figure


def rate_and_knee(folder: Path) -> Figure:
    study = headroom.load_study(folder / "curve.db")
    rate = "workload.arrivals.request_rate"
    points = study.runs.groupby(rate)
    steady = points.stationary.min() == 1
    rates = steady.index.to_numpy()
    knee = rates[steady.to_numpy()].max()
    figure, (left, right) = _panels(2)
    throughput = points.request_throughput.mean()
    left.plot(rates, rates, color="#999999", linestyle=":", label="all that is offered")
    left.plot(rates, throughput, marker="o", markersize=4, label="served")
    left.set(xlabel="offered requests/s", ylabel="served requests/s", xlim=(0, 33), ylim=(0, 24))
    for metric, colour, label in (("median_ttft_ms", BLUE, "TTFT median"),
                                  ("p99_ttft_ms", ORANGE, "TTFT p99"),
                                  ("p99_tpot_ms", GREEN, "TPOT p99")):
        values = points[metric].mean()[steady]
        right.plot(values, color=colour, marker="o", markersize=4, label=label)
    right.set(xlabel="offered requests/s", ylabel="ms", yscale="log", xlim=(0, 33), ylim=(8, 1000))
    _plain_ticks(right.yaxis, [10, 20, 50, 100, 200, 500, 1000])
    for axes, corner in ((left, "upper left"), (right, "center right")):
        axes.axvspan(knee, 33, color="#D55E00", alpha=0.08, linewidth=0)
        axes.legend(loc=corner)
    right.text((knee + 33) / 2, 30, "backlog grows:\nlatencies withheld", ha="center", fontsize=9)
    return figure


def out_of_memory(folder: Path) -> Figure:
    run = headroom.load(folder / "thrash")
    figure, (left, right) = _panels(2)
    plots.kv_over_time(run, left)
    left.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=8)
    plots.queue_over_time(run, right)
    thrash = run.summary["oom"][0]["time_s"]
    right.axvline(thrash, color="black", linestyle="--", linewidth=1)
    right.text(thrash + 40, 130, f"thrash from {thrash:g} s on", fontsize=8)
    preempted = run.events[run.events.kind == "preempted"].time_s.to_numpy()
    count = right.twinx()
    count.step(preempted, np.arange(1, len(preempted) + 1), where="post", color=GREEN)
    count.set(ylim=(0, None))
    count.set_ylabel("preemptions so far", color=GREEN)
    count.grid(False)
    right.legend(fontsize=8, loc="upper center")
    return figure


def docker_or_native(folder: Path) -> Figure:
    runs = headroom.load_study(folder / "spark.db").runs
    labels = {"native": "native", "docker": "docker, by mechanism",
              "docker-measured-gpt-oss-120b": "docker as measured, steady"}
    runs["where"] = [labels.get(value, "docker as measured, first start")
                     if isinstance(value, str) else "docker as measured, first start"
                     for value in runs.environment]
    figure, (left, middle, right) = _panels(3, width_ratios=(0.8, 1, 1))
    pool = runs.groupby("where", sort=False).kv_tokens.first() / 1000
    left.barh([label.replace(", ", ",\n") for label in pool.index], pool,
              color=plots.COLOURS[:4], height=0.6)
    left.invert_yaxis()
    left.set(xlabel="KV pool, thousand tokens")
    users = "workload.closed_loop.users"
    styles = ("-", "--", "-", "-")
    for (label, group), colour, style in zip(runs.groupby("where", sort=False), plots.COLOURS,
                                             styles):
        middle.plot(group[users], group.output_throughput, style, color=colour, label=label)
        right.plot(group[users], group.p99_ttft_ms / 1000, style, color=colour)
    middle.set(xlabel="users at once", ylabel="output tokens/s", ylim=(0, None))
    right.set(xlabel="users at once", ylabel="TTFT p99 (s)", yscale="log")
    figure.legend(*middle.get_legend_handles_labels(), ncols=4, loc="lower center",
                  bbox_to_anchor=(0.5, 1),
                  fontsize=8)
    return figure


def model_and_machine(folder: Path) -> Figure:
    runs = headroom.load_study(folder / "choice.db").runs
    rate = "workload.arrivals.request_rate"
    meets = (runs.stationary == 1) & (runs.p99_ttft_ms <= 1000) & (runs.p99_tpot_ms <= 50)
    models, devices = list(dict.fromkeys(runs.model)), list(dict.fromkeys(runs.device))
    best = runs[meets].pivot_table(index="model", columns="device", values=rate, aggfunc="max")
    best = _two_digits(best).reindex(index=models[::-1], columns=devices)
    started = runs.pivot_table(index="model", columns="device", values="started", aggfunc="max")
    figure, (axes,) = _panels(1, 3.2)
    plots.heat_map(best.rename_axis(index=None, columns=None), "requests/s within targets", axes,
                   logarithmic=True)
    for (row, column), value in np.ndenumerate(best.to_numpy(float)):
        if not np.isfinite(value):
            runs_at_all = started.loc[best.index[row], best.columns[column]] > 0
            axes.text(column, row, "too slow" if runs_at_all else "does not start", ha="center",
                      va="center", fontsize=8, color=RED)
    axes.set_title("largest simulated rate with 99 % of TTFT within 1 s and of TPOT within 50 ms",
                   fontsize=10)
    return figure


def replicas_and_router(folder: Path) -> Figure:
    runs = headroom.load_study(folder / "routers.db").runs
    runs["router"] = [value["policy"] for value in runs["fleet.router"]]
    figure, axes = _panels(3, 3.2)
    metrics = (("p99_ttft_ms", "TTFT p99 (ms)", 1), ("p99_tpot_ms", "TPOT p99 (ms)", 1),
               ("prefix_cache_hit_share", "prompt tokens found in cache (%)", 100))
    for panel, (metric, label, factor) in zip(axes, metrics):
        for router, group in runs.groupby("router", sort=False):
            panel.plot(group["fleet.replicas"], group[metric] * factor, marker="o", markersize=4,
                       label=router)
        panel.set(xlabel="replicas", ylabel=label)
        panel.set_ylim((0, None) if factor == 1 else (None, 100))
        panel.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=4, loc="lower center",
                  bbox_to_anchor=(0.5, 1))
    return figure


def one_model_over_devices(folder: Path) -> Figure:
    runs = headroom.load_study(folder / "split.db").runs
    rate = "workload.arrivals.request_rate"
    figure, (left, middle, right) = _panels(3, 3.2)
    ways = runs.groupby(["engine.tensor_parallel_size", "fleet.replicas"], sort=False)
    for (split, copies), group in ways:
        label = f"{copies} × TP {split}"
        if not group.started.any():
            label += " (does not start)"
        left.plot(group[rate], group.request_throughput, marker="o", markersize=3, label=label)
        for panel, metric, factor in ((middle, "p99_ttft_ms", 1e-3), (right, "p99_tpot_ms", 1)):
            panel.plot(group[rate], group[metric] * factor, marker="o", markersize=3)
    left.set(xlabel="offered requests/s", ylabel="served requests/s")
    middle.set(xlabel="offered requests/s", ylabel="TTFT p99 (s)", ylim=(0, 2.5))
    right.set(xlabel="offered requests/s", ylabel="TPOT p99 (ms)", ylim=(0, 150))
    figure.legend(*left.get_legend_handles_labels(), ncols=4, loc="lower center",
                  bbox_to_anchor=(0.5, 1))
    return figure


def paged_and_continuous(folder: Path) -> Figure:
    figure, (left, middle, right) = _panels(3, width_ratios=(0.75, 1, 1))
    names = {"a": "contiguous (A)", "b": "paged (B)"}
    paging = {label: headroom.load(folder / "paging" / side) for side, label in names.items()}
    bottom = np.zeros(2)
    for part, colour in (("used", BLUE), ("reserved", YELLOW), ("internal", ORANGE)):
        shares = np.array([100 * (run.timeline[f"kv_{part}_tokens"] /
                                  run.timeline.kv_capacity_tokens).mean()
                           for run in paging.values()])
        left.bar(list(paging), shares, bottom=bottom, color=colour, label=part, width=0.55)
        bottom += shares
    left.set(ylabel="mean % of the KV pool", ylim=(0, 100))
    left.legend(fontsize=8)
    plots.latency_cdf(paging, "ttft_ms", middle)
    middle.set_title("contiguous or paged KV", fontsize=10)
    batching = {"static (A)": headroom.load(folder / "batching" / "a"),
                "continuous (B)": headroom.load(folder / "batching" / "b")}
    plots.latency_cdf(batching, "e2el_ms", right)
    right.set_title("static or continuous batching", fontsize=10)
    return figure


def engine_settings(folder: Path) -> Figure:
    runs = headroom.load_study(folder / "settings.db").runs
    axes_names = {"engine.max_num_batched_tokens": "max_num_batched_tokens",
                  "engine.max_num_seqs": "max_num_seqs"}
    frame = runs.rename(columns=axes_names)

    def table(metric: str) -> pd.DataFrame:
        return frame.pivot(index="max_num_seqs", columns="max_num_batched_tokens", values=metric)

    figure, (left, middle, right) = _panels(3, 3.3, width_ratios=(1.1, 1.1, 0.9))
    _cells(left, _two_digits(table("p99_ttft_ms") / 1000), "TTFT p99", "s", "grows",
           logarithmic=True)
    _cells(middle, table("p99_itl_ms").round(), "gap between tokens, p99", "ms", "grows")
    for panel in (left, middle):
        panel.tick_params(labelsize=7)
    pool = headroom.load_study(folder / "pool.db").runs
    share = pool["engine.gpu_memory_utilization"]
    right.plot(share, pool.p99_ttft_ms, marker="o", markersize=4)
    right.set(xlabel="gpu_memory_utilization", ylabel="TTFT p99 (ms)", yscale="log",
              xlim=(0.28, 1.01), ylim=(300, 5000))
    _plain_ticks(right.yaxis, [500, 1000, 2000, 5000])
    served = share[pool.stationary == 1]
    for begin, end, text in ((0.28, served.min(), "backlog grows"),
                             (served.max(), 1.01, "does not start")):
        right.axvspan(begin, end, color=ORANGE, alpha=0.08, linewidth=0)
        right.text((begin + end) / 2, 1200, text, rotation=90, ha="center", va="center",
                   fontsize=8)
    return figure


def prefix_caching(folder: Path) -> Figure:
    runs = {"with prefix cache (A)": headroom.load(folder / "prefix" / "a"),
            "without (B)": headroom.load(folder / "prefix" / "b")}
    figure, panels = _panels(3, 3.0)
    for panel, metric in zip(panels, ("ttft_ms", "tpot_ms", "e2el_ms")):
        plots.latency_cdf(runs, metric, panel)
        panel.legend().remove()
    _plain_ticks(panels[0].xaxis, [30, 50, 100, 200, 500])
    _plain_ticks(panels[1].xaxis, [8, 10, 12, 15, 20])
    figure.legend(*panels[0].get_legend_handles_labels(), ncols=2, loc="lower center",
                  bbox_to_anchor=(0.5, 1))
    return figure


def slow_first_tokens(folder: Path) -> Figure:
    run = headroom.load(folder / "bursty")
    requests = run.requests
    prefill = (requests.first_token_ms - requests.first_scheduled_ms) / 1000
    figure, (left, right) = _panels(2)
    minutes = requests.arrival_ms / 60000
    left.scatter(minutes, requests.queue_ms / 1000, s=3, linewidths=0, label="waiting in the queue")
    left.scatter(minutes, prefill, s=3, linewidths=0, color=ORANGE,
                 label="from first chunk to first token")
    left.set(xlabel="arrival (min)", ylabel="s", ylim=(0, None))
    left.legend(markerscale=4, fontsize=8, loc="upper left")
    busy = run.timeline[run.timeline.cause == "interval"]
    right.plot(busy.time_s / 60, busy.waiting_requests, label="waiting")
    right.plot(busy.time_s / 60, busy.running_requests, label="running")
    right.set(xlabel="time (min)", ylabel="requests", ylim=(0, None))
    right.legend(fontsize=8)
    return figure


def replay_a_trace(folder: Path) -> Figure:
    figure, (left, right) = _panels(2)
    results = {"as recorded": headroom.load(folder / "recorded"),
               "at half the speed": headroom.load(folder / "half"),
               "two replicas": headroom.load(folder / "two")}
    arrivals = results["as recorded"].requests.arrival_ms / 60000
    counts, edges = np.histogram(arrivals, bins=np.arange(0, arrivals.max() + 1 / 6, 1 / 6))
    left.step(edges[:-1], counts / 10, where="post")
    left.set(xlabel="time in the trace (min)", ylabel="arrivals per second", ylim=(0, None))
    plots.latency_cdf(results, "ttft_ms", right)
    return figure


def trust(folder: Path) -> Figure:
    del folder  # the measured rates are part of the repository, not of an empty folder
    scored = headroom.validate("runs", ROOT / "hardware" / "catalog" / "measured")["runs"]
    rows = [(run["calibration"].split("-")[1], run["situation"], metric["measured"],
             metric["simulated"]) for run in scored for name, metric in run["metrics"].items()
            if name == "output_throughput"]
    frame = pd.DataFrame(rows, columns=["engine", "situation", "measured", "simulated"])
    figure, (axes,) = _panels(1, 3.9)
    line = np.array([2, 500])
    axes.fill_between(line, line * 0.8, line * 1.2, color="#999999", alpha=0.2, linewidth=0,
                      label="within 20 %")
    axes.plot(line, line, color="#666666", linewidth=1)
    for (engine, group), colour in zip(frame.groupby("engine", sort=False), plots.COLOURS):
        fitted = group.situation == "self"
        axes.scatter(group.measured[fitted], group.simulated[fitted], color=colour, s=28,
                     label=f"{engine}, constants fitted on it")
        if (~fitted).any():
            axes.scatter(group.measured[~fitted], group.simulated[~fitted], edgecolors=colour,
                         facecolors="none", s=28, label=f"{engine}, not fitted")
    axes.set(xscale="log", yscale="log", xlim=line, ylim=line, xlabel="measured output tokens/s",
             ylabel="simulated output tokens/s")
    for axis in (axes.xaxis, axes.yaxis):
        _plain_ticks(axis, [2, 5, 10, 20, 50, 100, 200, 500])
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=9)
    axes.set_title("rates reported for a DGX Spark (GB10)", fontsize=10)
    return figure


def speed(folder: Path) -> Figure:
    counts = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
    times = []
    for count in counts:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        headroom.run("chat-million", {"workload.num_requests": count},
                     output=folder / f"run{count}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    simulated = [headroom.load(folder / f"run{count}").metrics["duration"] for count in counts]
    figure, (axes,) = _panels(1, 3.4)
    axes.plot(counts, simulated, marker="o", color=GREEN, label="time on the simulated GPU")
    axes.plot(counts, times, marker="o", color=BLUE, label="CPU time of the whole program")
    axes.set(xscale="log", yscale="log", xlabel="requests", ylabel="s")
    axes.legend()
    return figure


FIGURES: dict[str, Callable[[Path], Figure]] = {
    function.__name__.replace("_", "-"): function
    for function in (concurrent_users, rate_and_knee, out_of_memory, docker_or_native,
                     model_and_machine, one_model_over_devices, replicas_and_router,
                     paged_and_continuous, engine_settings, prefix_caching, slow_first_tokens,
                     replay_a_trace, trust, speed)
}


def draw(name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="headroom-docs-") as scratch:
        folder = Path(scratch)
        for command in commands.commands((PAGES / f"{name}.md").read_text(encoding="utf-8")):
            subprocess.run(["bash", "-euo", "pipefail", "-c", command.script], cwd=folder,
                           check=True, stdout=subprocess.DEVNULL)
        figure = FIGURES[name](folder)
        picture = PAGES / "pictures" / f"{name}.png"
        figure.savefig(picture, dpi=130, bbox_inches="tight", metadata={"Software": None})
        plt.close(figure)
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size / 1024:.0f} KB")


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        print(f"pictures.py: {unknown[0]}: no such page; known: {', '.join(FIGURES)}",
              file=sys.stderr)
        return 2
    # The pages say `headroom`; the module looks for it in $HEADROOM.
    program = headroom.find_program().resolve()
    os.environ["HEADROOM"] = str(program)
    os.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    plots.use_style()
    plt.rcParams["font.size"] = 9
    for name in names or FIGURES:
        draw(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
