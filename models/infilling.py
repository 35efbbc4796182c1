"""Infilling conventions: how a family of models marks a gap, and what it writes for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import AutoConfig, PreTrainedTokenizerBase

from core.faults import InputFaults, SettingFault, fault
from core.settings import Count, checked_dataclass
from models.causal import CausalLM
from models.folders import find_folder
from models.loading import load_pretrained, load_tokenizer
from models.model import ConditionalLM, readable_tokens, special_frame
from models.seq2seq import Seq2SeqLM
from models.windows import cut_beginning, find_near


@dataclass(frozen=True)
class Infilling:
    """Source: `begin`, text with `mask` in the gap, `end`. Target: `before`, the missing tokens, `after`.

    The model is given the tokens of `before`, which are never scored. `after` ends the segment and is scored.
    """

    mask: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    end: tuple[int, ...]
    begin: tuple[int, ...] = ()
    # whether the source goes on behind the gap
    reads_right: bool = True

    def target(self, segment: Sequence[int]) -> list[int]:
        """The target ids for a missing segment."""
        return [*self.before, *segment, *self.after]


def segment_infilling(lm: ConditionalLM) -> Infilling:
    """How an encoder-decoder model reads one gap and writes the segment that belongs there.

    T5 and its kind have sentinels. Others have a mask token (PEGASUS `<mask_1>`, BART `<mask>`): their tokenizers frame
    source and segment as they frame a text, and the token that ends a text ends the segment.

    Raises SettingFault for a tokenizer with neither, or without a token that ends a text; InputFaults as `check_ids`.
    """
    tokenizer = lm.tokenizer
    check_ids(lm.model.config, tokenizer)
    vocabulary = tokenizer.get_vocab()
    if "<extra_id_0>" in vocabulary:
        return sentinel_infilling(tokenizer)
    begin, end = special_frame(tokenizer)
    mask = PEGASUS.mask if PEGASUS.mask in vocabulary else tokenizer.mask_token
    if mask is None or len(end) != 1:
        raise SettingFault(
            "infilling needs a tokenizer with sentinels (<extra_id_0>, <extra_id_1>), or with a mask token and one "
            f"token that ends a text, but {type(tokenizer).__name__} of {tokenizer.name_or_path!r} has neither"
        )
    before = () if begin == (lm.model.config.decoder_start_token_id,) else begin
    return Infilling(mask=(_single(tokenizer, str(mask)),), before=before, after=end, end=end, begin=begin)


MIDDLE = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")


def middle_infilling(lm: CausalLM) -> Infilling:
    """Fill-in-the-middle (Bavarian et al. 2022): prefix, suffix, and then the segment, each behind a token of `MIDDLE`.

    Raises SettingFault for a tokenizer without the three tokens.
    """
    prefix, suffix, middle = (_single(lm.tokenizer, token) for token in MIDDLE)
    return Infilling(mask=(suffix,), before=(), after=(lm.start,), end=(middle,), begin=(prefix,))


def sentinel_infilling(tokenizer: PreTrainedTokenizerBase) -> Infilling:
    """T5's convention: `<extra_id_0>` in the source, which `</s>` ends, `<extra_id_0> segment <extra_id_1>` the target.

    Raises SettingFault for a tokenizer without these sentinels.
    """
    first, second, end = (_single(tokenizer, t) for t in ("<extra_id_0>", "<extra_id_1>", str(tokenizer.eos_token)))
    return Infilling(mask=(first,), before=(first,), after=(second,), end=(end,))


@dataclass(frozen=True)
class Convention:
    """How a family of models fills one gap, in the strings of its tokenizer."""

    # stands for the gap in the source; empty without a mask
    mask: str
    # precedes the segment in the target; given to the model
    before: str = ""
    # follows the segment in the target; never scored
    after: str = ""
    # ends the segment and is scored in closed segments; empty if nothing ends a segment
    closing: str = ""
    # the target is the whole text, not the segment alone
    whole_text: bool = False
    # the target is the source, then the segment; implies `whole_text`
    source_first: bool = False
    # the text on each side of the mask is encoded by itself, without blanks at its ends
    apart: bool = False

    def without_mask(self) -> "Convention":
        """The pattern functions of BARTScore: nothing in the source says where the segment belongs (Table 5)."""
        return replace(self, mask="", before="", after="", whole_text=False, apart=False)

    def with_source_first(self) -> "Convention":
        """The pattern functions of PPL-GPT: no mask, and the target begins with the source (Table 5)."""
        return replace(self.without_mask(), whole_text=True, source_first=True)


# PEGASUS learned texts whose sentences are encoded one by one, with one id in place of a sentence. CTRLEval's released
# program (transformers 4.4.2) reads the same; transformers 5 puts a lone word-start piece between a blank and the mask.
PEGASUS = Convention(mask="<mask_1>", closing="</s>", apart=True)
T5 = Convention(mask="<extra_id_0>", before="<extra_id_0>", after="<extra_id_1>")
BART = Convention(mask="<mask>", whole_text=True)
OF_MODEL_TYPE = {
    **dict.fromkeys(("pegasus", "pegasus_x", "bigbird_pegasus"), PEGASUS),
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5"), T5),
    **dict.fromkeys(("bart", "mbart", "led"), BART),
}

T5_IDS = {"<extra_id_0>": 32099, "<extra_id_1>": 32098, "</s>": 1, "<unk>": 2}
BART_IDS = {"<mask>": 50264, "</s>": 2, "<unk>": 3}
PEGASUS_IDS = {"<mask_1>": 2, "</s>": 1, "<unk>": 105}
# by type of model and its number of tokens; others were trained with a vocabulary of their own
PRETRAINED = {
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


def check_ids(config: Any, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raises InputFaults, with the file, for ids of mask, end or unknown token that differ from the pretraining's."""
    size = config.vocab_size
    wanted = PRETRAINED.get((config.model_type, size), {})
    name = str(tokenizer.name_or_path)
    folder = find_folder(name) or Path(name)
    file = next((folder / each for each in VOCABULARIES if (folder / each).is_file()), name)
    faults = [
        fault(file, 0, f"a {config.model_type} of {size} tokens learned {token} as the id {i}, but here it is {found}")
        for token, i in wanted.items()
        if (found := tokenizer.convert_tokens_to_ids(token)) != i
    ]
    faults += [
        fault(file, 0, f"{token} has the id {i}, but the {config.model_type} has {size} tokens: it cannot fill gaps")
        for token, i in wanted.items()
        if i >= size
    ]
    if faults:
        raise InputFaults(faults)


