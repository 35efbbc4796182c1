"""Baselines with models against plain recomputation; earth mover's distance, SentenceMover and MoverScore."""

import math
import unicodedata
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertForSequenceClassification, PreTrainedTokenizerBase

from baselines.bartscore import BartScore
from baselines.bertscore import BertScore, find_layers
from baselines.bleurt import Bleurt, Regressor
from baselines.dis_score import DisScore
from baselines.mover_score import MoverScore
from baselines.pairs import to_quality
from baselines.perplexity import InfillingPerplexity, Perplexity, to_raw_perplexity
from baselines.sentence_mover import UNKNOWN, SentenceMover, move
from baselines.uni_eval import UniEval
from core.errors import ExampleError, InputError, SettingError
from core.example import Example
from core.scores import Metric, Scores
from data.documents import DocumentFrequencies
from data.words import RUNS
from discriminators.discriminator import new_bilstm
from discriminators.metric import DiscriminatorScore, LabelDiscriminatorScore
from models.causal import CausalLM
from models.encoders import Encoder, WordVectors, load_encoder
from models.families import AFTER, BEFORE, T5, Family
from models.infilling import Infiller
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyCausal, TinyT5
from tests.toy_models import plain_log_probabilities

TEXTS = ["the cat sat on the mat.", "hello there, how are you?", "it rains and rains.", "no."]
EXAMPLES = [
    Example("a", TEXTS[0], context="where is the cat?", references=("a cat sat.", "it sat on a mat."), label="good"),
    Example("b", turns=("hello there,", "how are you?"), context="hi.", references=("hello you!",), label="bad"),
    Example("c", TEXTS[2], references=("rain, rain. go away!",)),
    Example("d", TEXTS[3], context="yes?", label="good"),
    Example("e", turns=("", " "), context="well?", references=("no",), label="bad"),
]


@pytest.fixture(scope="module")
def gpt() -> CausalLM:
    return TinyCausal(300, 16, 2, 1, 32, max_length=32).build(TEXTS, (), seed=0)


@pytest.fixture(scope="module")
def t5() -> Seq2SeqLM:
    return TinyT5(300, d_model=16, d_ff=32, num_heads=2, num_layers=1, num_decoder_layers=1).build(TEXTS, (), seed=0)


def infiller(lm: Seq2SeqLM, family: Family = T5, max_length: int = 64) -> Infiller:
    return Infiller(lambda: lm, lm.tokenizer, family, max_length)


def rate_pairs(bert: Path) -> tuple[BertForSequenceClassification, PreTrainedTokenizerBase]:
    """A random BERT with one output, and its tokenizer."""
    torch.manual_seed(1)
    network = BertForSequenceClassification.from_pretrained(bert, num_labels=1, dtype=torch.float32)
    with torch.no_grad():
        network.classifier.weight.normal_()
    return network.eval(), AutoTokenizer.from_pretrained(bert)


@pytest.fixture(scope="module")
def metrics(gpt: CausalLM, t5: Seq2SeqLM, bert: Path) -> dict[str, Metric]:
    return {
        "perplexity": Perplexity(gpt, "toy"),
        "perplexity_seq2seq": InfillingPerplexity(infiller(t5), "toy"),
        "bartscore": BartScore(t5, "toy"),
        "bertscore": BertScore.from_pretrained(str(bert)),
        "sentence_mover": SentenceMover(Encoder.from_pretrained(str(bert))),
        "mover_score": MoverScore(Encoder.from_pretrained(str(bert)), ["a cat sat.", "rain"]),
        "bleurt": Bleurt(Regressor(*rate_pairs(bert)), "toy"),
    }


LACKING = {
    "perplexity": {"e": "perplexity has no score for an empty answer"},
    "perplexity_seq2seq": {"e": "perplexity_seq2seq has no score for an empty answer"},
    "bartscore": {
        "c": "bartscore needs context, found none",
        "e": "bartscore has no score for an empty answer",
    },
    "bertscore": {"d": "bertscore needs references, found none"},
    "sentence_mover": {"d": "sentence_mover needs references, found none"},
    "mover_score": {"d": "mover_score needs references, found none"},
    "bleurt": {"d": "bleurt needs references, found none", "e": "bleurt has no score for an empty answer"},
}


