"""What the probe measures, and its JSON: no PyTorch in here. A step, as in the JSON, is a dict of
rows and tokens (step_shape); a geometry one of WIDE or NARROW."""

import datetime
import json
import math
import os
import platform
import statistics
import tempfile

SCHEMA_VERSION = 1
MIB = 1 << 20
GIB = 1 << 30
BEYOND_CACHES = 256 * MIB  # operands that rotate are this large together: no L2 holds them
ELEMENT_BYTES = 2  # both dtypes
REPEAT_US = 20_000  # a repeat lasts at least this long, so that the clock's error vanishes
ROPE_THETA = 500_000.0
MOST_TOKENS = 16_384  # context

# Of Llama-3.1-8B, Llama-3.2-3B, Llama-3.2-1B (untied), and one so narrow that its small kernels
# take as long as its weights: without it a time per layer could not be told from bandwidth.
WIDE = [
    dict(hidden=4096, ffn=14336, layers=32, heads=32, kv_heads=8, head_dim=128, vocab=128256),
    dict(hidden=3072, ffn=8192, layers=28, heads=24, kv_heads=8, head_dim=128, vocab=128256),
    dict(hidden=2048, ffn=8192, layers=16, heads=32, kv_heads=8, head_dim=64, vocab=128256),
]
NARROW = dict(hidden=1024, ffn=4096, layers=24, heads=16, kv_heads=4, head_dim=64, vocab=32000)


def weight_bytes(g):
    attention = g["hidden"] * g["head_dim"] * (2 * g["heads"] + 2 * g["kv_heads"])
    layer = attention + 3 * g["hidden"] * g["ffn"] + 2 * g["hidden"]
    tables = 2 * g["vocab"] * g["hidden"]
    return ELEMENT_BYTES * (g["layers"] * layer + tables + g["hidden"])


def kv_bytes_per_token(g):
    return 2 * g["layers"] * g["kv_heads"] * g["head_dim"] * ELEMENT_BYTES


def activation_bytes(g, tokens, rows):
    """More than a step of so many tokens and sampled rows holds at a time."""
    width = 12 * g["hidden"] + 4 * g["ffn"] + 4 * g["heads"] * g["head_dim"]
    return tokens * width * ELEMENT_BYTES + rows * g["vocab"] * 6


def hf_config(g, dtype_name):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": dtype_name,
        "hidden_size": g["hidden"],
        "intermediate_size": g["ffn"],
        "num_hidden_layers": g["layers"],
        "num_attention_heads": g["heads"],
        "num_key_value_heads": g["kv_heads"],
        "head_dim": g["head_dim"],
        "vocab_size": g["vocab"],
        "max_position_embeddings": MOST_TOKENS,
        "rope_theta": ROPE_THETA,
        "tie_word_embeddings": False,
    }


def choose_geometries(budget_bytes):
    """Name and geometry: the widest that leaves 40 % of the budget and the narrow one, each in full
    and with a quarter of its layers. Depths differ so that time per layer and per step can be told
    apart."""
    fits = [g for g in WIDE if weight_bytes(g) <= 0.6 * budget_bytes]
    full = fits[:1] + [NARROW]
    both = [depth for g in full for depth in (g, dict(g, layers=g["layers"] // 4))]
    return [(f"{g['hidden']}x{g['layers']}", g) for g in both]


def step_shape(decode_rows=0, context=0, chunk_rows=0, chunk_tokens=0):
    """Lengths are those of each row; a decoding row's context counts its own new token."""
    return {
        "decode_rows": decode_rows,
        "decode_context_tokens": context,
        "chunk_rows": chunk_rows,
        "chunk_tokens": chunk_tokens,
        "chunk_prior_tokens": 0,
    }


def step_grid(quick):
    batches = (1, 16, 64) if quick else (1, 4, 16, 64, 128, 256)
    contexts = (256, 4096) if quick else (128, 1024, 4096, 16384)
    shapes = [step_shape(b, c) for b in batches for c in contexts]
    prompts = [(1, 256), (1, 2048)]
    mixed = [(16, 1024, 512), (64, 1024, 512)]
    if not quick:
        prompts += [(1, 64), (1, 512), (1, 1024), (1, 4096), (1, 8192), (4, 512), (4, 2048)]
        mixed += [(16, 1024, 128), (64, 4096, 512), (64, 1024, 2048), (128, 1024, 512)]
    shapes += [step_shape(chunk_rows=r, chunk_tokens=t) for r, t in prompts]
    return shapes + [step_shape(b, c, 1, t) for b, c, t in mixed]


def tokens_of(s):
    return s["decode_rows"] + s["chunk_rows"] * s["chunk_tokens"]


def kv_tokens_of(s):
    return s["decode_rows"] * s["decode_context_tokens"] + s["chunk_rows"] * s["chunk_tokens"]


def rows_of(s):
    return s["decode_rows"] + s["chunk_rows"]


def fitting_steps(g, shapes, budget_bytes, most_tokens):
    """The shapes whose KV and activations fit beside the weights, and the others."""
    left = budget_bytes - weight_bytes(g)
    fits, too_large = [], []
    for s in shapes:
        need = kv_tokens_of(s) * kv_bytes_per_token(g)
        need += activation_bytes(g, tokens_of(s), rows_of(s))
        fits_here = need <= left and tokens_of(s) <= most_tokens
        (fits if fits_here else too_large).append(s)
    return fits, too_large


def powers_of_two(first, last):
    return [1 << i for i in range(first.bit_length() - 1, last.bit_length()) if 1 << i >= first]


def gemm_shapes(g):
    """Name, outputs, inputs of the matrix products of one layer and of the output head."""
    width = g["heads"] * g["head_dim"]
    return [
        ("qkv", width + 2 * g["kv_heads"] * g["head_dim"], g["hidden"]),
        ("attention_out", g["hidden"], width),
        ("gate_up", 2 * g["ffn"], g["hidden"]),
        ("down", g["hidden"], g["ffn"]),
        ("lm_head", g["vocab"], g["hidden"]),
    ]


def copies_beyond_caches(operand_bytes, most=64):
    return max(1, min(most, math.ceil(BEYOND_CACHES / operand_bytes)))


def summary_of(times_us):
    return {
        "median_us": statistics.median(times_us),
        "least_us": min(times_us),
        "most_us": max(times_us),
        "repeats": len(times_us),
    }


def new_report(settings):
    now = datetime.datetime.now(datetime.timezone.utc)
    report = {
        "schema": "headroom-probe",
        "schema_version": SCHEMA_VERSION,
        "made_up": False,
        "date_utc": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "settings": settings,
        "versions": {"python": platform.python_version()},
        "device": {},
        "allocator": {},
    }
    lists = ("models", "steps", "copies", "gemm", "attention", "all_reduce", "failures", "left_out")
    report.update({key: [] for key in lists})
    return report


def finished(report):
    """Without models that no step was timed of: the reader refuses them."""
    timed = {step["model"] for step in report["steps"]}
    return dict(report, models=[m for m in report["models"] if m["name"] in timed])


def write_whole(path, report):
    """All of the file or nothing: beside it first, then in its place."""
    text = json.dumps(finished(report), indent=1, allow_nan=False) + "\n"
    folder = os.path.dirname(os.path.abspath(path))
    handle, beside = tempfile.mkstemp(dir=folder, prefix=".probe-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def first_line(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"
