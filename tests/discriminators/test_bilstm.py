"""The attention Bi-LSTM: pooling by hand, reversal, padding."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from discriminators.networks import AttentionBiLSTM, attention_pool, reversal


def masked(lengths: list[int], time: int) -> torch.Tensor:
    return torch.arange(time)[None, :] < torch.tensor(lengths)[:, None]


def test_pooling_with_w_zero_is_the_mean_over_real_tokens():
    hidden = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]]])
    pooled, weights = attention_pool(hidden, masked([2], 3), torch.zeros(2))
    torch.testing.assert_close(pooled, torch.tensor([[2.0, 4.0]]))
    torch.testing.assert_close(weights, torch.tensor([[0.5, 0.5, 0.0]]))


def test_pooling_of_one_token_gives_it_the_weight_one():
    hidden = torch.randn(1, 4, 3)
    pooled, weights = attention_pool(hidden, masked([1], 4), torch.randn(3))
    assert weights.tolist() == [[1.0, 0.0, 0.0, 0.0]]
    torch.testing.assert_close(pooled, hidden[:, 0])


def test_pooling_by_hand():
    # energies w^T tanh h = ln 3 * (1, 0), so the weights are 3/4 and 1/4
    h = math.atanh(0.5)
    hidden = torch.tensor([[[h], [0.0]]])
    pooled, weights = attention_pool(hidden, masked([2], 2), torch.tensor([2 * math.log(3.0)]))
    torch.testing.assert_close(weights, torch.tensor([[0.75, 0.25]]))
    torch.testing.assert_close(pooled, torch.tensor([[0.75 * h]]))


@given(st.integers(1, 5), st.integers(0, 4), st.sampled_from([0.0, 1e4, float("inf"), float("nan")]))
@settings(max_examples=40, deadline=None)
def test_pooling_never_sees_padding(length: int, padding: int, filler: float):
    hidden, w = torch.randn(2, length, 3), torch.randn(3)
    padded = torch.cat([hidden, torch.full((2, padding, 3), filler)], dim=1)
    expected, _ = attention_pool(hidden, masked([length] * 2, length), w)
    pooled, weights = attention_pool(padded, masked([length] * 2, length + padding), w)
    torch.testing.assert_close(pooled, expected)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(2))


def test_reversal_is_its_own_inverse():
    positions = reversal(masked([3, 1, 4], 4))
    assert positions.tolist() == [[2, 1, 0, 3], [0, 1, 2, 3], [3, 2, 1, 0]]
    assert positions.gather(1, positions).tolist() == [[0, 1, 2, 3]] * 3


def test_hidden_states_are_those_of_a_packed_bidirectional_lstm():
    torch.manual_seed(0)
    model = AttentionBiLSTM(20, 8, 6).eval()
    lengths = [5, 2, 7]
    mask = masked(lengths, 7)
    ids = torch.randint(1, 20, (3, 7)).masked_fill(~mask, 0)
    oracle = torch.nn.LSTM(8, 6, batch_first=True, bidirectional=True)
    oracle.load_state_dict(
        model.forward_lstm.state_dict() | {f"{k}_reverse": v for k, v in model.backward_lstm.state_dict().items()}
    )
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        model.embedding(ids), torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(oracle(packed)[0], batch_first=True)
    expected = states[..., :6] + states[..., 6:]
    torch.testing.assert_close(model.hidden(ids, mask)[mask], expected[mask])


@pytest.mark.parametrize("filler", [0, 3])
def test_padding_changes_no_logit(filler: int):
    torch.manual_seed(0)
    model = AttentionBiLSTM(20, 8, 6).eval()
    model.w.data.normal_()
    ids = torch.randint(1, 20, (1, 4))
    padded = torch.cat([ids, torch.full((1, 3), filler)], dim=1)
    torch.testing.assert_close(model(padded, masked([4], 7)), model(ids, masked([4], 4)))
