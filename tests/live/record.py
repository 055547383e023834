"""Records what an engine's own scheduler does with random scenarios, one line of JSON each.

    PYTHONPATH=<folder of the engine's package> python record.py vllm 0.24.0 0 1000 > traces.jsonl
"""

import importlib
import json
import os
import sys

import traces


def main():
    engine, release, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    scenarios = traces.SCENARIOS.get(engine)
    if scenarios is None:
        sys.exit(f"record.py: no driver for {engine}, only for {', '.join(traces.SCENARIOS)}")
    families = sys.argv[5].split(",") if len(sys.argv) > 5 else scenarios.FAMILIES
    # An engine may print to standard output while it is imported.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    driver = importlib.import_module(f"{engine}_engine")
    for seed in range(first, first + count):
        s = scenarios.make(seed // len(families), families[seed % len(families)], release)
        try:
            steps = driver.play(s)
        except Exception as problem:
            print(f"{s.family} {s.seed}: {type(problem).__name__}: {problem}", file=sys.stderr)
            if os.environ.get("LIVE_RAISE"):
                raise
            continue
        output.write(json.dumps(traces.pack(s, steps), separators=(",", ":")) + "\n")
    output.flush()


if __name__ == "__main__":
    main()
