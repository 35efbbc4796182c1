"""Infilling models of dialogues: how they read and learn, and the pair that CDM contrasts (CDM, Algorithm 1)."""

import logging
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn
from transformers import PreTrainedTokenizerBase

from cdm.segments import Gap, InfillingTask, Turns, make_task, training_gap
from core.errors import SettingError
from core.example import Example
from core.settings import Count, Size, checked_dataclass
from models.batching import Task
from models.conditional import load_conditional
from models.families import LEFT_TO_RIGHT, SMALL, Order, find_family
from models.infilling import Ids, Infilling, find_token, make_infilling
from models.model import ConditionalLM, count_positions, plain_token_ids, special_frame
from models.windows import pack_turns

log = logging.getLogger(__name__)

SEPARATOR = "</UTT>"  # one added token; T5 alone reads it as five pieces with an unknown among them


@dataclass(frozen=True)
class TokenisedDialogues:
    """Dialogues as token ids of one tokenizer, and how gaps are written and turns joined."""

    dialogues: Sequence[Turns]
    infilling: Infilling
    separator: tuple[int, ...]
    max_length: int  # source tokens that a model reads
    prompt_turns: int  # the first turns, which have no gap (the concepts of a CommonGen sentence)
    tokens: Mapping[int, str]  # every token by its id, as the vocabulary writes it

    def to_pieces(self, turns: Turns) -> list[list[str]]:
        """Returns the tokens of the turns as strings of the vocabulary."""
        pieces: list[list[str]] = []
        for turn in turns:
            pieces.append([self.tokens[token] for token in turn])
        return pieces

    def task(self, turns: Turns, gap: Gap) -> InfillingTask:
        return make_task(turns, gap, self.infilling, self.separator, self.max_length)

    def tasks(self, seed: int) -> list[InfillingTask]:
        """Draws random gaps in every dialogue, as tasks to learn; what is drawn depends on the seed and the dialogue.

        A dialogue is cut into parts of consecutive whole turns that fit into `max_length`, and every part has one gap.
        For a model that does not read what follows a gap, the gap is the last turn of the part. Two models see the same
        gaps; a model that learns fewer gaps of each dialogue sees the first ones.
        """
        seen: Counter[str] = Counter()
        tasks: list[InfillingTask] = []
        for turns in self.dialogues:
            content = str(turns)
            rng = random.Random(f"{seed}/{seen[content]}/{content}")
            seen[content] += 1
            tasks += [self._part_task(turns, part, rng) for part in self._parts(turns, rng)]
        return tasks

    def _parts(self, turns: Turns, rng: random.Random) -> list[range]:
        """The parts of a dialogue in which a gap can be; the first one ends at a random place."""
        room = self.max_length - len(self.infilling.marks) + 1  # a gap takes the place of one token at least
        lengths = [len(turn) for turn in turns]
        between = len(self.separator)
        if sum(lengths) + between * (len(turns) - 1) <= room:
            parts = [range(len(turns))]
        else:
            parts = pack_turns(
                lengths,
                room,
                first=rng.randint(1, room),
                separator=between,
            )
        return [part for part in parts if any(turns[max(part.start, self.prompt_turns) : part.stop])]

    def _part_task(
        self,
        turns: Turns,
        part: range,
        rng: random.Random,
    ) -> InfillingTask:
        inside = turns[part.start : part.stop]
        prompt_turns = max(0, self.prompt_turns - part.start)
        if self.infilling.reads_after:
            gap = training_gap(self.to_pieces(inside), rng, prompt_turns)
        else:
            last = max(t for t, turn in enumerate(inside) if turn and t >= prompt_turns)
            gap = Gap(last, 0, len(inside[last]))
        task = self.task(inside, gap)
        outside = sum(len(turn) + len(self.separator) for t, turn in enumerate(turns) if t not in part)
        return replace(task, dropped=task.dropped + outside)


