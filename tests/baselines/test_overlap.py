"""BLEU, ROUGE, METEOR, chrF and TER: exact values by hand, several references, what cannot be scored."""

import math
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
import sacrebleu

from baselines.meteor import Meteor
from baselines.rouge import Rouge
from baselines.sacrebleu_metrics import Bleu, ChrF, Ter
from baselines.word_count import WordCount
from core.errors import InputError
from core.example import Example
from core.scores import Metric


def one(metric: Metric, text: str, *references: str) -> float:
    return float(metric.score([Example("a", text, references=references)]).values["quality"][0])


METRICS = [Bleu(1), Bleu(), Rouge("rouge1"), Rouge("rougeL"), Meteor(), ChrF()]


# Table 1 of MARS (Liu et al. 2021): the candidate and two adversaries, with its printed BLEU-1 and ROUGE-L, and by hand
# the tokens, those shared, and those shared in order, where the full stop counts as a word.
REFERENCE = "She called for help and waited to get her car fixed."
WORKED_EXAMPLE = [
    ("Her fears were confirmed when her engine was smoking.", 0.223, 0.182, 10, 2, 2),
    ("her confirmed engine fears Her when was were smoking.", 0.223, 0.182, 10, 2, 2),
    ("She heard her car making a noise.", 0.337, 0.400, 8, 4, 4),
]


@pytest.mark.parametrize(("text", "bleu", "rouge", "tokens", "shared", "in_order"), WORKED_EXAMPLE)
def test_the_worked_example_of_mars(
    text: str, bleu: float, rouge: float, tokens: int, shared: int, in_order: int
) -> None:
    """The paper adds one to both counts of BLEU-1 and counts the full stop in ROUGE-L; here neither is done."""
    brevity = math.exp(1 - 12 / tokens)
    assert round((shared + 1) / (tokens + 1) * brevity, 3) == bleu
    assert round(2 * in_order / (tokens + 12), 3) == rouge
    assert one(Bleu(1), text, REFERENCE) == pytest.approx(shared / tokens * brevity)
    assert one(Rouge("rougeL"), text, REFERENCE) == pytest.approx(2 * (in_order - 1) / (tokens - 1 + 11))


def test_rouge_by_hand() -> None:
    """Texts of 4 and 5 words, 3 in common in the same order, of which the pairs a-b and not b-d are shared."""
    text, reference = "a b d x", "a b c d y"
    f1 = 2 * (3 / 4) * (3 / 5) / (3 / 4 + 3 / 5)
    assert one(Rouge("rouge1"), text, reference) == pytest.approx(f1)
    assert one(Rouge("rougeL"), text, reference) == pytest.approx(f1)
    assert one(Rouge("rouge2"), text, reference) == pytest.approx(2 * (1 / 3) * (1 / 4) / (1 / 3 + 1 / 4))
    assert one(Rouge("rougeL"), "x d b a", reference) == pytest.approx(2 * (1 / 4) * (1 / 5) / (1 / 4 + 1 / 5))
    assert one(Rouge("rouge1"), text, "q", reference, "z") == pytest.approx(f1)
    assert one(Rouge("rouge1"), "walking", "walked") == 1.0
    assert one(Rouge("rouge1", stemmer=False), "walking", "walked") == 0.0


def test_rouge_reads_every_script() -> None:
    """Latin letters by its library, which takes ù for no letter; what has no word has no score."""
    assert Rouge().score([Example("a", "...", references=("a",))]).reasons[0] == "rouge_l sees no words in the text"
    assert one(Rouge("rouge1"), "старая луна", "новая луна") == 1 / 2
    assert one(Rouge("rouge1"), "Où vas-tu", "ou es-tu") == pytest.approx(1 / 3)
    assert [Rouge(kind).name for kind in ("rouge1", "rouge2", "rougeL", "rougeLsum")] == [
        "rouge_1",
        "rouge_2",
        "rouge_l",
        "rouge_lsum",
    ]


def meteor(matches: int, ours: int, theirs: int, chunks: int) -> float:
    precision, recall = matches / ours, matches / theirs
    return 10 * precision * recall / (recall + 9 * precision) * (1 - 0.5 * (chunks / matches) ** 3)


