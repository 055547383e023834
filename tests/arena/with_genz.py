"""Predictions of GenZ (PyPI genz-llm): a roofline of one step; runs in its own environment.

usage: with_genz.py POINTS.csv OUT.csv

A batch of so many sequences at their mean context, and the prompt of one request alone: it has no
queue, so TTFT is that of an idle server. Its own device table.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from pathlib import Path

from arena import Point, Prediction, Refused, predict_all

warnings.simplefilter("ignore")
from GenZ import decode_moddeling, prefill_moddeling  # noqa: E402

SYSTEMS = {"h100-sxm": "H100_GPU", "a100-40": "A100_40GB_GPU"}
MODELS = {
    "meta-llama/Llama-2-7b-hf": "meta-llama/Llama-2-7B",
    "meta-llama/Llama-2-70b-hf": "meta-llama/Llama-2-70B",
    "meta-llama/Meta-Llama-3-8B": "meta-llama/Llama-3.1-8B",
    "meta-llama/Meta-Llama-3-70B": "meta-llama/Llama-3.1-70B",
    "meta-llama/Llama-3.1-8B": "meta-llama/Llama-3.1-8B",
    "meta-llama/Llama-3.1-70B": "meta-llama/Llama-3.1-70B",
    "mistralai/Mistral-7B-v0.1": "mistralai/Mistral-7B",
    "mistralai/Mixtral-8x7B-v0.1": "mistralai/Mixtral-8x7B",
    "Qwen/Qwen2.5-7B": "Qwen/Qwen2.5-7B",
}
BITS = {"bf16": "bf16", "fp8": "int8"}


def predict(point: Point) -> Prediction:
    if point.device not in SYSTEMS:
        raise Refused("no row for this device")
    if point.model not in MODELS:
        raise Refused("no such model")
    if point.kind in ("rate", "job"):
        raise Refused("prices one batch, no arrivals")
    context = point.prompt_tokens + point.output_tokens // 2
    common = {"model": MODELS[point.model], "system_name": SYSTEMS[point.device],
              "bits": BITS[point.weights], "tensor_parallel": point.devices,
              "parallelism_heirarchy": f"TP{{{point.devices}}}_EP{{1}}_PP{{1}}"}
    with contextlib.redirect_stdout(io.StringIO()):
        step = decode_moddeling(batch_size=point.users, input_tokens=context, output_tokens=0, Bb=1,
                                **common)
        prompts = point.users if point.kind == "batch" else 1
        prompt = prefill_moddeling(batch_size=prompts, input_tokens=point.prompt_tokens, **common)
    tpot_ms, ttft_ms = float(step["Latency"]), float(prompt["Latency"])
    total_ms = ttft_ms + tpot_ms * (point.output_tokens - 1)
    return Prediction(point.id, tpot_ms, ttft_ms,
                      1e3 * point.users * point.output_tokens / total_ms if point.tokens_per_s
                      else 0)


if __name__ == "__main__":
    predict_all(Path(sys.argv[1]), predict, Path(sys.argv[2]))
