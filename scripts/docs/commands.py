"""The commands of a question page, run in an empty folder.

In a page of docs/questions every block marked `sh` is run as it stands, block by block in one
folder; of a block marked `text` right behind one, each line must be in what that command printed
(`...` stands for lines left out). Blocks with any other mark are shown only.

    python3 commands.py PAGE.md FOLDER      with the program, `headroom`, on the PATH
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    script: str
    output: list[str]  # lines that it must print


def commands(page: str) -> list[Command]:
    found: list[Command] = []
    end_of_script = -1
    for block in _BLOCK.finditer(page):
        kind, content = block[1], block[2]
        if kind == "sh":
            found.append(Command(content, []))
            end_of_script = block.end()
        elif kind == "text" and found and not page[end_of_script:block.start()].strip():
            lines = [line.rstrip() for line in content.splitlines()]
            found[-1].output.extend(line for line in lines if line and line != "...")
    return found


def run(command: Command, folder: Path) -> list[str]:
    """Faults of one command: that it failed, or lines that it did not print."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command.script], cwd=folder,
                          capture_output=True, text=True, check=False)
    first = command.script.strip().splitlines()[0]
    if done.returncode != 0:
        return [f"{first}: exit code {done.returncode}: {done.stderr.strip()}"]
    printed = {line.rstrip() for line in done.stdout.splitlines()}
    return [f"{first}: does not print: {line}" for line in command.output if line not in printed]


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    page, folder = Path(arguments[0]), Path(arguments[1])
    listed = commands(page.read_text(encoding="utf-8"))
    if not listed:
        print(f"{page.name}: no command")
        return 1
    folder.mkdir(parents=True)
    faults = [fault for command in listed for fault in run(command, folder)]
    for fault in faults:
        print(f"{page.name}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