def convention_of(model_type: str) -> Convention:
    """The convention of a type of model. Raises SettingFault for an unknown one."""
    if model_type not in OF_MODEL_TYPE:
        raise SettingFault(
            f"the infilling convention is known for {', '.join(OF_MODEL_TYPE)}, but the model is of the type "
            f"{model_type!r}"
        )
    return OF_MODEL_TYPE[model_type]


@dataclass(frozen=True)
class Infill:
    """One gap as token ids: the source, the target, and the scored part of the target."""

    # encoder input ids
    source: tuple[int, ...]
    # decoder target ids
    target: tuple[int, ...]
    # target[start:stop] is the segment
    start: int
    stop: int
    # where the mask stands in the source; -1 without one
    mask: int
    # target[:frame] precedes every segment in this convention
    frame: int = 0

    @property
    def longest(self) -> int:
        """How many tokens the model must read or write at once."""
        return max(len(self.source), len(self.target))

    def cut(self, max_length: int, around: bool) -> tuple["Infill", int]:
        """The part that fits into `max_length` tokens of source and of target, and how many tokens are lost.

        The mask and the token that ends the source stay. With `around`, the source keeps the tokens nearest to the
        gap, else its beginning. The target keeps its frame and the beginning of the segment; text before the segment
        goes first.

        >>> Infill((1, 2, 9, 4, 5, 0), (7, 8), 0, 2, mask=2).cut(4, around=True)[0].source
        (2, 9, 4, 0)
        >>> Infill((1, 2, 9, 4, 5, 0), (7, 8), 0, 2, mask=2).cut(4, around=False)[0].source
        (1, 2, 9, 0)
        """
        body, end = self.source[:-1], self.source[-1:]
        part = find_near(len(body), max(self.mask, 0), max_length - len(end), centred=around)
        source = (*body[part.start : part.stop], *end)
        room = max_length - self.frame
        segment = self.target[self.start : self.stop][:room]
        before = cut_beginning(self.target[self.frame : self.start], room - len(segment))
        target = (*self.target[: self.frame], *before, *segment, *self.target[self.stop :])[:max_length]
        start, mask = self.frame + len(before), self.mask - part.start if self.mask >= 0 else -1
        dropped = len(self.source) - len(source) + len(self.target) - len(target)
        return Infill(source, target, start, start + len(segment), mask, self.frame), dropped


def encode_infills(
    tokenizer: PreTrainedTokenizerBase,
    convention: Convention,
    gaps: Sequence[tuple[str, str, str]],
    closed: bool = False,
) -> list[Infill]:
    """Gaps (text before, missing segment, text after) as a model of this convention reads and writes them.

    With `closed`, the closing token of the segment is scored too.

    Raises SettingFault for a tokenizer that does not know the mask as one token.
    """
    if not gaps:
        return []  # the tokenizer refuses an empty list
    mask_id = _single(tokenizer, convention.mask) if convention.mask else None
    sources = _sources(tokenizer, convention, gaps)
    if convention.source_first:
        gaps = [(f"{_joined(before, after)} ".lstrip(), segment, "") for before, segment, after in gaps]
    segments = _segments(tokenizer, convention, gaps)
    closing = [_single(tokenizer, convention.closing)] if closed and convention.closing else []
    frame = 1 if convention.before else 0
    infills: list[Infill] = []
    for source, (target, start, stop) in zip(sources, segments, strict=True):
        at = source.index(mask_id) if mask_id is not None else -1
        infills.append(Infill(tuple(source), (*target, *closing), start, stop + len(closing), at, frame))
    return infills