def test_meteor_by_hand() -> None:
    assert one(Meteor(), "The cat sat", "the cat sat") == pytest.approx(meteor(3, 3, 3, 1))
    assert one(Meteor(), "cats walking", "the cat walked") == pytest.approx(meteor(2, 2, 3, 1))  # by stems
    assert one(Meteor(), "b a", "a b c") == pytest.approx(meteor(2, 2, 3, 2))
    assert one(Meteor(), "a b", "z", "a b c", "a") == pytest.approx(meteor(2, 2, 3, 1))
    assert one(Meteor(), "😀 明月", "😀 明日") == pytest.approx(meteor(2, 3, 3, 1))


def test_meteor_says_that_letters_count_as_words() -> None:
    chinese = Example("a", "我们喜欢北京", references=("我们喜欢上海",))
    english = Example("b", "We like it.", references=("We like 北京.",))
    (note,) = Meteor().score([english, chinese]).notes
    assert note == "meteor: in scripts without spaces between words, such as Chinese, letters count as words"
    assert Meteor().score([english]).notes == ()


def test_meteor_with_synonyms_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = MagicMock(**{"ensure_loaded.side_effect": LookupError})
    monkeypatch.setattr("baselines.meteor.find_wordnet", lambda: absent)
    with pytest.raises(InputError, match=r"needs WordNet: run python -m nltk\.downloader wordnet"):
        Meteor(synonyms=True)


def test_meteor_matches_synonyms_where_wordnet_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(word: str) -> list[SimpleNamespace]:
        same = {"big": "great", "great": "big"}.get(word)
        lemmas = [SimpleNamespace(name=lambda: same)] if same else []
        return [SimpleNamespace(lemmas=lambda: lemmas)]

    dictionary = MagicMock(synsets=find, **{"get_version.return_value": "3.0"})
    monkeypatch.setattr("baselines.meteor.find_wordnet", lambda: dictionary)
    assert one(Meteor(synonyms=True), "a big cat", "a great cat") == pytest.approx(meteor(3, 3, 3, 1))
    assert one(Meteor(), "a big cat", "a great cat") == pytest.approx(meteor(2, 3, 3, 2))


PAIRS = [
    ("the cat sat on the mat", ("the cat is on a mat", "a cat sat on mats")),
    ("Mat the on sat cat", ("the cat sat on the mat",)),
    ("Über den Fluß, sagt er.", ("über den Fluss , sagte er .",)),
    ("the tall man (毛泽东) wrote", ("a tall man (毛) wrote",)),
]


@pytest.mark.parametrize(("text", "references"), PAIRS)
def test_figures_are_those_of_sacrebleu(text: str, references: tuple[str, ...]) -> None:
    several = list(references)
    for order in (1, 4):
        found = sacrebleu.BLEU(max_ngram_order=order, effective_order=True).sentence_score(text, several)
        assert one(Bleu(order), text, *references) == found.score / 100
    assert one(ChrF(), text, *references) == sacrebleu.sentence_chrf(text, several).score / 100
    plus = sacrebleu.sentence_chrf(text, several, word_order=2).score / 100
    assert one(ChrF(word_order=2), text, *references) == plus
    assert one(Ter(), text, *references) == -sacrebleu.sentence_ter(text, several).score / 100


def test_ter_by_hand() -> None:
    """A shift of one word, a substitution and a missing word are an edit each."""
    assert one(Ter(), "b a c d", "a b c d") == -1 / 4
    assert Ter().score([Example("a", turns=("", " "), references=("a b",))]).values["quality"][0] == -1


def test_scripts_without_blanks_are_split() -> None:
    """Four of five letters are shared."""
    text, reference = "我们喜欢诗", "我们喜欢画"
    for metric in (Bleu(1), Rouge("rouge1")):
        assert one(metric, text, reference) == pytest.approx(4 / 5)
    assert one(Bleu(), text, reference) == sacrebleu.sentence_bleu(text, [reference], tokenize="zh").score / 100
    assert one(Ter(), text, reference) == -1 / 5
    assert one(Meteor(), text, reference) == pytest.approx(meteor(4, 5, 5, 1))


def test_words_are_counted() -> None:
    texts = [("Hi there!", "Hello  to\tyou."), ("One two three",), ("明月几时有。",), ("", "  ")]
    found = WordCount().score([Example("a", turns=turns) for turns in texts])
    assert found.values["quality"].tolist() == [5, 3, 5, 0]


@pytest.mark.parametrize("examples", ["Hello", ["Hello"], Example("a", "Hello")])
def test_a_text_in_place_of_examples_is_refused(examples: Any) -> None:
    for metric in (*METRICS, Ter(), WordCount()):
        with pytest.raises(TypeError, match=r"scores a list of examples, as in \[Example\(.*, but got .*Hello"):
            metric.score(examples)
