"""Prompts, sentences, frequencies, patterns, ensemble and analyses: exact values by hand, and every fault of a file."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from core.errors import InputError
from ctrl_eval.analysis import QUARTILES, biased_subsets, number_of_evaluators, quartiles
from ctrl_eval.ensemble import aggregate, ensemble, relevance_score, relevance_weight
from ctrl_eval.frequency import count_frequencies, inverse_sentence_frequency, load_frequencies, normalised_isf
from ctrl_eval.patterns import coherence_patterns, consistency_patterns, relevance_pattern
from ctrl_eval.prompts import NAMED, load_prompts
from models.tiny import train_tokenizer


def test_the_papers_prompts_are_the_released_ones(shared_data: Path) -> None:
    folder = shared_data / "ctrleval/prompt"
    for name, short, evaluators in (("sentiment", "senti", 72), ("topic", "topic", 32)):
        ours = load_prompts(name)
        prompts, words = (
            [line.strip() for line in (folder / f"{kind}_{short}.txt").read_text("utf-8").splitlines() if line.strip()]
            for kind in ("prompt", "verbal")
        )
        released = [line.replace("<gen_result>", "<text>").replace("<mask_token>", "<mask>") for line in prompts]
        labels, *verbalizers = [tuple(word.strip() for word in line.split("\t")) for line in words]
        assert (list(ours.prompts), ours.labels) == (released, labels)
        assert sorted(ours.verbalizers) == sorted(verbalizers)
        assert len(ours.prompts) * len(ours.verbalizers) == evaluators
    assert set(NAMED) == {"sentiment", "topic"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("prompts: [", "cannot be read"),
        ("prompts: [a]", "sentiment, topic or a YAML file with prompts, labels and verbalizers"),
        ("prompts: ['<text> <mask>']\nlabels: [a, a]\nverbalizers: [[b, c]]", "labels must be .* without duplicates"),
        ("prompts: ['<text> <mask>']\nlabels: [a]\nverbalizers: [[b]]", "labels must be two or more"),
        ("prompts: ['<text>']\nlabels: [a, b]\nverbalizers: [[b, '']]", "(?s)one <mask>, found 0.*must not be blank"),
        ("prompts: ['<text> <mask>']\nlabels: [a, b]\nverbalizers: [[b]]", "one word for each of the 2 labels"),
        ("prompts: []\nlabels: [a, b]\nverbalizers: [[b, c]]", "prompts must be non-empty"),
        ("prompts: ['<text> <mask>']\nlabels: [a, b]\nverbalizers: []", "verbalizers must be non-empty"),
        ("prompts: ['<text> <mask>']\nlabels: [a, b]\nverbalizers: [[no, c]]", "valid string, but is False"),
    ],
)
def test_faults_of_a_yaml_file(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "p.yaml").write_text(content)
    with pytest.raises(InputError, match=message):
        load_prompts(tmp_path / "p.yaml")


def test_frequencies_by_hand(tmp_path: Path) -> None:
    corpus = ["a b b", "a c", "a"]
    tokenizer = train_tokenizer(corpus, 300)
    table = count_frequencies(corpus, tokenizer)
    ids = {word: tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in ("a", " c", " b", "d")}
    assert table.iwf[ids["a"]] == pytest.approx(math.log(4) / 3)
    assert table.iwf[ids[" c"]] == pytest.approx(math.log(4) / 1)
    assert table.iwf[ids["d"]] == 0
    assert table.weigh(["a c", "d", ""]).tolist() == pytest.approx([math.log(4), 0, 0])
    table.save(tmp_path / "t.json")
    again = load_frequencies(tmp_path / "t.json", tokenizer)
    np.testing.assert_array_equal(again.iwf, table.iwf)
    assert (again.corpus, again.sentences) == (table.corpus, 3)
    assert table.name == again.name == f"counted_{table.corpus}"
    assert count_frequencies(corpus[:2], tokenizer).corpus != table.corpus
    with pytest.raises(ValueError, match="at least one sentence"):
        count_frequencies([], tokenizer)


def test_the_released_table(shared_data: Path, vocabularies: Path) -> None:
    pegasus = AutoTokenizer.from_pretrained(str(vocabularies / "pegasus"))
    table = load_frequencies(shared_data / "ctrleval/iwf_full.txt", pegasus)
    assert len(table.iwf) == 96103
    assert table.name == "released_afffe2376a0e517b"
    assert int((table.iwf == 0).sum()) == 635
    assert table.iwf.max() == pytest.approx(18.404, abs=1e-3)


def test_faults_of_a_table(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["a"], 300)
    (tmp_path / "t.txt").write_text("0.5\nx\n-1\ninf\n2\n")
    with pytest.raises(InputError) as faults:
        load_frequencies(tmp_path / "t.txt", tokenizer)
    assert [line.split(":")[1] for line in faults.value.faults] == ["2", "3", "4"]
    for content in ("{}", '{"corpus": "a", "sentences": 3, "iwf": [0.5, NaN]}', '{"corpus": "a", "iwf": [-1]}'):
        (tmp_path / "t.json").write_text(content)
        with pytest.raises(InputError, match="must be a table"):
            load_frequencies(tmp_path / "t.json", tokenizer)
    (tmp_path / "t.txt").write_text("0.5\n1\n")
    with pytest.raises(InputError, match=r"t.txt: an IWF table has one entry for each of the \d+ tokens .* found 2"):
        load_frequencies(tmp_path / "t.txt", tokenizer)


def test_weights_and_ensemble_by_hand() -> None:
    assert inverse_sentence_frequency(np.array([0.5, 2.0, 1.0])) == 2.0
    assert normalised_isf(np.array([2.0, 6.0])).tolist() == [0.25, 0.75]
    scores, weights = np.array([-1.0, -5.0, -3.0]), np.array([1.0, 1.0, 2.0])
    assert ensemble(scores, weights) == -3.0
    assert [aggregate(scores, weights, how) for how in ("paper", "mean", "max", "min")] == [-3.0, -3.0, -1.0, -5.0]
    assert ensemble(scores, np.zeros(3)) == -3.0
    probabilities = np.array([0.1, 0.3])
    assert relevance_score(probabilities, 1) == pytest.approx(0.75)
    assert relevance_weight(probabilities) == pytest.approx(0.4)


@given(st.lists(st.text("ab.", min_size=1), min_size=1, max_size=5))
def test_patterns_put_the_text_together_again(sentences: list[str]) -> None:
    for pattern in coherence_patterns(sentences):
        assert f"{pattern.before}{pattern.target}{pattern.after}".strip() == " ".join(sentences).strip()


def test_patterns_of_a_prefix_and_a_prompt() -> None:
    for prefix, text in (("A dog", "A cat sat."), ("", "A cat."), ("A cat.", "A cat.")):
        with pytest.raises(ValueError, match="prefix"):
            consistency_patterns(prefix, text)
    pattern = relevance_pattern("So <mask>! <text>", "It says <mask>.")
    assert (pattern.before, pattern.after) == ("So ", "! It says <mask>.")


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def test_a_biased_subset_takes_a_quartile_with_the_papers_probability() -> None:
    ratings = np.arange(4000.0)
    subsets, found = biased_subsets(ratings, seed=1), quartiles(ratings, np.random.default_rng(0))
    for j, subset in enumerate(subsets):
        shares = [np.mean(np.isin(np.flatnonzero(found == i), subset)) for i in range(4)]
        assert shares == pytest.approx([1 / (abs(j - i) + 1) for i in range(4)], abs=0.05)
    assert all((subset == np.sort(subset)).all() for subset in subsets)


def test_the_order_of_the_file_does_not_decide_between_equal_ratings() -> None:
    """Files are sorted by label: the first half of these ties has another one."""
    found = quartiles(np.ones(4000), np.random.default_rng(0))
    of_first_label = [np.mean(np.flatnonzero(found == i) < 2000) for i in range(QUARTILES)]
    assert of_first_label == pytest.approx([0.5] * QUARTILES, abs=0.05)


def test_more_noisy_evaluators_agree_better_and_vary_less() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=300)
    scores = ratings[:, None] + 3 * rng.normal(size=(300, 24))
    found = number_of_evaluators(scores, np.ones_like(scores), ratings, [1, 6, 24], pearson, seed=0)
    assert found[1][0] < found[6][0] < found[24][0]
    assert found[1][1] > found[6][1] > found[24][1] == pytest.approx(0.0, abs=1e-12)  # all of them, in another order
    assert found[24][0] == pytest.approx(pearson(scores.mean(axis=1), ratings))
