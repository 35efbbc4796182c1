"""+exp=oumg_summary at toy size, and what its systems write."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from data.builtin.reviews import REVIEWS
from experiments.oumg.summary import write_summaries


def test_summaries_differ_only_in_whether_they_fit_their_source() -> None:
    found = write_summaries(400, seed=0)
    labels = {word: label for label, words in REVIEWS.label_words.items() for word in words}

    def label_of(text: str) -> str:
        (label,) = {labels[word] for word in text.lower().rstrip(".!").replace(",", "").split() if word in labels}
        return label

    named = {name: [label_of(text.text) for text in texts] for name, texts in found.items()}
    assert named["human"] == named["fitting"]
    assert all(a != b for a, b in zip(named["human"], named["contrary"], strict=True))
    assert [Counter(each) for each in named.values()] == [{"negative": 200, "positive": 200}] * 3
    assert len({texts[0].context for texts in found.values()}) == 1


def test_discriminators_read_the_source_or_not(run_here: Callable[..., int], tmp_path: Path) -> None:
    toy = ("inputs=40", "seeds=[0]", "model.judges.bilstm.training.epochs=1", "logger=none", "trainer=cpu")
    assert run_here("+exp=oumg_summary", *toy, f"outputs={tmp_path}", f"run_dir={tmp_path}/run") == 0
    results = json.loads((tmp_path / "run/results.json").read_text("utf-8"))
    assert [(row["reads"], row["system_1"], row["system_2"], row["n"]) for row in results["table"]] == [
        ("source and summary", "fitting", "contrary", 10),
        ("summary", "fitting", "contrary", 10),
    ]
    assert results["synthetic"]
