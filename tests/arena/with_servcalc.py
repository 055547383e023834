"""Predictions of servcalc (PyPI, MIT): a roofline of one device; runs in its own environment.

usage: with_servcalc.py POINTS.csv OUT.csv

Its profile of vLLM, the only one of a server that the points have, with their token budget. It
knows dense models of the Llama, Mistral and Qwen2 families on one GPU.
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from pathlib import Path

from arena import Point, Prediction, Refused, predict_all
from servcalc import Workload, estimate
from servcalc.profiles import vllm

GPUS = {"h100-sxm": "H100 80GB", "h200-sxm": "H200", "b200": "B200", "a100-40": "A100 40GB",
        "rtx4090": "RTX 4090"}
LAYERS = "num_hidden_layers"
# hidden size, MLP size, layers, heads, KV heads, words: what its reader of configurations needs.
SHAPES = {
    "meta-llama/Llama-2-7b-hf": ("llama", 4096, 11008, 32, 32, 32, 32000),
    "meta-llama/Meta-Llama-3-8B": ("llama", 4096, 14336, 32, 32, 8, 128256),
    "meta-llama/Llama-3.1-8B": ("llama", 4096, 14336, 32, 32, 8, 128256),
    "meta-llama/Llama-3.1-70B": ("llama", 8192, 28672, 80, 64, 8, 128256),
    "mistralai/Mistral-7B-v0.1": ("mistral", 4096, 14336, 32, 32, 8, 32000),
    "Qwen/Qwen2.5-7B": ("qwen2", 3584, 18944, 28, 28, 4, 152064),
}


@functools.cache
def configuration(model: str) -> str:
    kind, hidden, mlp, layers, heads, kv_heads, words = SHAPES[model]
    folder = tempfile.mkdtemp()
    (Path(folder) / "config.json").write_text(json.dumps({
        "model_type": kind, "hidden_size": hidden, "intermediate_size": mlp, LAYERS: layers,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": words,
        "torch_dtype": "bfloat16", "max_position_embeddings": 32768, "tie_word_embeddings": False}))
    return folder


def predict(point: Point) -> Prediction:
    if point.engine != "vllm":
        raise Refused("has no profile of this engine")
    if point.device not in GPUS:
        raise Refused("no row for this device")
    if point.model not in SHAPES:
        raise Refused("no experts, no latent attention, no such family")
    if point.devices > 1:
        raise Refused("one device only")
    if point.kind == "rate":
        raise Refused("so many requests at a time, no arrivals")
    if point.weights not in ("bf16", "fp8"):
        raise Refused("no such format of weights")
    settings: dict = {"max_seqs": max(256, point.users)}
    if point.step_tokens:
        settings["token_budget"] = point.step_tokens
    if point.weights == "fp8":
        settings["quant"] = "fp8"
    answer = estimate(configuration(point.model), GPUS[point.device], profile=vllm(**settings),
                      workload=Workload(point.prompt_tokens, point.output_tokens, (point.users,)))
    found = answer.points[0]
    tpot_ms, ttft_ms = found.itl_ms.mid, found.ttft_ms.mid
    if point.kind == "batch":
        total_ms = ttft_ms + tpot_ms * (point.output_tokens - 1)
        return Prediction(point.id, tpot_ms, ttft_ms,
                          1e3 * point.users * point.output_tokens / total_ms)
    return Prediction(point.id, tpot_ms, ttft_ms,
                      found.total_tok_s.mid if point.tokens_per_s else 0)


if __name__ == "__main__":
    predict_all(Path(sys.argv[1]), predict, Path(sys.argv[2]))
