#!/usr/bin/env python3
"""Times the kernels and whole steps of a Llama-like model on this machine's GPU, in some five
minutes, with plain PyTorch and random weights. Writes one JSON: `headroom calibrate FILE` fits
step-cost constants on its steps, the rest is for reading (README.md).

Python 3.9 or later and PyTorch 2.1 or later. --self-test and --help need no PyTorch."""

import argparse
import json
import os
import platform
import sys
import tempfile
import time

import probe_plan as plan
from probe_plan import ELEMENT_BYTES, MIB, step_shape, tokens_of

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None
else:
    import probe_model as model

ALL_REDUCE_LIMIT_S = 60  # of one number of devices: a link that hangs must not hold up the rest


def measure_steps(session, name, g, shapes, budget_bytes, most_tokens):
    report = session.report
    fits, too_large = plan.fitting_steps(g, shapes, budget_bytes, most_tokens)
    report["left_out"] += [
        {"name": f"steps/{name}", "shape": s, "reason": "too large for this device"}
        for s in too_large
    ]
    report["models"].append(
        {"name": name, "config": plan.hf_config(g, str(session.dtype).split(".")[-1])}
    )
    decoder = model.Decoder(session, g, max(plan.kv_tokens_of(s) for s in fits))

    def one(s):
        inputs = decoder.inputs(s, session.device)
        timing = session.timed(lambda: decoder.step(s, *inputs))
        report["steps"].append({"model": name, **s, **timing})

    for s in fits:
        session.attempt(f"steps/{name}/{json.dumps(s)}", lambda s=s: one(s))


def measure_copies(session):
    for size in (16 * MIB, 256 * MIB):
        here = torch.empty(size, dtype=torch.uint8, device=session.device)
        kinds = [("device_to_device", torch.empty_like(here), here)]
        if session.on_gpu:
            pinned = torch.empty(size, dtype=torch.uint8, pin_memory=True)
            kinds += [("host_to_device_pinned", here, pinned)]
            kinds += [("device_to_host_pinned", pinned, here)]
        for kind, target, source in kinds:
            timing = session.timed(lambda t=target, s=source: t.copy_(s, non_blocking=True),
                                   graph=False)
            session.report["copies"].append({"kind": kind, "copied_bytes": size, **timing})


def measure_gemm(session, g, quick, most_tokens):
    counts = [1, 16, 128, 1024] if quick else plan.powers_of_two(1, 8192)
    for name, outputs, inputs in plan.gemm_shapes(g):
        matrices = [session.random(outputs, inputs)
                    for _ in range(plan.copies_beyond_caches(outputs * inputs * ELEMENT_BYTES))]
        # Only sampled rows go through the head: its logits of a long prompt would fill a card.
        most = min(512 if name == "lm_head" else 8192, most_tokens)
        for tokens in [t for t in counts if t <= most]:
            x = session.random(tokens, inputs)
            timing = session.timed(lambda x=x: [F.linear(x, m) for m in matrices], len(matrices))
            row = {"matrix": name, "outputs": outputs, "inputs": inputs, "tokens": tokens}
            kind = str(session.dtype).split(".")[-1]
            session.report["gemm"].append({**row, "dtype": kind, **timing})


def measure_gemm_fp8(session, g, quick):
    """torch._scaled_mm with one scale per tensor; the second operand is column-major."""
    if not session.on_gpu or model.capability() < (8, 9):
        raise RuntimeError("fp8 products need compute capability 8.9")
    one = torch.ones((), device=session.device)
    for name, outputs, inputs in plan.gemm_shapes(g)[:-1]:  # heads stay at 16 bits
        matrices = [session.random(outputs, inputs).to(torch.float8_e4m3fn)
                    for _ in range(plan.copies_beyond_caches(outputs * inputs))]
        for tokens in [16, 128, 1024] if quick else plan.powers_of_two(16, 8192):
            x = session.random(tokens, inputs).to(torch.float8_e4m3fn)

            def run(x=x):
                for m in matrices:
                    torch._scaled_mm(x, m.t(), scale_a=one, scale_b=one, out_dtype=session.dtype)

            timing = session.timed(run, len(matrices))
            row = {"matrix": name, "outputs": outputs, "inputs": inputs, "tokens": tokens}
            session.report["gemm"].append({**row, "dtype": "float8_e4m3fn", **timing})


