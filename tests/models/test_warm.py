"""Encoder-decoders that start from a BERT: what they keep of it, their cut vocabulary, saving and loading."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import BertModel, BertTokenizer

from core.faults import SettingFault
from models.infilling import segment_infilling
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyBert
from models.warm import WarmEncoderDecoder, cut_tokenizer

PIECES = [
    *("i", "do", "it", "not", "know", "sing", "##ing", "zebra", "é"),
    *("?", ",", "'", "a", "b", "z", "##a", "##b", "##z"),
]
TEXTS = ["I do not know, singing?", "do it"]


@pytest.fixture(scope="module")
def bert(saved_bert: Callable[..., Path]) -> Path:
    return saved_bert(PIECES, dimension=16, layers=2, max_length=64, seed=3)


@pytest.fixture(scope="module")
def warm(bert: Path) -> Seq2SeqLM:
    return WarmEncoderDecoder(str(bert)).build(TEXTS, ("</UTT>",), seed=0)


def test_the_vocabulary_is_what_the_texts_need_and_all_ascii_characters(warm: Seq2SeqLM, bert: Path) -> None:
    whole = BertTokenizer.from_pretrained(bert)
    tokens = set(warm.tokenizer.get_vocab())
    assert tokens == {*whole.get_vocab(), "</UTT>"} - {"zebra", "é"}
    for text in TEXTS:
        assert warm.tokenizer.tokenize(text) == whole.tokenize(text)
    assert warm.tokenizer.tokenize("zab") == ["z", "##a", "##b"]  # another text has no unknown word
    assert warm.model.config.vocab_size == len(tokens)
    assert set(warm.tokenizer.get_vocab().values()) == set(range(len(tokens)))


def test_encoder_and_decoder_have_the_weights_of_the_bert(warm: Seq2SeqLM, bert: Path) -> None:
    whole, old = BertModel.from_pretrained(bert), BertTokenizer.from_pretrained(bert)
    for part in (warm.model.encoder, warm.model.decoder.bert):
        for piece in ("[MASK]", "know", "##ing"):
            ours = part.embeddings.word_embeddings.weight[warm.tokenizer.get_vocab()[piece]]
            torch.testing.assert_close(ours, whole.embeddings.word_embeddings.weight[old.get_vocab()[piece]])
        separator = part.embeddings.word_embeddings.weight[warm.tokenizer.get_vocab()["</UTT>"]]
        torch.testing.assert_close(separator, whole.embeddings.word_embeddings.weight[old.sep_token_id])
    ids = warm.tokenizer(TEXTS[0], return_tensors="pt")
    theirs = old(TEXTS[0], return_tensors="pt")
    with torch.no_grad():
        expected = whole.eval()(**theirs).last_hidden_state
        torch.testing.assert_close(warm.model.get_encoder()(**ids).last_hidden_state, expected)
    head, table = warm.model.get_output_embeddings().weight, warm.model.decoder.bert.embeddings.word_embeddings.weight
    assert head.data_ptr() == table.data_ptr()


def test_only_the_encoders_embeddings_and_what_nothing_reads_do_not_learn(warm: Seq2SeqLM, bert: Path) -> None:
    parts = [name.split(".")[:2] for name, p in warm.model.named_parameters() if not p.requires_grad]
    assert {tuple(part) for part in parts} == {("encoder", "embeddings"), ("encoder", "pooler")}
    learning = WarmEncoderDecoder(str(bert), freeze_embeddings=False).build(TEXTS, (), seed=0).model
    assert all(p.requires_grad for p in learning.encoder.embeddings.parameters())


def test_a_saved_model_gives_the_same_likelihoods_and_decodes_alike(warm: Seq2SeqLM, tmp_path: Path) -> None:
    warm.save_pretrained(tmp_path)
    loaded = Seq2SeqLM.from_pretrained(tmp_path)
    infilling = segment_infilling(warm)
    assert infilling == segment_infilling(loaded)
    pairs = [([*infilling.begin, 7, *infilling.mask, *infilling.end], infilling.target(s)) for s in ([5], [6, 9, 8])]
    for ours, theirs in zip(warm.log_probabilities(pairs), loaded.log_probabilities(pairs), strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs))
    ids = warm.tokenizer(["I do not know, singing?"], add_special_tokens=False)["input_ids"]
    assert warm.tokenizer.batch_decode(ids) == loaded.tokenizer.batch_decode(ids) == ["i do not know, singing?"]
    assert loaded.max_length == 64


def test_the_frame_of_a_bert_stands_around_source_and_segment(warm: Seq2SeqLM) -> None:
    cls, sep, mask = (warm.tokenizer.get_vocab()[f"[{name}]"] for name in ("CLS", "SEP", "MASK"))
    infilling = segment_infilling(warm)
    assert (infilling.begin, infilling.mask, infilling.end) == ((cls,), (mask,), (sep,))
    assert infilling.target([9]) == [9, sep]
    assert warm.model.config.decoder_start_token_id == cls  # so that the target need not repeat it


def test_two_models_of_the_same_texts_have_one_tokenizer(warm: Seq2SeqLM, bert: Path) -> None:
    other = WarmEncoderDecoder(str(bert)).build(TEXTS, ("</UTT>",), seed=1)
    assert other.tokenizer.get_vocab() == warm.tokenizer.get_vocab()
    new = "decoder.bert.encoder.layer.0.crossattention.self.query.weight"
    assert not torch.equal(other.model.state_dict()[new], warm.model.state_dict()[new])


def test_only_a_bert_can_start_a_model(tmp_path: Path) -> None:
    lm = TinyBert(300, 16, 2, 1, 32).build(["some text"], (), seed=0)
    lm.save_pretrained(tmp_path)  # a BERT with a byte-level tokenizer
    with pytest.raises(SettingFault, match="must be a BERT"):
        WarmEncoderDecoder(str(tmp_path)).build(["some text"], (), seed=0)


def test_a_cut_tokenizer_keeps_its_special_tokens(bert: Path) -> None:
    cut = cut_tokenizer(BertTokenizer.from_pretrained(bert), [])
    assert [cut.pad_token_id, cut.unk_token_id, cut.cls_token_id, cut.sep_token_id, cut.mask_token_id] == [
        *(0, 1, 2, 3, 4)
    ]
    assert cut("know zz")["input_ids"] == [2, *(cut.get_vocab()[piece] for piece in ("[UNK]", "z", "##z")), 3]
