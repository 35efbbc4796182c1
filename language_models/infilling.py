"""How a family of models writes an infilling task: where the mask stands, what frames the target."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from transformers import PreTrainedTokenizerBase

from core.faults import SettingFault


@dataclass(frozen=True)
class Infilling:
    """Source: text with `mask` in the gap, then `end`. Target: `before`, the missing tokens, `after`.

    The tokens of `before` are given to the model and never scored; `after` ends the segment and is scored.
    """

    mask: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    end: tuple[int, ...]

    def target(self, segment: Sequence[int]) -> list[int]:
        """The target ids for a missing segment."""
        return [*self.before, *segment, *self.after]


def sentinel_infilling(tokenizer: PreTrainedTokenizerBase) -> Infilling:
    """T5's convention: `<extra_id_0>` in the source, `<extra_id_0> segment <extra_id_1>` as the target.

    The source ends with the tokenizer's end token (`</s>`), as in T5's pretraining.

    Raises SettingFault for a tokenizer without these sentinels.
    """
    first, second = (tokenizer.convert_tokens_to_ids(f"<extra_id_{i}>") for i in range(2))
    if not isinstance(first, int) or not isinstance(second, int) or tokenizer.unk_token_id in (first, second):
        raise SettingFault(
            "infilling needs a tokenizer with the sentinels <extra_id_0> and <extra_id_1> (the T5 family), "
            f"but {type(tokenizer).__name__} of {tokenizer.name_or_path!r} has none"
        )
    return Infilling(mask=first, before=(first,), after=(second,), end=(tokenizer.eos_token_id,))


@dataclass(frozen=True)
class Convention:
    """How a family of models was taught to fill one gap, in the strings of its tokenizer.

    Attributes:
        mask: stands for the gap in the source; empty where the model is given no mask at all.
        before: what stands in front of the segment in the target; the model is given it.
        after: what follows the segment in the target; never scored.
        closing: what ends the segment, and counts where a closed segment is asked for; empty where nothing does.
        whole_text: the target is the whole text, not the segment alone.
        blank: the segment is written with a blank in front, because it goes on from what was read.
    """

    mask: str
    before: str = ""
    after: str = ""
    closing: str = ""
    whole_text: bool = False
    blank: bool = False

    def without_mask(self) -> "Convention":
        """The source is the text without its gap, and nothing says where the segment belongs."""
        return replace(self, mask="", before="", after="")


PEGASUS = Convention(mask="<mask_1>", closing="</s>")
T5 = Convention(mask="<extra_id_0>", before="<extra_id_0>", after="<extra_id_1>")
BART = Convention(mask="<mask>", whole_text=True)
LEFT_TO_RIGHT = Convention(mask="", blank=True)  # a causal model reads the source and writes the segment after it
OF_MODEL_TYPE = {
    "pegasus": PEGASUS,
    "pegasus_x": PEGASUS,
    "bigbird_pegasus": PEGASUS,
    "t5": T5,
    "mt5": T5,
    "umt5": T5,
    "longt5": T5,
    "bart": BART,
    "mbart": BART,
    "led": BART,
}


def convention_of(model_type: str) -> Convention:
    """The convention of a type of model (`config.model_type`).

    Raises SettingFault for a type that is not known; give its Convention then.
    """
    if model_type not in OF_MODEL_TYPE:
        raise SettingFault(
            f"the infilling convention is known for {', '.join(OF_MODEL_TYPE)}, but the model is of the type "
            f"{model_type!r}: set mask, before, after and so on"
        )
    return OF_MODEL_TYPE[model_type]


@dataclass(frozen=True)
class Infill:
    """One gap as token ids: what is read, what is written, and which of that is scored.

    Attributes:
        source: encoder input ids.
        target: decoder target ids.
        start, stop: target[start:stop] is the segment.
        mask: where the mask stands in the source; -1 without one.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    start: int
    stop: int
    mask: int

    def cut(self, longest: int, around: bool) -> tuple["Infill", int]:
        """What fits into `longest` tokens of source and of target, and how many tokens do not.

        The gap and the token that ends the source stay. With `around`, what is nearest to the gap stays of the source;
        else its end goes first. Of a target the beginning of the segment stays, and text before it goes first.

        >>> Infill((1, 2, 9, 4, 5, 0), (7, 8), 0, 2, mask=2).cut(4, around=True)[0].source
        (2, 9, 4, 0)
        >>> Infill((1, 2, 9, 4, 5, 0), (7, 8), 0, 2, mask=2).cut(4, around=False)[0].source
        (1, 2, 9, 0)
        """
        body, end = self.source[:-1], self.source[-1:]
        room = longest - len(end)
        first = 0
        if len(body) > room:
            at = max(self.mask, 0)
            first = at - room // 2 if around else at - room + 1
            first = min(max(first, 0), len(body) - room)
        kept = body[first : first + room]
        front = max(0, min(self.stop, len(self.target)) - longest)
        front = min(front, self.start)
        target = self.target[front : front + longest]
        dropped = len(body) - len(kept) + len(self.target) - len(target)
        mask = self.mask - first if self.mask >= 0 else -1
        stop = min(self.stop - front, len(target))
        return Infill((*kept, *end), target, self.start - front, stop, mask), dropped