def measure_attention(session, g, shape):
    """One layer's attention alone, over caches that no L2 holds."""
    layer = dict(g, layers=1, vocab=1, hidden=64, ffn=64)
    kv = plan.kv_tokens_of(shape)
    copies = plan.copies_beyond_caches(kv * plan.kv_bytes_per_token(layer), 16)
    decoder = model.Decoder(session, layer, kv)
    cache = decoder.layers[0]["kv"]
    caches = [cache] + [cache.clone() for _ in range(copies - 1)]
    tokens = tokens_of(shape)
    q, k, v = (session.random(tokens, n, g["head_dim"])
               for n in (g["heads"], g["kv_heads"], g["kv_heads"]))
    timing = session.timed(
        lambda: [decoder.attention(shape, q, k, v, kept) for kept in caches], copies)
    heads = {key: g[key] for key in ("heads", "kv_heads", "head_dim")}
    session.report["attention"].append({**heads, **shape, **timing})


def measure_allocator(session, g, tokens):
    """Bytes that PyTorch takes for a cache of known size and for a forward pass."""
    facts = session.report["allocator"]
    before = torch.cuda.memory_allocated(session.device)
    cache_tokens = 4 * tokens
    decoder = model.Decoder(session, g, cache_tokens)
    facts["model_and_cache_allocated_bytes"] = torch.cuda.memory_allocated(session.device) - before
    facts["weights_computed_bytes"] = plan.weight_bytes(g)
    facts["kv_tokens"] = cache_tokens
    facts["kv_computed_bytes"] = cache_tokens * plan.kv_bytes_per_token(g)
    facts["kv_allocated_bytes"] = sum(l["kv"].untyped_storage().nbytes() for l in decoder.layers)
    torch.cuda.reset_peak_memory_stats(session.device)
    at_rest = torch.cuda.memory_allocated(session.device)
    shape = step_shape(chunk_rows=1, chunk_tokens=tokens)
    decoder.step(shape, *decoder.inputs(shape, session.device))
    torch.cuda.synchronize(session.device)
    facts["forward_tokens"] = tokens
    facts["forward_peak_bytes"] = torch.cuda.max_memory_allocated(session.device) - at_rest
    facts["allocated_bytes"] = torch.cuda.memory_allocated(session.device)
    facts["reserved_bytes"] = torch.cuda.memory_reserved(session.device)
    free, total = torch.cuda.mem_get_info(session.device)
    # Context, kernels and other processes.
    facts["outside_torch_bytes"] = total - free - facts["reserved_bytes"]


