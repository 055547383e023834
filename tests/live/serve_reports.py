#!/usr/bin/env python3
"""What a load tester reports of `headroom serve`, beside `headroom run` of the same arrivals.

    serve_reports.py HEADROOM CLIENTS [--requests 300] [--only light]

CLIENTS: the folder of scripts/serve_clients.sh. AIPerf measures a deployment that is light, one that
is saturated and one that is short of KV memory; each time its report stands beside the replay of what
was served. Exits with 1 where they differ by more than docs/serve.md says, 77 without AIPerf.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
LENGTHS = ["--isl", "500", "--isl-stddev", "50", "--osl", "120", "--osl-stddev", "20"]
# (server's options, client's options, TTFT may differ by ms, by a share)
SCENARIOS = {
    "light": ([], ["--request-rate", "5", "--arrival-pattern", "poisson"], 2.0, 0.0),
    "saturated": (["--set", "engine.max_num_seqs=32"], ["--concurrency", "64"], 0.0, 0.03),
    "kv-bound": (["--set", "engine.gpu_memory_utilization=0.26"], ["--concurrency", "64"], 0.0, 0.03),
}
MOST_THROUGHPUT, MOST_TPOT = 0.01, 0.02


def tokenizer(clients, folder):
    """A folder as transformers loads it."""
    python = f"{clients}/openai/bin/python"
    subprocess.run([python, "-B", HERE.parent / "e2e/serve_tokenizer.py", "make", folder], check=True)
    made = folder / "tokenizer"
    made.mkdir()
    (folder / "llama3.json").rename(made / "tokenizer.json")
    (made / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "<|end|>"}')
    return made


def measure(options, name, folder, words):
    server_options, client_options, _, _ = SCENARIOS[name]
    served = folder / name
    server = subprocess.Popen(
        [options.headroom, "serve", "demo", "--port", "0", "--tokenizer", words / "tokenizer.json",
         "-o", served, *server_options], stdout=subprocess.PIPE, text=True)
    url = re.search(r"http://\S+", server.stdout.readline()).group()
    report = folder / (name + "-report")
    environment = {key: value for key, value in os.environ.items() if key != "HF_HUB_OFFLINE"}
    subprocess.run(
        [f"{options.clients}/aiperf/bin/aiperf", "profile", "-m", "llama-3.1-8b", "-u", url,
         "--endpoint-type", "completions", "--streaming", "--tokenizer", words, *LENGTHS,
         "--extra-inputs", "ignore_eos:true", "--use-server-token-count", "--random-seed", "1",
         "--request-count", str(options.requests), "--artifact-dir", report, "--ui", "none",
         *client_options], check=True, env=environment, stdout=subprocess.DEVNULL)
    server.send_signal(signal.SIGTERM)
    server.stdout.read()
    if server.wait() != 0:
        raise SystemExit("the server failed")
    replay = folder / (name + "-replay")
    subprocess.run([options.headroom, "run", served / "scenario.json", "-o", replay], check=True,
                   stdout=subprocess.DEVNULL)
    seen = json.loads((report / "profile_export_aiperf.json").read_text())
    if seen["request_count"]["avg"] != options.requests:
        raise SystemExit(f"{name}: not all requests were answered")
    return seen, json.loads((replay / "summary.json").read_text())


def values(summary, key):
    if isinstance(summary, dict):
        if key in summary:
            return summary[key]
        for part in summary.values():
            found = values(part, key)
            if found is not None:
                return found
    return None


def show(name, seen, said):
    _, _, most_ms, most_share = SCENARIOS[name]
    rows = [
        ("output tokens/s", seen["output_token_throughput"]["avg"],
         values(said, "output_throughput"), MOST_THROUGHPUT, 0),
        ("mean TPOT ms", seen["inter_token_latency"]["avg"], values(said, "mean_tpot_ms"), MOST_TPOT, 0),
        ("mean TTFT ms", seen["time_to_first_token"]["avg"], values(said, "mean_ttft_ms"), most_share,
         most_ms)]
    good = True
    for what, client, run, share, absolute in rows:
        good &= (holds := abs(client - run) <= max(share * run, absolute))
        print(f"{name:10} {what:16} client {client:9.2f}, run {run:9.2f}, "
              f"{100 * (client / run - 1):+6.2f} % ({client - run:+.2f}){'' if holds else '  too far'}")
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("headroom")
    parser.add_argument("clients")
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--only", choices=list(SCENARIOS))
    options = parser.parse_args()
    if not os.path.exists(f"{options.clients}/aiperf/bin/aiperf"):
        print("skipped: AIPerf is not installed (scripts/serve_clients.sh)")
        return 77
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        words = tokenizer(options.clients, folder)
        for scenario in [options.only] if options.only else SCENARIOS:
            good &= show(scenario, *measure(options, scenario, folder, words))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