def _single(tokenizer: PreTrainedTokenizerBase, token: str) -> int:
    found = tokenizer.convert_tokens_to_ids(token)
    if not isinstance(found, int) or found == tokenizer.unk_token_id:
        raise SettingFault(
            f"the infilling convention needs {token!r} as one token, but {type(tokenizer).__name__} of "
            f"{tokenizer.name_or_path!r} does not know it"
        )
    return found


def _sources(
    tokenizer: PreTrainedTokenizerBase, convention: Convention, gaps: Sequence[tuple[str, str, str]]
) -> list[list[int]]:
    """Source ids, with what the tokenizer puts before and after a text."""
    if convention.apart:
        (begin, end), mask = special_frame(tokenizer), _single(tokenizer, convention.mask)
        sides = [(before.strip(), after.strip()) for before, _, after in gaps]
        texts = list(dict.fromkeys(side for both in sides for side in both))
        ids = dict(zip(texts, tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"], strict=True))
        return [[*begin, *ids[left], mask, *ids[right], *end] for left, right in sides]
    if convention.mask:
        # a mask of BART stands for the blank before its words too, which not every form of its vocabulary says
        lefts = [before.rstrip() if convention.whole_text else before for before, _, _ in gaps]
        texts = [f"{left}{convention.mask}{after}" for left, (_, _, after) in zip(lefts, gaps, strict=True)]
    else:
        texts = [_joined(before, after) for before, _, after in gaps]
    distinct = list(dict.fromkeys(texts))
    encoded = dict(zip(distinct, tokenizer(distinct, verbose=False)["input_ids"], strict=True))  # pyright: ignore
    return [encoded[text] for text in texts]


def _joined(before: str, after: str) -> str:
    """The text around a gap that is not shown, with one blank in place of several."""
    return " ".join(f"{before}{after}".split())


def _segments(
    tokenizer: PreTrainedTokenizerBase, convention: Convention, gaps: Sequence[tuple[str, str, str]]
) -> list[tuple[list[int], int, int]]:
    """Target ids with the place of the segment in them."""
    if not convention.whole_text:
        before, after = ([_single(tokenizer, t)] if t else [] for t in (convention.before, convention.after))
        ids = tokenizer([segment for _, segment, _ in gaps], add_special_tokens=False, verbose=False)["input_ids"]
        return [([*before, *segment, *after], len(before), len(before) + len(segment)) for segment in ids]
    texts = [f"{before}{segment}{after}" for before, segment, after in gaps]
    special = not convention.source_first
    encoded = tokenizer(texts, add_special_tokens=special, return_offsets_mapping=True, verbose=False)
    found: list[tuple[list[int], int, int]] = []
    for ids, offsets, (before, segment, _) in zip(encoded["input_ids"], encoded["offset_mapping"], gaps, strict=True):
        inside = [i for i, (a, b) in enumerate(offsets) if b > a and b > len(before) and a < len(before) + len(segment)]
        found.append((list(ids), inside[0] if inside else 0, inside[-1] + 1 if inside else 0))
    return found


@checked_dataclass
class Infiller:
    """A model that fills gaps, and what is needed before it is loaded."""

    # loads the model; called when the first gap is scored
    load: Callable[[], Seq2SeqLM]
    # of that model
    tokenizer: PreTrainedTokenizerBase
    # how the model fills gaps
    convention: Convention
    # tokens that the model reads or writes at once
    max_length: Count

    @classmethod
    def from_pretrained(cls, model: str | Path, device: str = "cpu", dtype: str = "float32") -> "Infiller":
        """A hub name or a folder, whose weights are loaded at first use.

        Raises SettingFault for a type of model whose convention is unknown, InputFaults as `check_ids`.
        """
        config = load_pretrained(AutoConfig.from_pretrained, model)
        tokenizer = load_tokenizer(model)
        check_ids(config, tokenizer)
        load = cache(lambda: Seq2SeqLM.from_pretrained(model, device, dtype))  # copies with another convention share it
        return cls(load, tokenizer, convention_of(config.model_type), readable_tokens(config, tokenizer))

    @cached_property
    def lm(self) -> Seq2SeqLM:
        return self.load()

    @property
    def identity(self) -> str:
        return self.lm.identity

    @property
    def notes(self) -> tuple[str, ...]:
        return self.lm.notes

    def encode(self, gaps: Sequence[tuple[str, str, str]], closed: bool = False) -> list[Infill]:
        """`encode_infills` of gaps (text before, missing segment, text after)."""
        return encode_infills(self.tokenizer, self.convention, gaps, closed)

    def log_probabilities(self, infills: Sequence[Infill], token_budget: int) -> list[NDArray[np.float32]]:
        """log P of every token of each segment, given its source and the target tokens before it."""
        pairs = [(infill.source, infill.target[: infill.stop]) for infill in infills]
        return self.lm.log_probabilities(pairs, given=[each.start for each in infills], token_budget=token_budget)
