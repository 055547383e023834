#!/usr/bin/env python3
"""How late `headroom serve` sends tokens, with many streams at once; not part of the tests.

    serve_load.py BIN [--streams 2000] [--seconds 60] [--time-scale 0.45] [--replicas 8]

BIN: the folder with headroom and headroom_serve_streams. Starts the server with so many replicas,
keeps so many streams open for so long, and compares the times at which first and last tokens came
with those that the server wrote down (requests.csv). The offset of both clocks is taken from the
earliest token, so lateness is relative to it. The first answers, which all begin at once, do not count.
--time-scale sets how many tokens come in a second. Prints percentiles, memory and processor time.

With --most-late MS it fails where a token in a hundred is later than that, or where memory grows by
more than the records of the answers take.
"""
import argparse
import csv
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MOST_KIB_PER_ANSWER = 2  # of its record, and of its row in the trace
MOST_MIB = 8  # of all else, over the run



def rss_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


# (number, first_ns, last_ns, tokens, wanted) of each answer.
def load(program, port, pid, options):
    memory = []
    begin, cpu = time.monotonic(), cpu_s(pid)
    with tempfile.TemporaryFile("w+") as out:
        clients = subprocess.Popen(
            [program, str(port), str(options.streams), str(int(options.seconds))], stdout=out)
        next_look = begin + 2
        while clients.poll() is None:
            time.sleep(0.1)
            if time.monotonic() >= next_look:
                memory.append(rss_mib(pid))
                next_look += options.seconds / 5
        if clients.returncode != 0:
            raise SystemExit("the clients failed")
        wall = time.monotonic() - begin
        out.seek(0)
        answers = [tuple(map(int, line.split())) for line in out]
    wrong = [answer for answer in answers if answer[3] != answer[4]]
    if wrong:
        raise SystemExit(f"tokens were lost or doubled: {wrong[:3]}")
    tokens = sum(answer[3] for answer in answers)
    print(f"tokens      {tokens} in {wall:.1f} s: {tokens / wall:.0f}/s to {options.streams} "
          f"streams, {len(answers)} answers, none lost or doubled")
    print("memory      " + ", ".join(f"{mib:.0f}" for mib in memory) + " MiB over the run")
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    if memory[-1] - memory[0] > MOST_MIB + len(answers) * MOST_KIB_PER_ANSWER / 1024:
        raise SystemExit("memory grows")
    print(f"processor   server {(cpu_s(pid) - cpu) / wall:.2f} of a core, clients "
          f"{(children.ru_utime + children.ru_stime) / wall:.2f}")
    return answers


# p99 of both.
def show_lateness(answers, folder, time_scale):
    with open(folder + "/summary.json", encoding="utf-8") as file:
        client_ms = json.load(file)["setup"]["client_latency_ms"]
    with open(folder + "/requests.csv", encoding="utf-8") as file:
        rows = {int(row["index"]): row for row in csv.DictReader(file)}
    offsets = {}
    for what, place, column in (("first", 1, "first_token_ns"), ("last", 2, "finish_ns")):
        offsets[what] = [answer[place] / 1e6
                         - (int(rows[answer[0]][column]) / 1e6 + client_ms) / time_scale
                         for answer in answers]
    earliest = min(min(values) for values in offsets.values())
    worst = 0
    for what, values in offsets.items():
        late = [value - earliest for value in values]
        print(f"lateness    of {what} tokens: median {percentile(late, 0.5):.2f}, "
              f"p90 {percentile(late, 0.9):.2f}, p99 {percentile(late, 0.99):.2f}, "
              f"max {max(late):.2f} ms")
        worst = max(worst, percentile(late, 0.99))
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--time-scale", type=float, default=0.45)
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--most-late", type=float)
    options = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    folder = tempfile.mkdtemp()
    server = subprocess.Popen(
        [options.bin + "/headroom", "serve", "demo", "--port", "0", "-o", folder + "/served",
         "--time-scale", str(options.time_scale), "--set", f"fleet.replicas={options.replicas}",
         "--set", f"engine.max_num_seqs={options.streams // options.replicas + 16}"],
        stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline().rsplit(":", 1)[1])
    answers = load(options.bin + "/headroom_serve_streams", port, server.pid, options)
    server.send_signal(signal.SIGTERM)
    server.stdout.read()
    if server.wait() != 0:
        raise SystemExit("the server failed")
    later = [answer for answer in answers if answer[0] >= options.streams]
    worst = show_lateness(later, folder + "/served", options.time_scale)
    shutil.rmtree(folder)
    if options.most_late and worst > options.most_late:
        raise SystemExit(f"a token in a hundred is later than {options.most_late} ms")


if __name__ == "__main__":
    sys.exit(main())
