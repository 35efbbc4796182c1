"""Steer: prompts continued with guidance and without, with the candidates of each step (`judge steer`)."""

from collections.abc import Sequence

import numpy as np

from core.example import Example
from core.scores import Scores
from discriminators.guides import load_guide
from experiments.contracts import Outcome, Run
from judge.verbs import steer as steer_verb
from meta_eval.scored_set import ScoredSet
from models.causal import CausalLM
from oumg.guidance import GuidanceRule


def steer(
    run: Run,
    generator: str,
    guide: str,
    prompts: Sequence[str],
    strength: float,
    k: int,
    rule: GuidanceRule,
    new_tokens: int,
    samples: int,
    device: str,
    dtype: str,
) -> Outcome:
    """`judge.steer`."""
    loaded, lm = load_guide(guide, device), CausalLM.from_pretrained(generator, device, dtype)
    with run.timed("generating"):
        found = steer_verb.steer(lm, loaded, prompts, strength, k, rule, new_tokens, samples, run.seed)
    shown = [show_texts(found)]
    return Outcome(found.signature, found.tables, shown=shown, notes=list(found.notes), title=", ".join(prompts))


def show_texts(found: steer_verb.SteeredTexts) -> ScoredSet:
    """The guided texts with the guide's probability of its attribute, for the page, which colours their tokens."""
    examples = tuple(
        Example(str(number), each.text, prefix=each.prompt) for number, each in enumerate(found.texts, start=1)
    )
    values = np.array([each.attribute for each in found.texts], dtype=np.float64)
    explanations = [{"guided": list_moved(each)} for each in found.texts]
    scores = Scores({"attribute": values}, found.signature, explanations=explanations)
    return ScoredSet("guided texts", examples, {"guide": scores})


def list_moved(text: steer_verb.SteeredText) -> list[tuple[str, float]]:
    """The tokens of a guided text, and how far guidance moved the log-probability of each, in nats."""
    return [(token.text, token.moved) for token in text.guided]
