"""Steers texts with a guide, and shows them beside unguided ones, step by step (`judge steer`; OUMG, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit

from core.errors import MissingModelError
from core.settings import Count, NonNegative, Seed, Text, check, checked_dataclass
from core.signature import MODEL_LIBRARIES, signature
from report.study import Study
from report.tables import Table, pick

if TYPE_CHECKING:
    from discriminators.discriminator import Discriminator
    from models.causal import CausalLM
    from oumg.generation import WrittenToken

CAPTION = (
    "attribute: the guide's own probability of its attribute, which rises by construction. unguided: the text that the "
    "same draws give without guidance."
)
STEPS_CAPTION = (
    "before: the generator's probability among its k likeliest tokens. attribute: the guide's "
    "probability that the text with the candidate has the attribute. after: the probability under guidance, from which "
    "the token marked in the column chosen was drawn. Candidates that are among the first before or after are shown."
)
ATTRIBUTES = ("attribute", "attribute_unguided")
TAIL = 30  # characters of the text so far
SHOWN_CANDIDATES = 3  # first candidates of a step before guidance, and after it


@checked_dataclass
class Steering:
    """The settings by which a prompt is continued (`judge.steer`)."""

    strength: NonNegative = 4.0
    k: Count = 32
    rule: Literal["normalised", "fudge"] = "normalised"
    new_tokens: Count = 20
    seed: Seed = 0


@dataclass(frozen=True)
class SteeredText:
    """A prompt with its guided continuation, and the unguided continuation by the same random draws."""

    prompt: str
    guided: tuple[WrittenToken, ...] = ()
    unguided: tuple[WrittenToken, ...] = ()
    attribute: float = np.nan  # the guide's probability that the guided text has its attribute
    attribute_unguided: float = np.nan

    @property
    def text(self) -> str:
        """The guided text with its prompt."""
        return self.prompt + "".join(token.text for token in self.guided)

    @property
    def unguided_text(self) -> str:
        """The unguided text with its prompt."""
        return self.prompt + "".join(token.text for token in self.unguided)


def load_models(generator: Any, guide: Any, *, device: str, dtype: str) -> tuple[CausalLM, Discriminator]:
    """Loads the generator and the guide that are named. Raises MissingModelError for a model that does not exist."""
    from models.folders import require_model

    if isinstance(generator, str | Path):
        require_model(str(generator))
    if isinstance(guide, str | Path) and not Path(guide).is_dir():
        raise MissingModelError(str(guide), "there is no such folder")
    from discriminators.guides import load_guide  # with torch, which takes seconds
    from models.causal import CausalLM

    lm = generator if isinstance(generator, CausalLM) else CausalLM.from_pretrained(str(generator), device, dtype)
    return lm, load_guide(guide, str(lm.device)) if isinstance(guide, str | Path) else guide


def steer_prompts(
    lm: CausalLM, guide: Discriminator, prompts: Sequence[str], steering: Steering, samples: int
) -> Study:
    """Continues prompts with guidance and without (`judge.steer`)."""
    from discriminators.guides import score_texts
    from models.loading import model_fingerprint, weights_fingerprint
    from oumg.generation import encode_prompts
    from oumg.guidance import adapt_guide

    adapted = adapt_guide(guide, lm.tokenizer)
    encode_prompts(lm, prompts, steering.new_tokens)  # refuses all that are too long before any is continued
    written: list[SteeredText] = []
    for prompt in prompts:
        for sample in range(samples):
            *_, last = write_steps(
                lm,
                adapted,
                prompt,
                replace(steering, seed=steering.seed + sample),
            )
            written.append(last)
    sides = ([each.text for each in written], [each.unguided_text for each in written])
    guided, unguided = (expit(np.asarray(score_texts(guide, side), np.float64)).tolist() for side in sides)
    texts = [
        replace(each, attribute=own, attribute_unguided=other)
        for each, own, other in zip(written, guided, unguided, strict=True)
    ]
    models = {"generator": model_fingerprint(lm.model, lm.tokenizer), "guide": weights_fingerprint(guide.network)}
    line = signature(
        "steer",
        libraries=MODEL_LIBRARIES,
        **vars(steering),
        samples=samples,
        **models,
    )
    rows = [pick(each, ATTRIBUTES, prompt=each.prompt, text=each.text, unguided=each.unguided_text) for each in texts]
    return Study(
        answer=(
            f"The guide finds its attribute with probability {np.mean(guided):.2f} in the guided texts and "
            f"{np.mean(unguided):.2f} in the unguided ones (mean of {len(texts)}; its own judgement)."
        ),
        tables=[
            Table("Steered texts", CAPTION, rows),
            Table("Step by step", f"The first text. {STEPS_CAPTION}", list_steps(texts[0].prompt, texts[0].guided)),
        ],
        notes=[*dict.fromkeys((*lm.notes, *guide.notes))],
        signature=line,
        found=texts,
    )


def write_steps(lm: CausalLM, guide: Any, prompt: str, how: Steering) -> Iterator[SteeredText]:
    """Yields the texts after each step, lazily.

    Raises SettingError or InputError for wrong settings, a blank prompt or one that is too long for the generator, and
    more candidates than the generator has tokens.
    """
    from oumg.generation import check_candidates, encode_prompts, make_guidance, write_tokens

    check(Text, prompt=prompt)
    check_candidates([how.k], len(lm.tokenizer))
    text = SteeredText(prompt.strip())
    ((_, row),) = encode_prompts(lm, [text.prompt], how.new_tokens).items()
    guidance = make_guidance(lm, guide, how.rule, how.strength, how.k) if how.strength else None
    write = partial(
        write_tokens,
        lm,
        row,
        new_tokens=how.new_tokens,
        k=how.k,
        seed=how.seed,
    )
    for guided, unguided in zip_longest(write(guidance=guidance), write(guidance=None)):
        if guided:
            text = replace(text, guided=(*text.guided, guided))
        if unguided:
            text = replace(text, unguided=(*text.unguided, unguided))
        yield text


def list_steps(prompt: str, tokens: Sequence[WrittenToken], shown: int = SHOWN_CANDIDATES) -> list[dict[str, Any]]:
    """Lists the candidates of each step: the `shown` likeliest before guidance and the `shown` likeliest after it."""
    rows: list[dict[str, Any]] = []
    text = prompt
    for number, token in enumerate(tokens):
        candidates = token.candidates
        after = sorted(range(len(candidates)), key=lambda place: -candidates[place].after)
        places = sorted({*range(min(shown, len(candidates))), *after[:shown], token.chosen})
        for place in places:
            candidate = candidates[place]
            rows.append(
                {
                    "step": number + 1,
                    "text": f"…{text[-TAIL:]}" if place == places[0] else "",
                    "candidate": repr(candidate.text),
                    "before": candidate.before,
                    "attribute": "" if candidate.attribute is None else candidate.attribute,
                    "after": candidate.after,
                    "chosen": "←" if place == token.chosen else "",
                }
            )
        text += token.text
    return rows
