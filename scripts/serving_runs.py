#!/usr/bin/env python3
"""Replays public serving benchmarks: measured against predicted.

Each row of hardware/catalog/measured/serving_runs/runs.json goes through `headroom from` and
`headroom run` as it is: nothing here is fitted, and the rows only score. Errors are
predicted / measured - 1 of times (a rate counts as the time of a token), so + is too slow.
"""
import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = ROOT / "hardware/catalog/measured/serving_runs/runs.json"
# ShareGPT as benchmarks sample it (README.md): quantiles of first turns, in tokens.
SHARES = (0, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .99, .999, 1)
SHAREGPT = {"input": (4, 8, 10, 16, 26, 50, 112, 225, 330, 436, 614, 770, 871, 1013, 1022),
            "output": (4, 8, 11, 19, 34, 69, 131, 210, 281, 356, 500, 638, 829, 1273, 1831)}
LENGTHS = 1000  # values of the law
IN_PROCESS = ("llama-bench", "llama-batched-bench")  # no client and no server in between
GROUPS = (("engine", "catalog_device"), ("engine",), ("model_class",), ("weights",))


class Refused(Exception):
    pass


def sharegpt(side, mean):
    """Lengths with the quantiles of one side, scaled to the mean of the benchmark."""
    nodes, lengths, i = SHAREGPT[side], [], 0
    for n in range(LENGTHS):
        share = (n + 0.5) / LENGTHS
        while SHARES[i + 1] < share:
            i += 1
        part = (share - SHARES[i]) / (SHARES[i + 1] - SHARES[i])
        lengths.append(nodes[i] * (nodes[i + 1] / nodes[i]) ** part)
    scale = mean / statistics.fmean(lengths)
    return {"law": "empirical", "values": [max(1, round(scale * length)) for length in lengths]}


def bench_workload(client):
    prompt, output = (sharegpt(side, client[side]["mean"])
                      if client[side]["law"] == "sharegpt" else client[side]
                      for side in ("input", "output"))
    load = {"num_requests": client["num_prompts"], "prompt": prompt, "output": output,
            "max_tokens": {"rule": "times_output", "times_output": 1}}  # benchmarks declare it
    if client["request_rate"] != "inf":
        load["arrivals"] = {"process": "vllm_bench", "request_rate": client["request_rate"],
                            "burstiness": client.get("burstiness", 1)}
    elif client["max_concurrency"]:
        load["closed_loop"] = {"users": client["max_concurrency"],
                               "think_time": {"law": "fixed", "mean_s": 0}}
    else:
        load["arrivals"] = {"process": "all_at_once"}
    return load


def batch_workload(requests, prompt, output):
    return {"arrivals": {"process": "all_at_once"}, "num_requests": requests,
            "prompt": {"law": "fixed", "tokens": prompt},
            "output": {"law": "fixed", "tokens": output}}


