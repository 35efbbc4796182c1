"""CTRLEval: the released program's values, a slow oracle for each convention, settings, and what is refused."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.errors import ExampleError, SettingError
from core.example import Example
from ctrl_eval.aspects import ASPECTS, Aspect, Material
from ctrl_eval.frequency import WordFrequencies
from ctrl_eval.metric import CTRLEval
from ctrl_eval.patterns import Pattern
from ctrl_eval.prompts import Prompts
from data.sentences import make_splitter
from models.families import BART, T5
from models.infilling import Infiller
from models.model import ConditionalLM
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyT5
from tests.slow_vocabularies import write_pegasus
from tests.toy_models import plain_log_probabilities, toy_bart

PROMPTS = Prompts(("<text> It was <mask>.", "So <mask>! <text>"), ("negative", "positive"), (("bad", "good"),))
EXAMPLES = [
    Example("a", text="The book is new. It has fine maps. I liked it.", prefix="The book", label="positive"),
    Example("b", text="Our trip ended early.", prefix="Our trip", label="negative"),
    Example("c", text="The soup was cold! The waiter laughed. We left.", prefix="The soup was cold!", label="negative"),
]


@pytest.fixture(scope="module")
def golden(released_ctrleval: Path) -> dict[str, Any]:
    scores = json.loads((released_ctrleval / "scores_published_tokenizer.json").read_text("utf-8"))
    return {"folder": released_ctrleval, **scores}


@pytest.fixture(scope="module")
def golden_examples(shared_data: Path, golden: dict[str, Any]) -> list[Example]:
    lines = (shared_data / "ctrleval/data_senti.txt").read_text("utf-8").split("\n")
    rows = [lines[row].split("\t") for row in golden["rows_of_data_senti"]]
    return [Example(str(i), label=label, prefix=prefix, text=text) for i, (label, prefix, text, *_) in enumerate(rows)]


def load_released(golden: dict[str, Any], shared_data: Path, **settings: Any) -> CTRLEval:
    return CTRLEval.from_pretrained(
        golden["folder"] / "model",
        iwf=shared_data / "ctrleval/iwf_full.txt",
        sentence_split=golden["sentence_split_pattern"],
        **settings,
    )


@pytest.mark.parametrize(
    ("vocabulary", "rows"),
    [("tokenizer.json", 10), ("spiece.model", 4), pytest.param("tokenizer.json", 40, marks=pytest.mark.slow)],
)
def test_the_released_program_gives_the_same(
    golden: dict[str, Any],
    golden_examples: list[Example],
    shared_data: Path,
    vocabulary: str,
    rows: int,
    tmp_path: Path,
) -> None:
    if vocabulary == "spiece.model":  # as the hub has it
        (tmp_path / "model").mkdir()
        for file in ("config.json", "model.safetensors"):
            shutil.copy(golden["folder"] / "model" / file, tmp_path / "model")
        write_pegasus(golden["folder"] / "model", tmp_path / "model")
        golden = {**golden, "folder": tmp_path}
    metric = load_released(golden, shared_data, token_budget=300, prompts="sentiment")
    found = metric.score(golden_examples[:rows])
    assert "|iwf=released_afffe2376a0e517b|" in found.signature
    for aspect in ASPECTS:
        np.testing.assert_allclose(found.values[aspect], golden[aspect][:rows], atol=1e-5, rtol=0)
    assert len(found.explanations[0]["attribute_relevance"]["evaluators"]) == 72
    for i, explanation in enumerate(found.explanations):
        for aspect in ASPECTS:
            evaluators = explanation[aspect]["evaluators"]
            assert sum(each["weight"] for each in evaluators) == pytest.approx(1.0)
            weighted = sum(each["weight"] * each["score"] for each in evaluators)
            assert weighted == pytest.approx(found.values[aspect][i])


@pytest.fixture(scope="module")
def tiny() -> CTRLEval:
    """A random T5 over words of the examples."""
    texts = [e.text for e in EXAMPLES] + ["It was bad. So good! It was good. So bad!"] * 3
    lm = TinyT5(400, 16, 32, 2, 1, 1).build(texts, (), seed=0)
    with torch.no_grad():
        for parameter in lm.model.parameters():  # far from uniform
            parameter.mul_(2.0)
    rng = np.random.default_rng(0)
    table = WordFrequencies(rng.random(len(lm.tokenizer)), lm.tokenizer, "random")
    return CTRLEval(Infiller(lambda: lm, lm.tokenizer, T5, 512), frequencies=table, prompts=PROMPTS)


def bart() -> Seq2SeqLM:
    tokenizer = TinyT5(400, 16, 32, 2, 1, 1).build([e.text for e in EXAMPLES], ("<mask>",), seed=0).tokenizer
    return Seq2SeqLM(toy_bart(len(tokenizer), 1, 1, 0.5), tokenizer)


def one_log_p(lm: ConditionalLM, source: str, target: list[int]) -> list[float]:
    """log P of each target token, one pair at a time."""
    read: Any = lm.tokenizer(source)["input_ids"]
    return plain_log_probabilities(lm, read, target).tolist()


def word_ids(lm: ConditionalLM, text: str) -> list[int]:
    return lm.tokenizer(text, add_special_tokens=False)["input_ids"]  # pyright: ignore[reportReturnType]


def test_t5_against_one_pair_at_a_time(tiny: CTRLEval) -> None:
    lm = tiny.infiller.lm
    first, last = word_ids(lm, "<extra_id_0>"), word_ids(lm, "<extra_id_1>")

    def mean(source: str, segment: str) -> float:
        ids = word_ids(lm, segment)
        return float(np.mean(one_log_p(lm, source, [*first, *ids, *last])[1 : 1 + len(ids)]))

    def isf(segment: str) -> float:
        return float(tiny.frequencies.iwf[word_ids(lm, segment)].max())  # pyright: ignore[reportOptionalMemberAccess]

    found = tiny.score(EXAMPLES)
    sentences = ["The book is new.", "It has fine maps.", "I liked it."]
    sources = ["<extra_id_0> It has fine maps. I liked it.", "The book is new. <extra_id_0> I liked it."]
    sources.append("The book is new. It has fine maps. <extra_id_0>")
    scores = [mean(*pair) for pair in zip(sources, sentences, strict=True)]
    assert found.values["coherence"][0] == pytest.approx(
        np.average(scores, weights=[isf(s) for s in sentences]), abs=1e-5
    )

    rest = "is new. It has fine maps. I liked it."
    both = [mean("The book <extra_id_0>", rest), mean(f"<extra_id_0> {rest}", "The book")]
    expected = np.average(both, weights=[isf(rest), isf("The book")])
    assert found.values["consistency"][0] == pytest.approx(expected, abs=1e-5)

    shares, weights = [], []
    for prompt in PROMPTS.prompts:
        source = prompt.replace("<text>", EXAMPLES[0].text).replace("<mask>", "<extra_id_0>")
        bad, good = (np.exp(mean(source, word)) for word in ("bad", "good"))
        shares.append(good / (good + bad))
        weights.append(good + bad)
    expected = np.average(shares, weights=weights)
    assert found.values["attribute_relevance"][0] == pytest.approx(expected, abs=1e-6)
    assert found.explanations[1]["coherence"]["remarks"] == ["a text of one sentence leaves only the mask to read"]


def test_a_text_without_words_and_a_dialogue_of_one_sentence_have_no_coherence(tiny: CTRLEval) -> None:
    metric = replace(tiny, aspects=("coherence",))
    turns = ("hello tom, do you have a pet?", "i have a cat.")
    examples = [Example("a", "...."), Example("b", turns=turns), Example("c", turns=("Hello.", "I have a cat."))]
    found = metric.score(examples)
    assert np.isnan(found.values["coherence"]).tolist() == [True, True, False]
    reason = "coherence needs two sentences, but sentence_split finds only one in all turns"
    assert list(found.reasons) == ["the text has no words", reason, None]


def test_bart_scores_the_segment_inside_the_whole_text() -> None:
    lm = bart()
    metric = CTRLEval(Infiller(lambda: lm, lm.tokenizer, BART, 200), prompts=PROMPTS)
    found = metric.score(EXAMPLES)

    def mean(before: str, segment: str, after: str) -> float:
        target = word_ids(lm, before + segment + after)
        log_p = one_log_p(lm, f"{before.rstrip()}<mask>{after}", target)
        offsets = lm.tokenizer(before + segment + after, return_offsets_mapping=True)["offset_mapping"]
        inside = [i for i, (a, b) in enumerate(offsets) if b > len(before) and a < len(before + segment)]
        return float(np.mean([log_p[i] for i in inside]))

    coherence = [row["score"] for row in found.explanations[0]["coherence"]["evaluators"]]
    sentences = ["The book is new.", "It has fine maps.", "I liked it."]
    texts = [("", " It has fine maps. I liked it."), ("The book is new. ", " I liked it.")]
    texts.append(("The book is new. It has fine maps. ", ""))
    expected = [mean(before, segment, after) for (before, after), segment in zip(texts, sentences, strict=True)]
    assert coherence == pytest.approx(expected, abs=1e-5)  # the whole text has no blank at its ends

    rest = "ended early."
    both = [mean("Our trip ", rest, ""), mean("", "Our trip", f" {rest}")]
    assert found.values["consistency"][1] == pytest.approx(np.mean(both), abs=1e-5)
    bad, good = (np.exp(mean("Our trip ended early. It was ", word, ".")) for word in ("bad", "good"))
    first = found.explanations[1]["attribute_relevance"]["evaluators"][0]
    assert first["score"] == pytest.approx(bad / (bad + good), abs=1e-5)


@pytest.mark.parametrize("family", [T5, BART])
def test_the_sum_reaches_label_words_of_several_tokens(tiny: CTRLEval, family: Any) -> None:
    """Eq. 14-15: P(v) of a word is the product over its tokens; the released code takes their geometric mean."""
    lm = tiny.infiller.lm if family == T5 else bart()
    prompts = Prompts(("<text> It was <mask>.",), ("negative", "positive"), (("bad", "goodness"),))
    mean, total = (
        CTRLEval(
            Infiller(lambda: lm, lm.tokenizer, family, 200),
            None,
            prompts,
            ("attribute_relevance",),
            length_norm=norm,
        )
        for norm in ("mean", "sum")
    )
    texts = {word: f"{EXAMPLES[0].text} It was {word}." for word in ("bad", "goodness")}
    log_p: dict[str, list[float]] = {}
    for word, text in texts.items():
        ids = word_ids(lm, word)
        if family == T5:
            first = word_ids(lm, "<extra_id_0>")
            log_p[word] = one_log_p(lm, text.replace(word, "<extra_id_0>"), [*first, *ids])[1:]
        else:
            offsets = lm.tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
            start = text.rindex(word)
            inside = [i for i, (a, b) in enumerate(offsets) if b > start and a < start + len(word)]
            row = one_log_p(lm, text.replace(f" {word}", "<mask>"), word_ids(lm, text))
            log_p[word] = [row[i] for i in inside]
    assert len(log_p["goodness"]) > 1
    for metric, normed in ((mean, np.mean), (total, np.sum)):
        (found,) = metric.evaluations(EXAMPLES[:1])["attribute_relevance"]
        bad, good = (np.exp(normed(log_p[word])) for word in ("bad", "goodness"))
        assert found.scores[0] == pytest.approx(good / (good + bad), rel=1e-4)
        assert found.weights[0] == pytest.approx(good + bad, rel=1e-4)


def test_zero_weights_are_counted_as_equal(tiny: CTRLEval, caplog: pytest.LogCaptureFixture) -> None:
    zero = replace(
        tiny, frequencies=WordFrequencies(np.zeros(len(tiny.infiller.tokenizer)), tiny.infiller.tokenizer, "zero")
    )
    mean = replace(tiny, weights="mean")
    for aspect in ("coherence", "consistency"):
        np.testing.assert_allclose(zero.score(EXAMPLES).values[aspect], mean.score(EXAMPLES).values[aspect])
    assert "coherence: 3 of 3 texts: all weights are zero" in caplog.text


def test_without_a_table_the_signature_and_a_warning_say_so(tiny: CTRLEval, caplog: pytest.LogCaptureFixture) -> None:
    assert "|iwf=table_random|" in tiny.signature
    assert "|weights=paper|" in tiny.signature
    tiny.score(EXAMPLES)
    assert "word frequencies" not in caplog.text
    bare = replace(tiny, frequencies=None)
    bare.score(EXAMPLES)
    assert "consistency: 3 of 3 texts: no table of word frequencies (iwf), so all targets weigh alike" in caplog.text
    assert "attribute_relevance: 3 of 3 texts" not in caplog.text  # it needs none
    assert "|iwf=none|" in bare.signature
    assert "|weights=paper_without_iwf|" in bare.signature
    assert "|weights=paper|" in replace(bare, aspects=("attribute_relevance",)).signature
    caplog.clear()
    other = replace(bare, weights="mean")
    other.score(EXAMPLES)
    assert "word frequencies" not in caplog.text  # the mean needs none either
    assert "|weights=mean|" in other.signature


@pytest.mark.parametrize("truncation", ["warn", "window"])
def test_long_texts_are_cut_and_counted(tiny: CTRLEval, truncation: Any) -> None:
    infiller = replace(tiny.infiller, max_length=8)
    short = replace(tiny, infiller=infiller, truncation=truncation, aspects=("coherence",))
    found = short.score(EXAMPLES)
    lengths = [len(word_ids(tiny.infiller.lm, e.text)) for e in EXAMPLES]
    assert [dropped > 0 for dropped in found.dropped_tokens] == [length > 10 for length in lengths]
    assert np.isfinite(found.values["coherence"]).all()
    assert found.truncated > 0


def test_pattern_functions_of_ppl_gpt_on_the_same_model(tiny: CTRLEval) -> None:
    """The target is the source without mask, then the segment, whose tokens are scored."""
    other = replace(tiny, infiller=replace(tiny.infiller, family=T5.with_source_first()))
    found = other.evaluations(EXAMPLES)

    def mean(source: str, segment: str) -> float:
        ids, given = word_ids(tiny.infiller.lm, f"{source} {segment}"), word_ids(tiny.infiller.lm, source)
        assert ids[: len(given)] == given
        return float(np.mean(one_log_p(tiny.infiller.lm, source, ids)[len(given) :]))

    both = [mean("The book", "is new. It has fine maps. I liked it.")]
    both += [mean("is new. It has fine maps. I liked it.", "The book")]
    np.testing.assert_allclose(found["consistency"][0].scores, both, atol=1e-5)
    bad, good = (np.exp(mean(f"{EXAMPLES[0].text} It was .", word)) for word in ("bad", "good"))
    assert found["attribute_relevance"][0].scores[0] == pytest.approx(good / (bad + good), abs=1e-5)
    np.testing.assert_allclose(found["consistency"][0].weights, tiny.evaluations(EXAMPLES)["consistency"][0].weights)


def refused(examples: list[Example], metric: CTRLEval) -> str:
    def never() -> Seq2SeqLM:
        raise AssertionError("the model must not be loaded before the texts are checked")

    with pytest.raises(ExampleError) as faults:
        replace(metric, infiller=replace(metric.infiller, load=never)).score(examples)
    return str(faults.value)


BAD: dict[str, Callable[[Example], Example]] = {
    "example 2: the prefix must begin the text, found": lambda e: replace(e, prefix="Their trip"),
    "example 2: consistency needs text after the prefix": lambda e: replace(e, prefix=e.text),
    'example 2: the label must be one of negative, positive, found "sad"': lambda e: replace(e, label="sad"),
    "example 2: the model reads 512 tokens at once, but this text takes": lambda e: replace(e, text=e.text * 200),
}


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be_judged_is_named_before_the_model_is_loaded(tiny: CTRLEval, message: str) -> None:
    assert message in refused([EXAMPLES[0], BAD[message](EXAMPLES[1])], tiny)


def test_a_pattern_may_find_no_sentence(tiny: CTRLEval) -> None:
    split = replace(tiny, split=make_splitter("[.]"), aspects=("coherence",))
    assert refused([Example("a", text="...")], split) == 'example 1: a text needs at least one sentence, found "..."'


def test_attribute_relevance_needs_prompts(tiny: CTRLEval) -> None:
    with pytest.raises(ValueError, match="attribute_relevance needs prompts"):
        replace(tiny, prompts=None)


def test_of_a_t5_by_from_pretrained(tiny: CTRLEval, tmp_path: Path) -> None:
    tiny.infiller.lm.save_pretrained(tmp_path / "model")
    (tmp_path / "prompts.yaml").write_text(
        'prompts: ["<text> It was <mask>.", "So <mask>! <text>"]\n'
        "labels: [negative, positive]\nverbalizers: [[bad, good]]\n"
    )
    tiny.frequencies.save(tmp_path / "iwf.json")  # pyright: ignore[reportOptionalMemberAccess]
    loaded = CTRLEval.from_pretrained(
        tmp_path / "model",
        iwf=tmp_path / "iwf.json",
        iwf_tokenizer=tmp_path / "model",
        prompts=tmp_path / "prompts.yaml",
        truncation="window",
    )
    for aspect in ASPECTS:
        np.testing.assert_allclose(
            loaded.score(EXAMPLES).values[aspect], tiny.score(EXAMPLES).values[aspect], atol=1e-5
        )


@pytest.mark.network
@pytest.mark.slow
def test_the_papers_model_gives_the_example_of_the_released_readme(shared_data: Path) -> None:
    metric = CTRLEval.from_pretrained(iwf=shared_data / "ctrleval/iwf_full.txt")
    text = "The book is about NLP. It depicts fancy models."
    found = metric.score([Example("a", text=text, prefix="The book", label="positive")])
    published = {"coherence": -4.723990, "consistency": -7.385560, "attribute_relevance": 0.891626}
    assert {aspect: float(value[0]) for aspect, value in found.values.items()} == pytest.approx(published, abs=1e-3)


def test_an_aspect_is_an_object_of_one_list(tiny: CTRLEval, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ending(Aspect):
        """The last sentence is the target of the sentences before it."""

        name = "ending"

        def patterns(self, example: Example, material: Material) -> list[Pattern]:
            *before, last = material.split(example.full_text)
            return [Pattern(" ".join([*before, ""]), last, "")]

    monkeypatch.setitem(ASPECTS, "ending", Ending())  # pyright: ignore[reportArgumentType]
    found = replace(tiny, aspects=("ending", "coherence"), prompts=None).score(EXAMPLES[:1])
    source = tiny.infiller.family.show("The book is new. It has fine maps. ", "")
    (evaluator,) = found.explanations[0]["ending"]["evaluators"]
    assert (evaluator["source"], evaluator["target"], evaluator["weight"]) == (source, "I liked it.", 1.0)
    assert found.values["ending"] == pytest.approx([evaluator["score"]])
    with pytest.raises(SettingError, match="aspects"):
        replace(tiny, aspects=("fluency",))
