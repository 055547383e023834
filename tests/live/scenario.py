"""Small random scenarios that an engine's own scheduler and headroom both can play.

Time is counted in steps: every step takes one unit, and requests arrive at whole ones. A request
is [arrival, prompt tokens, output tokens, max_tokens, priority, [[piece, tokens], ...]]; pieces are
what prompts share, as in headroom's own trace format.
"""

import dataclasses
import random

STEP_NS = 1_000_000

FAMILIES = ("plain", "tight", "prefixes", "priority", "threshold", "unchunked", "windows",
            "drafts", "samples", "tight windows")


@dataclasses.dataclass
class Scenario:
    ENGINE = "vllm"
    seed: int
    family: str
    release: str
    blocks: int  # the null block included
    block_size: int
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    prefix_caching: bool = False
    chunked_prefill: bool = True
    long_prefill_token_threshold: int = 0
    policy: str = "fcfs"
    asynchronous: bool = False
    reserve_full_isl: bool = True
    drafts: int = 0
    accepted: int = 0  # of them, in every step
    model: str = "llama-3.1-8b"
    requests: list = dataclasses.field(default_factory=list)


def _prompt(rng, s, longest):
    """Lengths around the block size, the token budget, and the whole context."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randint(1, min(longest, 2 * s.block_size))
    if kind == 1:
        return min(longest, max(1, s.max_num_batched_tokens + rng.randint(-3, 3)))
    if kind == 2:
        return min(longest, s.block_size * rng.randint(1, 4))
    return rng.randint(1, longest)


def shared_pieces(rng, prompt, number_of_pieces):
    """The shared beginning of a prompt: one or two pieces of a fixed length each."""
    left, pieces = prompt, []
    for _ in range(rng.randint(0, 2)):
        piece = rng.randint(1, number_of_pieces)
        tokens = min(left, 7 + 9 * piece)
        if tokens <= 0:
            break
        pieces.append([piece, tokens])
        left -= tokens
    return pieces


# Models of the catalog: the windows of their layers in order (config.json of each), and the longest
# context, fewest and most blocks to try.
HYBRIDS = {
    "gemma-3-4b-it": (([1024] * 5 + [0]) * 5 + [1024] * 4, 1600, 700, 1500),
    "gpt-oss-20b": ([128, 0] * 12, 640, 90, 250),
}


def make(seed, family, release):
    rng = random.Random(f"{family} {seed}")
    s = Scenario(seed, family, release, blocks=rng.randint(9, 40),
                 block_size=16, max_model_len=0, max_num_seqs=rng.randint(1, 8),
                 max_num_batched_tokens=0)
    s.max_num_batched_tokens = max(s.max_num_seqs, rng.choice([4, 8, 16, 24, 32, 64, 128]))
    s.asynchronous = rng.random() < 0.5
    s.prefix_caching = rng.random() < 0.5
    s.reserve_full_isl = rng.random() < 0.7
    count, spread = rng.randint(2, 12), rng.choice([0, 3, 20])
    count = _choose_options(rng, s, count)
    usable = s.blocks - 1
    context = rng.choice([96, 160, 320])
    s.max_model_len = s.max_model_len or min(usable * s.block_size, context)
    if not s.chunked_prefill:
        s.max_num_batched_tokens = max(s.max_num_batched_tokens, s.max_model_len)
    for _ in range(count):
        _add_request(rng, s, spread)
    s.requests.sort(key=lambda r: r[0])
    for request in s.requests[::-1]:
        request[0] -= s.requests[0][0]
    return s


def _choose_options(rng, s, count):
    """What the family is about; returns the number of requests."""
    family = s.family
    if family == "tight":
        s.blocks = rng.randint(6, 14)
        s.max_num_seqs = rng.randint(3, 8)
    if family in ("prefixes", "samples"):
        s.prefix_caching = True
    if family == "priority":
        s.policy = "priority"
    if family == "threshold":
        s.long_prefill_token_threshold = rng.choice([3, 8, 16, 40])
    if family == "unchunked":
        s.chunked_prefill = False
    if family == "windows":
        s.model = rng.choice(sorted(HYBRIDS))
        s.max_num_batched_tokens = rng.choice([64, 128, 256])
        _, s.max_model_len, least, most = HYBRIDS[s.model]
        s.blocks = rng.randint(least, most)
        count = rng.randint(2, 6)
    if family == "tight windows":
        s.model, s.max_model_len = "gpt-oss-20b", 640
        s.max_num_batched_tokens = rng.choice([64, 128])
        s.blocks = rng.randint(62, 100)
    if family == "drafts":
        s.asynchronous = False
        s.drafts = rng.randint(1, 4)
        s.accepted = rng.randint(0, s.drafts)
    s.max_num_batched_tokens = max(s.max_num_batched_tokens, s.max_num_seqs)
    return count


def _add_request(rng, s, spread):
    """One, or the answers of one prompt."""
    longest = s.max_model_len - 8
    prompt = _prompt(rng, s, longest)
    limit = rng.randint(1, min(s.max_model_len - prompt, 48))
    output = limit if rng.random() < 0.6 else rng.randint(1, limit)
    pieces = shared_pieces(rng, prompt, 4) if s.prefix_caching else []
    request = [rng.randint(0, spread), prompt, output, limit,
               rng.randint(0, 2) if s.policy == "priority" else 0, pieces]
    copies = rng.randint(2, 4) if s.family == "samples" and rng.random() < 0.4 else 1
    if copies > 1:  # answers of one prompt: all of it is shared
        request[5] = [[100 + len(s.requests), prompt]]
    s.requests += [list(request) for _ in range(copies)]


def layers(s):
    """The window of each layer; 0: it keeps every token."""
    return HYBRIDS[s.model][0] if s.model in HYBRIDS else [0]


def to_headroom(s):
    """The scenario file and the trace."""
    engine = {
        "name": "vllm", "version": ".".join(s.release.split(".")[:2]),
        "max_model_len": s.max_model_len, "num_gpu_blocks_override": s.blocks,
        "block_size": s.block_size, "max_num_seqs": s.max_num_seqs,
        "max_num_batched_tokens": s.max_num_batched_tokens,
        "enable_prefix_caching": s.prefix_caching, "enable_chunked_prefill": s.chunked_prefill,
        "long_prefill_token_threshold": s.long_prefill_token_threshold,
        "scheduling_policy": s.policy, "async_scheduling": s.asynchronous,
        "scheduler_reserve_full_isl": s.reserve_full_isl,
    }
    if s.drafts:
        engine["speculative_config"] = {
            "method": "ngram", "num_speculative_tokens": s.drafts,
            "acceptance_rates": [1.0 if i < s.accepted else 0.0 for i in range(s.drafts)]}
    scenario = {
        "name": f"live {s.family} {s.seed}", "seed": 1, "model": s.model, "device": "h100-sxm",
        "engine": engine,
        "cost": {"level": "affine", "affine": {"step_us": STEP_NS / 1000, "prompt_token_us": 0,
                                               "decode_token_us": 0, "context_token_us": 0}},
    }
    lines = ["arrival_ns,prompt_tokens,output_tokens,max_tokens,priority,prefix"]
    for arrival, prompt, output, limit, priority, pieces in s.requests:
        prefix = "|".join(f"{piece}:{tokens}" for piece, tokens in pieces)
        lines.append(f"{arrival * STEP_NS},{prompt},{output},{limit},{priority},{prefix}")
    return scenario, "\n".join(lines) + "\n"


def spare(s, step):
    """Blocks that the engine may have free beyond headroom's: a window has one block less in the
    step that computes the last token of a block (docs/semantics.md 27, not modelled)."""
    windows = [window for window in layers(s) if window > 0]
    if not windows:
        return 0
    full = len(layers(s)) - len(windows)
    groups = -(-len(windows) // full)
    at_end = [c for _, c, tokens in step[1]
              if tokens == 1 and (c + 1) % s.block_size == 0 and c + 1 >= windows[0]]
    return groups * len(at_end)
