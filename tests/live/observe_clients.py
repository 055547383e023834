"""Measures one server with `headroom observe` and with `vllm bench serve`, in turns, under the same
closed loop, and prints what each says (docs/observe.md).

    observe_clients.py --headroom PROGRAM --vllm PROGRAM --tokenizer FOLDER [URL]

Without a URL: a stand-in server that answers at a fixed pace, so that what differs is the clients.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
METRICS = ["mean_ttft_ms", "median_ttft_ms", "mean_tpot_ms", "median_tpot_ms", "mean_itl_ms",
           "output_throughput"]


def observed(options, url, folder):
    subprocess.run(
        [options.headroom, "observe", url, "--users", str(options.users), "--in",
         str(options.input), "--out", str(options.output), "--requests", str(options.requests),
         "-o", folder], check=True, stdout=subprocess.DEVNULL)
    return json.load(open(f"{folder}/observed.json", encoding="utf-8"))["metrics"]


def benched(options, url, folder):
    model = options.model
    subprocess.run(
        [options.vllm, "bench", "serve", "--backend", "openai", "--base-url", url, "--model", model,
         "--tokenizer", options.tokenizer, "--dataset-name", "random", "--random-input-len",
         str(options.input), "--random-output-len", str(options.output), "--num-prompts",
         str(options.requests), "--max-concurrency", str(options.users), "--ignore-eos",
         "--num-warmups", "3", "--seed", folder[-1], "--disable-tqdm", "--save-result",
         "--result-dir", folder, "--result-filename", "result.json"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.load(open(f"{folder}/result.json", encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url", nargs="?")
    parser.add_argument("--headroom", required=True)
    parser.add_argument("--vllm", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--model", default="tiny", help="as it is served")
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--input", type=int, default=100)
    parser.add_argument("--output", type=int, default=32)
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    server = None
    url = options.url
    if url is None:
        server = subprocess.Popen(
            [sys.executable, "-B", SOURCE / "tests/support/openai_server.py", "--ttft-ms", "150",
             "--itl-ms", "20"], stdout=subprocess.PIPE, text=True)
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    found = {"headroom observe": [], "vllm bench serve": []}
    try:
        with tempfile.TemporaryDirectory() as folder:
            for i in range(options.rounds):
                found["headroom observe"].append(observed(options, url, f"{folder}/observe-{i}"))
                found["vllm bench serve"].append(benched(options, url, f"{folder}/bench-{i}"))
    finally:
        if server:
            server.kill()
    print(f"{'':18}" + "".join(f"{name:>20}" for name in METRICS))
    for client, rounds in found.items():
        for metrics in rounds:
            print(f"{client:18}" + "".join(f"{metrics[name]:>20.3f}" for name in METRICS))
    for name in METRICS:
        one, two = (statistics.median(m[name] for m in found[client]) for client in found)
        print(f"{name}: medians {one:.3f} and {two:.3f}, {100 * (one / two - 1):+.2f} %")


if __name__ == "__main__":
    main()
