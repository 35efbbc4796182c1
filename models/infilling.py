"""Infilling: texts with a gap as the token ids that a model reads and writes (`models.families`), and their scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from transformers import AutoConfig, PreTrainedTokenizerBase

from core.errors import SettingError
from core.settings import Count, checked_dataclass
from models.causal import find_start
from models.conditional import load_conditional
from models.families import AFTER, AROUND, BEFORE, START, TEXTS, Family, Order, find_family
from models.loading import load_pretrained, load_tokenizer
from models.model import ConditionalLM, encode_plainly, plain_token_ids, readable_tokens, special_frame
from models.windows import cut_beginning, find_near

TextGap = tuple[str, str, str]  # the text before, the missing segment, the text after
Ids = tuple[int, ...]


@dataclass(frozen=True)
class Infilling:
    """How a family of models fills gaps, in the token ids of one tokenizer.

    A target begins with the tokens of `opening`, which are given and never scored. `closing` ends a segment.
    """

    family: Family
    # marks, as ids, and `TEXTS`, in the order in which the model reads them
    source: tuple[int | str, ...]
    opening: Ids = ()
    closing: Ids = ()

    @property
    def marks(self) -> Ids:
        """The token ids that mark a gap in the source."""
        return tuple(part for part in self.source if isinstance(part, int))

    @property
    def reads_after(self) -> bool:
        """Whether the model reads the text after a gap."""
        return self.family.reads_after

    def read(self, before: Sequence[int], after: Sequence[int]) -> list[int]:
        """Makes the source: the token ids that the model reads for a gap between two texts."""
        texts = {BEFORE: before, AFTER: after, AROUND: [*before, *after]}
        ids: list[int] = []
        for part in self.source:
            ids += [part] if isinstance(part, int) else texts[part]
        return ids

    def target(self, segment: Sequence[int]) -> list[int]:
        """Makes the target: the token ids that the model writes for a missing segment, with its end."""
        return [*self.opening, *segment, *self.closing]


def make_infilling(family: Family, tokenizer: PreTrainedTokenizerBase) -> Infilling:
    """Makes the infilling of a family in the ids of a tokenizer.

    Raises SettingError if the tokenizer lacks one of the family's tokens.
    """

    def find_id(token: str) -> int:
        return find_start(tokenizer) if token == START else find_token(tokenizer, token)

    begin, end = special_frame(tokenizer)
    parts = [part if part in TEXTS else find_id(part) for part in family.source]
    if family.source[0] == START:
        begin = ()
    if family.causal:
        end = ()  # the segment follows
    opening = (find_id(family.opening),) if family.opening else ()
    closing = (find_id(family.closing),) if family.closing else ()
    return Infilling(family, (*begin, *parts, *end), opening, closing)


def find_token(tokenizer: PreTrainedTokenizerBase, token: str) -> int:
    """Returns the id of a token. Raises SettingError for a tokenizer that does not know the token."""
    index = tokenizer.convert_tokens_to_ids(token)
    is_unknown = index == tokenizer.unk_token_id and token != tokenizer.unk_token
    if not isinstance(index, int) or is_unknown:
        raise SettingError(
            f"infilling needs {token!r} as one token, but {type(tokenizer).__name__} of {tokenizer.name_or_path!r} "
            "does not know it"
        )
    return index


@dataclass(frozen=True)
class Infill:
    """One gap as token ids: the texts around it, which the model reads, and the segment that it writes there."""

    infilling: Infilling
    # the texts around the gap
    before: Ids
    after: Ids
    # what is written; `target[start:stop]` is scored
    target: Ids
    start: int
    stop: int
    # target[:frame] precedes every segment
    frame: int = 0

    @cached_property
    def source(self) -> Ids:
        """The token ids that the model reads before it writes."""
        return tuple(self.infilling.read(self.before, self.after))

    @property
    def longest(self) -> int:
        """The number of tokens that the model must be able to read or write at once."""
        if self.infilling.family.causal:
            return len(self.source) + len(self.target)
        return max(len(self.source), len(self.target))

    def cut(self, max_length: int, around: bool) -> tuple["Infill", int]:
        """Cuts source and target to what the model reads at once, and returns the number of dropped tokens, too.

        An encoder-decoder model reads `max_length` tokens of the source and as many of the target. A causal model reads
        `max_length` tokens of both together; the source is cut first. The tokens that mark the gap stay. With `around`,
        the source keeps the tokens nearest to the gap, else its beginning. The target keeps its special tokens and the
        beginning of the segment; text before the segment is dropped first.

        >>> from models.families import T5
        >>> infill = Infill(Infilling(T5, (BEFORE, 9, AFTER, 0)), (1, 2), (4, 5), (7, 8), 0, 2)
        >>> infill.cut(4, around=True)[0].source, infill.cut(4, around=False)[0].source
        ((2, 9, 4, 0), (1, 2, 9, 0))
        """
        marks = len(self.infilling.marks)
        is_causal = self.infilling.family.causal
        target = self._cut_target(max_length - marks if is_causal else max_length)
        room = max_length - marks - (len(target.target) if is_causal else 0)
        # without a mark the tokens after the gap are all that is read, and their beginning stays
        at = len(self.before)
        kept = find_near(at + 1 + len(self.after), at, room + 1, centred=around)  # the gap itself has a place
        before = self.before[kept.start : at]
        after = self.after[: max(0, kept.stop - at - 1)]
        cut = replace(target, before=before, after=after)
        lost = len(self.before) - len(before) + len(self.after) - len(after)
        return cut, lost + len(self.target) - len(cut.target)

    def _cut_target(self, max_length: int) -> "Infill":
        room = max_length - self.frame
        segment = self.target[self.start : self.stop][:room]
        before = cut_beginning(self.target[self.frame : self.start], room - len(segment))
        target = (*self.target[: self.frame], *before, *segment, *self.target[self.stop :])[:max_length]
        start = self.frame + len(before)
        return replace(self, target=target, start=start, stop=start + len(segment))


def encode_infills(
    tokenizer: PreTrainedTokenizerBase, family: Family, gaps: Sequence[TextGap], closed: bool = False
) -> list[Infill]:
    """Encodes gaps as a model of this family reads and writes them; segment and surrounding texts are encoded apart.

    Text that spells a special token is read as plain text. With `closed`, the token that closes the segment is scored,
    too. Raises SettingError as `make_infilling` does.
    """
    infilling = make_infilling(family, tokenizer)
    if AROUND in family.source:
        sides = [("", " ".join(f"{before}{after}".split())) for before, _, after in gaps]
        gaps = [_follow(text, segment, family) for (_, text), (_, segment, _) in zip(sides, gaps, strict=True)]
        anchor = ""
    else:
        gaps = [_place_spaces(gap, family) for gap in gaps]
        # a mask of BART stands for the space before its words too, which not every form of its vocabulary says
        sides = [(before.rstrip() if family.whole_text else before, after) for before, _, after in gaps]
        anchor = family.anchor
    befores = _encode(tokenizer, [before for before, _ in sides])
    afters = _encode(tokenizer, [after for _, after in sides], anchor)
    closing = infilling.closing if closed and family.closes else ()
    infills: list[Infill] = []
    for before, after, written in zip(befores, afters, _segments(tokenizer, infilling, gaps), strict=True):
        infill = Infill(
            infilling,
            before=before,
            after=after,
            target=(*written.ids, *closing),
            start=written.start,
            stop=written.stop + len(closing),
            frame=len(infilling.opening),
        )
        infills.append(infill)
    return infills


def _follow(text: str, segment: str, family: Family) -> TextGap:
    """The segment behind a text that has no mark; a space precedes it where both are read as one."""
    if family.source_first:
        return f"{text} ".lstrip(), segment, ""
    return "", f" {segment}" if family.causal and text else segment, ""


def _place_spaces(gap: TextGap, family: Family) -> TextGap:
    """The gap with the spaces at its edges where the family has them."""
    before, segment, after = gap
    if family.spaces == "dropped":
        return before.strip(), segment, after.strip()
    if family.spaces == "begin":
        bare = before.rstrip(" ")
        return bare, f"{before[len(bare) :]}{segment}", after
    return gap


def _encode(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], anchor: str = "") -> list[Ids]:
    """The plain ids of texts; with an anchor, of texts that go on behind others."""
    distinct = list(dict.fromkeys(texts))
    before = plain_token_ids(tokenizer, [anchor])[0] if anchor else []
    rows = plain_token_ids(tokenizer, [f"{anchor}{text}" for text in distinct])
    ids = {text: tuple(row[len(before) :]) for text, row in zip(distinct, rows, strict=True)}
    return [ids[text] for text in texts]


@dataclass(frozen=True)
class _Written:
    """Target ids with the place of the segment in them."""

    ids: Ids
    start: int
    stop: int


def _segments(tokenizer: PreTrainedTokenizerBase, infilling: Infilling, gaps: Sequence[TextGap]) -> list[_Written]:
    family = infilling.family
    if family.whole_text:
        return _whole_texts(tokenizer, gaps, framed=not family.source_first)
    opening = infilling.opening
    rows = _encode(tokenizer, [segment for _, segment, _ in gaps], family.anchor)
    return [_Written((*opening, *row), len(opening), len(opening) + len(row)) for row in rows]


def _whole_texts(tokenizer: PreTrainedTokenizerBase, gaps: Sequence[TextGap], framed: bool) -> list[_Written]:
    begin, end = special_frame(tokenizer) if framed else ((), ())
    rows: list[_Written] = []
    for before, segment, after in gaps:
        encoded = encode_plainly(tokenizer, f"{before}{segment}{after}")
        first = len(before)
        last = first + len(segment)
        inside = [i for i, (a, b) in enumerate(encoded.offsets) if b > a and b > first and a < last]
        start, stop = (len(begin) + inside[0], len(begin) + inside[-1] + 1) if inside else (0, 0)
        rows.append(_Written((*begin, *encoded.ids, *end), start, stop))
    return rows


@checked_dataclass
class Infiller:
    """A model that fills gaps. Its tokenizer and family are loaded at once, its weights at first use."""

    # loads the model; called when the first gap is scored
    load: Callable[[], ConditionalLM]
    # of that model
    tokenizer: PreTrainedTokenizerBase
    # how the model fills gaps
    family: Family
    # tokens that the model reads or writes at once
    max_length: Count

    @classmethod
    def from_pretrained(
        cls, model: str | Path, device: str = "cpu", dtype: str = "float32", order: Order | None = None
    ) -> "Infiller":
        """Takes a hub name or a folder, whose weights are loaded at first use. Raises errors as `find_family` does."""
        config = load_pretrained(AutoConfig.from_pretrained, model)
        tokenizer = load_tokenizer(model)
        family = find_family(config, tokenizer, order)
        load = cache(lambda: load_conditional(model, device, dtype))  # copies with another family share it
        return cls(load, tokenizer, family, readable_tokens(config, tokenizer))

    @cached_property
    def lm(self) -> ConditionalLM:
        return self.load()

    @property
    def identity(self) -> str:
        return self.lm.identity

    @property
    def notes(self) -> tuple[str, ...]:
        return self.lm.notes

    def encode(self, gaps: Sequence[TextGap], closed: bool = False) -> list[Infill]:
        """Encodes gaps, each (text before, missing segment, text after), as `encode_infills` does."""
        return encode_infills(self.tokenizer, self.family, gaps, closed)

    def log_probabilities(self, infills: Sequence[Infill], token_budget: int) -> list[NDArray[np.float32]]:
        """Returns log P (nats) of each scored token of each segment, given the source and all target tokens before."""
        pairs = [(infill.source, infill.target[: infill.stop]) for infill in infills]
        return self.lm.log_probabilities(pairs, given=[each.start for each in infills], token_budget=token_budget)
