"""Small random scenarios for SGLang's scheduler; scenario.py says how time is counted.

A request is [arrival, prompt tokens, output tokens, max_new_tokens, [[piece, tokens], ...]].
"""

import dataclasses
import random

from scenario import STEP_NS, shared_pieces

FAMILIES = ("plain", "tight", "prefixes", "pages", "tight pages", "orders", "ratios", "mixed",
            "unchunked", "samples")


@dataclasses.dataclass
class Scenario:
    ENGINE = "sglang"
    seed: int
    family: str
    release: str
    max_total_tokens: int
    context_length: int
    max_running_requests: int
    chunked_prefill_size: int
    max_prefill_tokens: int = 16384
    page_size: int = 1
    radix_cache: bool = False
    overlap: bool = False
    mixed_chunk: bool = False
    schedule_policy: str = "fcfs"
    schedule_conservativeness: float = 1.0
    requests: list = dataclasses.field(default_factory=list)


def make(seed, family, release):
    rng = random.Random(f"sglang {family} {seed}")
    page = rng.choice([4, 8, 16]) if "pages" in family else 1
    if family == "mixed" and rng.random() < 0.3:
        page = 8
    s = Scenario(seed, family, release, max_total_tokens=0, context_length=0, page_size=page,
                 max_running_requests=rng.randint(1, 8),
                 chunked_prefill_size=page * rng.choice([4, 8, 16, 24, 32, 64, 128]))
    s.overlap = rng.random() < 0.5
    s.radix_cache = rng.random() < 0.5
    total = rng.randint(160, 640)
    count, spread = rng.randint(2, 12), rng.choice([0, 3, 20])
    if family.startswith("tight"):
        total = rng.randint(64, 200)
        s.max_running_requests = rng.randint(3, 8)
        s.schedule_conservativeness = rng.choice([0.1, 0.3, 1.0])
    if family in ("prefixes", "orders", "samples"):
        s.radix_cache = True
    if family == "orders":
        s.schedule_policy = rng.choice(["lpm", "dfs-weight", "lof"])
    if family == "ratios":
        s.schedule_conservativeness = rng.choice([0.05, 0.3, 0.7, 1.3, 3.0])
    if family == "mixed":
        s.mixed_chunk = True
        s.max_prefill_tokens = rng.choice([16, 64, 16384])
    if family == "unchunked":
        s.chunked_prefill_size = -1
        s.max_prefill_tokens = rng.choice([8, 16, 32, 64, 128])
    s.max_total_tokens = max(total // page, 8) * page
    s.context_length = min(rng.choice([96, 160, 320]), s.max_total_tokens)
    for _ in range(count):
        _add_request(rng, s, spread)
    s.requests.sort(key=lambda r: r[0])
    for request in s.requests[::-1]:
        request[0] -= s.requests[0][0]
    return s


def longest_prompt(s):
    """What the engine's door lets in (tp_worker.py, max_req_input_len; scheduler.py)."""
    pool = s.max_total_tokens - 2 * s.page_size - 1
    return min(s.context_length - 7, s.max_total_tokens - 7, pool - s.page_size)


def _prompt(rng, s):
    longest = longest_prompt(s)
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randint(1, min(longest, 32))
    if kind == 1:
        return min(longest, max(1, abs(s.chunked_prefill_size) + rng.randint(-3, 3)))
    if kind == 2:
        return min(longest, 16 * rng.randint(1, 4))
    return rng.randint(1, longest)


def _add_request(rng, s, spread):
    """One, or the answers of one prompt."""
    prompt = _prompt(rng, s)
    # scheduler.py, init_req_max_new_tokens: it would be cut to this.
    room = s.max_total_tokens - -(-prompt // s.page_size) * s.page_size - s.page_size - 1
    limit = rng.randint(1, max(1, min(s.context_length - prompt - 2, room, 48)))
    output = limit if rng.random() < 0.6 else rng.randint(1, limit)
    pieces = shared_pieces(rng, prompt, 4) if s.radix_cache else []
    request = [rng.randint(0, spread), prompt, output, limit, pieces]
    copies = rng.randint(2, 4) if s.family == "samples" and rng.random() < 0.4 else 1
    if copies > 1:  # answers of one prompt: all of it is shared
        request[4] = [[100 + len(s.requests), prompt]]
    s.requests += [list(request) for _ in range(copies)]


def to_headroom(s):
    """The scenario file and the trace."""
    scenario = {
        "name": f"live sglang {s.family} {s.seed}", "seed": 1, "model": "llama-3.1-8b",
        "device": "h100-sxm",
        "engine": {
            "name": "sglang", "version": s.release, "max_total_tokens": s.max_total_tokens,
            "context_length": s.context_length, "page_size": s.page_size,
            "max_running_requests": s.max_running_requests,
            "chunked_prefill_size": s.chunked_prefill_size,
            "max_prefill_tokens": s.max_prefill_tokens,
            "disable_radix_cache": not s.radix_cache, "enable_mixed_chunk": s.mixed_chunk,
            "disable_overlap_schedule": not s.overlap, "schedule_policy": s.schedule_policy,
            "schedule_conservativeness": s.schedule_conservativeness,
        },
        "cost": {"level": "affine", "affine": {"step_us": STEP_NS / 1000, "prompt_token_us": 0,
                                               "decode_token_us": 0, "context_token_us": 0}},
    }
    lines = ["arrival_ns,prompt_tokens,output_tokens,max_tokens,prefix"]
    for arrival, prompt, output, limit, pieces in s.requests:
        prefix = "|".join(f"{piece}:{tokens}" for piece, tokens in pieces)
        lines.append(f"{arrival * STEP_NS},{prompt},{output},{limit},{prefix}")
    return scenario, "\n".join(lines) + "\n"


def spare(s, step):
    """Pages that the engine may have free beyond headroom's."""
    return 0
