#!/usr/bin/env python3
"""Lists what a program or a wheel consists of, as SPDX 2.3 in JSON.

    sbom.py [options] NAME VERSION ARTIFACT      (NAME: that of the list; writes to standard output)
      --build DIR TARGET  of a Ninja build: the headers that the target was compiled with
      --map FILE         a linker's map: the archives of which members are in the program
      --library FILE     a shared library that is part of the artifact, as it is on this machine
      --nanobind VERSION whose source was compiled in
      --arm64 DIR        where cmake/aarch64.cmake found its libraries
      --notices FILE     writes there what their licences want to travel with a program

A file counts for the Debian package that owns it; a package that LICENCES below does not name is an
error, so that the list stays complete. Equal builds give equal lists: times are SOURCE_DATE_EPOCH.
"""
import argparse
import datetime
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
# Debian packages by the beginning of their names, with what their copyright files say of the parts
# that are compiled in.
LICENCES = {
    "libboost1.": "BSL-1.0",
    "libc6": "LGPL-2.1-or-later",
    "libcli11-dev": "BSD-3-Clause",
    "libeigen3-dev": "MPL-2.0",
    "libfmt": "MIT",
    "libgcc-": GCC,
    "libpcre2-": "BSD-3-Clause",
    "libsqlite3-": "blessing",
    "libssl": "Apache-2.0",
    "libstdc++": GCC,
    "libutf8proc": "MIT AND Unicode-DFS-2015",
    "libyaml-cpp": "MIT",
    "linux-libc-dev": "GPL-2.0-only WITH Linux-syscall-note",
    "nlohmann-json3-dev": "MIT",
    "zlib1g": "Zlib",
}
# Programs may be passed on under these without their texts.
NO_NOTICE = {"BSL-1.0", "blessing", GCC, "GPL-2.0-only WITH Linux-syscall-note"}


class Part:
    """Something of others that is in the artifact."""

    def __init__(self, name, version, licence, how, purl, notices=()):
        self.name, self.version, self.licence = name, version, licence
        self.how, self.purl, self.notices = how, purl, [Path(file) for file in notices]


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def headers(build, target):
    """What the objects of a target were compiled with."""
    objects = [line for line in lines_of("ninja", "-C", build, "-t", "inputs", target)
               if line.endswith((".o", ".gch"))]
    found = set()
    for line in lines_of("ninja", "-C", build, "-t", "deps", *objects):
        if line.startswith("    "):
            found.add(os.path.normpath(os.path.join(os.path.realpath(build), line.strip())))
    if not found:
        sys.exit(f"sbom.py: {build}: no headers recorded of {target}; build it first")
    return found


