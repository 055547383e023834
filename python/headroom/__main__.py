"""The program `headroom`, which is inside this package."""

from __future__ import annotations

import sys

from . import _core


def main() -> None:
    sys.exit(_core.run_program(["headroom", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
