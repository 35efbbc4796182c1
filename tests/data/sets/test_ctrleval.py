"""The released set of CTRLEval and labelled texts: the public files, their faults, and what an experiment reads."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import f_oneway, rankdata

from core.errors import SettingError
from core.example import Example
from ctrl_eval.released import FIGURES
from data.sets.ctrleval import IWF, ctrleval, load_ctrleval
from tests.data.sets.small_files import faults_of, write

ROW = "positive\tThe lake\tThe lake  is calm.\t4.4\t2\t3.2"
TOPIC_ROW = "science\tIn brief,\tIn brief, atoms split.\t5\t1\t3"


# ---- the shared copies ---------------------------------------------------------------------------------------------


def test_rows_of_four_models_take_turns(shared_data: Path) -> None:
    rated = load_ctrleval(shared_data, "sentiment")
    assert Counter(rated.systems) == {f"model {i}": 90 for i in (1, 2, 3, 4)}
    assert "assumed" in rated.notes[0]

    def p_value(key: Callable[[int], int]) -> float:
        values = [[e.ratings["coherence"] for i, e in enumerate(rated.examples) if key(i) == k] for k in range(4)]
        return float(np.asarray(f_oneway(*values))[1])

    assert p_value(lambda i: i % 12 % 4) < 1e-9  # what the assumption rests on
    assert p_value(lambda i: i % 12 // 3) > 0.1


def test_the_texts_of_the_papers_figures_are_rows_of_the_sentiment_set(shared_data: Path) -> None:
    """Beginning, rating and mean rank of the rating as Figures 6 and 7 print them."""
    rated = load_ctrleval(shared_data, "sentiment")
    printed = {
        16: ("coherence", "The book is an excellent introduction", 4.8, 55),
        17: ("coherence", "The book is a wonderful, beautifully designed", 4.6, 127),
        288: ("consistency", "The painting is very nice and I am happy", 3.8, 38),
        295: ("consistency", "The painting is way too short!", 2.8, 234),
        12: ("attribute_relevance", "The book is a collection of stories", 3.8, 96),
        13: ("attribute_relevance", "The book is a great read.", 4.6, 4),
    }
    for place, (aspect, beginning, rating, rank) in printed.items():
        example = rated.examples[place]
        assert example.text.startswith(beginning)
        assert example.ratings[aspect] == rating
        assert abs(rankdata(-rated.ratings(aspect))[place] - rank) <= 0.5  # printed without decimals
    assert {text for text, *_ in FIGURES} == {rated.examples[place].id for place in printed}


def test_what_an_experiment_reads(shared_data: Path) -> None:
    alone = ctrleval(shared_data, "sentiment")
    assert (alone.name, alone.labels, alone.iwf and alone.iwf()) == (
        "ctrleval_sentiment",
        ("negative", "positive"),
        shared_data / IWF,
    )
    trained = ctrleval(shared_data / "ctrleval", "sentiment", attributes=shared_data)
    assert trained.rated[0].examples == alone.rated[0].examples
    assert not {e.text for e in trained.train} & {e.text for e in trained.held_out}
    assert len(trained.train) + len(trained.held_out) == 7941 + 872
    more = ctrleval(shared_data, "sentiment", attributes=shared_data, plain=["roc_stories"], held_out_fraction=0)
    assert len(more.train) == 7941 + 872 + 4322
    assert more.labels == trained.labels


# ---- small files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_row_by_hand(tmp_path: Path, end: str) -> None:
    write(tmp_path / "data_senti.txt", ROW, end=end)
    assert load_ctrleval(tmp_path, "sentiment").examples == (
        Example("ctrleval-sentiment-000", text="The lake  is calm.", prefix="The lake", label="positive",
                system="model 1", group="positive: The lake",
                ratings={"coherence": 4.4, "consistency": 2.0, "attribute_relevance": 3.2}),
    )  # fmt: skip


def test_the_topic_part_has_four_labels(tmp_path: Path) -> None:
    write(tmp_path / "ctrleval/data_topic.txt", *[TOPIC_ROW] * 12, *[TOPIC_ROW.replace("science", "politics")] * 12)
    made = ctrleval(tmp_path, "topic")
    assert made.labels == ("politics", "science")
    with pytest.raises(SettingError, match=r"part must be 'sentiment' or 'topic', but is 'x\.yaml'"):
        ctrleval(tmp_path, "x.yaml")
    assert [e.system for e in made.rated[0].examples[:5]] == ["model 1", "model 2", "model 3", "model 4", "model 1"]
    assert {e.group for e in made.rated[0].examples} == {"science: In brief,", "politics: In brief,"}


def test_all_faults_of_a_file_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path / "data_senti.txt",
        ROW,
        "science\tA lake\tThe lake.\t4\t6\t4",
        "positive\tThe lake",
        ROW.replace("4.4", "5.2").replace("3.2", "x"),
        "negative\t\tText.\t4\tnan\t4",
        "negative\tA lake\tThe lake.\t4\t4\t4",
    )
    form = "the line must have the form of its set"
    assert faults_of(lambda: load_ctrleval(tmp_path, "sentiment"), path) == [
        f"2: {form}: a rating must be from 1 to 5, found 6.0; "
        '"label" must be one of negative, positive, found "science"; '
        'a text must begin with its prefix "A lake", found "The lake."',
        '3: "coherence" is needed here, found null',
        '4: "attribute_relevance" of "ratings" must be a valid number, found "x"',
        f"4: {form}: a rating must be from 1 to 5, found 5.2",
        '5: "consistency" of "ratings" must be a number, or an empty cell (null in JSON) if it is missing, found NaN',
        '5: "prefix" is needed here, found ""',
        f"5: {form}: a rating must be from 1 to 5, found nan",
        f'6: {form}: a text must begin with its prefix "A lake", found "The lake."',
    ]
