"""Guided decoding of a causal language model: steers texts to labels (OUMG, section 3.2; FUDGE)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Annotated

import numpy as np
from pydantic import Field

from core.errors import InputError
from core.settings import Count, NonNegative, Several, checked_dataclass
from data.corpus import Corpus
from discriminators.discriminator import Discriminator
from discriminators.guides import load_guide, score_texts
from experiments.contracts import Run, Study
from experiments.presentation import present
from experiments.steering.models import (
    SteeringPlan,
    find_labels,
    load_generator,
    split_parts,
    train_guides,
    train_judges,
)
from experiments.steering.tables import (
    SteeredText,
    describe_guidance,
    is_above_chance,
    mean_equal,
    tabulate,
    write_samples,
)
from experiments.training import LanguageModelPlan
from models.causal import CausalLM
from models.model import decode_tokens
from oumg import generation
from oumg.generation import GuideModel, SamplingSettings, make_guidance
from oumg.guidance import GuidanceRule
from oumg.pieces import split_pieces

Judge = Callable[[Sequence[str]], list[str]]  # finds the labels of texts
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


def guided_text(
    run: Run,
    data: Corpus,
    plan: SteeringPlan,
    steering: SteeringSettings,
    sampling: SamplingSettings,
) -> Study:
    """Steers a generator to each label, at every strength and k; `data` are labelled texts.

    Raises InputError for a label that the data lacks.
    """
    labels = list(data.labels if steering.labels is None else steering.labels)
    if unknown := [label for label in labels if label not in data.labels]:
        raise InputError([f"labels must be some of {', '.join(data.labels)}, but {unknown[0]!r} is not one of these"])
    if isinstance(plan.generator, LanguageModelPlan):
        generation.check_candidates(steering.ks, plan.generator.model.vocabulary)
    chosen, prompt_notes = generation.choose_prompts(data, sampling)
    parts = split_parts(data, plan, run.seed)
    generator, lm = load_generator(run, plan, parts.generator, data)
    generation.check_candidates(steering.ks, len(lm.tokenizer))
    prompts = list(generation.encode_prompts(lm, chosen, sampling.new_tokens).values())
    guides = train_guides(run, plan.guide, labels, parts.guide, lm)
    judges = train_judges(run, plan.judge, data.labels, parts.judge)
    loaded_guides = {label: load_guide(guide.source, plan.device) for label, guide in guides.items()}
    loaded_judges = {label: Discriminator.from_pretrained(judge.source, plan.device) for label, judge in judges.items()}
    judge = partial(find_labels, data.labels, loaded_judges)
    texts, overheads = steer(run, lm, loaded_guides, prompts, steering, sampling)
    with run.timed("judging"):
        texts = judge_texts(lm, judge, prompts, texts)
    figures, are_judges_known = judge_held_out(data, judge, loaded_guides)
    samples = run.folder / "samples.jsonl"
    if run.stages.first:
        write_samples(samples, texts, steering.rule, chosen)
    study = present(
        run,
        models={"generator": generator, **{trained.name: trained for trained in (*guides.values(), *judges.values())}},
        tables=[tabulate(texts, overheads, steering.rule)],
        notes=prompt_notes,
        answer=describe_guidance(texts, are_judges_known),
        settings={"rule": steering.rule, "seeds": ",".join(map(str, sampling.seeds))},
        figures={"prompts": len(prompts), "generator parameters (millions)": lm.parameters / 1e6, **figures},
        data=data,
    )
    return replace(study, files=[samples])


def steer(
    run: Run,
    lm: CausalLM,
    guides: Mapping[str, GuideModel],
    prompts: Sequence[Sequence[int]],
    steering: SteeringSettings,
    sampling: SamplingSettings,
) -> tuple[list[SteeredText], dict[tuple[float, int], float]]:
    """Continues prompts to the label of each guide, at each strength and k.

    Also returns the overhead of guidance in time, by strength and k.
    """
    owners = [*np.repeat(np.arange(len(prompts)), sampling.samples).tolist()]  # of each continuation of a seed
    drawn = list(product(sampling.seeds, owners))
    full_batch = [prompts[i % len(prompts)] for i in range(sampling.batch_size)]
    texts: list[SteeredText] = []
    overheads: dict[tuple[float, int], float] = {}
    with run.progress("steering", len(steering.ks) * len(steering.strengths) * len(guides)) as advance:
        for k, strength in product(steering.ks, steering.strengths):
            guidances = {
                label: make_guidance(
                    lm,
                    guide,
                    steering.rule,
                    strength,
                    k,
                )
                for label, guide in guides.items()
            }
            for label, guidance in guidances.items():
                with run.timed("generating"):
                    continued = generation.continue_prompts(
                        lm,
                        prompts,
                        sampling,
                        k,
                        guidance,
                    )
                for (seed, prompt), ids in zip(drawn, continued, strict=True):
                    # Decoded with the prompt, because some tokenizers drop the space before the text that they decode.
                    text = decode_tokens(lm.tokenizer, [*prompts[prompt], *ids])
                    texts.append(
                        SteeredText(
                            label,
                            strength,
                            k,
                            prompt,
                            seed,
                            text,
                            tuple(ids),
                        )
                    )
                advance(1)
            with run.timed("measuring the overhead"):
                guidance = next(iter(guidances.values()))
                overheads[strength, k] = generation.measure_overhead(
                    lm,
                    full_batch,
                    sampling.new_tokens,
                    k,
                    guidance,
                )
    return texts, overheads


def judge_texts(
    lm: CausalLM,
    judge: Judge,
    prompts: Sequence[Sequence[int]],
    texts: Sequence[SteeredText],
) -> list[SteeredText]:
    """Returns the texts with what judges find and their likelihood; `lm` is the unguided generator."""
    starts = [len(decode_tokens(lm.tokenizer, prompt)) for prompt in prompts]
    likelihoods = lm.log_probabilities([(prompts[each.prompt], each.ids) for each in texts])
    found = judge([each.text for each in texts])
    judged: list[SteeredText] = []
    for each, label, logprobs in zip(
        texts,
        found,
        likelihoods,
        strict=True,
    ):
        words = split_pieces(each.text[starts[each.prompt] :].lower(), "words")
        nll = -float(logprobs.astype(np.float64).sum())
        is_hit = label == each.label
        judged.append(
            replace(
                each,
                words=tuple(map(str.strip, words)),
                is_hit=is_hit,
                nll=nll,
            )
        )
    return judged


def judge_held_out(data: Corpus, judge: Judge, guides: Mapping[str, GuideModel]) -> tuple[dict[str, float], bool]:
    """Measures the accuracy of judges and guides on held-out texts, which no model has learned, by name.

    Also returns whether the judges are above chance; with a single label among the texts they are not known to be.
    """
    texts = [example.full_text for example in data.held_out]
    wanted = [str(example.label) for example in data.held_out]
    if not texts:
        return {}, True
    judged = judge(texts)
    figures = {"judges' accuracy on held-out texts": mean_equal(wanted, judged)}
    for label, guide in guides.items():
        is_right = (score_texts(guide, texts) > 0) == (np.array(wanted) == label)
        figures[f"accuracy of the guide to {label} on held-out texts"] = float(is_right.mean())
    return figures, len(set(wanted)) > 1 and is_above_chance(wanted, judged, labels=len(data.labels))
