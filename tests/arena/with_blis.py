"""Predictions of BLIS (inference-sim, Apache-2.0), a program that the reader has built.

usage: with_blis.py POINTS.csv OUT.csv PROGRAM CONFIGS

PROGRAM stands in its own source tree, whose defaults, device table and model configurations are
used; CONFIGS holds more configurations (OWNER--MODEL_config.json, as aiconfigurator ships them).
Its default latency model with its bundled coefficients. Devices that its table lacks get a row from
their data sheets, as its documentation says, with the efficiencies of the nearest one it has.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from arena import Point, Prediction, Refused, predict_all

DEVICES = {"h100-sxm": "H100", "h200-sxm": "H200", "b200": "B200", "a100-40": "A100-40"}
# name: the nearest row of its table, TFLOP/s in 16 and 8 bits, TB/s, GiB.
ADDED = {"H200": ("H100", 989.5, 1979.0, 4.8, 131.0), "B200": ("H100", 2250.0, 4500.0, 7.7, 167.0),
         "A100-40": ("A100-SXM", 312.0, 0.0, 1.555, 37.0)}
OWN_CONFIGS = {
    "meta-llama/Llama-2-7b-hf": "llama-2-7b-hf",
    "codellama/CodeLlama-34b-Instruct-hf": "codellama-34b-instruct-hf",
    "mistralai/Mixtral-8x7B-v0.1": "mixtral-8x7b-v0.1",
    "meta-llama/Llama-3.1-8B": "llama-3.1-8b-instruct",
    "meta-llama/Meta-Llama-3-8B": "llama-3.1-8b-instruct",  # of the same shape
    "meta-llama/Llama-3.1-70B": "llama-3.1-70b-instruct",
    "meta-llama/Meta-Llama-3-70B": "llama-3.1-70b-instruct",
    "Qwen/Qwen3-30B-A3B": "qwen3-30b-a3b",
    "Qwen/Qwen2.5-7B": "qwen2.5-7b-instruct",
}
# Llama-2-70B is Llama-3.1-70B with fewer words, Mistral-7B is Llama-3.1-8B with fewer words.
FEWER_WORDS = {"meta-llama/Llama-2-70b-hf": "llama-3.1-70b-instruct",
               "mistralai/Mistral-7B-v0.1": "llama-3.1-8b-instruct"}
BITS = {"bf16": 0, "fp8": 8, "nvfp4": 4, "mxfp4": 4, "int4": 4}
SEED = 1
MOST_REQUESTS = 600
MOST_CPU_S = 5  # of one point


def allow_little_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))


class Blis:
    def __init__(self, program: Path, configs: Path, folder: Path) -> None:
        self._program, self._home, self._configs = program, program.parent, configs
        self._folder = folder
        table = json.loads((self._home / "hardware_config.json").read_text())
        for name, (near, bf16, fp8, bandwidth, gib) in ADDED.items():
            table[name] = table[near] | {"TFlopsPeak": bf16, "TFlopsFP8": fp8,
                                         "BwPeakTBs": bandwidth, "MemoryGiB": gib}
        self._devices = folder / "devices.json"
        self._devices.write_text(json.dumps(table))

    def _config(self, point: Point) -> Path:
        own = OWN_CONFIGS.get(point.model) or FEWER_WORDS.get(point.model)
        path = (self._home / "model_configs" / own / "config.json" if own else
                self._configs / f"{point.model.replace('/', '--')}_config.json")
        if not path.is_file():
            raise Refused("no configuration of this model")
        config = json.loads(path.read_text())
        config |= config.pop("text_config", {})
        if point.model in FEWER_WORDS:
            config["vocab_size"] = 32000
        config.pop("quantization_config", None)
        config.setdefault("torch_dtype", "bfloat16")
        if BITS[point.weights]:
            config["quantization_config"] = {"quant_method": "fp8" if point.weights == "fp8" else
                                             "awq", "bits": BITS[point.weights]}
        folder = self._folder / point.id
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    @staticmethod
    def _lengths(mean: int, point: Point) -> dict:
        if not point.spread:
            return {"type": "constant", "params": {"value": mean}}
        # Uniform between 80 and 100 % of the nominal length: its mean, spread and ends.
        most = mean / 0.9
        return {"type": "gaussian", "params": {"mean": mean, "std_dev": round(0.0577 * most),
                                               "min": round(0.8 * most), "max": round(most)}}

    def _workload(self, point: Point) -> Path:
        client: dict = {"id": "clients", "tenant_id": "t", "slo_class": "standard",
                        "streaming": True, "rate_fraction": 1.0, "timeout": 0,
                        "output_distribution": self._lengths(point.output_tokens, point)}
        prompt = point.prompt_tokens
        if point.prefix_tokens:  # a hundred prompts in turn: all but the end of each is cached
            client |= {"prefix_group": "prompts", "prefix_length": prompt - 16}
            prompt = 16
        client["input_distribution"] = self._lengths(prompt, point)
        requests = point.users
        workload: dict = {"version": "2", "seed": SEED, "category": "language",
                          "clients": [client]}
        if point.kind == "rate":
            constant = point.source == "h100_vllm015_aggregates"
            client["arrival"] = {"process": "constant" if constant else "poisson"}
            workload["aggregate_rate"] = point.rate
            requests = min(requests, MOST_REQUESTS)  # a steady rate: more say no more
        else:
            client |= {"concurrency": point.users, "rate_fraction": 0}
            if point.kind == "closed_loop":
                requests = max(10 * point.users, 40)
        workload["num_requests"] = requests
        path = self._folder / point.id / "workload.yaml"
        path.write_text(json.dumps(workload))  # YAML holds JSON
        return path

    def predict(self, point: Point) -> Prediction:
        if point.engine != "vllm":
            raise Refused("models vLLM alone")
        if point.device not in DEVICES:
            raise Refused("no row for this device")
        folder = self._config(point)
        command = [self._program, "run", "--model", point.model, "--model-config-folder", folder,
                   "--hardware", DEVICES[point.device], "--hardware-config", self._devices,
                   "--defaults-filepath", self._home / "defaults.yaml", "--tp", point.devices,
                   "--workload-spec", self._workload(point), "--seed", SEED, "--timeout", -1,
                   "--max-num-seqs", max(256, point.users) if point.kind != "rate" else 256,
                   "--metrics-path", folder / "metrics.json", "--log", "error"]
        if point.step_tokens:
            command += ["--max-num-batched-tokens", point.step_tokens]
        if point.expert_ranks > 1:
            command += ["--enable-expert-parallel"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              cwd=self._home, preexec_fn=allow_little_time)
        if done.returncode < 0:
            raise Refused(f"took more than {MOST_CPU_S} CPU s")
        if done.returncode:
            raise Refused(done.stderr.strip().splitlines()[-1].partition("msg=")[2].strip('"'))
        found = json.loads((folder / "metrics.json").read_text())
        decoding_ms = found["e2e_mean_ms"] - found["ttft_mean_ms"]
        return Prediction(point.id, decoding_ms / max(1, point.output_tokens - 1),
                          found["ttft_mean_ms"],
                          found["tokens_per_sec"] if point.tokens_per_s else 0)


def main() -> None:
    points, out, program, configs = (Path(word).resolve() for word in sys.argv[1:5])
    with tempfile.TemporaryDirectory() as folder:
        blis = Blis(program, configs, Path(folder))
        predict_all(points, blis.predict, out)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{spent.ru_utime + spent.ru_stime:.0f} CPU s, at most {spent.ru_maxrss >> 10} MiB",
          file=sys.stderr)


if __name__ == "__main__":
    main()