@pytest.mark.parametrize("name", list(LACKING))
def test_what_cannot_be_scored_says_why(metrics: dict[str, Metric], name: str) -> None:
    found = metrics[name].score(EXAMPLES)
    assert {e.id: r for e, r in zip(EXAMPLES, found.reasons, strict=True) if r} == LACKING[name]
    if name in ("bertscore", "sentence_mover", "mover_score"):
        assert found.values["quality"][4] == 0.0
    assert len(metrics[name].score([])) == 0


@pytest.mark.parametrize("name", list(LACKING))
def test_composed_and_decomposed_letters_are_the_same(metrics: dict[str, Metric], name: str) -> None:
    text = "the càt sät."
    apart = unicodedata.normalize("NFD", text)
    rows = [(text, text), (apart, text), (text, apart)]
    found = metrics[name].score([Example(f"{i}", a, context=b, references=(b,)) for i, (a, b) in enumerate(rows)])
    assert len({*found.values["quality"].tolist()}) == 1
    assert "unicode=NFC" in found.signature


def test_long_texts_are_summed_in_double_precision() -> None:
    found = to_quality([np.full(1_000_000, -0.1, np.float32)], "m", [0]).values["quality"][0]
    assert found == pytest.approx(float(np.float32(-0.1)), abs=1e-12)


def test_perplexity_is_the_plain_mean(gpt: CausalLM) -> None:
    found = Perplexity(gpt, "toy").score([*EXAMPLES[:2], Example("long", "xyz " * 20)])
    for example, value in zip(EXAMPLES[:2], found.values["quality"], strict=False):
        ids: Any = gpt.tokenizer(example.full_text)["input_ids"]
        assert value == pytest.approx(plain_log_probabilities(gpt, [gpt.start], ids).mean(), abs=1e-5)
    assert found.dropped_tokens == (0, 0, 0)
    assert np.isfinite(found.values["quality"]).all()


def test_infilling_perplexity_is_the_plain_mean(t5: Seq2SeqLM) -> None:
    """Source: the mask and the end of the text, where the tokenizer writes one; target: the mask, the text."""
    found = InfillingPerplexity(infiller(t5), "toy").score(EXAMPLES[:1]).values["quality"][0]
    text: Any = t5.tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]
    mask: Any = t5.tokenizer.convert_tokens_to_ids("<extra_id_0>")
    assert found == pytest.approx(plain_log_p(t5, "<extra_id_0>", [mask, *text])[1:].mean(), abs=1e-5)


def test_a_long_text_under_an_infilling_model(t5: Seq2SeqLM) -> None:
    examples = [EXAMPLES[3], Example("long", "xyz " * 20)]
    tokens = len(t5.tokenizer(("xyz " * 20).strip(), add_special_tokens=False)["input_ids"])  # pyright: ignore[reportArgumentType]
    short = InfillingPerplexity(infiller(t5, max_length=16), "toy")
    assert short.score(examples).dropped_tokens == (0, tokens + 1 - 16)  # the mask in front takes a place
    with pytest.raises(ExampleError, match="writes 16 tokens at once") as faults:
        replace(short, truncation="error").score(examples)
    assert [index for index, _ in faults.value.at] == [1]
    whole = InfillingPerplexity(
        infiller(t5, Family("whole", (BEFORE, "<extra_id_0>", AFTER), spaces="kept", whole_text=True)), "toy"
    )
    assert whole.score(examples[:1]).values["quality"][0] < 0
    with pytest.raises(ValueError, match="truncation must be 'error' or 'warn', but is 'window'"):
        replace(short, truncation="window")


def plain_log_p(lm: Seq2SeqLM, source: str, target: list[int]) -> np.ndarray:
    read: Any = lm.tokenizer(source)["input_ids"]
    return plain_log_probabilities(lm, read, target)


