"""Networks: attention by hand, padding, the encoder with its tokens, and the causal LSTM beside full pooling."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import DistilBertConfig, DistilBertModel

from core.errors import SettingError
from discriminators.architectures.bert import BertClassifier
from discriminators.architectures.bilstm import AttentionBiLSTM
from discriminators.architectures.causal_lstm import CausalLSTM
from discriminators.discriminator import Discriminator, new_bert
from discriminators.networks import attention_pool
from discriminators.vocabulary import EncoderTokens
from models.encoders import load_encoder
from tests.toy_models import randomise


def masked(lengths: list[int], time: int) -> torch.Tensor:
    return torch.arange(time)[None, :] < torch.tensor(lengths)[:, None]


H = math.atanh(0.5)  # energies w^T tanh h = ln 3 * (1, 0), so the weights are 3/4 and 1/4


@pytest.mark.parametrize(
    ("hidden", "length", "w", "pooled", "weights"),
    [
        ([[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]], 2, [0.0, 0.0], [2.0, 4.0], [0.5, 0.5, 0.0]),
        ([[1.0, -2.0], [3.0, 6.0], [5.0, 0.5]], 1, [0.3, -2.0], [1.0, -2.0], [1.0, 0.0, 0.0]),
        ([[H], [0.0]], 2, [2 * math.log(3.0)], [0.75 * H], [0.75, 0.25]),
    ],
    ids=["w of 0 is the mean over real tokens", "one token has the weight 1", "by hand"],
)
def test_pooling(
    hidden: list[list[float]],
    length: int,
    w: list[float],
    pooled: list[float],
    weights: list[float],
):
    found = attention_pool(torch.tensor([hidden]), masked([length], len(hidden)), torch.tensor(w))
    torch.testing.assert_close(found, (torch.tensor([pooled]), torch.tensor([weights])))


@given(st.integers(1, 5), st.integers(0, 4), st.sampled_from([0.0, 1e4, float("inf"), float("nan")]))
@settings(max_examples=40, deadline=None)
def test_pooling_never_sees_padding(length: int, padding: int, filler: float):
    hidden, w = torch.randn(2, length, 3), torch.randn(3)
    padded = torch.cat([hidden, torch.full((2, padding, 3), filler)], dim=1)
    expected, _ = attention_pool(hidden, masked([length] * 2, length), w)
    pooled, weights = attention_pool(padded, masked([length] * 2, length + padding), w)
    torch.testing.assert_close(pooled, expected)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(2))


def test_hidden_states_are_those_of_a_packed_bidirectional_lstm():
    torch.manual_seed(0)
    model = AttentionBiLSTM(20, 8, 6).eval()
    lengths = [5, 2, 7]
    mask = masked(lengths, 7)
    ids = torch.randint(1, 20, (3, 7)).masked_fill(~mask, 0)
    oracle = torch.nn.LSTM(
        8,
        6,
        batch_first=True,
        bidirectional=True,
    )
    oracle.load_state_dict(
        model.forward_lstm.state_dict() | {f"{k}_reverse": v for k, v in model.backward_lstm.state_dict().items()}
    )
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        model.embedding(ids),
        torch.tensor(lengths),
        batch_first=True,
        enforce_sorted=False,
    )
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(oracle(packed)[0], batch_first=True)
    expected = states[..., :6] + states[..., 6:]
    torch.testing.assert_close(model.hidden(ids, mask)[mask], expected[mask])


def test_logit_is_the_head_of_the_pooled_states(toy_encoder: Path):
    network = new_bert(encoder=str(toy_encoder)).network.eval()
    assert isinstance(network, BertClassifier)
    ids = torch.tensor([[2, 5, 6, 3]])
    pooled = network.encoder(input_ids=ids).last_hidden_state[0].mean(dim=0)
    expected = network.head.weight[0] @ pooled + network.head.bias[0]
    padded, mask = torch.tensor([[2, 5, 6, 3, 0, 0]]), torch.tensor([[True] * 4 + [False] * 2])
    torch.testing.assert_close(network(padded, mask)[0], expected)


def test_segments_are_tokenised_apart_and_special_tokens_are_text(toy_encoder: Path):
    tokens = EncoderTokens(load_encoder(str(toy_encoder))[1], 64)
    assert (tokens.layout.start, tokens.layout.separator, tokens.layout.end, tokens.layout.pad) == ((2,), 3, (3,), 0)
    ids = tokens.encode(["red cat", "[SEP] [CLS]", ""])
    assert ids[0] == tokens.tokenizer.convert_tokens_to_ids(["red", "cat"])
    assert not {0, 2, 3} & set(ids[1])
    assert ids[2] == []
    assert len(tokens.encode(["red " * 500])[0]) == 500
    tokens.tokenizer.cls_token = None
    with pytest.raises(SettingError, match=r"needs cls, sep and pad tokens, but has no \['cls'\]"):
        _ = tokens.layout


@pytest.fixture
def folder(saved_bert: Callable[..., Path]) -> str:
    """A BERT of three layers."""
    sizes = {"dimension": 8, "layers": 3, "max_length": 16}
    return str(saved_bert(["a", "b"], **sizes))


def test_the_lowest_layers_are_those_of_the_whole_encoder(folder: str, tmp_path: Path) -> None:
    whole, cut = new_bert(encoder=folder), new_bert(encoder=folder, layers=2)
    tokens = {"input_ids": torch.tensor([[2, 5, 6, 3]]), "output_hidden_states": True}
    states = [each.network.eval().encoder(**tokens) for each in (whole, cut)]  # pyright: ignore[reportCallIssue]
    assert len(states[1].hidden_states) == 3
    torch.testing.assert_close(states[1].last_hidden_state, states[0].hidden_states[2])
    cut.save_pretrained(tmp_path)
    again = Discriminator.from_pretrained(tmp_path)
    assert again.logits([("a b",)])[0] == pytest.approx(cut.logits([("a b",)])[0])
    with pytest.raises(ValueError, match="between 1 and the 3 layers of the encoder, but is 4"):
        new_bert(encoder=folder, layers=4)


def test_frozen_layers_have_no_gradients(folder: str) -> None:
    network = new_bert(encoder=folder, frozen_layers=2).network
    network(torch.tensor([[2, 5, 6, 3]]), torch.ones(1, 4, dtype=torch.bool)).sum().backward()
    learned = {name.rpartition(".layer.")[2][0] for name, p in network.named_parameters() if p.grad is not None}
    assert learned == {"2", "h"}  # the last layer and the head
    with pytest.raises(ValueError, match="frozen_layers must be between 0 and the 3 layers that are kept, but is 4"):
        new_bert(encoder=folder, frozen_layers=4)
    fixed = new_bert(encoder=folder, freeze_embeddings=True).network.named_parameters()
    frozen = [name for name, p in fixed if not p.requires_grad and "pooler" not in name]  # the pooler never learns
    assert frozen == ["encoder.embeddings.word_embeddings.weight"]
    with pytest.raises(SettingError, match=r"^max_length must be at most the 16 that .* can read, but is 17$"):
        new_bert(encoder=folder, max_length=17)


@pytest.mark.parametrize(("given", "found"), [(None, 0.1), (0.0, 0.0)])
def test_attention_dropout_replaces_that_of_the_encoder(folder: str, given: Any, found: float) -> None:
    parts = new_bert(encoder=folder, attention_dropout=given).network.named_modules()
    rates = {name: getattr(part, "p", None) for name, part in parts if name.endswith("dropout")}
    assert [rate for name, rate in rates.items() if name.endswith("self.dropout")] == [found] * 3
    assert {rate for name, rate in rates.items() if not name.endswith("self.dropout")} == {0.1}


def test_an_encoder_of_another_type_is_frozen_and_keeps_its_names(folder: str) -> None:
    config = DistilBertConfig(
        vocab_size=7,
        dim=8,
        n_layers=3,
        n_heads=2,
        hidden_dim=16,
        max_position_embeddings=16,
    )
    DistilBertModel(config).save_pretrained(folder)
    network = new_bert(encoder=folder, frozen_layers=2, attention_dropout=0.0).network
    assert network.get_submodule("encoder").config.attention_dropout == 0.0  # pyright: ignore[reportAttributeAccessIssue]
    learned = {name.partition(".layer.")[2][:1] for name, p in network.named_parameters() if p.requires_grad}
    assert learned == {"2", ""}


def toy_lstm(vocabulary: int = 20, w: float = 1.0) -> CausalLSTM:
    network = CausalLSTM(vocabulary, 8, 6)
    randomise(network)
    network.w.data.mul_(w)
    return network


def ids(rows: int, time: int, vocabulary: int = 20) -> torch.Tensor:
    return torch.randint(
        0,
        vocabulary,
        (rows, time),
        generator=torch.Generator().manual_seed(1),
    )


@pytest.mark.parametrize("w", [0.0, 1.0, 40.0])  # mean, ordinary and nearly hard attention
def test_the_running_form_equals_full_pooling_at_every_position(w: float) -> None:
    network, tokens = toy_lstm(w=w), ids(4, 30)
    everywhere = network(tokens, torch.ones_like(tokens, dtype=torch.bool))
    hidden, _ = network.lstm(network.embedding(tokens))
    state = network.start(4)
    for t in range(30):
        pooled, _ = attention_pool(hidden[:, : t + 1], torch.ones(4, t + 1, dtype=torch.bool), network.w)
        oracle = network.head(torch.tanh(pooled)).squeeze(-1)
        candidate = network.candidates(state, tokens[:, t : t + 1]).squeeze(1)
        torch.testing.assert_close(
            everywhere[:, t],
            oracle,
            atol=1e-5,
            rtol=1e-5,
        )
        torch.testing.assert_close(
            candidate,
            oracle,
            atol=1e-5,
            rtol=1e-5,
        )
        state = network.advance(state, tokens[:, t])