@checked_dataclass
class PairReading:
    """How a model reads dialogues. A model that learned `Gaps` keeps this in its configuration (`save`)."""

    max_length: Count  # source tokens that the model reads; longer dialogues are read in windows
    prompt_turns: Size = 0  # the first turns, which have no gap (the concepts of a CommonGen sentence)
    # how a causal model reads a dialogue with a gap; None: filling in the middle, where its vocabulary has the tokens
    order: Order | None = None
    # the text between turns; None for the token `SEPARATOR`, which is added and learned
    separator: str | None = None

    def save(self, lm: ConditionalLM) -> None:
        """Writes how the model reads into its configuration, which is saved with it."""
        lm.tokenizer.model_max_length = self.max_length
        lm.model.config.given_turns = self.prompt_turns
        lm.model.config.gap_order = self.order
        lm.model.config.turn_separator = self.separator

    @classmethod
    def load(cls, lm: ConditionalLM) -> "PairReading | None":
        """Returns how a loaded model learned to read; None for a model that never learned `Gaps`."""
        config = lm.model.config.to_dict()
        if "given_turns" not in config:
            return None
        return cls(
            lm.tokenizer.model_max_length,
            prompt_turns=config["given_turns"],
            order=config.get("gap_order"),
            separator=config.get("turn_separator"),
        )

    def find_separator(self, tokenizer: PreTrainedTokenizerBase) -> Ids:
        """Finds the token ids between two turns. Raises SettingError for a tokenizer that lacks `SEPARATOR`."""
        if self.separator is not None:
            return tuple(plain_token_ids(tokenizer, [self.separator])[0])
        vocabulary = tokenizer.get_vocab()
        if SEPARATOR not in vocabulary:
            raise SettingError(
                f"the pair's tokenizer needs the token {SEPARATOR} between turns: train the pair, or name a text for "
                "it (separator)"
            )
        return (vocabulary[SEPARATOR],)

    def find_infilling(self, lm: ConditionalLM) -> Infilling:
        """Finds how a model reads a dialogue with a gap and writes the missing segment.

        If a model reads left to right, the separator of turns ends the segment. The source of an encoder-decoder model
        always ends with the token that ends a text, which our own small tokenizers do not add. Models of BART's kind
        write the segment like a whole text, with its first and last special token.

        Raises SettingError as `find_family`, `make_infilling` and `find_separator` do, and for a left-to-right model
        whose separator has several tokens.
        """
        config = lm.model.config
        family = find_family(config, lm.tokenizer, self.order)
        infilling = make_infilling(family, lm.tokenizer)
        if family == LEFT_TO_RIGHT:
            separator = self.find_separator(lm.tokenizer)
            if len(separator) != 1:
                raise SettingError(
                    "left to right the separator of turns ends a segment and must be one token, but "
                    f"{self.separator!r} has {len(separator)}: choose another one, such as a line break"
                )
            return replace(infilling, closing=separator)
        if family.causal:
            return infilling
        begin, end = special_frame(lm.tokenizer)
        if not end:
            end_of_text = find_token(lm.tokenizer, str(lm.tokenizer.eos_token))
            infilling = replace(infilling, source=(*infilling.source, end_of_text))
        if family.whole_text and begin != (config.decoder_start_token_id,):
            infilling = replace(infilling, opening=begin)
        return infilling

    def tokenise(self, lm: ConditionalLM, dialogues: Sequence[Sequence[str]]) -> TokenisedDialogues:
        """Encodes every turn separately.

        Raises SettingError if a model has too few positions for the sources or turns.
        """
        ids = iter(plain_token_ids(lm.tokenizer, list(chain.from_iterable(dialogues))))
        tokenised = [list(islice(ids, len(dialogue))) for dialogue in dialogues]
        infilling = self.find_infilling(lm)
        longest = max((len(turn) for turns in tokenised for turn in turns), default=0)
        needed = len(infilling.opening) + 1 + longest
        positions = count_positions(lm.model.config)
        at_once = self.max_length + needed
        if lm.model.config.is_encoder_decoder:
            at_once = max(self.max_length, needed)
        if at_once > positions:
            raise SettingError(
                f"the model has {positions} positions, but reads sources of {self.max_length} tokens and writes turns "
                f"of up to {needed}: set a smaller max_length, leave out longer turns, or choose another model"
            )
        return TokenisedDialogues(
            tokenised,
            infilling=infilling,
            separator=self.find_separator(lm.tokenizer),
            max_length=self.max_length,
            prompt_turns=self.prompt_turns,
            tokens={token: text for text, token in lm.tokenizer.get_vocab().items()},
        )


UNTRAINED = PairReading(1024, separator="\n")  # of pretrained models that never learned `Gaps`


def held_out_nll(lm: ConditionalLM, infilling: Infilling, tasks: Sequence[InfillingTask]) -> float:
    """Computes the mean negative log-likelihood of missing segments and their ends, nats per token; lower is better."""
    pairs = [(task.source, infilling.target(task.segment)) for task in tasks]
    scores = lm.log_probabilities(pairs, given=len(infilling.opening))
    return -float(np.concatenate(scores).mean(dtype=np.float64))


