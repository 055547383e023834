"""Classes of measured kernels: which rows of the raw tables they take, what names a surface, and at
which points it is kept. kernel_surfaces.py reduces the tables by them.
"""

import functools
import json
import math
import os

MODELS = os.path.join(os.path.dirname(__file__), "../hardware/catalog/models.json")

FORMATS = {
    "bfloat16": "bf16", "float16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block",
    "nvfp4": "nvfp4", "sq": "int8", "int8_wo": "int8_weights", "int4_wo": "int4_weights",
    "w4a16_mxfp4": "mxfp4_weights", "w4a8_mxfp4_mxfp8": "mxfp4_mxfp8",
}

# Per weight, with its scales.
WEIGHT_BYTES = {"bf16": 2, "fp8": 1, "fp8_block": 1, "int8": 1, "int8_weights": 1,
                "nvfp4": 0.5625, "int4_weights": 0.515625,
                "mxfp4_weights": 0.53125, "mxfp4_mxfp8": 0.53125}
UNCACHED = 2e9  # bytes: sixteen times the L2 of the RTX PRO 6000, the largest here

WIDTHS = (32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168,
          8192, 10240, 12288, 16384, 51200, 65536)
# Tiles are multiples of 16 to 256 tokens, so the first size behind a full one is kept as well.
PRODUCT_TOKENS = (1, 2, 4, 8, 16, 17, 32, 33, 48, 64, 65, 80, 96, 112, 128, 129, 160, 192, 224,
                  256, 257, 512, 513, 768, 769, 1024, 1025, 1280, 1281, 1536, 1537, 1792, 2048,
                  2049, 2560, 3072, 3073, 3584, 4096, 4097, 8192, 16384, 32768)
SEQUENCES = (1, 2, 4, 16, 64)
PROMPTS = (1, 16, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 8192, 16384)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
CONTEXTS = (2, 16, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
HEADS = (1, 2, 4, 8, 16, 32, 64, 128)
EXPERT_TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
                 8192, 16384)
EXPERT_TP = (1, 2, 4, 8, 16)
EXPERT_EP = (1, 2, 4, 8, 16, 32, 64)


class Class:
    """One class of kernels: which rows it takes, what names a surface, what its axes are."""

    def __init__(self, name, tables, key, point, axes, engines="own", read=None, settle=None):
        self.name, self.tables, self.key, self.point = name, tables, key, point
        self.axes = axes        # (name, points or None for all that were measured)
        self.engines = engines  # own: a section per engine; all: the fastest of all releases
        self.read = read or fastest
        self.settle = settle    # of the surfaces of all releases together, by the rate of memory


def fastest(rows, kind):
    """{key: {point: microseconds}} of one table, the fastest kernel at each point."""
    times = {}
    for row in rows:
        key = kind.key(row)
        if key is None:
            continue
        surface = times.setdefault(key, {})
        point = kind.point(row)
        us = float(row["latency_us"])
        if us > 0 and us < surface.get(point, math.inf):
            surface[point] = us
    return times


def sum_of_pieces(rows, kind):
    """The same where a layer runs one kernel of each of two groups: convolution and recurrence."""
    groups = {}
    for row in rows:
        group = "convolution" if "conv1d" in row["kernel_source"] else "recurrence"
        groups.setdefault(group, []).append(row)
    if len(groups) < 2:
        return {}
    first, second = (fastest(groups[g], kind) for g in sorted(groups))
    return {key: {point: us + second[key][point] for point, us in first[key].items()
                  if point in second[key]}
            for key in first if key in second}


def ints(*names):
    return lambda row: tuple(int(row[name]) for name in names)


def format_of(row, name):
    return FORMATS[row[name]]


def window(row):
    return int(row.get("window_size") or 0)


def product_key(row):
    """Products with blocks of 128 weights have none narrower; only releases that launch them from
    the host in parts were timed there."""
    if row["m"] == "384":
        return None  # in older releases only
    if row["gemm_dtype"] == "fp8_block" and min(int(row["n"]), int(row["k"])) < 128:
        return None
    return (format_of(row, "gemm_dtype"),)


