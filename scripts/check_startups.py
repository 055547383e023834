#!/usr/bin/env python3
"""Check the logged start-ups in hardware/catalog/measured/startups.

Required fields, unique ids, units in the keys of logged figures, and the
counts per class against the minimum numbers of the collection. Exit 1 when a
row is wrong or a class is short.
"""
import hashlib
import json
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                    "hardware", "catalog", "measured", "startups")
FILES = {"vllm.json": {"vllm"}, "sglang.json": {"sglang"},
         "trtllm.json": {"tensorrt-llm"}, "llamacpp.json": {"llama.cpp", "ollama"}}
REQUIRED = ["id", "link", "date", "source", "engine", "version", "model", "device",
            "devices", "host", "command", "flags", "environment", "logged",
            "per_rank", "failed", "unknown"]
# A logged figure carries its unit at the end of its key, or is a count.
UNITS = ("_gib", "_mib", "_gb", "_mb_as_logged", "_gb_as_logged", "_kb_as_logged",
         "_tokens", "_blocks", "_percent", "_bytes_per_token", "_share", "_at_failure", "_bytes")
COUNTS = {"maximum_concurrency", "max_model_len", "estimated_max_model_len", "gpu_blocks",
          "cpu_blocks", "kv_blocks_primary_pool", "tokens_per_block", "max_total_num_tokens",
          "max_running_requests", "chunked_prefill_size", "max_prefill_tokens", "context_len",
          "kv_cells", "kv_layers", "layers_offloaded", "n_ctx", "n_ctx_seq", "n_ctx_per_seq",
          "n_batch", "n_ubatch", "n_seq_max", "max_sequences", "max_batch_size",
          "max_num_tokens", "max_sequence_len", "mamba_cache", "block_size", "max_num_seqs",
          "max_num_batched_tokens", "kv_bytes_per_token", "equivalent_utilization",
          "suggested_utilization", "host_total_mib"}


def release(row):
    """(major, minor) of a vLLM row, of its version or what it was inferred as."""
    for text in (row.get("version_inferred"), row.get("version")):
        for major, minor in re.findall(r"(?<![\d.])(\d+)\.(\d+)", text or ""):
            if (major, minor) != ("0", "1"):
                return int(major), int(minor)
    return None


def chooses(row):
    """May this row choose constants? Even last hex digit of its link's hash."""
    digest = hashlib.sha256(row["link"].encode()).hexdigest()
    return not row.get("score_only") and int(digest[-1], 16) % 2 == 0


def unified(row):
    text = " ".join(str(row.get(k) or "") for k in ("device", "host"))
    return bool(re.search(r"GB10|Spark|Strix|Apple|Jetson|Orin|Thor", text))


def check(row, engines):
    bad = [f"no {key}" for key in REQUIRED if key not in row]
    if bad:
        return bad
    if row["engine"] not in engines:
        bad.append(f"engine {row['engine']} in the wrong file")
    if not str(row["link"]).startswith("https://"):
        bad.append("link is not https")
    if not re.fullmatch(r"20(24|25|26)-\d\d-\d\d", row["date"] or ""):
        bad.append(f"date {row['date']} is not of 2024 to 2026")
    for key in "model", "device", "source":
        if not row[key]:
            bad.append(f"empty {key}")
    if not row["version"] and not row.get("version_inferred"):
        bad.append("neither version nor version_inferred")
    if not isinstance(row["devices"], int) or row["devices"] < 1:
        bad.append("devices is no count")
    if row["environment"] not in ("native", "docker", "unknown"):
        bad.append("environment")
    if not row["flags"] and not row["command"]:
        bad.append("no flags, no command (say {\"defaults\": true})")
    if not row["logged"] and not row["failed"]:
        bad.append("no figure and no failure")
    if row["failed"] and set(row["failed"]) != {"stage", "message"}:
        bad.append("failed needs stage and message")
    for key, value in row["logged"].items():
        if not key.endswith(UNITS) and key not in COUNTS:
            bad.append(f"no unit in {key}")
        for one in values(value):
            if isinstance(one, bool) or not isinstance(one, (int, float, str)):
                bad.append(f"{key} is no figure")
            if isinstance(one, (int, float)) and key.endswith("_gib") and not -200 < one < 20000:
                bad.append(f"{key} = {one} is no size in GiB")
    return bad


def values(value):
    if isinstance(value, dict):
        return [one for each in value.values() for one in values(each)]
    if isinstance(value, list):
        return [one for each in value for one in values(each)]
    return [value]


def main():
    rows, wrong = [], 0
    for name, engines in FILES.items():
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            for row in json.load(file)["rows"]:
                for what in check(row, engines):
                    print(f"{name}: {row.get('id')}: {what}")
                    wrong += 1
                rows.append(row)
    seen, pairs = set(), set()
    for row in rows:
        if row["id"] in seen or (row["link"], row["id"]) in pairs:
            print(f"twice: {row['id']}")
            wrong += 1
        seen.add(row["id"])
        pairs.add((row["link"], row["id"]))

    def vllm(low, high):
        return [r for r in rows if r["engine"] == "vllm" and release(r)
                and low <= release(r) <= high]

    classes = [("all start-ups", rows, 120),
               ("vLLM 0.20 and later", vllm((0, 20), (9, 99)), 25),
               ("vLLM 0.6 to 0.12", vllm((0, 6), (0, 12)), 15),
               ("SGLang", [r for r in rows if r["engine"] == "sglang"], 15),
               ("TensorRT-LLM", [r for r in rows if r["engine"] == "tensorrt-llm"], 10),
               ("llama.cpp and Ollama", [r for r in rows if r["engine"] in ("llama.cpp", "ollama")], 15),
               ("unified memory", [r for r in rows if unified(r)], 20),
               ("failures with their message", [r for r in rows if r["failed"]], 10)]
    for name, of, least in classes:
        short = len(of) < least
        wrong += short
        print(f"{name}: {len(of)} (at least {least}){'  SHORT' if short else ''}")
    print(f"several devices: {sum(r['devices'] > 1 for r in rows)}, "
          f"vLLM 0.13 to 0.19: {len(vllm((0, 13), (0, 19)))}, "
          f"may choose constants: {sum(chooses(r) for r in rows)}, "
          f"score only: {sum(not chooses(r) for r in rows)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
