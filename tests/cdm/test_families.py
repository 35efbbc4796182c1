"""Pairs of other families than T5: sampling against the plain way, batches, steps and negatives."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizer

from cdm.discriminative import dialogue_steps
from cdm.infilling import Gaps
from cdm.negatives import sample_negatives
from cdm.pair import Pair, decode_dialogues
from cdm.sampling import Sampling, sample_segments, sampling_probabilities
from core.faults import SettingFault
from language_models.seq2seq import Seq2SeqLM
from language_models.tiny import initialise_model
from language_models.warm import WarmEncoderDecoder

Dialogues = list[tuple[str, ...]]
LONGEST = 60


@pytest.fixture(scope="module")
def bert(dialogues: Dialogues, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT with the characters and the most frequent words of the dialogues as its pieces."""
    folder = tmp_path_factory.mktemp("bert")
    words = Counter(word for turns in dialogues for turn in turns for word in turn.lower().split() if word.isalpha())
    characters = sorted({c for turns in dialogues for turn in turns for c in turn.lower() if not c.isspace()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    frequent = [word for word, _ in words.most_common(150) if len(word) > 1]
    pieces = [*special, *characters, *(f"##{c}" for c in characters), *frequent]
    BertTokenizer({piece: i for i, piece in enumerate(pieces)}, model_max_length=128).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
        initializer_range=0.3,  # so that the two models differ visibly
    )
    initialise_model(BertModel, config, seed=3).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def pair(dialogues: Dialogues, bert: Path) -> Pair:
    amateur, expert = (Gaps(LONGEST).build(WarmEncoderDecoder(str(bert)), dialogues, seed) for seed in (1, 2))
    return Pair(amateur, expert, LONGEST)


@pytest.fixture(scope="module")
def sources(pair: Pair, dialogues: Dialogues) -> list[list[int]]:
    return [list(task.source) for task in pair.tokenise(dialogues[:8]).tasks(seed=4)]


@torch.inference_mode()
def next_log_probabilities(lm: Seq2SeqLM, source: list[int], target: list[int]) -> torch.Tensor:
    """One row, no cache, everything read again."""
    given = torch.tensor([[lm.model.config.decoder_start_token_id, *target]])
    return lm.model(input_ids=torch.tensor([source]), decoder_input_ids=given).logits[:, -1].log_softmax(-1)


def plainly(pair: Pair, source: list[int], sampling: Sampling, uniforms: np.ndarray) -> list[int]:
    """One row, one token at a time, by Eq. 4 as it is written."""
    segment: list[int] = []
    for step in range(len(uniforms)):
        target = [*pair.infilling.before, *segment]
        amateur, expert = (next_log_probabilities(lm, source, target) for lm in (pair.amateur, pair.expert))
        log_p = (amateur - sampling.gamma * (expert - amateur)).log_softmax(-1)
        log_p[:, pair.never_drawn] = -torch.inf
        if step == 0:
            log_p[:, pair.infilling.after[0]] = -torch.inf
        p = sampling_probabilities(log_p, sampling)[0].double()
        token = int((p.cumsum(0) <= uniforms[step] * p.sum()).sum())
        if token == pair.infilling.after[0]:
            break
        segment.append(token)
    return segment


@pytest.mark.parametrize("gamma", [0.0, -1.0, 0.8])
def test_sampling_equals_the_plain_way_token_for_token(pair: Pair, sources: list[list[int]], gamma: float) -> None:
    sampling = Sampling(gamma=gamma, temperature=0.7, top_k=40)
    uniforms = np.random.default_rng(1).random((len(sources), 7))
    found = sample_segments(pair, sources, sampling, uniforms, pair.never_drawn)
    assert found == [plainly(pair, source, sampling, u) for source, u in zip(sources, uniforms, strict=True)]


@pytest.mark.parametrize("token_budget", [1, 150])
def test_a_row_does_not_depend_on_its_batch(pair: Pair, sources: list[list[int]], token_budget: int) -> None:
    uniforms = np.random.default_rng(2).random((len(sources), 7))
    expected = sample_segments(pair, sources, Sampling(gamma=0.5), uniforms, pair.never_drawn)
    batched = sample_segments(
        pair, sources[::-1], Sampling(gamma=0.5), uniforms[::-1], pair.never_drawn, token_budget=token_budget
    )
    assert batched[::-1] == expected


def test_the_steps_of_a_dialogue_do_not_depend_on_its_company(pair: Pair, dialogues: Dialogues) -> None:
    together = dialogue_steps(pair, dialogues[:6])
    for i in (0, 5):
        (alone,) = dialogue_steps(pair, [dialogues[i]], token_budget=1)
        np.testing.assert_allclose(alone.momentum, together[i].momentum, atol=1e-5)
        np.testing.assert_array_equal(alone.turn, together[i].turn)


def test_positives_and_negatives_are_plain_text_that_is_written_alike(pair: Pair, dialogues: Dialogues) -> None:
    found = sample_negatives(pair, dialogues[:5], "content-multi", Sampling(gamma=0.5, longest=9), seed=0)
    assert found.positives == tuple(decode_dialogues(pair.amateur, pair.tokenise(dialogues[:5]).dialogues))
    assert len(found.negatives) == 5
    for text in (turn for turns in (*found.positives, *found.negatives) for turn in turns):
        assert not {"##", "[", "</", " ?", " ,", "Ġ"} & {text[i : i + n] for n in (1, 2) for i in range(len(text))}


def test_word_pieces_know_where_a_word_begins(pair: Pair) -> None:
    tokenised = pair.tokenise([("xyz the?",)])
    assert tokenised.spell(tokenised.dialogues[0]) == [["Ġx", "y", "z", "Ġthe", "Ġ?"]]


def test_turns_that_a_model_has_no_positions_for_are_refused(pair: Pair) -> None:
    pair.tokenise([("a " * 127,)])  # 127 tokens and the one that ends the segment
    with pytest.raises(
        SettingFault, match="128 positions, but reads sources of 60 tokens and writes turns of up to 129"
    ):
        pair.tokenise([("a " * 128,)])
    with pytest.raises(SettingFault, match="128 positions, but reads sources of 129"):
        Pair(pair.amateur, pair.expert, 129).tokenise([("a",)])


def test_an_amateur_that_stops_early_learns_the_first_gaps_of_the_expert(pair: Pair, dialogues: Dialogues) -> None:
    few, many, all_ = (Gaps(LONGEST, most=most).tasks(pair.amateur, dialogues)(7) for most in (5, 20, None))
    assert (len(few), len(many), len(all_)) == (5, 20, len(dialogues))
    assert few == many[:5]
    assert all(task in all_ for task in many)
