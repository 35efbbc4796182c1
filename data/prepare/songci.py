"""Song Ci: poems of chinese-poetry, with one name for each tune."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHINESE = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]+")
SHORTEST, LONGEST = 16, 240  # characters without marks


def read_poems(folder: Path) -> Iterator[dict[str, Any]]:
    """The distinct complete poems of `ci.song.*.json`; tunes in `cipai.txt` get the names from there."""
    known = set((folder / "cipai.txt").read_text("utf-8").split())
    seen: set[str] = set()
    paths = sorted(folder.glob("ci.song.*.json"), key=lambda path: int(path.name.split(".")[2]))
    poems = [poem for path in paths for poem in json.loads(path.read_text("utf-8"))]
    for number, poem in enumerate(poems):
        text, tune = "".join(poem["paragraphs"]), poem["rhythmic"]
        bare = re.sub("[，。、]", "", text)
        is_whole = SHORTEST <= len(bare) <= LONGEST and text.endswith("。") and tune.strip()
        if is_whole and bare not in seen and CHINESE.fullmatch(bare):
            seen.add(bare)
            names = tune.split("・")
            yield {
                "id": f"ci-{number:05d}",
                "author": poem["author"],
                "rhythmic": tune,
                "cipai": next((name for name in names if name in known), names[0]),
                "lines": poem["paragraphs"],
            }
