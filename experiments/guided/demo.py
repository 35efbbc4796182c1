"""One text under guidance, step by step: the likeliest candidates before and after, and what the guide says of them."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from core.faults import InputFaults, SettingFault
from core.signature import MODEL_LIBRARIES, signature
from data.sets.attributes import LabelledData
from experiments.guided.steering import (
    Generator,
    Parts,
    check_candidates,
    continuations,
    generator_share,
    label_guide,
    parts,
    prompt_ids,
    trained_generator,
)
from experiments.runner.contracts import Outcome, Run, Table
from experiments.training.guides import GuidePlan, check_guide, load_guide
from experiments.training.language_models import LanguageModelPlan, Pretrained
from experiments.training.trained import Trained, folders_of, trained_elsewhere
from language_models.causal import CausalLM
from oumg.bilstm_guide import TokenMismatchError
from oumg.guidance import Guidance, GuidanceRule, GuidedStep
from oumg.tokens import decode_tokens

log = logging.getLogger(__name__)

TAIL = 30  # characters of what is written so far
STEPS = (
    "before: the generator's probability among its k likeliest tokens. guide: its logit for the text with the "
    "candidate, above 0 for the label. after: the probability under guidance, from which the token marked in `chosen` "
    "was drawn. Candidates that are among the first before or after are shown."
)


@dataclass(frozen=True)
class Demonstration:
    """What is shown.

    Attributes:
        prompt: the text to continue.
        strength: alpha or lambda, above 0.
        k: how many candidates are judged and left.
        rule: `normalised` (Eq. 5) or `fudge`.
        new_tokens: steps.
        shown: candidates of a step, so many of the first before and of the first after.
        label: steered to; where it is None, that of the guide's folder, or the last of the data's.
        seed: of the draws.
        bridge: let a guide of other tokens than the generator's read decoded text.
    """

    prompt: str
    strength: float
    k: int
    rule: GuidanceRule
    new_tokens: int
    shown: int
    label: str | None = None
    seed: int = 0
    bridge: bool = False

    def __post_init__(self) -> None:
        if not str(self.prompt).strip():
            raise SettingFault("prompt must be a text to continue, but is blank")
        if not 0 < self.strength < math.inf:
            raise SettingFault(f"strength must be finite and above 0 for a guide to be asked, but is {self.strength}")
        for name in ("k", "new_tokens", "shown"):
            if getattr(self, name) < 1:
                raise SettingFault(f"{name} must be at least 1, but is {getattr(self, name)}")
        if self.rule not in get_args(GuidanceRule):
            raise SettingFault(f"rule must be one of {', '.join(get_args(GuidanceRule))}, but is {self.rule!r}")


def guided_demo(
    run: Run,
    data: LabelledData,
    generator: LanguageModelPlan | Pretrained,
    guide: GuidePlan,
    show: Demonstration,
    guide_folder: str | None = None,
    share: float = 0.5,
    device: str = "cpu",
) -> Outcome:
    """A table of every step, and the text beside the one that the same draws give without guidance.

    Generator and guide are those of an experiment with guided texts under the same settings, found again or trained.

    Args:
        run: from the runner.
        data: labelled texts.
        generator, guide: as in `guided_text`.
        show: what is shown.
        guide_folder: a trained guide, in place of `guide`.
        share: of the training texts for a generator that is trained here.
        device: where models generate.
    """
    label = shown_label(data, show.label, guide_folder)
    if guide_folder is not None:
        check_guide(guide_folder)
    trains = isinstance(generator, LanguageModelPlan) or guide_folder is None
    learned = parts(data, generator_share(generator, share), run.seed) if trains else Parts((), (), ())
    writer = trained_generator(run, generator, data, learned.generator, device)
    check_candidates([show.k], len(writer.lm.tokenizer))
    row = prompt_ids(writer.lm, [str(show.prompt).strip()], show.new_tokens)[0]
    if guide_folder is None:
        trained = label_guide(run, guide, writer, label, learned.guide)
    else:
        trained = trained_elsewhere(guide_folder)
    model = load_guide(trained.source, device)
    steps: list[GuidedStep] = []
    try:
        guidance = Guidance(
            model,
            writer.lm.tokenizer,
            show.strength,
            show.k,
            show.rule,
            reads="text",
            bridge=show.bridge,
            watch=steps.append,
        )
    except TokenMismatchError as error:
        raise InputFaults([str(error)]) from error
    with run.timed("writing"):
        guided = _draw(writer.lm, row, show, guidance)
        plain = _draw(writer.lm, row, show, None)
    texts = [
        {"decoding": name, "text": decode_tokens(writer.lm.tokenizer, [*row[1:], *ids], keep_special=True)}
        for name, ids in ((f"to {label}, strength {show.strength:g}", guided), ("unguided", plain))
    ]
    return Outcome(
        signature=_signature(run, writer, trained, show, label),
        tables=[
            Table("Step by step", STEPS, step_rows(writer.lm, row[1:], guided, steps, show.shown)),
            Table("Texts", "The same draws with and without guidance.", texts),
        ],
        models=folders_of({trained.name: trained}),
        synthetic=data.synthetic and trains,
    )


def shown_label(data: LabelledData, asked: str | None, guide_folder: str | None) -> str:
    """The label asked for; else what a guide's folder is called after, or the last label of the data.

    Raises InputFaults for a label that the data lacks, where the guide is that of the data.
    """
    if guide_folder is not None:
        return Path(guide_folder).name.removeprefix("guide_") if asked is None else str(asked)
    label = data.labels[-1] if asked is None else str(asked)  # a number on the command line is one
    if label not in data.labels:
        raise InputFaults([f"label must be one of {', '.join(data.labels)}, but is {label!r}"])
    return label


def step_rows(
    lm: CausalLM, prompt: Sequence[int], chosen: Sequence[int], steps: Sequence[GuidedStep], shown: int
) -> list[dict[str, Any]]:
    """The candidates of each step, the likeliest first: `shown` of the first before and of the first after guidance."""
    rows: list[dict[str, Any]] = []
    for number, (step, token) in enumerate(zip(steps, chosen, strict=True)):
        written = decode_tokens(lm.tokenizer, [*prompt, *chosen[:number]], keep_special=True)
        before, after = step.before[0].softmax(-1), step.after[0].softmax(-1)
        first = {*range(min(shown, len(before))), *after.topk(min(shown, len(after))).indices.tolist()}
        places = sorted(first | {step.candidates[0].tolist().index(token)})
        for place in places:
            candidate = int(step.candidates[0, place])
            rows.append(
                {
                    "step": number + 1,
                    "written": f"…{written[-TAIL:]}" if place == places[0] else "",
                    "candidate": repr(decode_tokens(lm.tokenizer, [candidate], keep_special=True)),
                    "before": float(before[place]),
                    "guide": float(step.judged[0, place]),
                    "after": float(after[place]),
                    "chosen": "←" if candidate == token else "",
                }
            )
    return rows


def _draw(lm: CausalLM, row: Sequence[int], show: Demonstration, guidance: Guidance | None) -> list[int]:
    chosen = None if guidance is None else lambda: guidance
    return continuations(lm, [row], 1, show.new_tokens, 1, show.seed, show.k, chosen)[0]


def _signature(run: Run, writer: Generator, guide: Trained, show: Demonstration, label: str) -> str:
    return signature(
        run.name,
        libraries=MODEL_LIBRARIES,
        generator=writer.trained.identity,
        guide=guide.identity,
        label=label,
        rule=show.rule,
        strength=show.strength,
        k=show.k,
        seed=show.seed,
    )
