"""A table of model families: how each family marks a gap in a text, as strings of its tokenizer.

A model is recognised by its type (encoder-decoder models) or by the tokens of its vocabulary (causal models).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from transformers import PreTrainedTokenizerBase

from core.errors import InputError, SettingError, fault
from core.settings import check
from models.folders import find_folder

BEFORE = "{before}"  # in a source: the text before the gap
AFTER = "{after}"  # the text after it
AROUND = "{around}"  # both, as one text without a mark
START = "{start}"  # the token that a causal model starts from: bos, or eos
TEXTS = (BEFORE, AFTER, AROUND)

# How a causal model reads the text around a gap. Left to right it reads what precedes the gap alone.
Order = Literal["fill-in-the-middle", "left-to-right"]
# Spaces at the edges of a gap are kept, dropped, or begin what follows them: BPE has its spaces before words.
Spaces = Literal["kept", "dropped", "begin"]


@dataclass(frozen=True)
class Family:
    """How a family of models marks a gap, what the models write for it, and in which order they read the parts."""

    # for signatures and messages
    name: str
    # what the model reads, in its order: marks, and `TEXTS`; what its tokenizer puts around a text frames all of it
    source: tuple[str, ...]
    # precedes the segment in the target; given to the model
    opening: str = ""
    # ends the segment in the target; empty where nothing ends a segment
    closing: str = ""
    # whether CTRLEval scores `closing` in a segment that must close, as in its released program
    closes: bool = True
    spaces: Spaces = "begin"
    # the source and then the target are read as one sequence
    causal: bool = False
    # the target is the whole text, and the segment a part of it
    whole_text: bool = False
    # the target is the source without a mark, then the segment; implies `whole_text`
    source_first: bool = False
    # encoded before texts that go on within a sentence, and removed again: a tokenizer of SentencePiece's kind puts a
    # space before every text
    anchor: str = ""
    # the types of encoder-decoder models that belong to it
    model_types: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """The tokens that mark a gap in the source."""
        return tuple(part for part in self.source if part not in TEXTS)

    @property
    def mask(self) -> str:
        """The token in the gap itself; empty if the family has none."""
        if BEFORE not in self.source:
            return ""
        behind = self.source[self.source.index(BEFORE) + 1 :]
        return behind[0] if behind and behind[0] not in TEXTS else ""

    @property
    def reads_after(self) -> bool:
        """Whether models of the family read the text after a gap; a left-to-right model does not."""
        return AFTER in self.source or AROUND in self.source

    def show(self, before: str, after: str) -> str:
        """Returns the source as readable text: the mask in the gap, without a part that the model does not read."""
        return f"{before}{self.mask}{after if self.reads_after else ''}"

    def without_mask(self) -> "Family":
        """Returns a copy of the family without a mask in the source, as BARTScore reads texts (CTRLEval, Table 5)."""
        source = (START, AROUND) if self.causal else (AROUND,)
        return replace(self, name=f"{self.name}_without_mask", source=source, opening="", whole_text=False)

    def with_source_first(self) -> "Family":
        """Returns the family without a mask, whose target begins with the source, as in PPL-GPT (CTRLEval, Table 5).

        A causal model reads both as one sequence, so for it this equals `without_mask`.
        """
        bare = replace(self.without_mask(), name=f"{self.name}_source_first")
        return bare if self.causal else replace(bare, whole_text=True, source_first=True)


def middle(name: str, source: tuple[str, ...], closing: str, anchor: str = "") -> Family:
    """Makes a family of causal models that fill in the middle (Bavarian et al. 2022)."""
    return Family(name, source, closing=closing, causal=True, anchor=anchor)


# PEGASUS learned texts whose sentences are encoded one by one, with one id in place of a sentence. CTRLEval's released
# program (transformers 4.4.2) reads the same; transformers 5 puts a lone word-start piece between a space and the mask.
PEGASUS = Family(
    "pegasus",
    (BEFORE, "<mask_1>", AFTER),
    closing="</s>",
    spaces="dropped",
    model_types=("pegasus", "pegasus_x", "bigbird_pegasus"),
)
T5 = Family(
    "t5",
    (BEFORE, "<extra_id_0>", AFTER),
    opening="<extra_id_0>",
    closing="<extra_id_1>",
    closes=False,
    spaces="kept",
    model_types=("t5", "mt5", "umt5", "longt5"),
)
BART = Family(
    "bart",
    (BEFORE, "<mask>", AFTER),
    closing="</s>",
    closes=False,
    spaces="kept",
    whole_text=True,
    model_types=("bart", "mbart", "led"),
)
ENCODER_DECODERS = (PEGASUS, T5, BART)

LEFT_TO_RIGHT = Family("left_to_right", (START, BEFORE), causal=True)
# Several share some tokens. The first family all of whose tokens a vocabulary has is that of the model.
MIDDLES = (
    # CodeGemma; Gemma 3 has none of these tokens
    middle("codegemma", ("<|fim_prefix|>", BEFORE, "<|fim_suffix|>", AFTER, "<|fim_middle|>"), "<|file_separator|>"),
    # Qwen2.5-Coder, Qwen3-Coder; documented for base models, and the tokens of the instruct models are trained, too
    middle("qwen", ("<|fim_prefix|>", BEFORE, "<|fim_suffix|>", AFTER, "<|fim_middle|>"), "<|endoftext|>"),
    # StarCoder, StarCoder2, Granite code models, StableCode
    middle("starcoder", ("<fim_prefix>", BEFORE, "<fim_suffix>", AFTER, "<fim_middle>"), "<|endoftext|>"),
    middle("santacoder", ("<fim-prefix>", BEFORE, "<fim-suffix>", AFTER, "<fim-middle>"), "<|endoftext|>"),
    # base models alone were trained to fill gaps
    middle(
        "deepseek_coder", ("<｜fim▁begin｜>", BEFORE, "<｜fim▁hole｜>", AFTER, "<｜fim▁end｜>"), "<｜end▁of▁sentence｜>"
    ),
    # CodeLlama 7B and 13B; ids 32007 to 32010 of the published vocabulary
    middle("codellama", ("▁<PRE>", BEFORE, "▁<SUF>", AFTER, "▁<MID>"), "▁<EOT>", anchor="☺"),
    # reads what follows first, so that the segment goes on from the text before it
    middle("codestral", ("[SUFFIX]", AFTER, "[PREFIX]", BEFORE), "</s>", anchor="☺"),
    # models from scratch (`cdm.infilling.Gaps`)
    middle("small", ("<fim_prefix>", BEFORE, "<fim_suffix>", AFTER, "<fim_middle>"), START),
)
SMALL = MIDDLES[-1]

T5_IDS = {"<extra_id_0>": 32099, "<extra_id_1>": 32098, "</s>": 1, "<unk>": 2}
BART_IDS = {"<mask>": 50264, "</s>": 2, "<unk>": 3}
PEGASUS_IDS = {"<mask_1>": 2, "</s>": 1, "<unk>": 105}
# by type of model and its number of tokens; others were trained with a vocabulary of their own
PRETRAINED: Mapping[tuple[str, int], Mapping[str, int]] = {
    ("pegasus", 96103): PEGASUS_IDS,
    ("pegasus_x", 96103): PEGASUS_IDS,
    ("t5", 32128): T5_IDS,
    ("longt5", 32128): T5_IDS,
    ("mt5", 250112): {"<extra_id_0>": 250099, "<extra_id_1>": 250098, "</s>": 1, "<unk>": 2},
    ("bart", 50265): BART_IDS,
    ("bart", 50264): BART_IDS,  # facebook/bart-large-cnn, which lost its mask
    ("led", 50265): BART_IDS,
}
VOCABULARIES = ("tokenizer.json", "spiece.model", "vocab.json")


def find_family(config: Any, tokenizer: PreTrainedTokenizerBase, order: Order | None = None) -> Family:
    """Finds the family of a model from its configuration and its vocabulary.

    `order` says how a causal model reads. With None it fills in the middle if its vocabulary has the tokens of a family
    that does so; otherwise it reads left to right.

    Raises SettingError for an encoder-decoder model of an unknown type or with an `order`, and if a model without the
    tokens of a family should fill in the middle. Raises InputError as `check_ids` does.
    """
    if order is not None:
        check(Order, order=order)
    if config.is_encoder_decoder:
        return _find_encoder_decoder(config, tokenizer, order)
    if order == "left-to-right":
        return LEFT_TO_RIGHT
    vocabulary = tokenizer.get_vocab()
    for family in MIDDLES:
        needed = {*family.marks, family.closing} - {START}
        if needed <= vocabulary.keys():
            return family
    if order is None:
        return LEFT_TO_RIGHT
    raise SettingError(
        f"fill-in-the-middle needs the tokens of one of {', '.join(family.name for family in MIDDLES)}, such as "
        f"{MIDDLES[1].marks[0]}, but {type(tokenizer).__name__} of {tokenizer.name_or_path!r} has none of them: choose "
        "another model, or the order left-to-right"
    )


def _find_encoder_decoder(config: Any, tokenizer: PreTrainedTokenizerBase, order: Order | None) -> Family:
    if order is not None:
        raise SettingError(
            f"order is for causal models, but the model is an encoder-decoder of the type {config.model_type!r}: "
            "leave it out"
        )
    for family in ENCODER_DECODERS:
        if config.model_type in family.model_types:
            check_ids(config, tokenizer)
            return family
    types = [model_type for family in ENCODER_DECODERS for model_type in family.model_types]
    raise SettingError(
        f"infilling is known for causal models and for {', '.join(types)}, but the model is of the type "
        f"{config.model_type!r}"
    )


def check_ids(config: Any, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raises InputError if the id of the mask, end or unknown token differs from that in pretraining."""
    size = config.vocab_size
    pretrained_ids = PRETRAINED.get((config.model_type, size), {})
    name = str(tokenizer.name_or_path)
    folder = find_folder(name) or Path(name)
    vocabularies = [folder / file for file in VOCABULARIES if (folder / file).is_file()]
    file = vocabularies[0] if vocabularies else name
    kind = config.model_type
    faults: list[str] = []
    for token, expected in pretrained_ids.items():
        actual = tokenizer.convert_tokens_to_ids(token)
        if actual != expected:
            what = f"a {kind} of {size} tokens learned {token} as the id {expected}, but here it is {actual}"
            faults.append(fault(file, 0, what))
    for token, expected in pretrained_ids.items():
        if expected >= size:
            what = f"{token} has the id {expected}, but the {kind} has {size} tokens: it cannot fill gaps"
            faults.append(fault(file, 0, what))
    if faults:
        raise InputError(faults)
