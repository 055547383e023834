"""A small scenario for the tests of the Python module."""

from __future__ import annotations

from typing import Any


def small(requests: int = 200) -> dict[str, Any]:
    return {
        "name": "small",
        "model": "llama-3.1-8b",
        "device": "h100-sxm",
        "engine": {"name": "vllm", "max_model_len": 4096},
        "workload": {
            "arrivals": {"process": "poisson", "request_rate": 20},
            "num_requests": requests,
            "prompt": {"law": "uniform", "min": 10, "max": 500},
            "output": {"law": "uniform", "min": 1, "max": 200},
            "max_tokens": {"rule": "value", "value": 200},
        },
    }