@checked_dataclass
class Gaps(PairReading):
    """A training task: to fill random gaps in dialogues. A causal model also learns the text before the gap.

    `order` is None for an encoder-decoder model. Whenever the trained pair reads dialogues, it reads them like this.
    """

    # gaps to learn in an epoch, the first ones of a random order; None for all. A model that learns fewer sees the
    # first gaps of one that learns more.
    most: Count | None = None

    def build(
        self,
        model: Any,
        dialogues: Sequence[Sequence[str]],
        seed: int,
    ) -> ConditionalLM:
        """Builds the model before training; its tokenizer has the separator of turns as a token.

        Raises SettingError for an order that the model does not support.
        """
        marks = SMALL.marks if self.order == "fill-in-the-middle" else ()
        between = (SEPARATOR,) if self.separator is None else ()
        lm = model.build(list(chain.from_iterable(dialogues)), (*between, *marks), seed)
        if lm.model.config.is_encoder_decoder != (self.order is None):
            raise SettingError(
                "order must be fill-in-the-middle or left-to-right for causal models and null for others, but is "
                f"{self.order} for a {type(lm.model).__name__}"
            )
        self.save(lm)
        return lm

    def tasks(self, lm: ConditionalLM, dialogues: Sequence[Sequence[str]]) -> Callable[[int], list[Task]]:
        tokenised = self.tokenise(lm, dialogues)
        fills = tokenised.infilling

        def draw_tasks(seed: int) -> list[Task]:
            gaps = tokenised.tasks(seed)
            if self.most is not None:
                gaps = random.Random(seed).sample(gaps, len(gaps))[: self.most]
            if self.order is not None:
                return [_learn_all(gap, fills) for gap in gaps]
            return [Task(gap.source, fills.target(gap.segment), len(fills.opening)) for gap in gaps]

        return draw_tasks


def _learn_all(gap: InfillingTask, infilling: Infilling) -> Task:
    """The task of a causal model, which learns everything behind the first token."""
    first, *following = gap.source
    return Task([first], [*following, *infilling.target(gap.segment)])


@dataclass(frozen=True)
class PartialOrder:
    """Both models' held-out NLL on the same tasks, in nats per token (lower is better).

    It shows which model is better.
    """

    amateur_nll: float
    expert_nll: float

    @property
    def holds(self) -> bool:
        """Whether the expert's held-out likelihood is higher than the amateur's, as Eq. 2 requires: E(p_e) > E(p_a)."""
        return self.expert_nll < self.amateur_nll

    def __str__(self) -> str:
        verdict = "the partial order holds"
        if not self.holds:
            verdict = "THE EXPERT IS NOT BETTER THAN THE AMATEUR, so CDM scores are not meaningful"
        figures = f"{self.expert_nll:.3f} of the expert, {self.amateur_nll:.3f} of the amateur (nats per token)"
        return f"{verdict}: held-out NLL {figures}"


