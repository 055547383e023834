#!/usr/bin/env python3
"""Reduces measured kernel times to the surfaces in hardware/catalog/kernels.

  kernel_surfaces.py RAW_DIR                  writes hardware/catalog/kernels/<device>.txt
  kernel_surfaces.py --check RAW_DIR CHECKER  builds without every 10th point and prints by how much
                                              the program CHECKER (target kernel_check) misses them
  kernel_surfaces.py --show FILE CLASS [KEY]  prints surfaces as microseconds

RAW_DIR holds SYSTEM/ENGINE-VERSION/TABLE.csv.gz: the tables of github.com/ai-dynamo/aiconfigurator
(hardware/catalog/kernels/NOTICE), latency in microseconds in the last column.

A file begins with facts of the device. Then one section per class of kernels and engine:

  class decode_attention vllm 0.24.0 0.19.0   newest release first
  axis rows 1 2 4 ...
  axis context 2 16 ...
  grid 32 8 128 0 bf16                        one shape; the key is explained in kernel_tables.cpp
  one line per point of all axes but the last, two characters per point of the last axis

Two characters c, d stand for 0.1 us * exp((89 * (c - 37) + d - 37) / 400), exact to 0.13 %.
"~~" is a point that was not measured; such points are left out at the end of a line.
"""

import argparse
import csv
import glob
import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True  # no folder of it in the sources

from kernel_classes import CLASSES, memory_rate  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "hardware", "catalog", "kernels")

# Folder of the raw tables -> id in hardware/catalog/devices.json.
SYSTEMS = {
    "a100_sxm": "a100-80", "h100_sxm": "h100-sxm", "h200_sxm": "h200-sxm", "b200_sxm": "b200",
    "b300_sxm": "b300", "gb200": "gb200", "l40s": "l40s",
    "rtx_pro_6000_server": "rtxpro6000-server",
}

FIRST, BASE, STEPS, LOWEST_US = 37, 89, 400, 0.1
HOLE = "~~"
HELD_OUT_EVERY = 10
SPIKE = 2
FALLING_AXES = ("tp", "ep", "prefix")  # along which time need not grow


def rows_of(path):
    with gzip.open(path, "rt", newline="") as file:
        yield from csv.DictReader(file)


def release_order(version):
    """Numeric order of releases: 0.5.14 after 0.5.10, 1.3.0rc20 after 1.0.0."""
    return [int(part) for part in re.findall(r"\d+", version)]


def releases(raw_dir, folder):
    """[(engine, version, path)], newest release of an engine first."""
    found = []
    for path in glob.glob(os.path.join(raw_dir, folder, "*")):
        engine, _, version = os.path.basename(path).partition("-")
        found.append((engine, version, path))
    found.sort(key=lambda f: release_order(f[1]), reverse=True)
    found.sort(key=lambda f: f[0])
    return found


def words_of(key):
    return tuple(part for part in key if isinstance(part, str))


def measured(raw_dir, folder, kind):
    """{engine: (versions, {key: {point: us}})}; engine "all" where the fastest counts.

    Shapes of one number format come from one release, the newest that has the format: releases
    differ by more than shapes do (Marlin of vLLM 0.19 takes twice as long as that of 0.24)."""
    sections = {}
    for engine, version, path in releases(raw_dir, folder):
        times = {}
        for table in kind.tables:
            file = os.path.join(path, table + ".csv.gz")
            if os.path.exists(file):
                times.update(kind.read(rows_of(file), kind))
        if not times:
            continue
        name = engine if kind.engines == "own" else "all"
        versions, merged = sections.setdefault(name, ([], {}))
        used = False
        newer = {words_of(key) for key in merged}
        for key, surface in times.items():
            if kind.engines == "own":
                if words_of(key) not in newer:
                    merged[key] = surface
                    used = True
                continue
            into = merged.setdefault(key, {})
            for point, us in surface.items():
                if us < into.get(point, math.inf):
                    into[point] = us
                    used = True
        if used:
            versions.append(version if kind.engines == "own" else f"{engine}-{version}")
    return sections


def held_out(name, key, point):
    """Whether the check leaves this point out: one of HELD_OUT_EVERY, the same on every run."""
    text = " ".join(map(str, (name,) + key + point))
    return zlib.crc32(text.encode()) % HELD_OUT_EVERY == 0


def spikes(kind, surface):
    """Points that took more than SPIKE times as long as one of the next two larger sizes along an
    axis: the collector was held up there."""
    found = set()
    for position, (name, _) in enumerate(kind.axes):
        if name in FALLING_AXES:
            continue
        lines = {}
        for point in surface:
            lines.setdefault(point[:position] + point[position + 1:], []).append(point)
        for line in lines.values():
            line.sort(key=lambda p: p[position])
            for i, point in enumerate(line):
                larger = [surface[p] for p in line[i + 1:i + 3]]
                if larger and surface[point] > SPIKE * min(larger):
                    found.add(point)
    return found


def place_of(kind, point):
    """hole: a point of the surface itself; between its points; outside of them."""
    place = "hole"
    for value, (_, points) in zip(point, kind.axes):
        if points and not min(points) <= value <= max(points):
            return "outside"
        if points and value not in points:
            place = "between"
    return place


