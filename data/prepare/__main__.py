"""Makes one file of a public set from its originals: `python -m data.prepare fed/deam_scores.tsv FOLDER`.

FOLDER holds the originals and receives the file. The message for a missing file says where the originals are.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from data.download import explain_download
from data.prepare import attributes, commongen, dialogues, newsroom, qa_ratings, roc_stories, songci
from data.text_files import open_atomically

Lines = Iterable[str | Mapping[str, Any]]  # a mapping becomes a line of JSON

PREPARE: Mapping[str, Callable[[Path], Lines]] = {
    "attributes/sentiment_rt_polarity.jsonl": attributes.read_rt_polarity,
    "attributes/sentiment_sst2_dev.jsonl": attributes.read_sst2,
    "attributes/topic_ag_news.jsonl": attributes.read_ag_news,
    "attributes/topic_newsgroups.jsonl": attributes.read_newsgroups,
    "commongen_train/dev.jsonl": partial(commongen.read_concept_sets, part="dev"),
    "commongen_train/train.jsonl": partial(commongen.read_concept_sets, part="train"),
    "commongen_trinity/trinity.jsonl": commongen.read_trinity,
    "dialogue/dailydialog_test.txt": partial(dialogues.read_daily_dialog, original="dialogues_test.txt"),
    "dialogue/dailydialog_validation.txt": partial(dialogues.read_daily_dialog, original="dialogues_validation.txt"),
    "dialogue/personachat_valid.txt": partial(dialogues.read_part, start=1078, stop=2078),
    "dialogue/topicalchat_test.txt": dialogues.read_topical_chat,
    "dialogue/topicalchat_valid.txt": partial(dialogues.read_part, start=0, stop=1078),
    "dstc9/deam_scores.tsv": partial(
        dialogues.read_deam_scores, original="dstc9_test_coherence_orig_preds.txt", column="orig_line"
    ),
    "fed/deam_scores.tsv": partial(
        dialogues.read_deam_scores, original="fed_test_overall_orig_preds.txt", column="line"
    ),
    "newsroom/newsroom.jsonl": newsroom.read_articles,
    "qa_ratings/avsd.jsonl": qa_ratings.read_avsd,
    "qa_ratings/msmarco.jsonl": qa_ratings.read_msmarco,
    "qa_ratings/narrativeqa_mhpg.jsonl": qa_ratings.read_narrativeqa,
    "qa_ratings/semeval_mhpg.jsonl": qa_ratings.read_semeval,
    "roc_stories/mans_roc.jsonl": roc_stories.read_rated,
    "roc_stories/roc_plain.txt": roc_stories.read_plain,
    "songci/songci.jsonl": songci.read_poems,
}


def prepare(name: str, folder: Path) -> Path:
    """Writes the file `name` into the folder of its originals. Raises FileNotFoundError if an original is missing."""
    path = folder / Path(name).name
    with open_atomically(path) as file:
        for line in PREPARE[name](folder):
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    return path


def main() -> int:
    """Runs the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m data.prepare", description=__doc__)
    parser.add_argument("name", choices=PREPARE, metavar="NAME", help=f"one of {', '.join(PREPARE)}")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the originals")
    arguments = parser.parse_args()
    try:
        print(f"wrote {prepare(arguments.name, arguments.folder)}")
    except FileNotFoundError as error:
        explanation = explain_download(arguments.name, arguments.folder.parent)
        print(f"{error.filename}: no such file. {explanation}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
