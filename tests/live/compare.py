"""Plays recorded traces with headroom and compares them step by step.

    python3 compare.py [--headroom PROGRAM] [--all] [--show N] [--keep FILE] traces.jsonl...

Counts identical traces by family; exit code 1 if any differs. --keep writes the identical ones.
"""

import argparse
import collections
import dataclasses
import json
import os
import subprocess
import sys
import tempfile

import scenario
import traces


def play(program, s, folder):
    """headroom's steps, packed like a trace's."""
    text, rows = traces.module_of(s).to_headroom(s)
    names = [os.path.join(folder, name) for name in ("s.json", "t.csv", "log.jsonl")]
    for name, content in zip(names, (json.dumps(text), rows)):
        with open(name, "w") as file:
            file.write(content)
    done = subprocess.run(
        [program, "run", names[0], "--trace", names[1], "--step-log", names[2], "--json"],
        capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    steps = []
    with open(names[2]) as lines:
        for line in lines:
            step = json.loads(line)
            if not step["rows"] and not step["preempted"]:
                continue
            steps.append([step["t_ns"] // scenario.STEP_NS, step["rows"], step["admitted"],
                          sorted(step["preempted"]), step["free"]])
    return steps


FIELDS = ("time", "rows", "admitted", "preempted", "free")


def difference(s, theirs, ours):
    """The first: (step, what, theirs, ours), or None."""
    for number, (a, b) in enumerate(zip(theirs, ours)):
        for field, x, y in zip(FIELDS, a, b):
            if x != y and not (field == "free" and y <= x <= y + traces.module_of(s).spare(s, a)):
                return number, field, a, b
    if not ours:
        return 0, "error", len(theirs), "the engine does not start"
    if len(theirs) != len(ours):
        return min(len(theirs), len(ours)), "length", len(theirs), len(ours)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--headroom", default="headroom")
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--keep")
    parser.add_argument("traces", nargs="+")
    a = parser.parse_args()
    same, seen, shown = collections.Counter(), collections.Counter(), 0
    kept = open(a.keep, "w") if a.keep else None
    with tempfile.TemporaryDirectory() as folder:
        for path in a.traces:
            for s, theirs in traces.load(path):
                seen[s.family] += 1
                try:
                    found = difference(s, theirs, play(a.headroom, s, folder))
                except RuntimeError as problem:
                    found = (0, "error", "", str(problem))
                if found is None:
                    same[s.family] += 1
                    if kept:
                        kept.write(json.dumps(traces.pack(s, theirs), separators=(",", ":")) + "\n")
                elif shown < a.show:
                    shown += 1
                    number, field, x, y = found
                    print(f"{s.ENGINE} {s.release} {s.family} {s.seed}, step {number}, {field}:\n"
                          f"  engine   {x}\n  headroom {y}")
                    print("  ", json.dumps(dataclasses.asdict(s), separators=(",", ":")))
    for family in seen:
        print(f"{family:12} {same[family]:5} of {seen[family]:5} identical")
    print(f"{'all':12} {sum(same.values()):5} of {sum(seen.values()):5} identical")
    return 0 if same == seen else 1


if __name__ == "__main__":
    sys.exit(main())
