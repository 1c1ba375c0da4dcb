"""``python3 -m poolgrad.plugins ttk``: where the file of a plug-in is, for tools that want its path."""

from __future__ import annotations

import sys
from pathlib import Path

NAMES = ("ttk", "atk", "msopst")


def main(words: list[str]) -> int:
    if len(words) == 1 and words[0] in NAMES:
        print(Path(__file__).with_name(f"{words[0]}.py"))
        return 0
    print(f"usage: python3 -m poolgrad.plugins {'|'.join(NAMES)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
