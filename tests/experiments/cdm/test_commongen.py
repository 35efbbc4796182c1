"""CommonGen through the command line, at toy size."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOY = (
    "data.train=150",
    "data.held_out=40",
    "data.rated=21",
    "model.width.amateur=16",
    "model.width.expert=32",
    "model.negatives.dialogues=40",
    "model.negatives.sampling.longest=12",
    "+model.discriminators.bilstm.build.hidden_dim=16",
    "~model.discriminators.bert",
    "logger=none",
)


def test_concept_sentences_are_scored_both_ways(run: Callable[..., Any], tmp_path: Path) -> None:
    command = ("+exp=cdm_commongen", *TOY, f"outputs={tmp_path}", f"run_dir={tmp_path}/run")
    done = run(*command)
    assert done.returncode == 0, done.stderr
    table = json.loads((tmp_path / "run/results.json").read_text("utf-8"))["table"]
    assert {"cdm_resampled_amateur_bilstm", "cdm_discriminative_classifier", "word_count"} < {
        row["metric"] for row in table
    }
    assert {(row["set"], row["aspect"], row["n"]) for row in table} == {("builtin_concepts", "commonsense", 21)}
    (folder,) = (tmp_path / "stages").glob("negatives-????????????????")
    kept = json.loads((folder / "negatives.json").read_text("utf-8"))
    pairs = list(zip(kept["positives"], kept["negatives"], strict=True))
    assert all(positive[0] == negative[0] and positive[1] != negative[1] for positive, negative in pairs)
