"""Guided decoding: the equations by hand, and `generate()` beside a processor that recomputes everything."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    TopKLogitsWarper,
    set_seed,
)

from core.errors import SettingError
from discriminators.architectures.bert import BertClassifier
from discriminators.architectures.causal_lstm import CausalLSTM
from discriminators.discriminator import Discriminator, new_bilstm, new_token_bilstm
from discriminators.guides import CausalGuide
from discriminators.vocabulary import EncoderTokens, GeneratorTokens
from models.causal import CausalLM
from models.tiny import TinyCausal, train_tokenizer
from oumg.guidance import Guidance, GuidedStep, find_parents, normalise_scores
from tests.toy_models import randomise

TEXTS = ["hello there, how are you?", "i am fine.", "the cat sat on the mat."]
PROMPTS = ["the cat", "how are you? i am", "i"]
NEW = 10
Guide = Callable[..., Guidance]


@pytest.fixture(scope="module")
def lm() -> CausalLM:
    built = TinyCausal(
        280,
        16,
        2,
        1,
        32,
        max_length=64,
    ).build(TEXTS, (), seed=3)
    randomise(built.model, scale=0.5)
    built.tokenizer.padding_side = "left"
    return built


def causal_judge(tokenizer: Any) -> CausalGuide:
    network = CausalLSTM(len(tokenizer), embedding_dim=8, hidden_dim=6)
    judge = CausalGuide(network, GeneratorTokens(tokenizer, 64), {})
    randomise(judge.network)
    return judge


@pytest.fixture(scope="module")
def judges(lm: CausalLM) -> dict[str, Discriminator]:
    bilstm = new_token_bilstm(
        [],
        lm.tokenizer,
        embedding_dim=8,
        hidden_dim=6,
    )
    randomise(bilstm.network)
    words = new_bilstm(
        [(text,) for text in TEXTS],
        "words",
        min_count=1,
        embedding_dim=8,
        hidden_dim=6,
    )
    randomise(words.network)
    other = causal_judge(train_tokenizer(["a cat and a mat, hello"], 270, sentinels=()))
    bert = Discriminator(BertClassifier(lm.model), EncoderTokens(lm.tokenizer, 64), {})
    return {"causal": causal_judge(lm.tokenizer), "bilstm": bilstm, "words": words, "other": other, "bert": bert}


@pytest.fixture(scope="module")
def plain_judges(judges: dict[str, Any]) -> dict[str, Callable[[tuple[int, ...]], float]]:
    return {name: plain_judge(judges[name]) for name in ("causal", "bilstm")}


@pytest.fixture(scope="module")
def guidance(lm: CausalLM, judges: dict[str, Any]) -> Guide:
    """Guidance by a judge, the causal one unless another is named."""
    return lambda strength=4.0, k=5, judge="causal", **more: Guidance(
        judges[judge],
        lm.tokenizer,
        strength,
        k=k,
        **more,
    )


class LiftEnd(LogitsProcessor):
    """Makes the end likely, so that some rows finish before others."""

    def __init__(self, end: int, by: float) -> None:
        self.end, self.by = end, by

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        lifted = scores.clone()
        lifted[:, self.end] += self.by * (input_ids[:, -1] % 3 == 0)
        return lifted.log_softmax(-1) if (scores.exp().sum(-1) - 1).abs().max() < 1e-3 else lifted


class Recomputed(LogitsProcessor):
    """The plain way: for every row and candidate the whole text is judged, one at a time, and nothing is kept."""

    def __init__(self, judge: Callable[[tuple[int, ...]], float], alpha: float, k: int) -> None:
        self.judge, self.alpha, self.k = judge, alpha, k
        self.special = {0, 1}  # pad and end

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        found = torch.full_like(scores, -torch.inf)
        for row, ids in enumerate(input_ids.tolist()):
            text = [i for i in ids if i not in self.special]
            best = scores[row].topk(self.k).indices
            s = torch.tensor([self.judge((*text, c)) for c in best.tolist()], dtype=scores.dtype)
            s = s - s.min()
            found[row, best] = scores[row, best] + (self.alpha * s / s.max() if s.max() >= 1e-6 else 0.0)
            if scores.max() <= 0:
                found[row] = found[row].log_softmax(-1)
        return found


def plain_judge(judge: Discriminator) -> Callable[[tuple[int, ...]], float]:
    special = {0, 1}  # pad and end

    @cache
    @torch.no_grad()
    def logit(ids: tuple[int, ...]) -> float:
        kept = list(ids)
        if not isinstance(judge, CausalGuide):
            kept = [i for i in ids if i not in special]
        if not kept:
            return 0.0
        row = torch.tensor([kept])
        if not isinstance(judge, CausalGuide):
            row += 3  # behind the three special tokens of the discriminator
        return float(judge.network(row, torch.ones_like(row, dtype=torch.bool)).flatten()[-1])

    return logit


MODES: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True, "top_k": 0, "num_return_sequences": 2},
    "beam": {"num_beams": 3, "do_sample": False, "num_return_sequences": 2},
    "beam-sample": {"num_beams": 3, "do_sample": True, "top_k": 0, "num_return_sequences": 2},
}


def generate(
    lm: CausalLM,
    processors: Sequence[LogitsProcessor],
    prompts: Sequence[str] = PROMPTS,
    **settings: Any,
):
    batch = lm.tokenizer(
        list(prompts),
        return_tensors="pt",
        padding=True,
        return_token_type_ids=False,
    )
    set_seed(0)
    return lm.model.generate(
        **batch,
        max_new_tokens=NEW,
        logits_processor=LogitsProcessorList(processors),
        **settings,
    ).tolist()


CACHED = [*(("causal", mode) for mode in MODES), *(("bilstm", mode) for mode in ("greedy", "sampling", "beam"))]


@pytest.mark.parametrize(("name", "mode"), CACHED)
def test_cached_guidance_equals_recomputation(
    lm: CausalLM,
    guidance: Guide,
    plain_judges: dict[str, Any],
    name: str,
    mode: str,
) -> None:
    lift = LiftEnd(lm.tokenizer.eos_token_id, 9.0)  # pyright: ignore[reportArgumentType]
    plain = Recomputed(plain_judges[name], alpha=4.0, k=5)
    guided = guidance(judge=name)
    expected = generate(lm, [lift, plain], **MODES[mode])
    assert generate(lm, [lift, guided], **MODES[mode]) == expected
    assert generate(lm, [lift, guided], **MODES[mode]) == expected  # the same object again: nothing is left over
    unguided = generate(lm, [lift, TopKLogitsWarper(5)], **MODES[mode])
    assert unguided != expected
    finished = [row.count(lm.tokenizer.eos_token_id) for row in expected]
    if mode == "sampling":
        assert 0 < sum(finished) < len(finished)  # some rows grew with padding while others went on


@pytest.mark.parametrize("mode", ["sampling", "beam"])
def test_alpha_0_is_the_unguided_output_with_the_same_k(lm: CausalLM, guidance: Guide, mode: str) -> None:
    unguided = generate(lm, [TopKLogitsWarper(5)], **MODES[mode])
    for rule in ("normalised", "fudge"):
        assert generate(lm, [guidance(0.0, rule=rule)], **MODES[mode]) == unguided
    if mode == "sampling":
        assert (
            generate(
                lm,
                [],
                do_sample=True,
                top_k=5,
                num_return_sequences=2,
            )
            == unguided
        )


def test_fudge_adds_lambda_log_sigmoid(lm: CausalLM, guidance: Guide, plain_judges: dict[str, Any]) -> None:
    steps: list[GuidedStep] = []
    ids, scores = torch.tensor([[5, 6], [7, 8]]), torch.randn(2, len(lm.tokenizer)) + 1.0
    found = guidance(
        1.5,
        4,
        rule="fudge",
        watch=steps.append,
    )(ids, scores)
    (step,), judge = steps, plain_judges["causal"]
    rows = zip(ids.tolist(), step.candidates.tolist(), strict=True)
    judged = torch.tensor([[judge((*read, c)) for c in row] for read, row in rows])
    expected = torch.full_like(scores, -torch.inf).scatter(
        1, step.candidates, scores.topk(4).values + 1.5 * F.logsigmoid(judged)
    )
    torch.testing.assert_close(
        found,
        expected,
        atol=1e-5,
        rtol=1e-5,
    )
    torch.testing.assert_close(
        step.judged,
        judged,
        atol=1e-5,
        rtol=1e-5,
    )
    assert torch.equal(step.after, found.gather(1, step.candidates))


def test_fewer_possible_tokens_than_k(lm: CausalLM, guidance: Guide) -> None:
    scores = torch.full((1, len(lm.tokenizer)), -torch.inf)
    scores[0, [10, 11]] = torch.tensor([0.7, 0.3]).log()
    kept = scores.clone()
    found = guidance(2.0)(torch.tensor([[5]]), scores)
    assert torch.equal(scores, kept)  # the scores handed in are left alone
    assert (found > -torch.inf).nonzero().tolist() == [[0, 10], [0, 11]]
    assert found.exp().sum() == pytest.approx(1.0)
    raised = found[0, [10, 11]] - scores[0, [10, 11]]
    assert abs(float(raised[0] - raised[1])) == pytest.approx(2.0, abs=1e-5)


@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_ids_that_the_tokenizer_does_not_have_are_no_candidates(lm: CausalLM, guidance: Guide, strength: float) -> None:
    size = len(lm.tokenizer)
    scores = torch.zeros(1, size + 7)  # models pad their vocabulary
    scores[0, [size + 3, 9, 11]] = torch.tensor([5.0, 4.0, 3.0])
    for name in ("causal", "bilstm"):
        guided = guidance(strength, 2, name)
        for read in ([[5]], [[5, size + 3]]):  # a prompt may hold one: it is read as an unknown token
            found = guided(torch.tensor(read), scores)
            assert (found > -torch.inf).nonzero()[:, 1].tolist() == [9, 11]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"judge": "other"}, r"lacks \d+ of the generator's \d+, or has other ids"),
        ({"judge": "bert"}, "but a discriminator of the kind bert reads its own: train the guide on the generator's"),
        ({"judge": "words"}, r"reads \d+ tokens and lacks \d+ of the generator's"),
        *(({"strength": strength}, "strength must be ") for strength in (-1.0, math.inf, math.nan)),
        ({"k": 0}, "k must be greater than or equal to 1, but is 0"),
        ({"rule": "best"}, "rule must be 'normalised' or 'fudge', but is 'best'"),
    ],
)
def test_other_tokens_and_wrong_settings_are_refused(guidance: Guide, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        guidance(**settings)


def test_what_a_step_needs_is_checked(guidance: Guide) -> None:
    with pytest.raises(SettingError, match="k must be at most the 4 tokens of the generator, but is 5"):
        guidance()(torch.tensor([[5]]), torch.zeros(1, 4))
    with pytest.raises(ValueError, match="generator's device, but it is on cpu and the tokens on meta: load it there"):
        guidance()(
            torch.zeros(
                1,
                1,
                dtype=torch.long,
                device="meta",
            ),
            torch.zeros(1, 8),
        )


def test_scores_that_hardly_differ_say_nothing() -> None:
    assert normalise_scores(torch.tensor([[5.0, 5.0 + 4e-7], [0.0, 2e-6]]), alpha=4.0).tolist() == [[0, 0], [0, 4]]
    assert normalise_scores(torch.tensor([[7.0]]), alpha=4.0).tolist() == [[0]]  # k = 1


def test_impossible_candidates_have_no_part_in_the_range() -> None:
    among = torch.tensor([[True, True, False], [True, False, False]])
    f = normalise_scores(torch.tensor([[1.0, 2.0, 50.0], [3.0, 9.0, -9.0]]), alpha=1.0, among=among)
    assert f.tolist() == [[0, 1, 0], [0, 0, 0]]


@given(st.lists(st.floats(-50, 50, width=32), min_size=2, max_size=8), st.floats(0, 8), st.floats(-9, 9))
@settings(max_examples=50, deadline=None)
def test_equation_5_lies_between_0_and_alpha_and_knows_no_scale(values: list[float], alpha: float, shift: float):
    s = torch.tensor([values], dtype=torch.float64)
    f = normalise_scores(s, alpha)
    assert 0 <= f.min() <= f.max() <= alpha + 1e-9
    if s.max() - s.min() > 1e-3:
        assert f.max() == pytest.approx(alpha)
        torch.testing.assert_close(normalise_scores(3 * s + shift, alpha), f)


def test_parents_are_found_wherever_rows_went() -> None:
    before = torch.tensor([[1, 2], [3, 4], [1, 2]])
    found = find_parents(before, torch.tensor([[3, 4, 9], [1, 2, 8]]))
    assert found is not None
    assert before[found].tolist() == [[3, 4], [1, 2]]
    assert find_parents(before, torch.tensor([[3, 4, 9], [2, 2, 8]])) is None  # a new text
    assert find_parents(before, torch.tensor([[3, 4]])) is None  # no longer than before
    assert find_parents(before, torch.tensor([[3]])) is None