def test_bartscore_is_the_plain_mean(t5: Seq2SeqLM) -> None:
    text = EXAMPLES[0].text
    target: Any = t5.tokenizer(text)["input_ids"]
    found = BartScore(t5, "toy").score(EXAMPLES[:1]).values["quality"][0]
    assert found == pytest.approx(plain_log_p(t5, "where is the cat?", target).mean(), abs=1e-5)
    prefixed = BartScore(t5, "toy", source="prefix").score([Example("p", text, prefix="the")])
    assert prefixed.values["quality"][0] == pytest.approx(plain_log_p(t5, "the", target).mean(), abs=1e-5)


def greedy(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float, float]:
    """The paper's matching of unit vectors; special tokens at both ends can be matched and do not count."""
    cosines = (ours / np.linalg.norm(ours, axis=1, keepdims=True)) @ (
        theirs / np.linalg.norm(theirs, axis=1, keepdims=True)
    ).T
    precision, recall = cosines.max(axis=1)[1:-1].mean(), cosines.max(axis=0)[1:-1].mean()
    return precision, recall, 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("layers", [1, 2])
def test_bertscore_equals_greedy_matching_of_token_states(bert: Path, layers: int) -> None:
    encoder, tokenizer = load_encoder(str(bert))
    rows = [tokenizer(text, return_tensors="pt") for text in (TEXTS[0], *EXAMPLES[0].references)]
    with torch.inference_mode():
        states = [encoder(**row, output_hidden_states=True).hidden_states[layers][0].numpy() for row in rows]
    text, *references = states
    expected = np.max([greedy(text, reference) for reference in references], axis=0)
    found = BertScore.from_pretrained(str(bert), layers=layers).score(EXAMPLES[:1])
    np.testing.assert_allclose(list(found.explanations[0].values()), expected, atol=1e-5)
    assert found.values["quality"][0] == found.explanations[0]["f1"]


def test_bertscore_counts_and_refuses_what_is_too_long(bert: Path) -> None:
    examples = [EXAMPLES[0], Example("long", "cat " * 30, references=("sat " * 23, "mat"))]
    metric = BertScore.from_pretrained(str(bert))
    assert metric.score(examples).dropped_tokens == (0, 30 + 2 - 24 + 23 + 2 - 24)
    with pytest.raises(ExampleError, match="reads 24 tokens at once") as faults:
        replace(metric, truncation="error").score([Example("n", "none"), *examples])
    assert [index for index, _ in faults.value.at] == [2]
    with pytest.raises(ValueError, match=r"layers must be between 1 and the 2 of .*, but is 3"):
        BertScore.from_pretrained(str(bert), layers=3)


def test_bertscore_refuses_a_name_that_the_library_takes_for_a_t5(bert: Path, tmp_path: Path) -> None:
    (tmp_path / "not-t5").symlink_to(bert)
    with pytest.raises(ValueError, match=r"reads a T5 from a name with 't5', but .* is a bert: rename it"):
        BertScore.from_pretrained(str(tmp_path / "not-t5"))


def test_bertscore_notes_its_model_and_what_it_cannot_spell(bert: Path, tmp_path: Path) -> None:
    """The toy vocabulary has no Chinese: of `[CLS] text [SEP]` a third or more is unknown."""
    metric = BertScore.from_pretrained(str(bert))
    known, unknown = EXAMPLES[:1], [Example("z", "我们喜欢诗", references=("我们喜欢画",))]
    reads = f"bertscore reads {bert.name}, not roberta-large: the scores are not those of most papers"
    assert metric.score(known).notes == (reads,)
    other = f"bertscore: {bert.name} knows less than 90% of the tokens: use a model of this language"
    found = metric.score([Example("n", "no references"), *unknown])
    assert found.notes == (reads, other)
    assert found.take([1]).notes == found.notes
    (tmp_path / "roberta-large").symlink_to(bert)
    assert BertScore.from_pretrained(str(tmp_path / "roberta-large")).score(known).notes == ()


