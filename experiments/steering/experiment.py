"""Guided decoding of a causal language model: steers texts to labels (OUMG, section 3.2; FUDGE)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from core.errors import InputError
from core.settings import Count, NonNegative, Several, checked_dataclass
from data.corpus import Corpus
from discriminators.guides import load_guide, score_texts
from experiments.contracts import Run, Study, Table
from experiments.presentation import present
from experiments.steering import tables
from experiments.steering.models import (
    LabelJudges,
    SteeringPlan,
    load_generator,
    load_judges,
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
    """The labels, strengths and numbers of candidates k of the guidance to compare."""

    rule: GuidanceRule  # `normalised` (Eq. 5, the strength is alpha) or `fudge` (the strength is lambda).
    # the first is 0, the unguided generator with top-k sampling; the others are compared with it
    strengths: Several[NonNegative]
    ks: Several[Count]  # candidates that are scored and kept
    labels: Several[Label] | None = None  # to steer to; None for all labels of the data

    def __post_init__(self) -> None:
        if self.strengths[0] != 0:
            raise ValueError(f"strengths must begin with 0, the generator alone, but is {list(self.strengths)}")


@dataclass(frozen=True)
class Trial:
    """The accuracy of judges and guides on held-out texts, which no model has learned."""

    # accuracies by name
    figures: Mapping[str, float]
    # models that are not above chance
    notes: Sequence[str]
    # whether the judges are not known to be at chance
    are_judges_known: bool


def guided_text(
    run: Run,
    data: Corpus,
    plan: SteeringPlan,
    steering: SteeringSettings,
    sampling: SamplingSettings,
) -> Study:
    """Steers a generator to each label, at every strength and k; `data` are labelled texts."""
    labels = choose_labels(data, steering)
    if isinstance(plan.generator, LanguageModelPlan):
        generation.check_candidates(steering.ks, plan.generator.model.vocabulary)
    chosen, prompt_notes = generation.choose_prompts(data, sampling)
    parts = split_parts(data, plan, run.seed)
    generator, lm = load_generator(run, plan, parts.generator, data)
    generation.check_candidates(steering.ks, len(lm.tokenizer))
    prompts = generation.encode_prompts(lm, chosen, sampling.new_tokens)
    guides = {label: train_label_guide(run, plan.guide, lm, label, parts.guide) for label in labels}
    judges = train_label_judges(run, plan.judge, data.labels, parts.judge)
    loaded_guides = {label: load_guide(guide.source, plan.device) for label, guide in guides.items()}
    loaded_judges = load_judges(data.labels, judges, plan.device)
    found = steer(
        run,
        lm,
        guides=loaded_guides,
        judges=loaded_judges,
        prompts=prompts,
        steering=steering,
        sampling=sampling,
    )
    trial = judge_held_out(data, loaded_judges, loaded_guides)
    samples = run.folder / "samples.jsonl"
    if run.stages.first:
        tables.write_samples(samples, found, steering.rule, chosen)
    return present(
        run,
        models={"generator": generator, **{trained.name: trained for trained in (*guides.values(), *judges.values())}},
        tables=[tabulate(found, steering.rule)],
        notes=[*prefix_notes(plan.guide), *prompt_notes, *trial.notes],
        answer=tables.describe_guidance(found, trial.are_judges_known),
        settings={"data": data.name, "rule": steering.rule, "seeds": ",".join(map(str, sampling.seeds))},
        figures={
            "prompts": len(prompts),
            "generator parameters (millions)": lm.parameters / 1e6,
            **trial.figures,
        },
        files=[samples],
        title=f"to {', '.join(labels)}",
        data=data,
    )


def choose_labels(data: Corpus, steering: SteeringSettings) -> list[str]:
    """Chooses the labels to steer to. Raises InputError for a label that the data lacks."""
    labels = list(data.labels if steering.labels is None else steering.labels)
    unknown = [label for label in labels if label not in data.labels]
    if unknown:
        raise InputError([f"labels must be some of {', '.join(data.labels)}, but {unknown[0]!r} is not one of these"])
    return labels


def tabulate(found: Sequence[SteeredSetting], rule: GuidanceRule) -> Table:
    """Makes the table of steered texts: all labels together, then each label."""
    together = [tables.steering_row(setting, "all", setting.texts, rule) for setting in found]
    by_label: list[dict[str, Any]] = []
    for setting in found:
        by_label += [tables.steering_row(setting, texts.label, [texts], rule) for texts in setting.texts]
    shown = ("label", "strength", "k", "n", "accuracy", "perplexity", "distinct_2", "overhead")
    return Table("Steered texts", tables.CAPTION, [*together, *by_label], shown)


def steer(
    run: Run,
    lm: CausalLM,
    guides: Mapping[str, GuideModel],
    judges: LabelJudges,
    prompts: Mapping[str, Sequence[int]],
    steering: SteeringSettings,
    sampling: SamplingSettings,
) -> list[SteeredSetting]:
    """Steers texts to the label of each guide, at each k and strength; `prompts` maps texts to tokens."""
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
                    measured = measure_steered_texts(
                        lm,
                        judges,
                        label=label,
                        prompts=prompts,
                        continued=continued,
                        sampling=sampling,
                    )
                    texts.append(measured)
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
    """Measures the continuations that `continue_prompts` returned for one label; `lm` is the unguided generator."""
    rows = list(prompts.values())
    owners = np.tile(np.repeat(np.arange(len(rows)), sampling.samples), len(sampling.seeds))  # of each continuation
    texts: list[str] = []
    words: list[tuple[str, ...]] = []
    for owner, ids in zip(owners, continued, strict=True):
        # Decoded with the prompt, because some tokenizers drop the space before the text that they decode.
        text = decode_tokens(lm.tokenizer, [*rows[owner], *ids])
        start = len(decode_tokens(lm.tokenizer, rows[owner]))
        texts.append(text)
        words.append(tuple(map(str.strip, split_pieces(text[start:].lower(), "words"))))
    pairs = [(rows[owner], ids) for owner, ids in zip(owners, continued, strict=True)]
    nll = [-float(logprobs.astype(np.float64).sum()) for logprobs in lm.log_probabilities(pairs)]
    return SteeredTexts(
        label=label,
        prompts=owners,
        seeds=np.repeat(np.array(sampling.seeds), len(rows) * sampling.samples),
        texts=tuple(texts),
        words=tuple(words),
        hits=np.array([float(judged == label) for judged in judges.find_labels(texts)]),
        nll=np.array(nll),
        tokens=np.array([float(len(ids)) for ids in continued]),
    )


def judge_held_out(data: Corpus, judges: LabelJudges, guides: Mapping[str, GuideModel]) -> Trial:
    """Measures the accuracy of judges and guides on held-out texts.

    A note says if judges or a guide are not above chance, or if the held-out texts have only one label.
    """
    if not data.held_out:
        return Trial({}, [], are_judges_known=True)
    texts = [example.full_text for example in data.held_out]
    wanted = [str(example.label) for example in data.held_out]
    judged = judges.find_labels(texts)
    figures = {"judges' accuracy on held-out texts": mean_equal(wanted, judged)}
    notes: list[str] = []
    for label, guide in guides.items():
        is_label = [str(name == label) for name in wanted]
        is_guessed = [str(logit > 0) for logit in score_texts(guide, texts)]
        figures[f"accuracy of the guide to {label} on held-out texts"] = mean_equal(is_label, is_guessed)
        if not is_above_chance(is_label, is_guessed, labels=2):
            notes.append(f"on {len(texts)} held-out texts the guide to {label} is not above chance: train it on more")
    if len(set(wanted)) == 1:
        note = (
            f"the {len(wanted)} held-out texts have a single label, {wanted[0]}: they do not show whether the judges "
            "tell labels apart"
        )
        return Trial(figures, [note], are_judges_known=False)
    are_above = is_above_chance(wanted, judged, labels=len(data.labels))
    if not are_above:
        notes.append(
            f"on {len(texts)} held-out texts the judges are not above chance: the accuracy of steered texts says "
            "little; train on more texts, or change model.judge"
        )
    return Trial(figures, notes, are_above)


def mean_equal(wanted: Sequence[str], found: Sequence[str]) -> float:
    """Computes the share of positions at which two lists are equal."""
    return float(np.mean([name == other for name, other in zip(wanted, found, strict=True)]))


def is_above_chance(wanted: Sequence[str], found: Sequence[str], labels: int) -> bool:
    """Whether the mean accuracy over labels, minus two standard errors, is above 1 / `labels`.

    >>> is_above_chance(["a", "b"] * 20, ["a", "b"] * 20, 2), is_above_chance(["a", "b"] * 20, ["b"] * 40, 2)
    (True, False)
    """
    hits: dict[str, list[float]] = {}
    for label, guess in zip(wanted, found, strict=True):
        hits.setdefault(label, []).append(float(guess == label))
    accuracies = [np.mean(of_label) for of_label in hits.values()]
    variances = [np.var(of_label) / len(of_label) for of_label in hits.values()]
    error = float(np.sqrt(sum(variances))) / len(hits)
    return float(np.mean(accuracies)) - 2 * error > 1 / labels
