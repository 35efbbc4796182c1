"""Coverage of each room, from the data of `coverage run`: the shares of lines and of branches that the tests run.

python tests/coverage_by_room.py
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

COUNTS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def main() -> None:
    """Prints one line for each room."""
    report = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", "-"]
    found = json.loads(subprocess.run(report, check=True, capture_output=True, text=True).stdout)
    rooms: dict[str, Counter[str]] = {}
    for name, file in found["files"].items():
        room = rooms.setdefault(Path(name).parts[0], Counter())
        room.update({count: file["summary"][count] for count in COUNTS})
    print(f"{'room':<18}{'lines':>8}{'branches':>10}")
    for room, counts in sorted(rooms.items()):
        lines, branches = (counts[done] / max(counts[all_of], 1) for done, all_of in (COUNTS[:2], COUNTS[2:]))
        print(f"{room:<18}{lines:>8.1%}{branches:>10.1%}")


if __name__ == "__main__":
    main()
