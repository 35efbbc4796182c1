"""One text under guidance, step by step: the likeliest candidates before and after it, and the guide's logits."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text as ColoredText

from core.faults import InputFaults, printable
from core.settings import Count, Positive, Seed, Text, checked_dataclass
from core.signature import MODEL_LIBRARIES, signature
from data.corpus import Corpus
from discriminators.guides import TokenMismatchError
from experiments.contracts import Outcome, Run, Table
from experiments.steering.generation import check_candidates
from experiments.steering.models import generator_share, load_generator, train_label_guide
from experiments.steering.parts import TextParts, split_parts
from experiments.steering.prompts import encode_prompts
from experiments.steering.steps import SHADES, WrittenToken, name_shade, write_tokens
from experiments.training import (
    GuidePlan,
    LanguageModelPlan,
    Pretrained,
    check_guide,
    folders_of,
    load_guide,
    use_pretrained,
)
from oumg.guidance import Guidance, GuidanceRule, adapt_guide

TAIL = 30  # characters of the text so far
STEPS = (
    "before: the generator's probability among its k likeliest tokens. attribute: the guide's probability that the "
    "text with the candidate has the label. after: the probability under guidance, from which the token marked in "
    "`chosen` was drawn. Candidates that are among the first before or after are shown."
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
    data: Corpus,
    generator: LanguageModelPlan | Pretrained,
    guide: GuidePlan,
    show: Demonstration,
    guide_folder: str | None = None,
    share: float = 0.5,
    device: str = "cpu",
    dtype: str = "float32",
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
        dtype: of the weights of the generator.
    """
    label = choose_label(data, show.label, guide_folder)
    if guide_folder is not None:
        check_guide(guide_folder)
    trains = isinstance(generator, LanguageModelPlan) or guide_folder is None
    parts = split_parts(data, generator_share(generator, share), run.seed) if trains else TextParts()
    writer = load_generator(run, generator, parts.generator, data, device, dtype)
    lm = writer.lm
    check_candidates([show.k], len(lm.tokenizer))
    prompt = str(show.prompt).strip()
    (row,) = encode_prompts(lm, [prompt], show.new_tokens)
    if guide_folder is None:
        trained = train_label_guide(run, guide, lm, label, parts.guide)
    else:
        trained = use_pretrained(guide_folder)
    model = load_guide(trained.source, device)
    try:
        guidance = partial(
            Guidance,
            adapt_guide(model, lm.tokenizer, show.bridge),
            lm.tokenizer,
            show.strength,
            show.k,
            show.rule,
            "text",
        )
    except TokenMismatchError as error:
        raise InputFaults([str(error)]) from error
    write = partial(write_tokens, lm, row, show.new_tokens, show.k, show.seed)
    with run.timed("generating"):
        guided, unguided = list(write(guidance)), list(write())
    named = {f"to {label}, strength {show.strength:g}": guided, "unguided": unguided}
    for name, tokens in named.items():
        print_colored(Console(highlight=False), name, prompt, tokens)
    texts = [
        {"decoding": name, "text": prompt + "".join(token.text for token in tokens)} for name, tokens in named.items()
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
            Table("Step by step", STEPS, step_rows(prompt, guided, show.shown)),
            Table("Texts", "The same draws with and without guidance.", texts),
        ],
        models=folders_of({trained.name: trained}),
        synthetic=data.synthetic and trains,
    )


def choose_label(data: Corpus, asked: str | int | float | None, guide_folder: str | None) -> str:
    """The label asked for; else the name of a guide's folder, or the last label of the data.

    Raises InputFaults for a label that the data lacks, where the guide learns the data.
    """
    if guide_folder is not None:
        return Path(guide_folder).name.removeprefix("guide_") if asked is None else str(asked)
    label = data.labels[-1] if asked is None else str(asked)  # the command line gives a number where it looks like one
    if label not in data.labels:
        raise InputFaults([f"label must be one of {', '.join(data.labels)}, but is {label!r}"])
    return label


def print_colored(console: Console, name: str, prompt: str, tokens: Sequence[WrittenToken]) -> None:
    """Prints a text on a terminal: guidance made blue tokens likelier and orange ones less likely."""
    if not console.is_terminal:
        return
    text = ColoredText(printable(prompt))
    for token in tokens:
        shade = name_shade(token.moved)
        text.append(printable(token.text), style=f"black on {SHADES[shade]}" if shade else "")
    console.print(ColoredText(printable(name), style="bold"), text, sep="\n")


def step_rows(prompt: str, tokens: Sequence[WrittenToken], shown: int) -> list[dict[str, Any]]:
    """The candidates of each step, likeliest first: the `shown` first before and the `shown` first after guidance."""
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
                    "attribute": candidate.attribute,
                    "after": candidate.after,
                    "chosen": "←" if place == token.chosen else "",
                }
            )
        text += token.text
    return rows
