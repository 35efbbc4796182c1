"""Texts that a guide steers, beside those of the generator alone (`judge.steer`; OUMG, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from core.faults import SettingFault
from core.settings import NonNegative, check
from core.signature import MODEL_LIBRARIES, signature
from judge.tables import Table, to_html

if TYPE_CHECKING:
    from models.causal import CausalLM
    from oumg.generation import GuideModel
    from oumg.guidance import GuidanceRule


@dataclass(frozen=True)
class GuidedText:
    """A prompt with its continuation.

    Attributes:
        prompt: the text that was continued.
        text: with the prompt, under guidance.
        unguided: the text that the same draws give without guidance.
        attribute, attribute_unguided: the guide's probability that the text has its attribute.
    """

    prompt: str
    text: str
    unguided: str
    attribute: float
    attribute_unguided: float


@dataclass(frozen=True)
class GuidedTexts:
    """Texts with and without guidance, prompt after prompt.

    The guide judges its own work here: its probability rises by construction. Judge the texts by another metric.
    `notes` are what a reader must know about the models.
    """

    texts: tuple[GuidedText, ...]
    signature: str
    notes: tuple[str, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """A row per text."""
        caption = (
            "`attribute` is the guide's own probability of its attribute, so it rises by construction; `unguided` has "
            "the same draws."
        )
        return [Table("Steered texts", caption, [vars(each) for each in self.texts])]

    def _repr_html_(self) -> str:
        return to_html(self.tables, [*self.notes, self.signature])


def steer(
    generator: str | Path | CausalLM,
    guide: str | Path | GuideModel,
    prompts: Sequence[str],
    strength: float = 4.0,
    k: int = 32,
    rule: GuidanceRule = "normalised",
    bridge: bool = False,
    new_tokens: int = 20,
    samples: int = 1,
    seed: int = 0,
) -> GuidedTexts:
    """Continues prompts with guidance and without.

    Args:
        generator: a causal language model by hub name or folder, or a loaded one (on a GPU).
        guide: the folder of a trained guide (`guide_LABEL` of a run), or a loaded one.
        prompts: texts to continue.
        strength: alpha of Eq. 5, or lambda of FUDGE; 0 is the generator alone.
        k: candidates of each step that are scored and kept.
        rule: `normalised` (Eq. 5) or `fudge`.
        bridge: let a guide of other tokens than the generator's read decoded text (exact and slow).
        new_tokens: the most tokens of a continuation.
        samples: texts of each prompt.
        seed: of the draws.

    Raises SettingFault for wrong settings and a guide of other tokens; InputFaults for a prompt that leaves no room
    for the new tokens and for a missing model.
    """
    from discriminators.guides import TokenMismatchError, load_guide, score_texts  # with torch, which takes seconds
    from models.causal import CausalLM
    from models.loading import model_fingerprint, weights_fingerprint
    from models.model import decode_tokens
    from oumg.generation import TextSampling, check_candidates, continue_prompts, encode_prompts, make_guidance
    from oumg.guidance import adapt_guide

    if isinstance(prompts, str) or not prompts:
        raise SettingFault(f"prompts must be a list of texts, but is {prompts!r}")
    check(NonNegative, strength=strength)
    sampling = TextSampling(len(prompts), samples, new_tokens, 32, (seed,), prompts)
    lm = generator if isinstance(generator, CausalLM) else CausalLM.from_pretrained(str(generator))
    loaded = load_guide(guide, str(lm.device)) if isinstance(guide, str | Path) else guide
    check_candidates([k], len(lm.tokenizer))
    try:
        adapted = adapt_guide(loaded, lm.tokenizer, bridge)
    except TokenMismatchError as error:
        raise SettingFault(str(error)) from error
    rows = encode_prompts(lm, prompts, new_tokens)
    written = {
        name: [
            decode_tokens(lm.tokenizer, [*row, *ids])
            for row, ids in zip(
                [row for row in rows.values() for _ in range(samples)],
                continue_prompts(lm, list(rows.values()), sampling, k, guidance),
                strict=True,
            )
        ]
        for name, guidance in (("guided", make_guidance(lm, adapted, rule, strength, k)), ("alone", None))
    }
    chances = {name: expit(np.asarray(score_texts(loaded, texts), np.float64)) for name, texts in written.items()}
    texts = [
        GuidedText(prompt, written["guided"][i], written["alone"][i], *(float(each[i]) for each in chances.values()))
        for i, prompt in enumerate(prompt for prompt in rows for _ in range(samples))
    ]
    settings = {"strength": strength, "k": k, "rule": rule, "new_tokens": new_tokens, "samples": samples, "seed": seed}
    models = {"generator": model_fingerprint(lm.model, lm.tokenizer), "guide": weights_fingerprint(loaded.network)}
    line = signature("steer", libraries=MODEL_LIBRARIES, **settings, **models)
    return GuidedTexts(tuple(texts), line, tuple(dict.fromkeys((*lm.notes, *loaded.notes))))
