"""One text under guidance, step by step: the likeliest candidates before and after it, and the guide's logits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.faults import InputFaults
from core.settings import Count, Positive, Seed, Text, checked_dataclass
from core.signature import MODEL_LIBRARIES, signature
from data.sets.attributes import LabelledData
from experiments.guided.generation import check_candidates, continue_prompts
from experiments.guided.models import generator_share, load_generator, train_label_guide
from experiments.guided.parts import TextParts, split_parts
from experiments.guided.prompts import encode_prompts
from experiments.runner.contracts import Outcome, Run, Table
from experiments.training.guides import GuidePlan, check_guide, load_guide
from experiments.training.language_models import LanguageModelPlan, Pretrained
from experiments.training.trained import folders_of, use_pretrained
from language_models.causal import CausalLM
from oumg.bilstm_guide import TokenMismatchError
from oumg.guidance import Guidance, GuidanceRule, GuidedStep
from oumg.tokens import decode_tokens

TAIL = 30  # characters of the text so far
STEPS = (
    "before: the generator's probability among its k likeliest tokens. guide: its logit for the text with the "
    "candidate, above 0 for the label. after: the probability under guidance, from which the token marked in `chosen` "
    "was drawn. Candidates that are among the first before or after are shown."
)


@checked_dataclass
class Demonstration:
    """The settings of a demonstration.

    Attributes:
        prompt: the text to continue.
        strength: alpha or lambda, above 0.
        k: candidates that are scored and kept.
        rule: `normalised` (Eq. 5) or `fudge`.
        new_tokens: steps.
        shown: for each step, the number of first candidates before and of first candidates after guidance.
        label: to steer to; None for that of the guide's folder, or the last label of the data.
        seed: of the draws.
        bridge: let a guide with other tokens than the generator's read decoded text.
    """

    prompt: Text | int | float  # the command line gives a number where a text looks like one
    strength: Positive
    k: Count
    rule: GuidanceRule
    new_tokens: Count
    shown: Count
    label: str | int | float | None = None
    seed: Seed = 0
    bridge: bool = False


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

    Generator and guide are those of `guided_text` under the same settings, found again or trained.

    Args:
        run: from the runner.
        data: labelled texts.
        generator, guide: as in `guided_text`.
        show: the settings.
        guide_folder: a trained guide, in place of `guide`.
        share: of the training texts for a generator that is trained here.
        device: where models generate.
    """
    label = choose_label(data, show.label, guide_folder)
    if guide_folder is not None:
        check_guide(guide_folder)
    trains = isinstance(generator, LanguageModelPlan) or guide_folder is None
    parts = split_parts(data, generator_share(generator, share), run.seed) if trains else TextParts()
    writer = load_generator(run, generator, parts.generator, data, device)
    lm = writer.lm
    check_candidates([show.k], len(lm.tokenizer))
    (row,) = encode_prompts(lm, [str(show.prompt).strip()], show.new_tokens)
    if guide_folder is None:
        trained = train_label_guide(run, guide, lm, label, parts.guide)
    else:
        trained = use_pretrained(guide_folder)
    model = load_guide(trained.source, device)
    steps: list[GuidedStep] = []
    try:
        guidance = Guidance(
            model,
            lm.tokenizer,
            show.strength,
            show.k,
            show.rule,
            reads="text",
            bridge=show.bridge,
            watch=steps.append,
        )
    except TokenMismatchError as error:
        raise InputFaults([str(error)]) from error
    with run.timed("generating"):
        (guided,) = continue_prompts(lm, [row], 1, show.new_tokens, 1, show.seed, show.k, lambda: guidance)
        (unguided,) = continue_prompts(lm, [row], 1, show.new_tokens, 1, show.seed, show.k)
    texts = [
        {"decoding": name, "text": decode_tokens(lm.tokenizer, [*row[1:], *ids], keep_special=True)}
        for name, ids in ((f"to {label}, strength {show.strength:g}", guided), ("unguided", unguided))
    ]
    return Outcome(
        signature=signature(
            run.name,
            libraries=MODEL_LIBRARIES,
            generator=writer.trained.identity,
            guide=trained.identity,
            label=label,
            rule=show.rule,
            strength=show.strength,
            k=show.k,
            seed=show.seed,
        ),
        tables=[
            Table("Step by step", STEPS, step_rows(lm, row[1:], guided, steps, show.shown)),
            Table("Texts", "The same draws with and without guidance.", texts),
        ],
        models=folders_of({trained.name: trained}),
        synthetic=data.synthetic and trains,
    )


def choose_label(data: LabelledData, asked: str | int | float | None, guide_folder: str | None) -> str:
    """The label asked for; else the name of a guide's folder, or the last label of the data.

    Raises InputFaults for a label that the data lacks, where the guide learns the data.
    """
    if guide_folder is not None:
        return Path(guide_folder).name.removeprefix("guide_") if asked is None else str(asked)
    label = data.labels[-1] if asked is None else str(asked)  # the command line gives a number where it looks like one
    if label not in data.labels:
        raise InputFaults([f"label must be one of {', '.join(data.labels)}, but is {label!r}"])
    return label


def step_rows(
    lm: CausalLM, prompt: Sequence[int], chosen: Sequence[int], steps: Sequence[GuidedStep], shown: int
) -> list[dict[str, Any]]:
    """The candidates of each step, likeliest first: the `shown` first before and the `shown` first after guidance."""
    rows: list[dict[str, Any]] = []
    for number, (step, token) in enumerate(zip(steps, chosen, strict=True)):
        text = decode_tokens(lm.tokenizer, [*prompt, *chosen[:number]], keep_special=True)
        before, after = step.before[0].softmax(-1), step.after[0].softmax(-1)
        first = {*range(min(shown, len(before))), *after.topk(min(shown, len(after))).indices.tolist()}
        places = sorted(first | {step.candidates[0].tolist().index(token)})
        for place in places:
            candidate = int(step.candidates[0, place])
            rows.append(
                {
                    "step": number + 1,
                    "text": f"…{text[-TAIL:]}" if place == places[0] else "",
                    "candidate": repr(decode_tokens(lm.tokenizer, [candidate], keep_special=True)),
                    "before": float(before[place]),
                    "guide": float(step.judged[0, place]),
                    "after": float(after[place]),
                    "chosen": "←" if candidate == token else "",
                }
            )
    return rows