@dataclass(frozen=True)
class Pair:
    """The amateur and the expert model, which share a vocabulary, and how they read dialogues.

    Raises SettingError if their tokenizers differ or lack the separator, or if they write gaps in different ways.
    """

    amateur: ConditionalLM
    expert: ConditionalLM
    reading: PairReading

    def __post_init__(self) -> None:
        ours = self.tokens
        theirs = self.expert.tokenizer.get_vocab()
        if ours != theirs:
            differing = len(ours.items() ^ theirs.items())
            raise SettingError(
                f"amateur and expert must have the same tokenizer, but {differing} of their entries differ "
                f"({len(ours)} and {len(theirs)} tokens)"
            )
        self.reading.find_separator(self.amateur.tokenizer)
        if self.infilling != self.reading.find_infilling(self.expert):
            kinds = " and ".join(type(lm.model).__name__ for lm in (self.amateur, self.expert))
            raise SettingError(f"amateur and expert must fill gaps in the same way, but are {kinds}")

    @classmethod
    def from_pretrained(
        cls,
        amateur: str | Path,
        expert: str | Path,
        device: str = "cpu",
        dtype: str = "float32",
        untrained: PairReading | None = None,
    ) -> "Pair":
        """Loads two infilling models by folder or hub name; a model named twice is loaded once.

        Models that learned `Gaps` are read as they learned it; `untrained` says how pretrained models read, by default
        `UNTRAINED`.

        Raises SettingError for another `untrained` with an amateur that learned `Gaps`, and for models that learned to
        read dialogues in different ways.
        """
        first = load_conditional(amateur, device, dtype)
        second = first if amateur == expert else load_conditional(expert, device, dtype)
        learned = PairReading.load(first)
        chosen = untrained or UNTRAINED
        if learned is None:
            return cls(first, second, replace(chosen, max_length=min(chosen.max_length, first.max_length)))
        if chosen != UNTRAINED:
            raise SettingError(
                f"separator, order and max_length cannot be set for {amateur}, which was trained to infill dialogues "
                "and keeps its own: leave them out, or choose another model"
            )
        other = PairReading.load(second)
        if learned != other:
            raise SettingError(
                f"amateur and expert must read dialogues in the same way, but learned {learned} and {other}: train "
                "both with one setting"
            )
        return cls(first, second, learned)

    @property
    def models(self) -> list[nn.Module]:
        """Both models."""
        return [self.amateur.model, self.expert.model]

    @cached_property
    def tokens(self) -> dict[str, int]:
        """The shared vocabulary."""
        return self.amateur.tokenizer.get_vocab()

    @cached_property
    def infilling(self) -> Infilling:
        """How both models read and write a gap."""
        return self.reading.find_infilling(self.amateur)

    @cached_property
    def vocabulary(self) -> int:
        """The number of tokens of the shared vocabulary.

        A model may have more logits (T5: 32128; Pythia: 50304 or 50432).
        """
        return 1 + max(self.tokens.values())

    @cached_property
    def ends(self) -> dict[int, Ids]:
        """Every token that ends a segment, with the token ids of the text that it spells before the end.

        These are the closing token and, if the separator of turns is text, all tokens that contain it: vocabularies
        have tokens such as a full stop with a line break, and what follows a separator belongs to another turn.
        """
        ends: dict[int, Ids] = dict.fromkeys(self.infilling.closing, ())
        tokenizer = self.amateur.tokenizer
        separator = self.reading.find_separator(tokenizer)
        if self.reading.separator is None or not separator:
            return ends
        spelled = "".join(tokenizer.convert_ids_to_tokens(list(separator)))
        for piece, token in self.tokens.items():
            if spelled in piece and token not in ends:
                before = tokenizer.convert_tokens_to_string([piece.partition(spelled)[0]])
                ends[token] = tuple(plain_token_ids(tokenizer, [before])[0])
        return ends

    @cached_property
    def never_drawn(self) -> list[int]:
        """Ids that a segment must not contain: the separator, tokens added to the vocabulary, ids without a token.

        All added tokens are excluded, because some of Qwen's special tokens are not declared as special.
        """
        tokenizer = self.amateur.tokenizer
        separator = self.reading.find_separator(tokenizer)
        marks = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder, *separator}
        empty = set(range(self.vocabulary)) - set(self.tokens.values())
        return sorted((marks | empty) - set(self.ends))

    def tokenise(self, dialogues: Sequence[Sequence[str]]) -> TokenisedDialogues:
        return self.reading.tokenise(self.amateur, dialogues)

    def decode(self, dialogues: Sequence[Sequence[Sequence[int]]]) -> list[tuple[str, ...]]:
        """Decodes dialogues to text, with one space for any run of white space.

        Positives and negatives are both decoded this way, so that they differ only in their words.
        """
        turns = [list(turn) for dialogue in dialogues for turn in dialogue]
        decoded = self.amateur.tokenizer.batch_decode(turns)
        texts = iter([" ".join(text.split()) for text in decoded])
        return [tuple(islice(texts, len(dialogue))) for dialogue in dialogues]

    def compare(self, tasks: Sequence[InfillingTask]) -> PartialOrder:
        """Compares both models on the same held-out tasks (Eq. 2); logs a warning if the expert is not better."""
        amateur_nll = held_out_nll(self.amateur, self.infilling, tasks)
        expert_nll = held_out_nll(self.expert, self.infilling, tasks)
        order = PartialOrder(amateur_nll, expert_nll)
        log.log(logging.INFO if order.holds else logging.WARNING, "%s", order)
        return order


def get_turns(examples: Sequence[Example]) -> list[tuple[str, ...]]:
    """Returns the turns of each example; a text without turns is a dialogue of one turn."""
    return [example.turns or (example.text,) for example in examples]