def archives(map_file):
    """Archives of which a linker took members, and the objects that each program begins with."""
    members = re.compile(r"^(/\S+\.a)\(\S+\)")
    objects = re.compile(r"^LOAD (/usr/\S+\.o)$")
    found = set()
    with open(map_file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = members.match(line) or objects.match(line)
            if match:
                found.add(os.path.normpath(match[1]))
    return found


def owners_here(paths):
    """Debian packages of this machine that own the files: package -> (version, architecture)."""
    # /lib is /usr/lib: dpkg knows a file by one of the two names.
    names = set()
    for path in paths:
        for one in {path, os.path.realpath(path)}:
            names.add(one)
            names.add(one[4:] if one.startswith("/usr/lib/") else "/usr" + one)
    owners, owned = set(), set()
    ordered = sorted(names)
    for at in range(0, len(ordered), 500):
        run = subprocess.run(["dpkg-query", "-S", *ordered[at:at + 500]], check=False,
                             capture_output=True, text=True)
        for line in run.stdout.splitlines():
            who, _, path = line.rpartition(": ")
            if not who.startswith("diversion"):
                owners.add(who.split(", ")[0])
                owned.add(os.path.realpath(path))
    lost = [path for path in paths if os.path.realpath(path) not in owned]
    if lost:
        sys.exit(f"sbom.py: no package owns {sorted(lost)[0]} (of {len(lost)} such files)")
    shown = "${Package} ${Version} ${Architecture}\\n"
    return {tuple(line.split()) for line in
            lines_of("dpkg-query", "-W", "-f", shown, *sorted(owners))} if owners else set()


@functools.cache
def arm64_list(folder):
    rows = (line.rstrip("\n").split(" ", 2) for line in open(f"{folder}/packages.txt",
                                                            encoding="utf-8"))
    return {path: (package, version) for package, version, path in rows}


def owners_arm64(paths, folder):
    known = arm64_list(folder)
    found = set()
    for path in paths:
        package, version = known["/" + os.path.relpath(path, folder)]
        found.add((package, version, "arm64"))
    return found


def debian_parts(paths, how, arm64):
    paths = {path for path in paths if os.path.isabs(path)}
    in_arm64 = {path for path in paths if arm64 and path.startswith(arm64 + "/")}
    others = {path for path in paths - in_arm64 if not Path(path).is_relative_to(ROOT)
              and "/nanobind/" not in path
              and not re.search(r"/include/([^/]+/)?python3", path)}
    owners = owners_here(others) | (owners_arm64(in_arm64, arm64) if in_arm64 else set())
    for package, version, architecture in sorted(owners):
        licence = next((text for start, text in LICENCES.items() if package.startswith(start)), None)
        if licence is None:
            sys.exit(f"sbom.py: no licence is known of {package} {version}; name it in LICENCES")
        root = arm64 if in_arm64 and architecture == "arm64" else ""
        yield Part(package, version, licence, how,
                   f"pkg:deb/debian/{package.replace('+', '%2B')}@{version.replace('+', '%2B')}"
                   f"?arch={architecture}",
                   [f"{root}/usr/share/doc/{package}/copyright"])


def embedded_parts():
    """Data and code of others that the repository holds and every program embeds."""
    notice = (ROOT / "hardware/catalog/kernels/NOTICE").read_text(encoding="utf-8")
    commit = re.search(r"commit ([0-9a-f]+)", notice)[1]
    yield Part("aiconfigurator-kernel-times", commit, "Apache-2.0", "CONTAINS",
               f"pkg:github/ai-dynamo/aiconfigurator@{commit}",
               [ROOT / "hardware/catalog/kernels/NOTICE"])
    vendor = ROOT / "sim/report/web/vendor"
    echarts = re.search(r"(\d+\.\d+\.\d+)", (vendor / "README.md").read_text(encoding="utf-8"))[1]
    yield Part("echarts", echarts, "Apache-2.0 AND BSD-3-Clause", "CONTAINS",
               f"pkg:npm/echarts@{echarts}", [vendor / "NOTICE", vendor / "LICENSE-d3"])


def nanobind_part(version):
    # It holds robin_map, which is MIT's.
    return Part("nanobind", version, "BSD-3-Clause AND MIT", "STATIC_LINK",
                f"pkg:pypi/nanobind@{version}")


def package_json(part, identifier):
    return {
        "SPDXID": identifier,
        "name": part.name,
        "versionInfo": part.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": part.licence,
        "licenseDeclared": part.licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": part.purl}],
    }


def document(name, version, artifact, parts):
    digest = hashlib.sha256(Path(artifact).read_bytes()).hexdigest()
    when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]),
                                           datetime.timezone.utc)
    own = "SPDXRef-Package-headroom"
    packages = [{
        "SPDXID": own,
        "name": "headroom",
        "versionInfo": version,
        "packageFileName": Path(artifact).name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
    }]
    relationships = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                      "relatedSpdxElement": own}]
    for part in parts:
        identifier = "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", part.name)
        packages.append(package_json(part, identifier))
        relationships.append({"spdxElementId": own, "relationshipType": part.how,
                              "relatedSpdxElement": identifier})
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest}",
        "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": [f"Tool: headroom-sbom-{version}"]},
        "packages": packages,
        "relationships": relationships,
    }


def write_notices(path, parts):
    with open(path, "w", encoding="utf-8") as out:
        out.write("What this program is made of beside Headroom, with the texts that its licences\n"
                  "ask for. Whoever wants another version of a library, the C library (LGPL)\n"
                  "included, builds the program anew from Headroom's source: scripts/release.sh\n")
        for part in parts:
            out.write(f"\n{'=' * 80}\n{part.name} {part.version} ({part.licence})\n{'=' * 80}\n")
            for file in part.notices if part.licence not in NO_NOTICE else []:
                out.write(file.read_text(encoding="utf-8", errors="replace"))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("name")
    arguments.add_argument("version")
    arguments.add_argument("artifact")
    arguments.add_argument("--build", nargs=2)
    for option in ("--map", "--arm64", "--notices", "--nanobind"):
        arguments.add_argument(option)
    arguments.add_argument("--library", action="append", default=[])
    given = arguments.parse_args()
    arm64 = os.path.realpath(given.arm64) if given.arm64 else None

    linked = archives(given.map) if given.map else set()
    by_name = {}
    for part in [*embedded_parts(),
                 *debian_parts(headers(*given.build) if given.build else set(),
                               "STATIC_LINK", arm64),
                 *debian_parts(linked, "STATIC_LINK", arm64),
                 *debian_parts(set(given.library), "CONTAINS", arm64),
                 *([nanobind_part(given.nanobind)] if given.nanobind else [])]:
        by_name.setdefault(part.name, part)
    parts = [by_name[name] for name in sorted(by_name)]
    if given.notices:
        write_notices(given.notices, parts)
    json.dump(document(given.name, given.version, given.artifact, parts), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
