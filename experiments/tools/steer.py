"""Steer: prompts continued with guidance and without, with the candidates of each step (`judge steer`)."""

from collections.abc import Sequence

from discriminators.guides import load_guide
from experiments.contracts import Outcome, Run
from judge import steering
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
        found = steering.steer(lm, loaded, prompts, strength, k, rule, new_tokens, samples, run.seed)
    return Outcome(found.signature, found.tables, notes=list(found.notes), title=", ".join(prompts))