def test_discriminator_scores_are_its_logits(tmp_path: Path) -> None:
    torch.manual_seed(0)
    texts = [(text,) for text in TEXTS]
    read = [e.turns or (e.text,) for e in EXAMPLES[:4]]
    words: Any = {"vocabulary_size": 50, "min_count": 1, "embedding_dim": 8, "hidden_dim": 8}
    one, several = new_bilstm(texts, **words), new_bilstm(texts, **words, labels=("good", "bad"))
    one.save_pretrained(tmp_path / "one")
    several.save_pretrained(tmp_path / "several")
    found = DiscriminatorScore.from_pretrained(tmp_path / "one").score(EXAMPLES[:4])
    np.testing.assert_allclose(found.values["quality"], one.logits(read)[0], atol=1e-6)
    odds = np.exp(several.logits(read)[0])
    good, bad = (odds / odds.sum(axis=1, keepdims=True)).T
    by_label = LabelDiscriminatorScore.from_pretrained(tmp_path / "several").score(EXAMPLES[:4])
    np.testing.assert_allclose(by_label.values["quality"], [good[0], bad[1], np.nan, good[3]], atol=1e-6)
    with pytest.raises(ExampleError, match="\"label\" must be one of good, bad, found 'odd'"):
        LabelDiscriminatorScore.from_pretrained(tmp_path / "several").score([Example("o", "x", label="odd")])
    with pytest.raises(InputError, match="must be the folder of a classifier of labels, found one with a single logit"):
        LabelDiscriminatorScore.from_pretrained(tmp_path / "one")


def test_bleurt_reads_a_text_after_each_reference(bert: Path, tmp_path: Path) -> None:
    network, tokenizer = rate_pairs(bert)
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    example = Example("a", "the cat sat", prefix="the cat", references=("rain", "the the cat"))

    def rate(reference: str) -> float:
        with torch.inference_mode():
            return float(network(**tokenizer(reference, "the cat sat", return_tensors="pt")).logits)

    found = Bleurt.from_pretrained(str(tmp_path)).score([example])
    assert found.values["quality"][0] == pytest.approx(np.mean([rate("rain"), rate("the the cat")]), abs=1e-5)
    to_prefix = Bleurt.from_pretrained(str(tmp_path), reference="prefix")
    assert to_prefix.score([example]).values["quality"][0] == pytest.approx(rate("the cat"), abs=1e-5)
    long = replace(example, prefix="the cat " * 100)
    assert to_prefix.score([long]).dropped_tokens[0] > 0
    with pytest.raises(ExampleError, match="tokens at once, but a text with its prefix has more"):
        replace(to_prefix, truncation="error").score([long])
    BertForSequenceClassification.from_pretrained(bert, num_labels=2).save_pretrained(tmp_path)
    with pytest.raises(SettingError, match=r"BLEURT has one output, but .* has 2"):
        Bleurt.from_pretrained(str(tmp_path))


@pytest.mark.parametrize(
    ("model", "layers"),
    [("roberta-large", 17), ("FacebookAI/roberta-large", 17), ("microsoft/deberta-xlarge-mnli", 40), ("my/own", 24)],
)
def test_bertscore_reads_the_layer_that_its_library_tuned(model: str, layers: int) -> None:
    assert find_layers(model, 24) == layers


REVIEWS = [("the food was good",), ("the film was bad",)]
REVIEWED = [
    Example("a", text="the food", label="x"),
    Example("b", text="it was good", label="y"),
    Example("c", text="bad film"),
]