def all_reduce_rank(rank, devices, folder, repeats):
    """One process of `devices`; the first one writes the times."""
    torch.cuda.set_device(rank)
    meet = "file://" + os.path.join(folder, "meet")
    torch.distributed.init_process_group("nccl", init_method=meet, rank=rank, world_size=devices)
    rows = []
    for size in [4**i for i in range(6, 14)]:  # 4 KiB to 64 MiB
        values = torch.zeros(size // ELEMENT_BYTES, dtype=torch.float16, device=rank)
        times = []
        for _ in range(repeats + 2):
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            for _ in range(20):
                torch.distributed.all_reduce(values)
            last.record()
            last.synchronize()
            times.append(first.elapsed_time(last) * 1e3 / 20)
        rows.append({"devices": devices, "reduced_bytes": size, **plan.summary_of(times[2:])})
    if rank == 0:
        with open(os.path.join(folder, "times.json"), "w", encoding="utf-8") as file:
            json.dump(rows, file)
    torch.distributed.destroy_process_group()


def measure_all_reduce(session, devices):
    with tempfile.TemporaryDirectory() as folder:
        arguments = (devices, folder, session.repeats)
        ranks = torch.multiprocessing.spawn(all_reduce_rank, arguments, devices, join=False)
        end = time.monotonic() + ALL_REDUCE_LIMIT_S
        while not ranks.join(timeout=1):
            if time.monotonic() > end:
                for process in ranks.processes:
                    process.kill()
                raise TimeoutError(f"no end after {ALL_REDUCE_LIMIT_S} s")
        with open(os.path.join(folder, "times.json"), encoding="utf-8") as file:
            session.report["all_reduce"] += json.load(file)


def device_facts(device):
    if device.type != "cuda":
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return {"type": device.type, "name": platform.processor() or platform.machine(),
                "memory_total_bytes": total, "memory_free_bytes": min(total, 2 * plan.GIB)}
    properties = torch.cuda.get_device_properties(device)
    free, total = torch.cuda.mem_get_info(device)
    facts = {
        "type": "cuda",
        "name": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
        "memory_total_bytes": total,
        "memory_free_bytes": free,
        "devices_visible": torch.cuda.device_count(),
    }
    try:
        facts["sm_clock_mhz"] = torch.cuda.clock_rate(device)
    except Exception as error:  # it needs a library of its own
        facts["sm_clock_unknown"] = plan.first_line(error)
    return facts


def versions():
    found = {"python": platform.python_version(), "torch": str(torch.__version__),
             "cuda": torch.version.cuda}
    if torch.cuda.is_available():
        found["cudnn"] = torch.backends.cudnn.version()
    return found


def measure_all(session, quick):
    """What the fit needs first: where time runs out, the rest is left out by name."""
    budget = int(0.8 * session.report["device"]["memory_free_bytes"])
    most_tokens = plan.MOST_TOKENS if session.on_gpu else 256  # a processor only shows it works
    geometries = plan.choose_geometries(budget)
    shapes = plan.step_grid(quick)
    session.attempt("copies", lambda: measure_copies(session))
    for name, g in reversed(geometries):
        session.attempt(f"steps/{name}", lambda n=name, g=g: measure_steps(
            session, n, g, shapes, budget, most_tokens))
    name, widest = geometries[0]
    for shape in plan.fitting_steps(dict(widest, layers=1), shapes, budget, most_tokens)[0]:
        session.attempt(f"attention/{json.dumps(shape)}",
                        lambda s=shape: measure_attention(session, widest, s))
    session.attempt(f"gemm/{name}", lambda: measure_gemm(session, widest, quick, most_tokens))
    session.attempt("gemm/fp8", lambda: measure_gemm_fp8(session, widest, quick))
    if not session.on_gpu:
        return
    session.attempt("allocator", lambda: measure_allocator(session, plan.NARROW, 2048))
    for devices in (2, 4, 8):
        if devices <= torch.cuda.device_count():
            session.attempt(f"all_reduce/{devices}",
                            lambda n=devices: measure_all_reduce(session, n))


def self_test():
    """Of the parts that need no PyTorch."""
    wide, narrow = plan.WIDE[0], plan.NARROW
    # Llama-3.1-8B has 8030261248 parameters of 2 bytes, and 128 KiB of KV per token.
    assert plan.weight_bytes(wide) == 2 * 8030261248
    assert plan.kv_bytes_per_token(wide) == 131072
    names = {gib: [name for name, _ in plan.choose_geometries(int(0.8 * gib * plan.GIB))]
             for gib in (2, 7, 23, 79)}
    narrow_names = ["1024x24", "1024x6"]
    assert names[2] == narrow_names, names
    assert names[7] == ["2048x16", "2048x4"] + narrow_names, names
    assert names[23] == ["3072x28", "3072x7"] + narrow_names, names
    assert names[79] == ["4096x32", "4096x8"] + narrow_names, names
    for quick in (True, False):
        shapes = plan.step_grid(quick)
        assert len({json.dumps(s) for s in shapes}) == len(shapes)
        fits, others = plan.fitting_steps(narrow, shapes, int(5.6 * plan.GIB), 16384)
        assert len(fits) + len(others) == len(shapes) and len(fits) >= 8
        kinds = {(s["decode_rows"] > 0, s["chunk_rows"] > 0) for s in fits}
        assert kinds == {(True, False), (False, True), (True, True)}
        for s in fits:
            kv = plan.kv_tokens_of(s) * plan.kv_bytes_per_token(narrow)
            assert plan.weight_bytes(narrow) + kv <= 5.6 * plan.GIB
    mixed = step_shape(16, 1024, 1, 512)
    assert (tokens_of(mixed), plan.kv_tokens_of(mixed), plan.rows_of(mixed)) == (528, 16896, 17)
    assert plan.powers_of_two(1, 8192) == [2**i for i in range(14)]
    assert plan.powers_of_two(16, 64) == [16, 32, 64]
    assert sum(n * k for _, n, k in plan.gemm_shapes(wide)[:-1]) == 218103808  # of a layer
    assert plan.copies_beyond_caches(100 * MIB) == 3 and plan.copies_beyond_caches(1) == 64
    assert plan.summary_of([3.0, 1.0, 2.0, 9.0]) == {
        "median_us": 2.5, "least_us": 1.0, "most_us": 9.0, "repeats": 4}
    config = plan.hf_config(narrow, "bfloat16")
    assert config["num_attention_heads"] * config["head_dim"] == config["hidden_size"]
    report = plan.new_report({"quick": True})
    report["models"] = [{"name": "timed"}, {"name": "untimed"}]
    report["steps"] = [{"model": "timed", **mixed, **plan.summary_of([1.0])}]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe.json")
        plan.write_whole(path, report)
        with open(path, encoding="utf-8") as file:
            read = json.load(file)
        assert read["models"] == [{"name": "timed"}] and read["made_up"] is False
        assert read["steps"] == report["steps"] and os.listdir(folder) == ["probe.json"]
        report["steps"][0]["median_us"] = float("nan")
        try:
            plan.write_whole(path, report)
        except ValueError:
            pass
        else:
            raise AssertionError("a number that is none was written")
        assert os.listdir(folder) == ["probe.json"]
    print("self-test passed")


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--output", default="probe.json", help="file to write (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="fewer shapes and repeats")
    parser.add_argument("--dtype", choices=("bfloat16", "float16"),
                        help="of weights and KV (bfloat16; float16 before compute capability 8)")
    parser.add_argument("--device", default="cuda:0", help="as PyTorch names it (%(default)s)")
    parser.add_argument("--minutes", type=float,
                        help="no measurement begins after these (5; 1 with --quick)")
    parser.add_argument("--self-test", action="store_true", help="test what needs no PyTorch")
    return parser.parse_args(words)


def refuse(why):
    print(f"probe: {why}", file=sys.stderr)
    return 2


def main(words=None):
    arguments = arguments_of(words)
    if arguments.self_test:
        self_test()
        return 0
    folder = os.path.dirname(os.path.abspath(arguments.output))
    if not os.access(folder, os.W_OK):
        return refuse(f"--output {arguments.output}: cannot write there")
    if torch is None:
        return refuse("PyTorch is not installed for this Python (pip install torch)")
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        return refuse("PyTorch finds no CUDA device")
    if device.type == "cuda":
        device = torch.device("cuda", device.index or 0)
        torch.cuda.set_device(device)
    older = device.type == "cuda" and model.capability() < (8, 0)
    dtype = arguments.dtype or ("float16" if older else "bfloat16")
    repeats = 3 if arguments.quick else 7
    minutes = arguments.minutes or (1 if arguments.quick else 5)
    report = plan.new_report({"quick": arguments.quick, "dtype": dtype, "repeats": repeats,
                              "minutes": minutes, "cuda_graphs": device.type == "cuda",
                              "heads_grouped_by_kernel": model.enable_gqa()})
    report["device"] = device_facts(device)
    report["versions"] = versions()
    session = model.Session(report, device, getattr(torch, dtype), 60 * minutes, repeats)
    interrupted = False
    with torch.inference_mode():
        try:
            measure_all(session, arguments.quick)
        except KeyboardInterrupt:
            report["left_out"].append({"name": "all that follows", "reason": "interrupted"})
            interrupted = True
    plan.write_whole(arguments.output, report)
    print(f"{arguments.output}: {len(report['steps'])} steps, {len(report['failures'])} failures, "
          f"{len(report['left_out'])} left out")
    return 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