def encode_infills(
    tokenizer: PreTrainedTokenizerBase,
    convention: Convention,
    gaps: Sequence[tuple[str, str, str]],
    closed: bool = False,
) -> list[Infill]:
    """(text before the gap, missing segment, text after the gap) as a model of this convention reads and writes them.

    The source ends as the tokenizer ends a text. With `closed`, the closing token of the segment is scored too.

    Raises SettingFault where the tokenizer does not know the mask as one token.
    """
    mask_id = _single(tokenizer, convention.mask) if convention.mask else None
    texts = [f"{before}{convention.mask}{after}" for before, _, after in gaps]
    if not convention.mask:  # the blanks around a gap that is not shown
        texts = [" ".join(text.split()) for text in texts]
    sources = tokenizer(texts, verbose=False)["input_ids"]
    segments = _segments(tokenizer, convention, gaps)
    closing = [_single(tokenizer, convention.closing)] if closed and convention.closing else []
    infills: list[Infill] = []
    for source, (target, start, stop) in zip(sources, segments, strict=True):
        at = source.index(mask_id) if mask_id is not None else -1
        infills.append(Infill(tuple(source), (*target, *closing), start, stop + len(closing), at))
    return infills


def _single(tokenizer: PreTrainedTokenizerBase, token: str) -> int:
    found = tokenizer.convert_tokens_to_ids(token)
    if not isinstance(found, int) or found == tokenizer.unk_token_id:
        raise SettingFault(
            f"the infilling convention needs {token!r} as one token, but {type(tokenizer).__name__} of "
            f"{tokenizer.name_or_path!r} does not know it"
        )
    return found


def _segments(
    tokenizer: PreTrainedTokenizerBase, convention: Convention, gaps: Sequence[tuple[str, str, str]]
) -> list[tuple[list[int], int, int]]:
    """Target ids with the place of the segment in them."""
    if not convention.whole_text:
        before, after = ([_single(tokenizer, t)] if t else [] for t in (convention.before, convention.after))
        lead = " " if convention.blank else ""
        texts = [f"{lead}{segment}" for _, segment, _ in gaps]
        ids = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        return [([*before, *segment, *after], len(before), len(before) + len(segment)) for segment in ids]
    texts = [f"{before}{segment}{after}" for before, segment, after in gaps]
    encoded = tokenizer(texts, return_offsets_mapping=True, verbose=False)
    found: list[tuple[list[int], int, int]] = []
    for ids, offsets, (before, segment, _) in zip(encoded["input_ids"], encoded["offset_mapping"], gaps, strict=True):
        inside = [i for i, (a, b) in enumerate(offsets) if b > a and b > len(before) and a < len(before) + len(segment)]
        found.append((list(ids), inside[0] if inside else 0, inside[-1] + 1 if inside else 0))
    return found


def segment_tokens(
    tokenizer: PreTrainedTokenizerBase, convention: Convention, segments: Sequence[str]
) -> tuple[list[int], list[list[int]]]:
    """What stands in front of a segment in the target, and the ids of each segment, where a target is a segment alone.

    Raises ValueError for a convention with targets that are whole texts.
    """
    if convention.whole_text:
        raise ValueError("the targets of this convention are whole texts; a segment has no ids of its own")
    encoded = _segments(tokenizer, convention, [("", segment, "") for segment in segments])
    before = [_single(tokenizer, convention.before)] if convention.before else []
    return before, [target[start:stop] for target, start, stop in encoded]