def test_three_aspects_come_from_two_discriminators(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"min_count": 1, "embedding_dim": 4, "hidden_dim": 4}
    new_bilstm(REVIEWS, **sizes).save_pretrained(tmp_path / "quality")
    new_bilstm(REVIEWS, labels=["x", "y"], **sizes).save_pretrained(tmp_path / "label")
    metric = DisScore.from_pretrained(tmp_path / "quality", tmp_path / "label")
    found = metric.score(REVIEWED)
    quality = DiscriminatorScore.from_pretrained(tmp_path / "quality").score(REVIEWED)
    label = LabelDiscriminatorScore.from_pretrained(tmp_path / "label").score(REVIEWED)
    for aspect, expected in (("coherence", quality), ("consistency", quality), ("attribute_relevance", label)):
        np.testing.assert_array_equal(found.values[aspect], expected.values["quality"])
    assert [bool(reason) for reason in found.reasons] == [False, False, True]
    assert found.signature == metric.signature == f"{quality.signature} + {label.signature}"
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="must be the folder of a trained discriminator"):
        DisScore.from_pretrained(tmp_path / "none", tmp_path / "label")


QUESTION = "question: coherent? </s> response: {response} </s> history: {history}"
DIALOGUES = [
    Example("a", turns=("hello there", "how are you", "Yes, fine")),
    Example("b", turns=("No", "it rains {today}")),
]


@pytest.fixture(scope="module")
def dialogue_t5() -> Seq2SeqLM:
    texts = ["question: coherent? response: hello there how are you", "history: Yes No it rains {today}"]
    return TinyT5(300, d_model=16, d_ff=32, num_heads=2, num_layers=1, num_decoder_layers=1).build(texts, (), seed=0)


def probability_of_yes(lm: Seq2SeqLM, text: str) -> float:
    tokens: Any = [lm.tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in ("Yes", "No")]
    yes, no = (float(np.exp(plain_log_p(lm, text, [token])[0])) for token in tokens)
    return yes / (yes + no)


def test_uni_eval_is_the_mean_probability_of_yes(dialogue_t5: Seq2SeqLM) -> None:
    found = UniEval(dialogue_t5, "toy", {"coherence": QUESTION}).score(DIALOGUES)
    second = probability_of_yes(dialogue_t5, QUESTION.format(response="how are you", history="hello there"))
    third = probability_of_yes(dialogue_t5, QUESTION.format(response="Yes, fine", history="hello there\nhow are you"))
    rain = probability_of_yes(dialogue_t5, QUESTION.format(response="it rains {today}", history="No"))
    assert found.values["coherence"] == pytest.approx([(second + third) / 2, rain], abs=1e-6)
    assert found.explanations[0]["coherence"] == [
        ["how are you", pytest.approx(second, abs=1e-4)],
        ["Yes, fine", pytest.approx(third, abs=1e-4)],
    ]
    assert found.truncated == 0


def test_uni_eval_counts_or_refuses_what_is_cut(dialogue_t5: Seq2SeqLM) -> None:
    needed = len(dialogue_t5.tokenizer(QUESTION.format(response="it rains {today}", history="No"))["input_ids"])
    short = UniEval(dialogue_t5, "toy", {"coherence": QUESTION}, max_length=needed - 2)
    assert list(short.score(DIALOGUES[1:]).dropped_tokens) == [2]
    with pytest.raises(ExampleError, match="at most"):
        replace(short, truncation="error").score(DIALOGUES[1:])


masses = st.lists(st.floats(0.1, 1.0), min_size=1, max_size=5)


