"""Log-probabilities of every kind of model against one unpadded pair at a time; what every family loads."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    BartConfig,
    BigBirdPegasusConfig,
    Gemma2Config,
    Gemma2ForCausalLM,
    LEDConfig,
    LongT5Config,
    MBartConfig,
    MT5Config,
    PegasusConfig,
    PegasusXConfig,
    PreTrainedTokenizerFast,
    T5Config,
    UMT5Config,
)

from models import model
from models.causal import CausalLM
from models.families import ENCODER_DECODERS, find_family
from models.infilling import encode_infills
from models.model import READ_AT_ONCE, ConditionalLM, OutputHead, readable_tokens, token_log_probabilities
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyCausal, TinyT5, initialise_model, train_tokenizer
from models.windows import Pair
from tests.toy_models import plain_log_probabilities, refuse_large_batches, toy_bart

TEXTS = ["hello there, how are you?", "i am fine.", "the cat sat on the mat."]
WORDS = [[7], [8], [9, 10, 11], [7, 12]]


def build(kind: str, seed: int = 3, dropout: float = 0.0) -> Any:
    match kind:
        case "t5":
            return TinyT5(300, 16, 32, 2, 1, 1, dropout_rate=dropout).build(TEXTS, (), seed)
        case "gpt2":
            return TinyCausal(300, 16, 2, 2, 32, max_length=64, dropout=dropout).build(TEXTS, (), seed)
        case _:  # it adds a bias to its logits
            tokenizer = build("t5").tokenizer
            bart = toy_bart(len(tokenizer), 1, 1, 0.3, seed)
            bart.final_logits_bias.normal_(generator=torch.Generator().manual_seed(seed))
            return Seq2SeqLM(bart, tokenizer)


@pytest.fixture(scope="module", params=["t5", "bart", "gpt2"])
def lm(request: pytest.FixtureRequest) -> ConditionalLM:
    return build(request.param)


@pytest.fixture(scope="module")
def pairs(lm: ConditionalLM) -> list[Pair]:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 30, size=(25, 2))
    made: list[Pair] = [(rng.integers(3, 250, a).tolist(), rng.integers(3, 250, b).tolist()) for a, b in lengths]
    several = [(made[0][0], word) for word in WORDS]  # a source with several targets
    return [*made, *several, ([9], [5, 6]), ([7, 8], []), ([], [6, 5])]


@pytest.mark.parametrize(
    ("token_budget", "waiting", "given"),
    [(1, 2**27, 0), (60, 3_000, 2), (100_000, 3_000, 0), (100_000, 2**27, 2)],
)
def test_log_probabilities_equal_one_pair_at_a_time(
    lm: ConditionalLM,
    pairs: list[Pair],
    token_budget: int,
    waiting: int,
    given: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model, "WAITING", waiting)
    found = lm.log_probabilities(pairs, given=given, token_budget=token_budget)
    for row, (source, target) in zip(found, pairs, strict=True):
        np.testing.assert_allclose(row, plain_log_probabilities(lm, source, target)[given:], atol=1e-5)


def test_pairs_that_are_read_once_may_differ_in_what_is_given(lm: ConditionalLM) -> None:
    targets, given = [[5, 6, 7, 8, 9], [4, 5, 6], [5, 6, 7, 8, 10]], [3, 0, 4]
    whole = lm.log_probabilities([([20], target) for target in targets])
    found = lm.log_probabilities([([20], target) for target in targets], given=given)
    for row, full, n in zip(found, whole, given, strict=True):
        np.testing.assert_allclose(row, full[n:], atol=1e-5)


@pytest.mark.parametrize("cap", [None, 0.5])
def test_a_model_that_caps_its_logits(cap: float | None) -> None:
    """Its logits are not a plain product; without a cap they are."""
    sizes: Any = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8}
    sizes |= {"vocab_size": 300, "hidden_size": 16, "intermediate_size": 32}
    config = Gemma2Config(final_logit_softcapping=cap, initializer_range=0.5, **sizes)
    capped = CausalLM(initialise_model(Gemma2ForCausalLM, config, seed=0).eval(), build("gpt2").tokenizer)
    assert (capped.output_head().project is None) == (cap is None)
    found = capped.log_probabilities([([5, 6], [7, 8, 9])])[0]
    np.testing.assert_allclose(found, plain_log_probabilities(capped, [5, 6], [7, 8, 9]), atol=1e-5)


def test_what_does_not_fit_into_memory_is_halved(
    lm: ConditionalLM, pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = lm.log_probabilities(pairs)
    multiply = OutputHead.multiply

    def crowded(self: OutputHead, states: torch.Tensor) -> Iterator[torch.Tensor]:
        if len(states) > 9:
            raise torch.OutOfMemoryError
        return multiply(self, states)

    monkeypatch.setattr(OutputHead, "multiply", crowded)
    read = lm.model.get_encoder() if isinstance(lm, Seq2SeqLM) else lm.model
    monkeypatch.setattr(read, "forward", refuse_large_batches(read.forward, rows=3))
    for a, b in zip(lm.log_probabilities(pairs), expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("kind", ["t5", "gpt2"])
def test_saved_models_load_again_with_equal_scores(kind: str, tmp_path: Path) -> None:
    lm = build(kind)
    lm.save_pretrained(tmp_path)
    again = type(lm).from_pretrained(tmp_path)
    assert again.tokenizer.get_vocab() == lm.tokenizer.get_vocab()
    assert (again.parameters, again.max_length) == (lm.parameters, lm.max_length)
    pair = ([5, 6], [7, 8, 9])
    np.testing.assert_allclose(again.log_probabilities([pair])[0], lm.log_probabilities([pair])[0], atol=1e-5)
    assert type(lm).from_pretrained(tmp_path, dtype="bfloat16").model.dtype == torch.bfloat16


def test_without_a_start_token_a_context_is_needed() -> None:
    silent = build("gpt2")
    assert silent.start == 1
    silent.tokenizer.eos_token = None
    with pytest.raises(ValueError, match="has neither: give a context"):
        silent.log_probabilities([([], [4])])
    assert len(silent.log_probabilities([([4], [5])])[0]) == 1


def test_several_tokens_of_one_state_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    states = torch.tensor([[0.0, 0.0], [np.log(3.0), 0.0]])
    for width in (1, 2):
        monkeypatch.setattr(model, "BLOCK", 2 * width)
        found = token_log_probabilities(OutputHead(torch.eye(2)), states, [0, 0, 1, 1], rows=[0, 1, 1, 0])
        np.testing.assert_allclose(found.exp(), [0.5, 0.75, 0.25, 0.5], rtol=1e-6)


LEARNED = ["The cat sat on the mat. It was warm.", "The dog ran away, and the cat slept."]
GAPS = [("The cat ", "sat on", " the mat."), ("", "The dog ran", " away, and the cat slept."), ("We ", "left", ".")]
POSITIONS = {"max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 32}


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return train_tokenizer(LEARNED, 400, ("<mask>", "<mask_1>"))


@pytest.mark.parametrize("positions", [131_072, None])
def test_a_limit_that_no_memory_holds_is_capped(positions: int | None, tokenizer: PreTrainedTokenizerFast) -> None:
    config: Any = SimpleNamespace(model_type="llama", max_position_embeddings=positions)
    unlimited: Any = SimpleNamespace(model_max_length=10**30)
    assert readable_tokens(config, unlimited) == READ_AT_ONCE
    assert readable_tokens(config, tokenizer) == tokenizer.model_max_length


def configure(model_type: str, vocabulary: int) -> Any:
    """The smallest model of a family."""
    shared: Any = {"vocab_size": vocabulary, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    t5: Any = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_heads": 2, "num_layers": 1, "num_decoder_layers": 1}
    bart: Any = {"d_model": 16, "forced_eos_token_id": None}
    for side in ("encoder", "decoder"):
        bart |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
    kind, settings = {
        "t5": (T5Config, t5),
        "mt5": (MT5Config, t5),
        "umt5": (UMT5Config, t5),
        "longt5": (LongT5Config, t5),
        "led": (LEDConfig, {**bart, **POSITIONS, "attention_window": 8}),
        "bigbird_pegasus": (BigBirdPegasusConfig, bart),
        "pegasus_x": (PegasusXConfig, {**bart, "block_size": 8, "num_global_tokens": 4}),
        "bart": (BartConfig, {**bart, "max_position_embeddings": 48}),
        "mbart": (MBartConfig, {**bart, "max_position_embeddings": 48}),
        "pegasus": (PegasusConfig, {**bart, "max_position_embeddings": 48}),
    }[model_type]
    return kind(**shared, **settings)


@pytest.mark.parametrize("model_type", [each for family in ENCODER_DECODERS for each in family.model_types])
def test_a_family_loads_and_scores(model_type: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        AutoModelForSeq2SeqLM.from_config(configure(model_type, len(tokenizer))).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    lm = Seq2SeqLM.from_pretrained(tmp_path)
    infills = encode_infills(lm.tokenizer, find_family(lm.model.config, lm.tokenizer), GAPS, closed=True)
    pairs = [(infill.source, infill.target) for infill in infills]
    pairs += [(tuple(range(20 + i, 60 + i)), (7, 8)) for i in range(8)]  # a batch whose keys would take most products
    for pair, row in zip(pairs, lm.log_probabilities(pairs), strict=True):
        np.testing.assert_allclose(row, plain_log_probabilities(lm, *pair), atol=1e-5)
    assert lm.max_length == {"led": 32, "bart": 48, "mbart": 48, "pegasus": 48}.get(model_type, 512)
