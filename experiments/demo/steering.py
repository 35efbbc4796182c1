"""Steer: a prompt continued with and without guidance, side by side and token by token."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path

from core.faults import InputFaults, SettingFault
from core.settings import Count, NonNegative, Seed, checked_dataclass
from discriminators.discriminator import Discriminator
from discriminators.guides import CausalGuide, load_guide
from models.causal import CausalLM
from oumg.generation import WrittenToken, check_candidates, encode_prompts, write_tokens
from oumg.guidance import Guidance

GENERATOR, GUIDE = "generator", "guide_"  # folders of models


@dataclass(frozen=True)
class Steerer:
    """A generator and its guides by label."""

    lm: CausalLM
    guides: Mapping[str, CausalGuide | Discriminator]

    @classmethod
    def from_pretrained(cls, models: Path, device: str = "cpu") -> "Steerer | None":
        """`generator/` and every `guide_LABEL/` of a folder of models; None where one of the two is missing."""
        guides = sorted(models.glob(f"{GUIDE}*"))
        if not (models / GENERATOR).is_dir() or not guides:
            return None
        lm = CausalLM.from_pretrained(str(models / GENERATOR), device)
        return cls(lm, {guide.name.removeprefix(GUIDE): load_guide(guide, device) for guide in guides})


@checked_dataclass
class SteeringRequest:
    """What to write.

    Attributes:
        prompt: the text to continue.
        label: to steer to.
        strength: alpha of Eq. 5; 0 is the generator alone.
        k: candidates.
        new_tokens: the most tokens.
        seed: of the draws.
    """

    prompt: str
    label: str | None
    strength: NonNegative
    k: Count
    new_tokens: Count
    seed: Seed


@dataclass(frozen=True)
class SideBySide:
    """The tokens written so far."""

    guided: tuple[WrittenToken, ...] = ()
    unguided: tuple[WrittenToken, ...] = ()


def write_side_by_side(steerer: Steerer, request: SteeringRequest) -> Iterator[SideBySide]:
    """The texts after each step; nothing is computed for a step that nobody asks for.

    Raises SettingFault or InputFaults for an empty prompt or one that is too long for the generator, an unknown label,
    and more candidates than the generator has tokens.
    """
    prompt = request.prompt.strip()
    if not prompt:
        raise SettingFault("prompt must not be blank")
    if request.label is None or request.label not in steerer.guides:
        raise InputFaults([f"label must be one of {', '.join(steerer.guides)}, but is {request.label!r}"])
    check_candidates([request.k], len(steerer.lm.tokenizer))
    row = encode_prompts(steerer.lm, [prompt], request.new_tokens)[prompt]
    guide, lm = steerer.guides[request.label], steerer.lm
    guidance = partial(Guidance, guide, lm.tokenizer, request.strength, request.k, "normalised", "text")
    write = partial(write_tokens, lm, row, request.new_tokens, request.k, request.seed)
    found = SideBySide()
    for first, second in zip_longest(write(guidance if request.strength else None), write()):
        found = SideBySide(
            (*found.guided, first) if first else found.guided, (*found.unguided, second) if second else found.unguided
        )
        yield found