@settings(deadline=None, max_examples=40)
@given(masses, masses, st.integers(0, 2**32 - 1))
def test_the_cost_of_moving_on_a_line_is_the_area_between_the_sums(
    ours: list[float], theirs: list[float], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    supply, demand = np.array(ours) / sum(ours), np.array(theirs) / sum(theirs)
    x, y = generator.uniform(0, 5, len(ours)), generator.uniform(0, 5, len(theirs))
    found = move((supply, x[:, None]), (demand, y[:, None]))
    points = np.sort(np.concatenate([x, y]))
    gaps = [abs(supply[x <= a].sum() - demand[y <= a].sum()) * (b - a) for a, b in pairwise(points)]
    assert found == pytest.approx(sum(gaps), abs=1e-6)


def test_sentence_mover_by_hand() -> None:
    """Sentences (1.5, 0) of 2 words and (0, 4) of 1 word against (0, 0) of 1 word: 2/3 * 1.5 + 1/3 * 4."""
    words, table = {"the": 0, "cat": 1, "sat": 2}, np.array([[0, 0], [3, 0], [0, 4]], np.float32)
    vectors = WordVectors(words, table, "toy", lambda text: RUNS.findall(text.lower()))
    metric = SentenceMover(vectors)
    examples = [
        Example("a", "The cat. Sat!", references=("the",)),
        Example("b", "The cat. Sat!", references=("the", "Sat. The cat!")),
        Example("c", "unheard", references=("the",)),
        Example("d", "the unheard cat", references=("cat the",)),
    ]
    found = metric.score(examples)
    np.testing.assert_allclose(found.values["quality"], [math.exp(-(2 / 3 * 1.5 + 4 / 3)), 1.0, np.nan, 1.0], rtol=1e-6)
    assert found.reasons[2] == UNKNOWN
    assert found.dropped_tokens == (0, 0, 1, 1)
    assert found.notes == ()
    for references in (("the", "unheard"), ("unheard", "the")):
        assert np.isnan(metric.score([Example("e", "the", references=references)]).values["quality"][0])
    long = SentenceMover(replace(vectors, table=10 * vectors.table)).score(examples[:1])
    assert long.notes[0].startswith("sentence_mover: most scores are below 0.001: the encoder's vectors are long")


def test_the_signature_of_mover_score_names_the_layers_that_are_read(bert: Path) -> None:
    """More layers than there are give the scores of all of them, so the signature is the same."""
    encoder = Encoder.from_pretrained(str(bert))
    layers = encoder.model[0].auto_model.config.num_hidden_layers + 1
    examples = [Example("a", "the cat sat", references=("cat the.",))]
    every = MoverScore(encoder, layers=layers).score(examples)
    more = MoverScore(encoder, layers=99).score(examples)
    assert f"layers={layers}|" in every.signature
    assert (more.signature, more.values["quality"]) == (every.signature, every.values["quality"])


def test_mover_score_by_its_definition(bert: Path) -> None:
    """A corpus weighs the tokens: `the` and the full stop are in both of its texts, other tokens in one."""
    examples = [Example("a", "the cat sat", references=("cat the.",)), Example("b", "the", references=("the mat.",))]
    metric = replace(MoverScore.from_pretrained(str(bert), layers=2), documents=["cat the.", "the mat."])
    found = metric.score(examples)
    model, tokenizer = load_encoder(str(bert))

    def embed(text: str) -> np.ndarray:
        with torch.no_grad():
            read = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        one, two = (states[0, 1:-1].double().numpy() for states in read.hidden_states[-2:])
        joined = np.concatenate([np.minimum(one, two), (one + two) / 2, np.maximum(one, two)], axis=1)
        return joined / np.linalg.norm(joined, axis=1, keepdims=True)

    both, first, none = map(DocumentFrequencies(2, {"both": 2, "first": 1}, "").idf, ("both", "first", "none"))
    supply, demand = np.array([both, first, none]), np.array([first, both, both])
    distance = move((supply, embed("the cat sat")), (demand, embed("cat the.")))
    assert found.values["quality"][0] == pytest.approx(1 / (1 + distance), abs=1e-6)
    assert metric.score([Example("c", "the cat", references=("the cat",))]).values["quality"] == pytest.approx([1.0])
    alike = replace(metric, documents=None)
    distance = move((np.ones(3), embed("the cat sat")), (np.ones(3), embed("cat the.")))
    assert alike.score(examples).values["quality"][0] == pytest.approx(1 / (1 + distance), abs=1e-6)
    assert len({replace(metric, documents=each).signature for each in (None, ["cat"], ["mat"])}) == 3


def test_raw_perplexity() -> None:
    scores = Scores({"quality": np.array([-math.log(75.0), math.nan])}, "perplexity", [None, "blank"])
    raw = to_raw_perplexity(scores)
    assert raw.values["quality"] == pytest.approx([75.0, math.nan], nan_ok=True)
    assert raw.reasons == (None, "blank")
