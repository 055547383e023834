#!/usr/bin/env bash
# Compares headroom's scheduler with the engines' own, step by step: installs the Python code of
# vLLM and SGLang in folders outside of the source (no GPU, no model), drives their schedulers and
# caches with random scenarios, and plays them with headroom (docs/live.md).
#
#   scripts/live.sh [scenarios per release]     default: 1500
#
# HEADROOM: the program (build/release/bin/headroom). HEADROOM_ENGINES: the folder (about 10 GB,
# most of it torch). VLLM_RELEASES: default "0.19.0 0.24.0 0.33.0". SGLANG_RELEASES: default
# "0.5.15 0.5.23". HEADROOM_SGLANG_PYTHON: a Python that has the one release named there. One that
# cannot be had is skipped.
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
engines=${HEADROOM_ENGINES:-$HOME/.cache/headroom/engines}
releases=${VLLM_RELEASES:-0.19.0 0.24.0 0.33.0}
count=${1:-1500}
headroom=${HEADROOM:-$source_dir/build/release/bin/headroom}
[[ -x $headroom ]] || { echo "live.sh: build the program first, or set HEADROOM" >&2; exit 2; }

# What importing the scheduler needs; tests/live/missing_modules.py stands in for the rest.
needed=(torch==2.11.0 numpy transformers pydantic msgspec aiohttp cachetools cbor2 cloudpickle
        einops fastapi filelock gguf ijson mistral_common openai openai-harmony
        opentelemetry-api opentelemetry-sdk partial-json-parser pillow prometheus_client psutil
        py-cpuinfo pybase64 pyyaml pyzmq regex requests sentencepiece setproctitle tiktoken tqdm
        blake3)

mkdir -p "$engines"
if [[ ! -x $engines/py/bin/python ]]; then
  python=$(for p in python3.12 python3.13 python3.11 python3; do command -v $p && break; done)
  "$python" -m venv "$engines/py"
fi
if [[ ! -f $engines/py/complete ]]; then
  "$engines/py/bin/pip" install -q "${needed[@]}" && touch "$engines/py/complete" ||
    { echo "skipped: torch and what else vLLM imports cannot be installed"; releases=; }
fi

different=0
for release in $releases; do
  package=$engines/vllm-$release
  if [[ ! -d $package/vllm ]] &&
     ! "$engines/py/bin/pip" install -q --no-deps --target "$package" "vllm==$release"; then
    echo "skipped: vllm $release cannot be installed"
    continue
  fi
  echo "vllm $release"
  PYTHONPATH=$package "$engines/py/bin/python" -B "$source_dir/tests/live/record.py" \
    vllm "$release" 0 "$count" >"$engines/vllm-$release.jsonl" 2>"$engines/vllm-$release.log"
  python3 -B "$source_dir/tests/live/compare.py" --headroom "$headroom" \
    --keep "$engines/vllm-$release-identical.jsonl" "$engines/vllm-$release.jsonl" || different=1
done

# SGLang: a folder with the release and all that it needs; none is installed where one is given.
for release in ${SGLANG_RELEASES:-0.5.15 0.5.23}; do
  folder=$engines/sglang-$release
  python=${HEADROOM_SGLANG_PYTHON:-$folder/bin/python}
  if [[ -z ${HEADROOM_SGLANG_PYTHON:-} && ! -f $folder/complete ]]; then
    "$engines/py/bin/python" -m venv "$folder" && "$python" -m pip install -q "sglang==$release" &&
      touch "$folder/complete" || { echo "skipped: sglang $release cannot be installed"; continue; }
  fi
  echo "sglang $release"
  "$python" -B "$source_dir/tests/live/record.py" \
    sglang "$release" 0 "$count" >"$engines/sglang-$release.jsonl" 2>"$engines/sglang-$release.log"
  python3 -B "$source_dir/tests/live/compare.py" --headroom "$headroom" \
    --keep "$engines/sglang-$release-identical.jsonl" "$engines/sglang-$release.jsonl" ||
    different=1
done
exit $different
