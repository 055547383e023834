"""Predictions of vllm-sr-sim (PyPI, Apache-2.0), the fleet simulator of vLLM's semantic router.

usage: with_sr_sim.py POINTS.csv OUT.csv

It computes what an iteration takes from the shape of a model and a device (ProfileBuilder), then
simulates whole requests; the arena asks for iterations at the mean context, and for prompts in
chunks as its documentation computes them. Its own tables of models and devices.
"""

from __future__ import annotations

import sys
from pathlib import Path

from arena import Point, Prediction, Refused, predict_all
from fleet_sim import hardware, models
from fleet_sim.gpu_profiles import ProfileBuilder, ServingConfig

DEVICES = {"h100-sxm": hardware.H100_SXM, "h200-sxm": hardware.H200_SXM, "b200": hardware.B200_SXM}
MODELS = {
    "meta-llama/Llama-3.1-8B": models.LLAMA_3_1_8B,
    "meta-llama/Llama-3.1-70B": models.LLAMA_3_1_70B,
    "Qwen/Qwen3-30B-A3B": models.QWEN3_30B_A3B,
    "deepseek-ai/DeepSeek-V3": models.DEEPSEEK_V3,
    "deepseek-ai/DeepSeek-R1": models.DEEPSEEK_V3,  # the same shape
}
BYTES = {"bf16": 2.0, "fp8": 1.0, "nvfp4": 0.5}
DEFAULT_CHUNK = 512


def predict(point: Point) -> Prediction:
    if point.device not in DEVICES:
        raise Refused("no row for this device")
    if point.model not in MODELS:
        raise Refused("no such model")
    if point.kind in ("rate", "job"):
        raise Refused("an iteration at so many requests, no arrivals")
    context = point.prompt_tokens + point.output_tokens // 2
    profile = ProfileBuilder().build(
        DEVICES[point.device], MODELS[point.model],
        ServingConfig(tp=point.devices, ep=point.expert_ranks, dtype_bytes=BYTES[point.weights],
                      chunk=point.step_tokens or DEFAULT_CHUNK, mean_ctx_tokens=context))
    tpot_ms = 1e3 * profile.iter_latency(point.users, context)
    ttft_ms = 1e3 * sum(
        profile.prefill_iter_latency(min(profile.chunk, point.prompt_tokens - before), before,
                                     point.users, context)
        for before in range(0, point.prompt_tokens, profile.chunk))
    return Prediction(point.id, tpot_ms, ttft_ms,
                      1e3 * point.users / tpot_ms if point.tokens_per_s else 0)


if __name__ == "__main__":
    predict_all(Path(sys.argv[1]), predict, Path(sys.argv[2]))
