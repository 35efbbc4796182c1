"""The pair of infilling models whose contrast is the metric, and the check that the expert is the better one."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cdm.infilling import SEPARATOR, TokenisedDialogues, dialogue_infilling, held_out_nll, is_word_piece, tokenise
from cdm.segments import InfillingTask
from cdm.spelling import Spelling, spell
from core.example import Example
from core.faults import SettingFault
from models.conditional import load_conditional
from models.infilling import Infilling
from models.model import ConditionalLM

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PartialOrder:
    """Held-out NLL of both models in nats per token (lower is better) on the same tasks."""

    amateur_nll: float
    expert_nll: float

    @property
    def holds(self) -> bool:
        """E(p_e) > E(p_a), Eq. 2, as far as the held-out likelihood tells."""
        return self.expert_nll < self.amateur_nll

    def __str__(self) -> str:
        figures = (
            f"held-out NLL {self.expert_nll:.3f} of the expert, {self.amateur_nll:.3f} of the amateur (nats per token)"
        )
        if self.holds:
            return f"the partial order holds: {figures}"
        return f"THE EXPERT IS NOT BETTER THAN THE AMATEUR, so CDM means nothing here: {figures}"


@dataclass(frozen=True)
class Pair:
    """Amateur and expert over one vocabulary.

    `max_length` is how many source tokens a model reads; longer dialogues are read in windows of whole turns. The first
    `given` turns are read and never filled in. With `words`, random gaps begin and end where words do. Every text is
    read in `spelling`.

    Raises SettingFault where the tokenizers differ.
    """

    amateur: ConditionalLM
    expert: ConditionalLM
    max_length: int = 512
    given: int = 0
    words: bool = True
    spelling: Spelling = "as_is"

    def __post_init__(self) -> None:
        ours, theirs = self.amateur.tokenizer.get_vocab(), self.expert.tokenizer.get_vocab()
        if ours != theirs:
            differing = len(ours.items() ^ theirs.items())
            raise SettingFault(
                f"amateur and expert need one tokenizer, but {differing} entries of their vocabularies differ "
                f"({len(ours)} and {len(theirs)} tokens)"
            )
        if SEPARATOR not in ours:
            raise SettingFault(f"the pair's tokenizer needs the token {SEPARATOR} between turns")
        if dialogue_infilling(self.amateur) != dialogue_infilling(self.expert):
            kinds = " and ".join(type(lm.model).__name__ for lm in (self.amateur, self.expert))
            raise SettingFault(f"amateur and expert need one way of filling gaps, but are {kinds}")

    @classmethod
    def from_pretrained(
        cls, amateur: str | Path, expert: str | Path, device: str = "cpu", dtype: str = "float32"
    ) -> "Pair":
        """Loads two infilling models that learned `Gaps`, whose settings are saved with the amateur.

        A model that is both is loaded once.
        """
        first = load_conditional(amateur, device, dtype)
        second = first if amateur == expert else load_conditional(expert, device, dtype)
        config = first.model.config
        words = getattr(config, "word_gaps", False)  # models of earlier versions learned gaps inside words
        spelling = getattr(config, "spelling", None) or "as_is"
        return cls(first, second, first.tokenizer.model_max_length, config.given_turns, words, spelling)

    @property
    def infilling(self) -> Infilling:
        """How both models write a gap."""
        return dialogue_infilling(self.amateur)

    @property
    def vocabulary(self) -> int:
        """The number of logits that stand for tokens.

        A model may have more (T5: 32128; Pythia: 50304 or 50432, by its size).
        """
        return 1 + max(self.amateur.tokenizer.get_vocab().values())

    @property
    def never_drawn(self) -> list[int]:
        """Tokens that no segment may hold: special ones but the one that ends it, and ids that stand for no token."""
        tokens = self.amateur.tokenizer.get_vocab()
        special = {*self.amateur.tokenizer.all_special_ids, tokens[SEPARATOR]}
        empty = set(range(self.vocabulary)) - set(tokens.values())
        return sorted((special | empty) - set(self.infilling.after))

    def tokenise(self, dialogues: Sequence[Sequence[str]]) -> TokenisedDialogues:
        """Every turn as token ids, in the spelling of the pair."""
        return tokenise(self.amateur, spell(dialogues, self.spelling), self.max_length, self.given, self.words)

    def partial_order(self, tasks: Sequence[InfillingTask]) -> PartialOrder:
        """Compares both models on the same held-out tasks; logs a warning where the expert is not better."""
        amateur, expert = (held_out_nll(lm, self.infilling, tasks) for lm in (self.amateur, self.expert))
        order = PartialOrder(amateur, expert)
        log.log(logging.INFO if order.holds else logging.WARNING, "%s", order)
        return order


def decode_dialogues(lm: ConditionalLM, dialogues: Sequence[Sequence[Sequence[int]]]) -> list[tuple[str, ...]]:
    """Dialogues of token ids as text, with one space for any run of white space.

    Positives and negatives both pass through it: redrawn text differs from kept text only in its words.
    """
    texts = iter(lm.tokenizer.batch_decode([list(turn) for turns in dialogues for turn in turns]))
    mark = "##" if is_word_piece(lm.tokenizer) else ""  # stays where a redrawn turn begins with the rest of a word
    return [tuple(" ".join(next(texts).removeprefix(mark).split()) for _ in turns) for turns in dialogues]


def turns_of(examples: Sequence[Example]) -> list[tuple[str, ...]]:
    """The dialogues of examples; a text without turns is a dialogue of one turn."""
    return [example.turns or (example.text,) for example in examples]