def code(us):
    level = round(math.log(us / LOWEST_US) * STEPS)
    if not 0 <= level < BASE * BASE:
        raise SystemExit(f"{us} us is beyond what two characters can hold")
    return chr(FIRST + level // BASE) + chr(FIRST + level % BASE)


def decoded(pair):
    level = (ord(pair[0]) - FIRST) * BASE + ord(pair[1]) - FIRST
    return LOWEST_US * math.exp(level / STEPS)


def points_of(axis, position, surfaces):
    """The axis' points that any surface has."""
    have = {point[position] for surface in surfaces for point in surface}
    return sorted(p for p in have if axis is None or p in axis)


def outer_points(axes):
    points = [()]
    for axis in axes[:-1]:
        points = [p + (value,) for p in points for value in axis]
    return points


def sort_key(key):
    return [(0, part, "") if isinstance(part, int) else (1, 0, part) for part in key]


def section_lines(kind, engine, versions, surfaces):
    axes = [points_of(points, i, surfaces.values()) for i, (_, points) in enumerate(kind.axes)]
    lines = [f"class {kind.name} {engine} {' '.join(versions)}"]
    for (name, _), axis in zip(kind.axes, axes):
        lines.append(f"axis {name} {' '.join(map(str, axis))}")
    outer = outer_points(axes)
    for key in sorted(surfaces, key=sort_key):
        surface = surfaces[key]
        body = []
        for point in outer:
            codes = [code(surface[p]) if (p := point + (last,)) in surface else HOLE
                     for last in axes[-1]]
            while codes and codes[-1] == HOLE:
                codes.pop()
            body.append("".join(codes))
        if any(body):
            lines.append("grid " + " ".join(map(str, key)))
            lines += body
    return lines


def device_lines(device):
    # Check bits of ECC in the same memory: one byte for 16 (hardware/kernels/ideal_time.cpp).
    data = 15 / 16 if device.get("ecc_in_band") else 1
    lines = [f"device {device['id']}", f"architecture {device['architecture']}",
             f"sm {device['sm']}", f"gb_per_s {device['bandwidth_gb_per_s'] * data:g}"]
    for name, value in sorted(device["tflops"].items()):
        lines.append(f"tflops_{name} {value}")
    link = device.get("nvlink_gb_per_s_per_direction") or device["pcie_gb_per_s_per_direction"]
    lines.append(f"link_gb_per_s {link}")
    return lines


def catalog_device(name):
    with open(os.path.join(ROOT, "hardware", "catalog", "devices.json")) as file:
        devices = json.load(file)
    devices = devices if isinstance(devices, list) else devices["devices"]
    return next(d for d in devices if d["id"] == name)


def build(raw_dir, folder, out_dir, queries=None):
    """Writes the file of one system; with `queries` (a file), what was held out goes there."""
    device = SYSTEMS[folder]
    lines = [f"# Kernel times of {device}, see NOTICE and scripts/kernel_surfaces.py.",
             "headroom-kernels 1"] + device_lines(catalog_device(device))
    rate = None
    for kind in CLASSES:
        sections = measured(raw_dir, folder, kind)
        if kind.name == "linear":  # the first one
            rate = memory_rate(sections["all"][1])
        for engine, (versions, surfaces) in sorted(sections.items()):
            if kind.settle:
                kind.settle(surfaces, rate)
            for surface in surfaces.values():
                for point in spikes(kind, surface):
                    del surface[point]
            if queries:
                for key, surface in surfaces.items():
                    for point in [p for p in surface if held_out(kind.name, key, p)]:
                        us = surface.pop(point)
                        print(device, kind.name, engine, ",".join(map(str, key)),
                              ",".join(map(str, point)), us, place_of(kind, point), file=queries)
            lines += section_lines(kind, engine, versions, surfaces)
    path = os.path.join(out_dir, device + ".txt")
    with open(path, "w", newline="\n") as file:
        file.write("\n".join(lines) + "\n")
    return path


def check(raw_dir, checker, systems):
    with tempfile.TemporaryDirectory() as folder:
        queries = os.path.join(folder, "queries")
        with open(queries, "w") as file:
            for system in systems:
                build(raw_dir, system, folder, file)
        return subprocess.run([checker, folder, queries]).returncode


def show(path, name, wanted):
    with open(path) as file:
        lines = iter(file.read().splitlines())
    inside, axes = False, []
    for line in lines:
        words = line.split(" ")
        if words[0] == "class":
            inside, axes = words[1] == name, []
            if inside:
                print(line)
        elif words[0] == "axis":
            axes.append(words[2:])
            if inside:
                print(line)
        elif words[0] == "grid":
            shown = inside and words[1:1 + len(wanted)] == wanted
            if shown:
                print(line)
            for point in outer_points(axes):
                codes = next(lines)
                pairs = [codes[i:i + 2] for i in range(0, len(codes), 2)]
                if shown and pairs:
                    print(" ", " ".join(point) + ":",
                          " ".join("-" if p == HOLE else f"{decoded(p):.3g}" for p in pairs))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--systems", help="folders of RAW_DIR, comma separated; all if absent")
    parser.add_argument("--out", default=OUT)
    parser.add_argument("args", nargs="+", metavar="RAW_DIR [CHECKER] | FILE CLASS [KEY]")
    options = parser.parse_args()
    systems = options.systems.split(",") if options.systems else sorted(SYSTEMS)
    if options.show:
        show(options.args[0], options.args[1], options.args[2:])
        return 0
    if options.check:
        return check(options.args[0], options.args[1], systems)
    for system in systems:
        path = build(options.args[0], system, options.out)
        print(f"{path}: {os.path.getsize(path)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
