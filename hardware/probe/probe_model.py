"""The clock of the probe, and the Llama-like decoder that it times: plain PyTorch."""

import gc
import math
import time

import torch
import torch.nn.functional as F

from probe_plan import MOST_TOKENS, REPEAT_US, ROPE_THETA, first_line, summary_of, tokens_of


class Session:
    """The report, the device and the clock. What fails is noted by name, the rest goes on."""

    def __init__(self, report, device, dtype, limit_s, repeats):
        self.report = report
        self.device = device
        self.dtype = dtype
        self.repeats = repeats
        self.end = time.monotonic() + limit_s
        self.on_gpu = device.type == "cuda"

    def attempt(self, name, measure):
        if time.monotonic() > self.end:
            self.report["left_out"].append({"name": name, "reason": "no time left"})
            return
        try:
            measure()
        except Exception as error:  # pylint: disable=broad-except
            self.report["failures"].append({"name": name, "reason": first_line(error)})
        self.release()

    def release(self):
        gc.collect()
        if self.on_gpu:
            torch.cuda.empty_cache()

    def random(self, *shape):
        return torch.empty(*shape, dtype=self.dtype, device=self.device).normal_(0, 0.02)

    def timed(self, run, calls=1, graph=True):
        """Of one of the `calls` equal operations of run(). On a GPU as a CUDA graph, so that the
        host's launches take no part, unless graph=False."""
        if not self.on_gpu:
            return self._repeated(run, calls)
        side = torch.cuda.Stream(self.device)  # capture wants its warm-up on another stream
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):
            for _ in range(2):
                run()
        torch.cuda.current_stream(self.device).wait_stream(side)
        if not graph:
            return self._repeated(run, calls)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            run()
        return self._repeated(captured.replay, calls)

    def _repeated(self, run, calls):
        run()
        estimate_us = self._elapsed_us(run, 1)
        inner = max(1, min(2000, math.ceil(REPEAT_US / max(estimate_us, 1.0))))
        repeats = self.repeats if estimate_us < 300_000 else 3
        return summary_of(
            [self._elapsed_us(run, inner) / (inner * calls) for _ in range(repeats)]
        )

    def _elapsed_us(self, run, times):
        if not self.on_gpu:
            began = time.perf_counter()
            for _ in range(times):
                run()
            return (time.perf_counter() - began) * 1e6
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(times):
            run()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) * 1e3


def grouped_causal(q, k, v):
    """Prompt attention; q has more heads than k and v."""
    if enable_gqa():
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    group = q.shape[1] // k.shape[1]
    k, v = (t.repeat_interleave(group, 1) for t in (k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def enable_gqa():
    """Flash attention shares keys among heads from PyTorch 2.5 and sm 80 on."""
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    return version >= (2, 5) and torch.cuda.is_available() and capability() >= (8, 0)


def capability():
    return torch.cuda.get_device_capability()


def rms_norm(x, weight):
    if hasattr(F, "rms_norm"):
        return F.rms_norm(x, weight.shape, weight, 1e-5)
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight


def rotated(x, cos, sin):
    """Rotary embedding; x is token, head, dimension."""
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), -1)
    return x * cos[:, None] + turned * sin[:, None]


class Decoder:
    """A Llama-like decoder. The tokens of a step lie one after the other, decodes first; each
    layer's KV cache is one flat buffer that a step divides among its rows."""

    def __init__(self, session, g, kv_tokens):
        self.g = g
        hidden, ffn, width = g["hidden"], g["ffn"], g["heads"] * g["head_dim"]
        kv_width = g["kv_heads"] * g["head_dim"]
        self.embedding = session.random(g["vocab"], hidden)
        self.head = session.random(g["vocab"], hidden)
        self.norm = torch.ones(hidden, dtype=session.dtype, device=session.device)
        self.layers = [
            {
                "qkv": session.random(width + 2 * kv_width, hidden),
                "out": session.random(hidden, width),
                "gate_up": session.random(2 * ffn, hidden),
                "down": session.random(hidden, ffn),
                "kv": session.random(2 * kv_tokens * kv_width),
                "norms": (self.norm.clone(), self.norm.clone()),
            }
            for _ in range(g["layers"])
        ]
        half = torch.arange(0, g["head_dim"], 2, device=session.device) / g["head_dim"]
        angles = torch.outer(torch.arange(MOST_TOKENS, device=session.device), ROPE_THETA**-half)
        angles = torch.cat((angles, angles), -1)
        self.cos, self.sin = angles.cos().to(session.dtype), angles.sin().to(session.dtype)

    def inputs(self, s, device):
        """Token ids, positions, and the places of the tokens that are sampled from."""
        rows, tokens = s["chunk_rows"], s["chunk_tokens"]
        decoding = torch.full((s["decode_rows"],), s["decode_context_tokens"] - 1)
        positions = torch.cat((decoding, torch.arange(tokens).repeat(rows)))
        last = torch.arange(rows) * tokens + tokens - 1 + s["decode_rows"]
        sampled = torch.cat((torch.arange(s["decode_rows"]), last))
        ids = torch.randint(0, self.g["vocab"], (tokens_of(s),))
        return tuple(t.long().to(device) for t in (ids, positions, sampled))

    def step(self, s, ids, positions, sampled):
        g = self.g
        heads = (g["heads"], g["kv_heads"], g["kv_heads"])
        widths = [n * g["head_dim"] for n in heads]
        cos, sin = self.cos[positions], self.sin[positions]
        x = F.embedding(ids, self.embedding)
        for layer in self.layers:
            parts = F.linear(rms_norm(x, layer["norms"][0]), layer["qkv"]).split(widths, -1)
            q, k, v = (t.reshape(t.shape[0], n, g["head_dim"]) for t, n in zip(parts, heads))
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
            x = x + F.linear(self.attention(s, q, k, v, layer["kv"]), layer["out"])
            gate, up = F.linear(rms_norm(x, layer["norms"][1]), layer["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, layer["down"])
        return F.linear(rms_norm(x[sampled], self.norm), self.head).argmax(-1)

    def attention(self, s, q, k, v, cache):
        g, rows = self.g, s["decode_rows"]
        shared, dim = g["kv_heads"], g["head_dim"]
        outputs, used = [], 0
        if rows > 0:
            context = s["decode_context_tokens"]
            used = 2 * rows * shared * context * dim
            keys, values = cache[:used].view(2, rows, shared, context, dim)
            keys[:, :, -1], values[:, :, -1] = k[:rows], v[:rows]
            # The heads that share a key are the rows of one query: it sees all, without a mask.
            grouped = q[:rows].view(rows, shared, g["heads"] // shared, dim)
            seen = F.scaled_dot_product_attention(grouped, keys, values)
            outputs.append(seen.reshape(rows, -1))
        if s["chunk_rows"] > 0:
            chunk = (s["chunk_rows"], s["chunk_tokens"])
            size = 2 * chunk[0] * chunk[1] * shared * dim
            keys, values = cache[used : used + size].view(2, chunk[0], shared, chunk[1], dim)
            keys.copy_(k[rows:].view(*chunk, shared, dim).transpose(1, 2))
            values.copy_(v[rows:].view(*chunk, shared, dim).transpose(1, 2))
            query = q[rows:].view(*chunk, g["heads"], dim).transpose(1, 2)
            seen = grouped_causal(query, keys, values)
            outputs.append(seen.transpose(1, 2).reshape(chunk[0] * chunk[1], -1))
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)
