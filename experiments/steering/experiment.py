"""Guided decoding of a causal language model: texts steered to labels (OUMG, section 3.2; FUDGE)."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated

import numpy as np
from pydantic import Field

from core.errors import InputError
from core.settings import Count, NonNegative, Several, checked_dataclass
from data.corpus import Corpus
from discriminators.discriminator import Discriminator
from discriminators.guides import load_guide, score_texts
from experiments.contracts import Outcome, Run, Table
from experiments.presentation import present
from experiments.steering import tables
from experiments.steering.models import (
    LabelJudges,
    SteeringPlan,
    load_generator,
    split_parts,
    train_label_guide,
    train_label_judges,
)
from experiments.steering.tables import SteeredSetting, SteeredTexts
from experiments.training import LanguageModelPlan, prefix_notes
from models.causal import CausalLM
from models.model import decode_tokens
from oumg import generation
from oumg.generation import GuideModel, SamplingSettings, make_guidance
from oumg.guidance import GuidanceRule
from oumg.pieces import split_pieces

Label = Annotated[str, Field(coerce_numbers_to_str=True)]  # the command line gives a number where it looks like one


@checked_dataclass
class SteeringSettings:
    """The settings of guidance that are compared."""

    rule: GuidanceRule  # `normalised` (Eq. 5, the strength is alpha) or `fudge` (the strength is lambda).
    # the first is 0, the unguided generator with top-k sampling; the others are compared with it
    strengths: Several[NonNegative]
    ks: Several[Count]  # candidates that are scored and kept
    labels: Several[Label] | None = None  # to steer to; None for all labels of the data

    def __post_init__(self) -> None:
        if self.strengths[0] != 0:
            raise ValueError(f"strengths must begin with 0, the generator alone, but is {list(self.strengths)}")


def guided_text(
    run: Run, data: Corpus, plan: SteeringPlan, steering: SteeringSettings, sampling: SamplingSettings
) -> Outcome:
    """A generator steered to each label, at every strength and k; `data` are labelled texts."""
    labels = list(data.labels if steering.labels is None else steering.labels)
    if unknown := [label for label in labels if label not in data.labels]:
        raise InputError([f"labels must be some of {', '.join(data.labels)}, but {unknown[0]!r} is among them"])
    if isinstance(plan.generator, LanguageModelPlan):
        generation.check_candidates(steering.ks, plan.generator.model.vocabulary)
    chosen, notes = generation.choose_prompts(data, sampling)
    parts = split_parts(data, plan, run.seed)
    generator, lm = load_generator(run, plan, parts.generator, data)
    generation.check_candidates(steering.ks, len(lm.tokenizer))
    prompts = generation.encode_prompts(lm, chosen, sampling.new_tokens)
    guides = {label: train_label_guide(run, plan.guide, lm, label, parts.guide) for label in labels}
    judges = train_label_judges(run, plan.judge, data.labels, parts.judge)
    loaded_guides = {label: load_guide(each.source, plan.device) for label, each in guides.items()}
    loaded_judges = LabelJudges(
        data.labels, {label: Discriminator.from_pretrained(each.source, plan.device) for label, each in judges.items()}
    )
    found = steer(run, lm, loaded_guides, loaded_judges, prompts, steering, sampling)
    accuracies, warnings = judge_held_out(data, loaded_judges, loaded_guides)
    samples = run.folder / "samples.jsonl"
    if run.stages.first:
        tables.write_samples(samples, found, steering.rule, chosen)
    together = [tables.steering_row(each, "all", each.texts, steering.rule, run.seed) for each in found]
    by_label = [
        tables.steering_row(each, texts.label, [texts], steering.rule, run.seed)
        for each in found
        for texts in each.texts
    ]
    return present(
        run,
        models={"generator": generator, **{each.name: each for each in (*guides.values(), *judges.values())}},
        tables=[Table("Steered texts", tables.CAPTION, [*together, *by_label])],
        notes=[*prefix_notes(plan.guide), *notes, *warnings],
        settings={"data": data.name, "rule": steering.rule, "seeds": ",".join(map(str, sampling.seeds))},
        figures={
            "prompts": len(prompts),
            "generator parameters (millions)": lm.parameters / 1e6,
            **accuracies,
        },
        files=[samples],
        data=data,
    )


def steer(
    run: Run,
    lm: CausalLM,
    guides: Mapping[str, GuideModel],
    judges: LabelJudges,
    prompts: Mapping[str, Sequence[int]],
    steering: SteeringSettings,
    sampling: SamplingSettings,
) -> list[SteeredSetting]:
    """Texts steered to the label of each guide, at each k and strength; `prompts` gives the tokens by text."""
    found: list[SteeredSetting] = []
    rows = list(prompts.values())
    full_batch = [rows[i % len(rows)] for i in range(sampling.batch_size)]
    with run.progress("steering", len(steering.ks) * len(steering.strengths) * len(guides)) as advance:
        for k, strength in product(steering.ks, steering.strengths):
            texts: list[SteeredTexts] = []
            guidances = {label: make_guidance(lm, guide, steering.rule, strength, k) for label, guide in guides.items()}
            for label, guidance in guidances.items():
                with run.timed("generating"):
                    continued = generation.continue_prompts(lm, rows, sampling, k, guidance)
                with run.timed("judging"):
                    texts.append(measure_steered_texts(lm, judges, label, prompts, continued, sampling))
                advance(1)
            with run.timed("measuring the overhead"):
                guidance = next(iter(guidances.values()))
                overhead = generation.measure_overhead(lm, full_batch, sampling.new_tokens, k, guidance)
            found.append(SteeredSetting(strength, k, tuple(texts), overhead))
    return found


def measure_steered_texts(
    lm: CausalLM,
    judges: LabelJudges,
    label: str,
    prompts: Mapping[str, Sequence[int]],
    continued: Sequence[Sequence[int]],
    sampling: SamplingSettings,
) -> SteeredTexts:
    """The measures of the continuations that `continue_prompts` returned for one label; `lm` is unguided."""
    rows = list(prompts.values())
    of = np.tile(np.repeat(np.arange(len(rows)), sampling.samples), len(sampling.seeds))
    # Decoded with the prompt, because some tokenizers drop the space before the text that they decode.
    texts = [decode_tokens(lm.tokenizer, [*rows[i], *ids]) for i, ids in zip(of, continued, strict=True)]
    starts = [len(decode_tokens(lm.tokenizer, row)) for row in rows]
    words = [split_pieces(text[starts[i] :].lower(), "words") for i, text in zip(of, texts, strict=True)]
    pairs = [(rows[i], ids) for i, ids in zip(of, continued, strict=True)]
    nll = [-float(found.astype(np.float64).sum()) for found in lm.log_probabilities(pairs)]
    return SteeredTexts(
        label=label,
        prompts=of,
        seeds=np.repeat(np.array(sampling.seeds), len(rows) * sampling.samples),
        texts=tuple(texts),
        words=tuple(tuple(map(str.strip, row)) for row in words),
        hits=np.array([float(found == label) for found in judges.find_labels(texts)]),
        nll=np.array(nll),
        tokens=np.array([float(len(ids)) for ids in continued]),
    )


def is_above_chance(wanted: Sequence[str | None], found: Sequence[str], labels: int) -> bool:
    """Whether the mean accuracy over the labels that are wanted, less two standard errors, is above 1 / `labels`.

    >>> is_above_chance(["a", "b"] * 20, ["a", "b"] * 20, 2), is_above_chance(["a", "b"] * 20, ["b"] * 40, 2)
    (True, False)
    """
    present = set(wanted)
    hits = [[float(f == w) for w, f in zip(wanted, found, strict=True) if w == label] for label in present]
    error = float(np.sqrt(sum(np.var(each) / len(each) for each in hits))) / len(present)
    return float(np.mean([np.mean(each) for each in hits])) - 2 * error > 1 / labels


def judge_held_out(
    data: Corpus, judges: LabelJudges, guides: Mapping[str, GuideModel]
) -> tuple[dict[str, float], list[str]]:
    """The accuracy of judges and guides on held-out texts, which no model has learned.

    Also a note where the judges, or a guide, are not above chance, or these texts have one label alone.
    """
    if not data.held_out:
        return {}, []
    texts, wanted = [e.full_text for e in data.held_out], [e.label for e in data.held_out]
    found = judges.find_labels(texts)
    figures, weak = {"judges' accuracy on held-out texts": float(np.mean(np.array(found) == wanted))}, list[str]()
    for label, guide in guides.items():
        own, said = (
            [str(each) for each in side] for side in (np.array(wanted) == label, score_texts(guide, texts) > 0)
        )
        figures[f"accuracy of the guide to {label} on held-out texts"] = float(np.mean(np.array(own) == said))
        if not is_above_chance(own, said, 2):
            weak.append(f"on {len(texts)} held-out texts the guide to {label} is not above chance: train it on more")
    if len(set(wanted)) == 1:
        return figures, [
            f"the {len(wanted)} held-out texts have a single label, {wanted[0]}: they do not show whether the judges "
            "tell labels apart"
        ]
    if not is_above_chance(wanted, found, len(data.labels)):
        weak.append(
            f"on {len(found)} held-out texts the judges are not above chance: the accuracy of steered texts says "
            "little; train on more texts, or change model.judge"
        )
    return figures, weak