def memory_rate(surfaces):
    """Bytes of weights per microsecond of the largest products, which no cache holds."""
    return max(product_bytes(key, point) / us for key, surface in surfaces.items()
               for point, us in surface.items() if product_bytes(key, point) >= UNCACHED)


def product_bytes(key, point):
    return WEIGHT_BYTES[key[0]] * point[1] * point[2]


def from_memory(surfaces, rate):
    """Kernels were timed over and over on the same weights, some tables with all of them in the L2
    cache. A step reads them from memory, at `rate`."""
    for key, surface in surfaces.items():
        for point, us in surface.items():
            surface[point] = max(us, product_bytes(key, point) / rate)


def experts_from_memory(surfaces, rate):
    """The same for the experts of one token: how many more any other number of tokens meets is for
    the router to say."""
    for key, surface in surfaces.items():
        kind, _, _, hidden, inner, top_k, experts = key
        matrices = 2 if (inner, top_k, experts) in ungated() else 3
        of_a_token = WEIGHT_BYTES[kind] * matrices * hidden * inner * top_k
        for (tp, ep, tokens), us in surface.items():
            surface[tp, ep, tokens] = max(us, of_a_token / tp / ep / rate)


@functools.cache
def ungated():
    """Shapes of the catalog's experts that have no gate, two matrices instead of three."""
    with open(MODELS, encoding="utf-8") as file:
        configs = [model["config"] for model in json.load(file)["models"]]
    return {(c["moe_intermediate_size"], c["num_experts_per_tok"], c["n_routed_experts"])
            for c in configs
            if "NemotronHForCausalLM" in c.get("architectures", ()) and c.get("n_routed_experts")}


def heads_key(row, *formats):
    return (int(row["num_heads"]), int(row["num_key_value_heads"]), int(row["head_dim"]),
            window(row)) + tuple(format_of(row, f) for f in formats)


def context_of(row):
    return int(row["isl"]) + int(row["step"])


def expert_key(row):
    if row["moe_dtype"] not in FORMATS or row["distribution"] not in ("power_law_1.2", "balanced"):
        return None
    kernel = "marlin" if "marlin" in row["kernel_source"] else "fastest"
    load = "balanced" if row["distribution"] == "balanced" else "skewed"
    return (format_of(row, "moe_dtype"), kernel, load) + ints(
        "hidden_size", "inter_size", "topk", "num_experts")(row)


def read_experts(rows, kind):
    """Marlin has surfaces of its own, and is one of the kernels that the fastest is chosen from."""
    rows = list(rows)
    times = fastest(rows, kind)
    for key in [k for k in times if k[1] == "marlin"]:
        surface = times.setdefault((key[0], "fastest") + key[2:], {})
        for point, us in times[key].items():
            surface[point] = min(us, surface.get(point, math.inf))
    return {key: surface for key, surface in times.items() if surface}


def latent_key(row):
    return (format_of(row, "gemm_type"), format_of(row, "kv_cache_dtype"),
            format_of(row, "mla_dtype"))


def sparse_key(row):
    hidden = 7168 if "DeepSeek" in row["model"] else 6144
    indexer = "skip" if "skip_indexer" in row["kernel_source"] else "indexer"
    return (hidden, format_of(row, "gemm_type"), format_of(row, "kv_cache_dtype"), indexer)


def recurrent(phase):
    def key(row):
        if row["phase"] != phase:
            return None
        return ints("num_k_heads", "head_k_dim", "num_v_heads", "head_v_dim")(row)
    return key


def reduce_key(row):
    backend = row["kernel_source"]
    return ("eager" if backend.endswith("eager") else "graph",)


NCCL_ORDER = ("all_gather", "all_to_all", "reduce_scatter", "all_reduce")