def call(headroom, arguments, text=None):
    done = subprocess.run([headroom, *arguments], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused((done.stderr.strip() or "no message").splitlines()[0])
    return json.loads(done.stdout)


def run(headroom, scenario, workload):
    text = json.dumps({**scenario, "name": "serving-run", "seed": 1, "workload": workload})
    result = call(headroom, ["run", "-", "--json", "-q"], text)
    if not result["started"] or result["metrics"]["completed"] == 0:
        raise Refused("does not start: " + str(result["reason"]))
    return result


def predict(headroom, row):
    """The predicted times by name, the setup of the run."""
    command = row.get("replay_command") or row["command"]
    device = ["--device", row["catalog_device"]]
    scenario = call(headroom, ["from", *device, "--json", command])["scenario"]
    if row.get("version"):
        scenario["engine"]["version"] = row["version"]
    client = row["client"]
    if client["tool"] not in IN_PROCESS:
        result = run(headroom, scenario, bench_workload(client))
        return result["metrics"], result["setup"]
    batch, past = client["batch"], client["depth"]
    prompts = run(headroom, scenario, batch_workload(batch, past + client["pp"], 1))
    before = run(headroom, scenario, batch_workload(batch, past, 1)) if past else None
    tokens = run(headroom, scenario, batch_workload(
        batch, past or (client["pp"] if batch > 1 else 1), client["tg"] + 1))
    start = before["metrics"]["p99_ttft_ms"] if before else prompts["setup"]["client_latency_ms"]
    return ({"prompts_ms": prompts["metrics"]["p99_ttft_ms"] - start,
             "tokens_ms": tokens["metrics"]["median_itl_ms"]}, tokens["setup"])


def measured_times(row):
    """The figures of a row by the names of `predict`; rates of one request as times."""
    logged, client = row["logged"], row["client"]
    if client["tool"] in IN_PROCESS:
        return {"prompts_ms": 1e3 * client["batch"] * client["pp"] / logged["pp_tokens_per_s"],
                "tokens_ms": 1e3 * client["batch"] / logged["tg_tokens_per_s"]}
    times = {k: logged[k] for k in ("mean_tpot_ms", "median_itl_ms", "median_ttft_ms",
                                    "output_throughput")
             if logged.get(k, 0) >= 1}  # below: tokens that the server sent together
    rate = logged.get("tg_tokens_per_s_per_request") or logged.get("decode_tokens_per_s")
    if rate:
        times["mean_tpot_ms"] = 1e3 / rate
    if "e2e_ttft_ms" in logged:
        times["mean_ttft_ms"] = logged["e2e_ttft_ms"]
    return times


def error(name, measured, predicted):
    return (measured / predicted if name == "output_throughput" else predicted / measured) - 1


# What the catalog calls a figure in `observed_elsewhere`.
BANDS = {"mean_ttft_ms": "mean_ttft_ms", "median_ttft_ms": "mean_ttft_ms",
         "prompts_ms": "mean_ttft_ms", "mean_tpot_ms": "mean_tpot_ms", "tokens_ms": "mean_tpot_ms"}


def print_bands(errors):
    """Of each row of constants, by model: the per cents that 80 of 100 errors lie within."""
    for calibration, model in sorted(errors):
        kinds = errors[calibration, model]
        entry = {"models": [model], "runs": max(map(len, kinds.values()))}
        for kind, offs in sorted(kinds.items(), reverse=True):
            ends = statistics.quantiles(offs, n=10, method="inclusive") if len(offs) > 1 else offs
            entry[f"{kind}_percent"] = [round(100 * ends[0], 1), round(100 * ends[-1], 1)]
        print(calibration, json.dumps(entry))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--headroom", default=str(ROOT / "build/release/bin/headroom"))
    parser.add_argument("--only", default="", help="rows whose id has this text")
    parser.add_argument("--csv", help="write every figure here")
    parser.add_argument("--bands", action="store_true",
                        help="and print what the rows of constants take as observed_elsewhere")
    arguments = parser.parse_args()
    table, groups = [("id", "figure", "measured", "predicted", "error", "calibration")], {}
    bands = {}
    for row in json.loads(ROWS.read_text())["rows"]:
        if arguments.only not in row["id"] or "not_scored" in row:
            continue
        try:
            predicted, setup = predict(arguments.headroom, row)
        except Refused as reason:
            print(f"{row['id']:<72} refused: {reason}")
            continue
        for name, measured in measured_times(row).items():
            off = error(name, measured, predicted[name])
            print(f"{row['id']:<72} {name:<18} {measured:>10.2f} {predicted[name]:>10.2f} "
                  f"{off:+7.0%}")
            table.append((row["id"], name, measured, predicted[name], off, setup["calibration"]))
            if name in BANDS:
                kinds = bands.setdefault((setup["calibration"], setup["model"]), {})
                kinds.setdefault(BANDS[name], []).append(off)
            for keys in GROUPS:
                groups.setdefault((*(row[key] for key in keys), name), []).append(off)
    for key, offs in sorted(groups.items()):
        print(*key, f"n={len(offs)} median|e|={statistics.median(map(abs, offs)):.0%} "
              f"mean|e|={statistics.fmean(map(abs, offs)):.0%} bias={statistics.median(offs):+.0%}")
    if arguments.bands:
        print_bands(bands)
    if arguments.csv:
        with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(table)


if __name__ == "__main__":
    sys.exit(main())
