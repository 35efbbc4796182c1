"""Encoder-decoder models that start from a pretrained encoder (Rothe et al. 2020, BERT2BERT).

Encoder and decoder begin with the weights of the pretrained encoder. The cross-attention and the transformation in
front of the output layer are new. The output layer is the decoder's table of embeddings.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from transformers import (
    BertConfig,
    BertLMHeadModel,
    BertModel,
    BertTokenizer,
    EncoderDecoderConfig,
    EncoderDecoderModel,
)

from core.faults import SettingFault
from core.settings import Share, checked_dataclass
from models.encoders import load_encoder
from models.model import plain_token_ids
from models.seq2seq import Seq2SeqLM


@checked_dataclass
class WarmEncoderDecoder:
    """An encoder-decoder to build from a BERT.

    Its vocabulary is the pieces that the texts need and all ASCII characters. Two models of the same texts have the
    same tokenizer.

    Attributes:
        encoder: `offline` (all-MiniLM-L6-v2), a hub name or a folder of a BERT.
        freeze_embeddings: the encoder's embeddings do not learn.
        dropout: of hidden states and attention.
    """

    encoder: str = "offline"
    freeze_embeddings: bool = True
    dropout: Share = 0.0

    def build(self, texts: Sequence[str], additional: tuple[str, ...], seed: int) -> Seq2SeqLM:
        """The model before training; the embeddings of the `additional` special tokens are those of `[SEP]`.

        Raises MissingModel where neither a folder nor a reachable hub has the encoder, SettingFault for one that is no
        BERT.
        """
        bert, whole = load_encoder(self.encoder)
        if not isinstance(bert, BertModel) or not isinstance(whole, BertTokenizer):
            raise SettingFault(
                f"encoder must be a BERT with its tokenizer, but {self.encoder} is a {type(bert).__name__}"
            )
        tokenizer = cut_tokenizer(whole, texts)
        old_ids = whole.get_vocab()
        rows = [old_ids[piece] for piece in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]
        tokenizer.add_special_tokens({"additional_special_tokens": list(additional)}, False)
        rows += [old_ids["[SEP]"]] * (len(tokenizer) - len(rows))
        settings: dict[str, Any] = {
            **bert.config.to_dict(),
            "vocab_size": len(tokenizer),
            "pad_token_id": tokenizer.pad_token_id,
            "hidden_dropout_prob": self.dropout,
            "attention_probs_dropout_prob": self.dropout,
        }
        weights = bert.state_dict()
        weights["embeddings.word_embeddings.weight"] = weights["embeddings.word_embeddings.weight"][rows]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            encoder = BertModel(BertConfig(**settings))
            decoder = BertLMHeadModel(BertConfig(**{**settings, "is_decoder": True, "add_cross_attention": True}))
        encoder.load_state_dict(weights)
        found = decoder.bert.load_state_dict(weights, strict=False)
        assert all("crossattention" in name for name in found.missing_keys), found.missing_keys
        config = EncoderDecoderConfig.from_encoder_decoder_configs(
            encoder.config,
            decoder.config,
            vocab_size=len(tokenizer),
            pad_token_id=tokenizer.pad_token_id,
            decoder_start_token_id=tokenizer.cls_token_id,
            max_position_embeddings=bert.config.max_position_embeddings,
        )
        if self.freeze_embeddings:
            encoder.embeddings.requires_grad_(False)
        for parameter in encoder.get_submodule("pooler").parameters():
            parameter.requires_grad_(False)  # the decoder does not read it
        return Seq2SeqLM(EncoderDecoderModel(config, encoder, decoder).eval(), tokenizer)


def cut_tokenizer(tokenizer: BertTokenizer, texts: Iterable[str]) -> BertTokenizer:
    """The tokenizer with the pieces of the texts, all ASCII characters and the special tokens.

    It splits the texts as before. In other texts every word of ASCII characters stays known. Decoding leaves no blank
    before punctuation.
    """
    used = {token for row in plain_token_ids(tokenizer, list(texts)) for token in row}
    used |= set(tokenizer.all_special_ids)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    kept = [piece for piece, token in pieces if token in used or _is_ascii_character(piece)]
    return BertTokenizer(
        {piece: i for i, piece in enumerate(kept)},
        do_lower_case=tokenizer.do_lower_case,
        strip_accents=tokenizer.strip_accents,
        tokenize_chinese_chars=tokenizer.tokenize_chinese_chars,
        clean_up_tokenization_spaces=True,
        model_max_length=tokenizer.model_max_length,
    )


def _is_ascii_character(piece: str) -> bool:
    character = piece.removeprefix("##")
    return len(character) == 1 and character.isascii()