def read_nccl(rows, kind):
    """The raw tables have no column for the operation. Each (GPUs, type) has four runs of growing
    sizes, in the order in which aiconfigurator's collector/collect_comm.sh goes through them."""
    times, blocks, last = {}, {}, {}
    for row in rows:
        if row["nccl_dtype"] != "half":
            continue
        gpus, size = int(row["num_gpus"]), int(row["message_size"])
        if size <= last.get(gpus, math.inf):
            blocks[gpus] = blocks.get(gpus, -1) + 1
        last[gpus] = size
        surface = times.setdefault((NCCL_ORDER[blocks[gpus]],), {})
        surface[(gpus, size)] = float(row["latency_us"])
    return times


CLASSES = (
    Class("linear", ("gemm",), product_key, ints("m", "n", "k"),
          (("m", PRODUCT_TOKENS), ("n", WIDTHS), ("k", WIDTHS)), "all", settle=from_memory),
    Class("prefill_attention", ("context_attention",),
          lambda r: heads_key(r, "kv_cache_dtype", "attn_dtype") if r["step"] == "0" else None,
          ints("batch_size", "isl"), (("sequences", SEQUENCES), ("tokens", PROMPTS))),
    Class("decode_attention", ("generation_attention",), lambda r: heads_key(r, "kv_cache_dtype"),
          lambda r: (int(r["batch_size"]), context_of(r)),
          (("rows", ROWS), ("context", CONTEXTS))),
    Class("experts", ("moe",), expert_key, ints("moe_tp_size", "moe_ep_size", "num_tokens"),
          (("tp", EXPERT_TP), ("ep", EXPERT_EP), ("tokens", EXPERT_TOKENS)), read=read_experts,
          settle=experts_from_memory),
    Class("all_reduce", ("custom_allreduce",), reduce_key, ints("num_gpus", "message_size"),
          (("gpus", None), ("elements", None))),
    Class("nccl", ("nccl",), None, None, (("gpus", None), ("elements", None)), "all", read_nccl),
    Class("latent_prefill", ("mla_context_module",), latent_key,
          ints("num_heads", "batch_size", "isl"),
          (("heads", HEADS), ("sequences", SEQUENCES), ("tokens", PROMPTS + (32768,)))),
    Class("latent_decode", ("mla_generation_module",), latent_key,
          lambda r: ints("num_heads", "batch_size")(r) + (context_of(r),),
          (("heads", HEADS), ("rows", ROWS), ("context", None))),
    Class("latent_kernel_prefill", ("context_mla",), lambda r: (format_of(r, "kv_cache_dtype"),),
          ints("num_heads", "batch_size", "isl"),
          (("heads", HEADS), ("sequences", SEQUENCES), ("tokens", PROMPTS + (32768,)))),
    Class("latent_kernel_decode", ("generation_mla",), lambda r: (format_of(r, "kv_cache_dtype"),),
          lambda r: ints("num_heads", "batch_size")(r) + (context_of(r),),
          (("heads", HEADS), ("rows", ROWS), ("context", CONTEXTS))),
    Class("latent_bmm", ("mla_bmm",), lambda r: (format_of(r, "bmm_dtype"),),
          ints("num_heads", "num_tokens"), (("heads", None), ("tokens", None))),
    Class("sparse_prefill", ("dsa_context_module",), sparse_key,
          ints("num_heads", "batch_size", "isl", "step"),
          (("heads", HEADS), ("sequences", (1, 4, 16, 64)),
           ("tokens", (1, 4, 16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)),
           ("prefix", (0, 128, 1024, 2048, 4096, 8192, 32768, 131072, 1000000)))),
    Class("sparse_decode", ("dsa_generation_module",), sparse_key,
          lambda r: ints("num_heads", "batch_size")(r) + (context_of(r),),
          (("heads", HEADS), ("rows", ROWS), ("context", None))),
    Class("recurrent_prefill", ("gdn",), recurrent("context"), ints("batch_size", "seq_len"),
          (("sequences", SEQUENCES), ("tokens", PROMPTS + (32768,))), read=sum_of_pieces),
    Class("recurrent_decode", ("gdn",), recurrent("generation"),
          lambda r: (int(r["batch_size"]),), (("rows", None),), read=sum_of_pieces),
)
