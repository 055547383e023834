#!/usr/bin/env python3
"""Measured points of public data sets and what Headroom predicts for them, as CSV.

usage: points.py HEADROOM GROUNDTRUTH OUT

HEADROOM replays every run below GROUNDTRUTH and hardware/catalog/measured (`headroom validate
runs`, each step priced as `headroom run` prices it). Its answer names what was measured; what a
simulator needs to know of a point beside that is in the names of the runs, in the server commands
beside the closed loops (recipes.csv) and in the other tables.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

from arena import Point, Prediction, cpu_seconds, write_points, write_predictions

SOURCE = Path(__file__).resolve().parents[2]

# The checkpoints behind the catalog's names.
CHECKPOINTS = {
    "llama-2-7b": "meta-llama/Llama-2-7b-hf",
    "llama-2-70b": "meta-llama/Llama-2-70b-hf",
    "llama-3-8b": "meta-llama/Meta-Llama-3-8B",
    "llama-3-70b": "meta-llama/Meta-Llama-3-70B",
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B",
    "llama-3.1-70b": "meta-llama/Llama-3.1-70B",
    "llama-3.1-405b": "meta-llama/Llama-3.1-405B",
    "llama-3.3-70b": "meta-llama/Llama-3.3-70B-Instruct",
    "llama-4-scout": "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "codellama-34b": "codellama/CodeLlama-34b-Instruct-hf",
    "mistral-7b-v0.1": "mistralai/Mistral-7B-v0.1",
    "mixtral-8x7b": "mistralai/Mixtral-8x7B-v0.1",
    "qwen2.5-7b": "Qwen/Qwen2.5-7B",
    "qwen3-8b": "Qwen/Qwen3-8B",
    "qwen3-14b": "Qwen/Qwen3-14B",
    "qwen3-32b": "Qwen/Qwen3-32B",
    "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B",
    "qwen3-235b-a22b": "Qwen/Qwen3-235B-A22B",
    "gpt-oss-120b": "openai/gpt-oss-120b",
    "gpt-oss-120b-mxfp4-dense": "openai/gpt-oss-120b",
}
SUFFIXES = {"-fp8-dynamic": "fp8", "-fp8": "fp8", "-nvfp4": "nvfp4"}


def checkpoint(name: str) -> str:
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return CHECKPOINTS[name]


class Recipes:
    """The commands of the closed loops, by the name that Headroom gives each."""

    def __init__(self, folder: Path, excluded: set[int]) -> None:
        with (folder / "recipes.csv").open(newline="") as rows:
            recipes = {row["id"]: row for row in csv.DictReader(rows)}
        with (folder / "silicon_sample.csv").open(newline="") as rows:
            sample = list(csv.DictReader(rows))
        commands: dict[str, dict[str, dict[str, str]]] = {}
        for line, row in enumerate(sample, 2):
            if line not in excluded and row["id"] in recipes:
                recipe = recipes[row["id"]]
                key = f"{recipe['env']} {recipe['server']}{recipe['config']}"
                commands.setdefault(self._load(row), {})[key] = row | recipe
        self._rows = {load: [rows[key] for key in sorted(rows)] for load, rows in commands.items()}

    @staticmethod
    def _load(row: dict[str, str]) -> str:
        """The name that Headroom gives such a row, but for the full name of the device."""
        users = int(float(row["batch_size"])) * max(1, int(float(row["attention_dp_size"] or 1)))
        model = row["model_path"].rpartition("/")[2]
        ranks = int(float(row["tp_size"])), int(float(row["moe_ep_size"] or 1))
        twice = ranks[0] > 8 and ranks[1] ** 2 == ranks[0]
        return (f"{row['system'].split('_')[0]} {row['backend']} {row['backend_version']} {model} "
                f"{row['precision']}/TP{ranks[1] if twice else ranks[0]} EP{ranks[1]} "
                f"{row['isl']}x{row['osl']} c{users:03}")

    def of(self, load: str, copy: int) -> dict[str, str]:
        rows = self._rows[load]
        return rows[min(copy, len(rows)) - 1]


LOOP = re.compile(r"(?P<device>\S+) (?P<engine>vllm|sglang|trtllm) (?P<release>\S+ )?"
                  r"(?P<model>\S+) (?P<precision>\w*)/TP(?P<tp>\d+)(?: EP(?P<ep>\d+))?"
                  r"(?: DP(?P<dp>\d+))? "
                  r"(?P<isl>\d+)x(?P<osl>\d+) c(?P<users>\d+)(?: \((?P<copy>\d+)\))?$")
KV_CACHE = re.compile(r"kv[-_]cache[-_](?:dtype[ =:]+|config:\s+dtype: )(fp8)")
STEP = re.compile(r"(?:max-num-batched-tokens|chunked-prefill-size|max_num_tokens)[ =:]+(\d+)")


def loop_fields(name: str, recipes: Recipes) -> dict:
    parts = LOOP.match(name)
    if not parts:
        raise ValueError(f"no closed loop: {name}")
    isl, osl = int(parts["isl"]), int(parts["osl"])
    release = (parts["release"] or "").strip()
    expert_ranks = int(parts["ep"] or 1)
    row = recipes.of(f"{parts['device'].split('-')[0]} {parts['engine']} {release} "
                     f"{parts['model']} {parts['precision']}/TP{parts['tp']} EP{expert_ranks} "
                     f"{isl}x{osl} c{parts['users']}", int(parts["copy"] or 1))
    command = f"{row['server']} {row['config']}"
    step = STEP.search(command)
    weights = parts["precision"] or "bf16"
    if weights == "fp4":
        weights = "mxfp4" if "gpt-oss" in parts["model"] else "nvfp4"
    data_ranks = int(parts["dp"] or 1)
    return {
        "kind": "closed_loop", "engine": parts["engine"], "release": release,
        "model": row["model_path"], "weights": weights,
        "kv_cache": "fp8" if KV_CACHE.search(command) else "bf16",
        "devices": data_ranks if data_ranks > 1 else int(parts["tp"]),
        "expert_ranks": expert_ranks, "data_ranks": data_ranks,
        "step_tokens": int(step[1]) if step else 0, "prompt_tokens": round(0.9 * isl),
        "output_tokens": round(0.9 * osl), "spread": 1, "users": int(parts["users"]),
    }


def stage_fields(name: str, rows: dict[str, dict[str, str]]) -> dict:
    row = rows[name]
    return {
        "kind": "rate", "release": "0.15.1", "devices": int(row["tp"]),
        "step_tokens": int(row["max_num_batched_tokens"]),
        "prompt_tokens": round(float(row["prompt_len_mean"])),
        "output_tokens": round(float(row["output_len_mean"])), "users": int(row["sent"]),
        "rate": float(row["rate_req_s"]), "prefix_tokens": int(row["shared_prefix_tokens"]),
    }


def job_fields(name: str, rows: dict[str, dict[str, str]], model: str) -> dict:
    row = rows[name]
    ranks = int(row["tp"])
    by_data = ranks if ranks > 1 and re.search("scout|a22b", model) else 1
    return {
        "kind": "job", "release": "1.0", "devices": ranks, "data_ranks": by_data,
        "expert_ranks": by_data, "weights": {"FP8": "fp8", "FP4": "nvfp4"}[row["precision"]],
        "kv_cache": "fp8", "prompt_tokens": int(row["isl"]), "output_tokens": int(row["osl"]),
        "users": int(row["num_requests"]),
    }


BATCH = re.compile(r"TP(?P<tp>\d+)/(?P<rows>\d+)x(?P<length>\d+)$")
RATES = re.compile(r"(?P<rows>\d+)x(?P<prompt>\d+)/(?P<output>\d+)$")


def batch_fields(name: str, engine: str) -> dict:
    parts = BATCH.search(name)
    length = int(parts["length"])
    return {"kind": "batch", "release": "0.5" if engine == "vllm" else "0.12",
            "devices": int(parts["tp"]), "prompt_tokens": length, "output_tokens": length,
            "users": int(parts["rows"])}


def reported_fields(name: str) -> dict:
    parts = RATES.search(name)
    weights = next((dtype for dtype in ("nvfp4", "fp8") if dtype in name), "bf16")
    return {"kind": "batch", "weights": "mxfp4" if "gpt-oss" in name else weights,
            "kv_cache": "fp8" if "gpt-oss" in name else "bf16", "users": int(parts["rows"]),
            "prompt_tokens": int(parts["prompt"]), "output_tokens": int(parts["output"])}


def observed_fields(label: str, folder: Path) -> dict:
    """A server that was watched: means of its requests, and how they were sent."""
    with (folder / "trace.csv").open(newline="") as rows:
        sent = list(csv.DictReader(rows))
    users, rate = re.search(r"(\d+) users", label), re.search(r"([\d.]+) requests/s", label)
    return {"kind": "closed_loop" if users else "rate", "release": "0.24.0", "step_tokens": 8192,
            "prompt_tokens": round(sum(int(r["prompt_tokens"]) for r in sent) / len(sent)),
            "output_tokens": round(sum(int(r["output_tokens"]) for r in sent) / len(sent)),
            "users": int(users[1]) if users else len(sent), "rate": float(rate[1]) if rate else 0}


def logged_fields(name: str, label: str, folder: Path) -> dict:
    with (folder / name / "requests.csv").open(newline="") as rows:
        sent = list(csv.DictReader(rows))
    devices = re.search(r"TP(\d+)", label)
    span = float(sent[-1]["workload_arrival_s"]) - float(sent[0]["workload_arrival_s"])
    return {"kind": "rate", "release": "0.19", "devices": int(devices[1]) if devices else 1,
            "prompt_tokens": round(sum(int(r["input_toks"]) for r in sent) / len(sent)),
            "output_tokens": round(sum(int(r["output_toks"]) for r in sent) / len(sent)),
            "users": len(sent), "rate": round((len(sent) - 1) / span, 3)}


def table(path: Path, key) -> dict[str, dict[str, str]]:
    with path.open(newline="") as rows:
        return {key(row): row for row in csv.DictReader(rows)}


def validated(headroom: str, folder: Path) -> tuple[dict, float]:
    """Its answer, and the seconds of one run."""
    start = cpu_seconds()
    answer = subprocess.run([headroom, "validate", "runs", str(folder), "--json"],
                            check=True, capture_output=True, text=True).stdout
    found = json.loads(answer)
    seconds = (cpu_seconds() - start) / len(found["runs"])
    # Token times of 2023 are of one stack, which two rows of constants were made for.
    found["runs"] = [run for run in found["runs"] if not run["data_set"].startswith("splitwise")]
    return found, seconds


class Reader:
    """Which table says what of a run that Headroom names."""

    def __init__(self, truth: Path, excluded: set[int]) -> None:
        self._recipes = Recipes(truth / "aiconfigurator_silicon", excluded)
        self._stages = table(truth / "h100_vllm015_aggregates/stages.csv", lambda r: r["stage_id"])
        self._jobs = table(truth / "trtllm_perf_overview/max_throughput.csv",
                           lambda r: f"{r['model']} {r['gpu']} TP{r['tp']} {r['isl']}/{r['osl']}")
        self._logs = truth / "llmservingsim_vllm019"
        self._own = SOURCE / "hardware/catalog/measured/h200/vllm-0.24"

    def fields(self, run: dict) -> tuple[str, dict]:
        source, _, name = run["data_set"].partition("/")
        if source == "aiconfigurator_silicon":
            return source, loop_fields(name, self._recipes)
        if source == "h100_vllm015_aggregates":
            return source, stage_fields(name, self._stages)
        if source == "trtllm_perf_overview":
            return source, job_fields(name, self._jobs, run["model"])
        if source == "argonne_llm_inference_bench":
            return source, batch_fields(name, run["engine"])
        if source == "gb10":
            return "reports of gb10", reported_fields(run["data_set"])
        if (self._own / source).is_dir():
            return "own h200", observed_fields(run["label"], self._own / source)
        return "llmservingsim_vllm019", logged_fields(source, run["label"], self._logs)


def what_headroom_knew(source: str, situation: str) -> str:
    """fitted: constants that priced this run were fitted on it; else empty."""
    loops = source in ("aiconfigurator_silicon", "h100_vllm015_aggregates")
    return "fitted" if situation == "self" or (situation == "kernels" and loops) else ""


def stable_id(data_set: str) -> str:
    """Of the folder and the load that name a run: what others predicted stays with it when runs are
    added."""
    return "p" + hashlib.sha256(data_set.encode()).hexdigest()[:10]


def points_of(answer: dict, reader: Reader, seconds: float
              ) -> tuple[list[Point], list[Prediction]]:
    points, predictions = [], []
    measured = set()
    for run in answer["runs"]:
        source, known = reader.fields(run)
        metrics = run["metrics"]
        # The closed loops list 133 measurements again, most of DeepSeek-R1 as of DeepSeek-V3.
        figures = (source, *(metrics[name]["measured"] for name in sorted(metrics)))
        if source == "aiconfigurator_silicon" and figures in measured:
            continue
        measured.add(figures)

        def figure(name: str, which: str) -> float:
            return metrics[name][which] if name in metrics else 0.0

        name = stable_id(run["data_set"])
        defaults = {"model": "", "release": "", "weights": "bf16", "kv_cache": "bf16", "devices": 1,
                    "expert_ranks": 1, "data_ranks": 1, "step_tokens": 0, "spread": 0, "rate": 0.0,
                    "prefix_tokens": 0}
        values = defaults | {"engine": run["engine"]} | known
        values["model"] = values["model"] or checkpoint(run["model"])
        points.append(Point(id=name, source=source, device=run["device"],
                            model_class=run["model_class"],
                            tpot_ms=figure("mean_tpot_ms", "measured"),
                            ttft_ms=figure("mean_ttft_ms", "measured"),
                            tokens_per_s=figure("output_throughput", "measured"), **values))
        predictions.append(Prediction(name, figure("mean_tpot_ms", "simulated"),
                                      figure("mean_ttft_ms", "simulated"),
                                      figure("output_throughput", "simulated"),
                                      seconds, knew=what_headroom_knew(source, run["situation"])))
    return points, predictions


def main() -> None:
    headroom, truth, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    public, public_s = validated(headroom, truth)
    own, own_s = validated(headroom, SOURCE / "hardware/catalog/measured")
    lines = {int(row["data_set"].rpartition(" ")[2]) for row in public["excluded"]
             if row["data_set"].startswith("aiconfigurator_silicon/line")}
    reader = Reader(truth, lines)
    points, predictions = points_of(public, reader, public_s)
    more, of_more = points_of(own, reader, own_s)
    if len({point.id for point in points + more}) < len(points + more):
        raise ValueError("two points have one id")
    out.mkdir(parents=True, exist_ok=True)
    write_points(out / "points.csv", points + more)
    write_predictions(out / "headroom.csv", predictions + of_more)
    print(f"{len(points + more)} points")


if __name__ == "__main__":
    main()
