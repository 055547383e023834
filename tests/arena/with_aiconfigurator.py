"""Predictions of aiconfigurator (PyPI, Apache-2.0); runs in its own environment.

usage: with_aiconfigurator.py POINTS.csv OUT.csv

`aiconfigurator cli estimate` from Python, so that its tables are read once: mean lengths, the
checkpoint that was served, its own default release of the tables, the cache's format and the
experts' ranks as recorded. Where its measured tables lack something, its hybrid mode, as its
documentation says. A job's throughput is the greatest of batches that fit, doubled from 1.
"""

from __future__ import annotations

import functools
import logging
import sys
import warnings
from pathlib import Path

from arena import Point, Prediction, Refused, predict_all

warnings.simplefilter("ignore")
from aiconfigurator.cli.api import cli_estimate  # noqa: E402
from aiconfigurator.sdk.perf_database import get_latest_database_version  # noqa: E402

logging.disable(logging.CRITICAL)

SYSTEMS = {"b200": "b200_sxm", "h100-sxm": "h100_sxm", "h200-sxm": "h200_sxm",
           "rtxpro6000-server": "rtx_pro_6000_server"}

# Its names of what was served; quantised checkpoints where it knows one.
CHECKPOINTS = {
    ("meta-llama/Llama-3.1-70B", "fp8"): "nvidia/Llama-3.1-70B-Instruct-FP8",
    ("meta-llama/Llama-3.3-70B-Instruct", "fp8"): "nvidia/Llama-3.1-70B-Instruct-FP8",
    ("deepseek-ai/DeepSeek-R1", "nvfp4"): "nvidia/DeepSeek-V3.1-NVFP4",
    ("deepseek-ai/DeepSeek-V3", "nvfp4"): "nvidia/DeepSeek-V3.1-NVFP4",
    ("MiniMaxAI/MiniMax-M2.5", "nvfp4"): "nvidia/MiniMax-M2.5-NVFP4",
    ("moonshotai/Kimi-K2.5", "nvfp4"): "nvidia/Kimi-K2.5-NVFP4",
    ("zhipuai/GLM-5", "fp8"): "zai-org/GLM-5-FP8",
    ("zhipuai/GLM-5", "nvfp4"): "nvidia/GLM-5-NVFP4",
    ("Qwen/Qwen3.5-397B-A17B", "nvfp4"): "nvidia/Qwen3.5-397B-A17B-NVFP4",
    ("Qwen/Qwen3-235B-A22B", "fp8"): "Qwen/Qwen3-235B-A22B-FP8",
    ("Qwen/Qwen3-235B-A22B", "nvfp4"): "nvidia/Qwen3-235B-A22B-NVFP4",
}
BASES = {
    "meta-llama/Llama-3.1-8B": "meta-llama/Meta-Llama-3.1-8B",
    "meta-llama/Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B",
    "meta-llama/Llama-3.3-70B-Instruct": "meta-llama/Meta-Llama-3.1-70B",
    "meta-llama/Llama-3.1-405B": "meta-llama/Meta-Llama-3.1-405B",
}
# Formats of products and of experts, for weights that the configuration does not say.
FORMATS = {"fp8": ("fp8", "fp8_block"), "nvfp4": ("nvfp4", "nvfp4")}
SAID_BY_THE_BASE = {("deepseek-ai/DeepSeek-R1", "fp8"), ("deepseek-ai/DeepSeek-V3", "fp8"),
                    ("MiniMaxAI/MiniMax-M2.5", "fp8")}
# What it infers from the configuration is further off here than the formats that its own list of
# measured rows gives, or those that the servers' flags choose (tried on a part of the points).
INFERRED_WRONGLY = {
    ("MiniMaxAI/MiniMax-M2.5", "fp8", "vllm", "b200"): ("fp8", "fp8"),
    ("deepseek-ai/DeepSeek-R1", "fp8", "trtllm", "b200"): ("fp8", "fp8"),
    ("deepseek-ai/DeepSeek-V3", "fp8", "trtllm", "b200"): ("fp8", "fp8"),
    ("openai/gpt-oss-120b", "mxfp4", "trtllm", "b200"): (None, "w4a8_mxfp4_mxfp8"),
    ("openai/gpt-oss-120b", "mxfp4", "vllm", "b200"): (None, "w4a8_mxfp4_mxfp8"),
}
LARGEST_BATCH = 4096


@functools.cache
def release_of_tables(system: str, engine: str) -> str:
    return get_latest_database_version(system=system, backend=engine)


def estimate(point: Point, users: int, mode: str):
    system = SYSTEMS[point.device]
    settings: dict = {"tp_size": point.devices}
    if point.data_ranks > 1:
        settings = {"tp_size": 1, "attention_dp_size": point.data_ranks}
    if "experts" in point.model_class:
        settings |= {"moe_ep_size": point.expert_ranks,
                     "moe_tp_size": point.devices // point.expert_ranks}
    key = point.model, point.weights
    name = CHECKPOINTS.get(key, BASES.get(point.model, point.model))
    formats = INFERRED_WRONGLY.get((*key, point.engine, point.device), (None, None))
    if key not in CHECKPOINTS and key not in SAID_BY_THE_BASE and point.weights in FORMATS:
        formats = FORMATS[point.weights]
    settings |= {"gemm_quant_mode": formats[0], "moe_quant_mode": formats[1]}
    if point.kv_cache == "fp8":
        settings["kvcache_quant_mode"] = "fp8"
    return cli_estimate(name, system, backend_name=point.engine, database_mode=mode,
                        backend_version=release_of_tables(system, point.engine),
                        isl=point.prompt_tokens, osl=point.output_tokens,
                        batch_size=-(-users // point.data_ranks), **settings)


def best_estimate(point: Point, users: int):
    try:
        return estimate(point, users, "SILICON")
    except Exception as error:
        if "OOM" in str(error):
            raise
        return estimate(point, users, "HYBRID")


def of_a_job(point: Point) -> Prediction:
    best, users = 0.0, point.data_ranks
    while users <= min(LARGEST_BATCH, point.users):
        try:
            answer = best_estimate(point, users)
        except RuntimeError:
            break
        if answer.kv_cache_warning:
            break
        best = max(best, float(answer.tokens_per_second))
        users *= 2
    if not best:
        raise Refused("no batch fits")
    return Prediction(point.id, tokens_per_s=best)


def predict(point: Point) -> Prediction:
    if point.device not in SYSTEMS:
        raise Refused("no tables for this device")
    if point.kind == "rate":
        raise Refused("takes so many requests at a time, no arrivals")
    if point.kind == "job":
        return of_a_job(point)
    answer = best_estimate(point, point.users)
    return Prediction(point.id, float(answer.tpot), float(answer.ttft),
                      float(answer.tokens_per_second) if point.tokens_per_s else 0)


if __name__ == "__main__":
    predict_all(Path(sys.argv[1]), predict, Path(sys.argv[2]))
