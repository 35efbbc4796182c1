"""What sequences have in common is read once, and changes no result."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoConfig, AutoModelForCausalLM

from models.causal import CausalLM
from models.shared_prefixes import can_branch, plant_trees
from models.tiny import initialise_model, train_tokenizer
from models.windows import Pair
from tests.models.test_log_probabilities import plain_log_probabilities

SIZES: dict[str, Any] = {"vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 48, "max_position_embeddings": 256}
SHAPES: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "gpt_neox": {},
    "llama": {"num_key_value_heads": 2},
    "qwen2": {"num_key_value_heads": 2},
    "qwen3": {"num_key_value_heads": 2, "head_dim": 8},
    "starcoder2": {"num_key_value_heads": 2},
    "gemma3_text": {"num_key_value_heads": 1, "head_dim": 8, "sliding_window": 64},
    "bloom": {},  # of no type that branches
}
DIALOGUE = list(range(30, 90))


def build(model_type: str, **settings: Any) -> CausalLM:
    config = AutoConfig.for_model(model_type, initializer_range=0.3, **SIZES, **SHAPES[model_type], **settings)
    model = initialise_model(AutoModelForCausalLM.from_config, config, seed=1)
    return CausalLM(model.eval(), train_tokenizer(["a text"], 300, sentinels=()))


def middle_pairs() -> list[Pair]:
    """Ten turns, each filled in in view of all others, as `[1] before [2] after [3] turn [4]`."""
    turns = [DIALOGUE[i : i + 6] for i in range(0, 60, 6)]
    pairs: list[Pair] = []
    for t, turn in enumerate(turns):
        before = [token for each in turns[:t] for token in each]
        after = [token for each in turns[t + 1 :] for token in each]
        pairs.append(([1, *before, 2, *after, 3], [*turn, 4]))
    return pairs


def count_read(lm: CausalLM, pairs: list[Pair], **settings: Any) -> tuple[list[np.ndarray], int]:
    """The scores, and how many tokens the model has read for them, padding included."""
    counts: list[int] = []
    hook = lm.model.get_input_embeddings().register_forward_pre_hook(lambda _, given: counts.append(given[0].numel()))
    found = lm.log_probabilities(pairs, **settings)
    hook.remove()
    return found, sum(counts)


@pytest.mark.parametrize(
    ("model_type", "token_budget"), [*((each, 4096) for each in SHAPES), ("bloom", 1), ("llama", 1), ("llama", 200)]
)
def test_scores_are_those_of_each_pair_alone(model_type: str, token_budget: int) -> None:
    lm = build(model_type)
    pairs = [*middle_pairs(), ([], [5, 6]), (DIALOGUE[:20], DIALOGUE[20:30]), (DIALOGUE[:9], DIALOGUE[9:12])]
    pairs += [(DIALOGUE[:12], [7, 8]), (DIALOGUE[:12], [7, 9]), (DIALOGUE[:12], [7, 8, 9])]
    for row, (source, target) in zip(lm.log_probabilities(pairs, token_budget=token_budget), pairs, strict=True):
        np.testing.assert_allclose(row, plain_log_probabilities(lm, source, target), atol=1e-5)


def test_left_to_right_a_dialogue_is_read_once() -> None:
    lm = build("bloom")
    pairs: list[Pair] = [([1, *DIALOGUE[:i]], DIALOGUE[i : i + 6]) for i in range(0, 60, 6)]
    found, read = count_read(lm, pairs)
    assert read == 1 + 60 - 1  # the last token predicts nothing
    for row, (source, target) in zip(found, pairs, strict=True):
        np.testing.assert_allclose(row, plain_log_probabilities(lm, source, target), atol=1e-5)


def test_filling_in_the_middle_shares_what_precedes_the_gaps() -> None:
    lm = build("qwen2")
    pairs = middle_pairs()
    _, read = count_read(lm, pairs)
    alone = sum(len(source) + len(target) - 1 for source, target in pairs)
    assert read < 0.7 * alone


def test_label_words_share_one_text_among_prompts() -> None:
    lm = build("llama")
    prompts = [[201, 202, 2], [203, 2], [204, 205, 206, 2]]
    words = [[7], [8], [9], [10, 11]]
    pairs: list[Pair] = [([1, *DIALOGUE, *prompt], word) for prompt in prompts for word in words]
    _, read = count_read(lm, pairs)
    assert read == 1 + 60 + (3 + 1) + (2 + 1) + (4 + 1)  # the text, and each prompt with the word of two tokens


def test_a_window_that_is_too_short_for_branches() -> None:
    lm = build("gemma3_text")
    assert can_branch(lm.model.config, 64)
    assert not can_branch(lm.model.config, 65)
    long: list[Pair] = [([1, *DIALOGUE, *range(100, 110), mark], [5]) for mark in (2, 3)]
    for row, (source, target) in zip(lm.log_probabilities(long), long, strict=True):
        np.testing.assert_allclose(row, plain_log_probabilities(lm, source, target), atol=1e-5)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=40), min_size=1, max_size=12), st.booleans())
def test_trees_hold_all_sequences(sequences: list[list[int]], branching: bool) -> None:
    trees = plant_trees(sequences, 50, branching)
    assert sorted(i for tree in trees for i in tree.paths) == list(range(len(sequences)))
    for tree in trees:
        for i, path in tree.paths.items():
            assert [tree.ids[slot] for slot in path] == sequences[i]
            assert [tree.positions[slot] for slot in path] == list(range(len(path)))
            seen = tree.mask(len(tree.ids))[path[-1]].nonzero().flatten().tolist()
            assert seen == sorted(path)
        assert len(tree.ids) <= 50 or not tree.branches
        assert branching or not tree.branches


def test_bfloat16_reads_trees_too() -> None:
    lm = build("qwen2")
    expected = lm.log_probabilities(middle_pairs())
    lm.model.to(torch.bfloat16)
    for row, exact in zip(lm.log_probabilities(middle_pairs()), expected, strict=True):
        np.testing.assert_allclose(row, exact, atol=0.5)
