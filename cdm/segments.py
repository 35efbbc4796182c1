"""Gaps in dialogues: which tokens are removed, and what stays (CDM, Algorithm 1, lines 1-2; section 4.1.1).

A dialogue is a list of turns, a turn is a list of token ids. Source and target together always give the whole dialogue;
the released training code loses a token between them. DEAM and CDM's AMR-Multi place gaps by AMR graphs. Content words,
found by rules, can replace these graphs, because the concepts of a graph are mostly content words.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, cast

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from core.settings import check
from models.batching import join_ids
from models.infilling import Infilling
from models.windows import find_near, find_turns_near

Strategy = Literal["segment-single", "utterance-single", "mixed-single", "mixed-multi", "content-multi", "amr-multi"]
Place = Literal["segment", "utterance", "content", "amr"]
Turns = Sequence[Sequence[int]]
Pieces = Sequence[Sequence[str]]  # turns as the vocabulary writes their tokens
Span = tuple[int, int]  # tokens [start, stop) of a turn

WORD_STARTS = ("Ġ", "▁")  # how byte-level BPE and SentencePiece mark a token that begins a word
MOST_NEIGHBOURS = 2
LONGEST_SEGMENT = 20  # tokens of a random segment
IN_GAP = -1  # no token: stands in a gap while its window is chosen


@dataclass(frozen=True)
class Gap:
    """A gap in a dialogue: the tokens [start, stop) of one turn."""

    turn: int
    start: int
    stop: int


@dataclass(frozen=True)
class InfillingTask:
    """A source with a gap, and the segment that was removed."""

    source: tuple[int, ...]
    segment: tuple[int, ...]
    # how many tokens of turns the source holds, without marks and separators
    read: int = 0
    # how many tokens did not fit into the source
    dropped: int = 0


def draw_gap(
    turns: Pieces,
    rng: random.Random,
    prompt_turns: int = 0,
    utterance: bool = False,
) -> Gap:
    """Draws a whole utterance, or a segment of at most `LONGEST_SEGMENT` tokens inside one.

    A segment consists of whole words, unless a single word is longer. The first `prompt_turns` turns have no gap.

    Raises ValueError if no other turn has tokens.
    """
    filled = [i for i, turn in enumerate(turns) if turn and i >= prompt_turns]
    if not filled:
        raise ValueError("a gap needs a dialogue with at least one token")
    turn = filled[rng.randrange(len(filled))]
    if utterance:
        return Gap(turn, 0, len(turns[turn]))
    parts: list[Span] = []
    for start, stop in find_words(turns[turn]):
        if stop - start <= LONGEST_SEGMENT:
            parts.append((start, stop))
        else:
            parts += [(i, i + 1) for i in range(start, stop)]
    width = rng.randint(1, min(len(parts), LONGEST_SEGMENT))
    first = rng.randint(0, len(parts) - width)
    start, _ = parts[first]
    stops = [stop for _, stop in parts[first : first + width]]
    stop = max(stop for stop in stops if stop - start <= LONGEST_SEGMENT)
    return Gap(turn, start, stop)


def draw_content_gap(turns: Pieces, rng: random.Random, prompt_turns: int = 0) -> Gap | None:
    """Draws a content word with up to two words on each side; None if no turn has a content word.

    The first `prompt_turns` turns have no gap.

    >>> draw_content_gap([["i"], ["Ġ", "ĠI", "Ġlike", "ĠVer", "mont"]], random.Random(0))
    Gap(turn=1, start=2, stop=5)
    """
    words = {t: find_words(turn) for t, turn in enumerate(turns) if t >= prompt_turns}
    places: list[tuple[int, int]] = []  # the turn of a content word, and which of its words it is
    for t, spans in words.items():
        for k, (start, stop) in enumerate(spans):
            if is_content("".join(turns[t][start:stop])):
                places.append((t, k))
    if not places:
        return None
    t, k = rng.choice(places)
    first = max(0, k - rng.randint(0, MOST_NEIGHBOURS))
    last = min(len(words[t]) - 1, k + rng.randint(0, MOST_NEIGHBOURS))
    start, _ = words[t][first]
    _, stop = words[t][last]
    return Gap(t, start, stop)


DrawGap = Callable[[Pieces, random.Random, int], Gap | None]  # the last argument: how many turns have no gap
# How the place of a manipulation is drawn, by the name that begins a strategy; `cdm.amr` draws those of graphs.
PLACES: Mapping[str, DrawGap] = {
    "segment": draw_gap,
    "utterance": partial(draw_gap, utterance=True),
    "content": draw_content_gap,
}


def find_words(tokens: Sequence[str]) -> list[Span]:
    """Finds the span of tokens [start, stop) of every word.

    >>> find_words(["hel", "lo", "Ġyou", "?"])
    [(0, 2), (2, 4)]
    """
    starts = [i for i, token in enumerate(tokens) if i == 0 or token.startswith(WORD_STARTS)]
    return list(pairwise([*starts, len(tokens)]))


def is_content(word: str) -> bool:
    """Whether a word, as the vocabulary writes it, is not an English stop word of scikit-learn.

    >>> [is_content(word) for word in ("▁music!", "Ġthe", "Ġ42")]
    [True, False, False]
    """
    letters = word.lstrip("".join(WORD_STARTS)).strip(".,?!;:'\"").lower()
    return letters.isalpha() and len(letters) > 2 and letters not in ENGLISH_STOP_WORDS


def manipulations(strategy: Strategy, rng: random.Random) -> list[Place]:
    """Draws the kinds of gaps of one dialogue (section 4.1.1), one for each manipulation.

    There is one manipulation for `*-single`, and one to four, uniformly, for `*-multi`. `content-multi` takes content
    words and their neighbours; it replaces `amr-multi`, which needs AMR graphs.

    Raises SettingError for an unknown strategy.
    """
    check(Strategy, strategy=strategy)
    place, number = strategy.split("-")
    times = rng.randint(1, 4) if number == "multi" else 1
    if place == "mixed":
        return ["utterance" if rng.random() < 0.5 else "segment" for _ in range(times)]
    return [cast(Place, place)] * times


def fill(turns: Turns, gap: Gap, segment: Sequence[int]) -> list[list[int]]:
    """Returns the dialogue with `segment` in place of the gap."""
    filled = [list(turn) for turn in turns]
    filled[gap.turn][gap.start : gap.stop] = segment
    return filled


def make_task(
    turns: Turns,
    gap: Gap,
    infilling: Infilling,
    separator: Sequence[int],
    max_length: int,
) -> InfillingTask:
    """Makes the task of filling the gap, with as many whole turns around it as the model can read.

    If the turn of the gap does not fit, its tokens nearest to the gap stay. Dropped tokens are counted.
    """
    room = max_length - len(infilling.marks) + 1  # the gap takes the place of one token
    if not infilling.reads_after:
        turns = [*turns[: gap.turn], turns[gap.turn][: gap.stop]]
    open_turns = fill(turns, gap, [IN_GAP])
    kept = find_turns_near(
        [len(turn) for turn in open_turns],
        gap.turn,
        room,
        len(separator),
    )
    window = join_ids([open_turns[i] for i in kept], separator)
    read = sum(len(open_turns[i]) for i in kept) - 1
    dropped = sum(len(turn) + len(separator) for i, turn in enumerate(turns) if i not in kept)
    if len(window) > room:  # then the window is the gap's turn alone
        near = find_near(len(window), gap.start, room)
        dropped += len(window) - room
        window = window[near.start : near.stop]
        read = len(window) - 1
    at = window.index(IN_GAP)
    source = infilling.read(window[:at], window[at + 1 :])
    segment = turns[gap.turn][gap.start : gap.stop]
    return InfillingTask(
        tuple(source),
        tuple(segment),
        read,
        dropped,
    )


def training_gap(turns: Pieces, rng: random.Random, prompt_turns: int = 0) -> Gap:
    """Draws a gap for training the pair: a whole utterance with probability 1/3, else a segment inside one."""
    return draw_gap(
        turns,
        rng,
        prompt_turns,
        utterance=rng.random() < 1 / 3,
    )
