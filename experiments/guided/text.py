"""Guided decoding of a causal language model: texts steered to a label, by strength and k (OUMG section 3.3; FUDGE)."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from core.example import Example
from core.faults import InputFaults
from core.signature import MODEL_LIBRARIES, signature
from data.files import write_examples, written_aside
from data.sets.attributes import LabelledData
from discriminators.discriminator import Discriminator
from experiments.guided.steering import (
    Sampling,
    Steering,
    check_candidates,
    continuations,
    generator_share,
    judged_labels,
    label_guide,
    label_judges,
    overhead,
    parts,
    prompt_ids,
    prompts_are_beginnings,
    prompts_of,
    trained_generator,
)
from experiments.report import plots
from experiments.runner.contracts import Interval, Outcome, Run, Table
from experiments.training.discriminators import DiscriminatorPlan
from experiments.training.guides import GuidePlan, load_guide
from experiments.training.language_models import LanguageModelPlan, Pretrained
from experiments.training.trained import folders_of
from language_models.causal import CausalLM, continuation_log_probabilities
from oumg.causal_guide import CausalGuide
from oumg.diversity import distinct_n
from oumg.guidance import Guidance
from oumg.pieces import split_pieces
from oumg.tokens import decode_tokens

log = logging.getLogger(__name__)

RESAMPLES = 2000
CAPTION = (
    "strength: alpha (normalised) or lambda (fudge); 0 is the generator alone, drawing among its k likeliest "
    "tokens. accuracy: share of texts that judges, trained on other texts than the guides, give the label steered "
    "to, higher is better. perplexity: of the continuations given their prompts, by the generator without guidance "
    "and over its whole vocabulary, lower is likelier. distinct n: different n-grams of words among those of one "
    "label and seed, higher is more varied. tokens: of a continuation. overhead: time of guided generate() over "
    "unguided, same prompts, k and number of tokens; the smaller the generator, the more. 95 % bootstrap intervals "
    "over prompts."
)


@dataclass(frozen=True)
class Steered:
    """The texts of one label, strength and k: seed after seed, prompt after prompt, and what is measured of each.

    Attributes:
        label: steered to.
        prompts, seeds: of each text, by number and by name.
        texts: with the prompts.
        words: of the continuations.
        hits: whether the judges find the label.
        nll: of the whole continuation in nats, by the unguided generator.
        tokens: of the continuation.
    """

    label: str
    prompts: NDArray[np.intp]
    seeds: NDArray[np.intp]
    texts: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    hits: NDArray[np.float64]
    nll: NDArray[np.float64]
    tokens: NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """A strength and a k, the texts by label, and what guidance costs there."""

    strength: float
    k: int
    texts: tuple[Steered, ...]
    overhead: float


def guided_text(
    run: Run,
    data: LabelledData,
    generator: LanguageModelPlan | Pretrained,
    guide: GuidePlan,
    judge: DiscriminatorPlan,
    steering: Steering,
    sampling: Sampling,
    share: float = 0.5,
    device: str = "cpu",
) -> Outcome:
    """A generator steered to each label, at every strength and k.

    Args:
        run: from the runner.
        data: labelled texts; generator, guides and judges learn different ones.
        generator: any causal language model by name, or one trained here.
        guide: of each label.
        judge: of each label.
        steering: what is varied.
        sampling: how texts are drawn.
        share: of the training texts for a generator that is trained here.
        device: where models generate and judge.
    """
    labels = list(data.labels if steering.labels is None else steering.labels)
    if unknown := [label for label in labels if label not in data.labels]:
        raise InputFaults([f"labels must be some of {', '.join(data.labels)}, but {unknown[0]!r} is among them"])
    if isinstance(generator, LanguageModelPlan):
        check_candidates(steering.ks, generator.model.vocabulary)
    prompts = prompts_of(data, sampling)
    learned = parts(data, generator_share(generator, share), run.seed)
    writer = trained_generator(run, generator, data, learned.generator, device)
    check_candidates(steering.ks, len(writer.lm.tokenizer))
    rows = prompt_ids(writer.lm, prompts, sampling.new_tokens)
    trained_guides = {label: label_guide(run, guide, writer, label, learned.guide) for label in labels}
    guides = {label: load_guide(each.source, device) for label, each in trained_guides.items()}
    trained_judges = label_judges(run, judge, data.labels, learned.judge)
    judges = {label: Discriminator.from_pretrained(each.source, device) for label, each in trained_judges.items()}

    settings: list[Setting] = []
    with run.progress("steering", len(steering.ks) * len(steering.strengths) * len(labels)) as advance:
        for k in steering.ks:
            for strength in steering.strengths:
                steered: list[Steered] = []
                for label in labels:
                    with run.timed("writing"):
                        ids = write(writer.lm, guides[label], rows, steering, sampling, strength, k)
                    with run.timed("judging"):
                        steered.append(measured(writer.lm, judges, data.labels, label, prompts, rows, ids, sampling))
                    advance(1)
                with run.timed("measuring the overhead"):
                    cost = _overhead(writer.lm, guides[labels[0]], rows, steering, sampling, strength, k)
                settings.append(Setting(strength, k, tuple(steered), cost))
    samples = run.folder / "samples.jsonl"
    if run.stages.first:
        write_examples(samples, _examples(settings, prompts, steering))
        _write_side_by_side(samples.with_suffix(".txt"), settings, prompts)
    own = {"generator": writer.trained} if writer.trained.is_trained_here else {}
    together = [row(setting, None, steering, sampling, run.seed) for setting in settings]
    by_label = [row(setting, t, steering, sampling, run.seed) for setting in settings for t in setting.texts]
    return Outcome(
        signature=signature(
            run.name,
            libraries=MODEL_LIBRARIES,
            data=data.name,
            generator=writer.trained.identity,
            guides=",".join(each.identity for each in trained_guides.values()),
            judges=",".join(each.identity for each in trained_judges.values()),
            rule=steering.rule,
            seed=run.seed,
            seeds=",".join(map(str, sampling.seeds)),
        ),
        tables=[Table("Steered texts", CAPTION, together), Table("Steered texts by label", CAPTION, by_label)],
        plots={
            "accuracy_and_perplexity": trade_off(together),
            **({"training_curves": plots.training_curves({name: own[name].curve for name in own})} if own else {}),
        },
        models=folders_of(
            {model.name: model for model in (*own.values(), *trained_guides.values(), *trained_judges.values())}
        ),
        figures={
            "prompts": len(prompts),
            "generator parameters (millions)": writer.lm.parameters / 1e6,
            **{f"{name} held-out NLL (nats per token)": model.held_out_nll for name, model in own.items()},
            **_accuracies(data, judges, guides),
        },
        notes=_notes(data, judges, sampling),
        files=[samples],
        synthetic=data.synthetic,
    )


def above_chance(wanted: Sequence[object], found: Sequence[object]) -> bool:
    """Whether the labels found are right more often than by chance: each label's share, averaged, less two errors.

    >>> above_chance(["a", "b"] * 20, ["a", "b"] * 20), above_chance(["a", "b"] * 20, ["b"] * 40)
    (True, False)
    """
    labels = set(wanted)
    hits = [[float(f == w) for w, f in zip(wanted, found, strict=True) if w == label] for label in labels]
    error = float(np.sqrt(sum(np.var(each) / len(each) for each in hits))) / len(labels)
    return float(np.mean([np.mean(each) for each in hits])) - 2 * error > 1 / len(labels)


def _notes(data: LabelledData, judges: Mapping[str, Discriminator], sampling: Sampling) -> list[str]:
    notes: list[str] = []
    if prompts_are_beginnings(data, sampling):
        notes.append(
            f"{data.name} has no prefixes, so the prompts are the first {sampling.prompt_words} words of held-out "
            "texts of all labels, and some may tell a label themselves; sampling.prompts sets others"
        )
    found = judged_labels(judges, data.labels, [example.full_text for example in data.held_out])
    if data.held_out and not above_chance([example.label for example in data.held_out], found):
        notes.append(
            f"on {len(found)} held-out texts the judges are not above chance: the accuracy of steered texts says "
            "little; train on more texts, or change model.judge"
        )
    return notes


def write(
    lm: CausalLM,
    guide: CausalGuide | Discriminator,
    prompts: Sequence[Sequence[int]],
    steering: Steering,
    sampling: Sampling,
    strength: float,
    k: int,
) -> list[list[int]]:
    """The tokens that follow each prompt under guidance: seed after seed, prompt after prompt."""
    return [
        continuation
        for seed in sampling.seeds
        for continuation in continuations(
            lm,
            prompts,
            sampling.samples,
            sampling.new_tokens,
            sampling.batch_size,
            seed,
            k,
            lambda: Guidance(guide, lm.tokenizer, strength, k, steering.rule, reads="text"),
        )
    ]


def measured(
    lm: CausalLM,
    judges: Mapping[str, Discriminator],
    labels: Sequence[str],
    label: str,
    prompts: Sequence[str],
    rows: Sequence[Sequence[int]],
    continued: Sequence[Sequence[int]],
    sampling: Sampling,
) -> Steered:
    """What is measured of the continuations of one label, as `write` returns them.

    Args:
        lm: the unguided generator.
        judges: as `judged_labels` takes them.
        labels: all labels of the data.
        label: the one steered to.
        prompts, rows: the prompts as texts and as tokens.
        continued: the tokens that follow.
        sampling: how they were drawn.
    """
    of = np.tile(np.repeat(np.arange(len(prompts)), sampling.samples), len(sampling.seeds))
    seeds = np.repeat(np.array(sampling.seeds), len(prompts) * sampling.samples)
    # Decoded with the prompt, because some tokenizers drop the blank in front of what they decode.
    texts = [decode_tokens(lm.tokenizer, [*rows[i], *ids]) for i, ids in zip(of, continued, strict=True)]
    starts = [len(decode_tokens(lm.tokenizer, row)) for row in rows]
    words = tuple(
        tuple(map(str.strip, split_pieces(text[starts[i] :].lower(), "words")))
        for i, text in zip(of, texts, strict=True)
    )
    pairs = [(rows[i], ids) for i, ids in zip(of, continued, strict=True)]
    nll = [-float(found.astype(np.float64).sum()) for found in continuation_log_probabilities(lm, pairs)]
    found = judged_labels(judges, labels, texts)
    return Steered(
        label,
        of,
        seeds,
        tuple(texts),
        words,
        np.array([float(each == label) for each in found]),
        np.array(nll),
        np.array([float(len(ids)) for ids in continued]),
    )


def over_prompts(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], prompts: NDArray[np.intp], seed: int
) -> tuple[float, Interval]:
    """The sum of the one over the sum of the other, with a 95 % bootstrap interval over prompts.

    >>> over_prompts(np.array([1.0, 0.0, 1.0]), np.ones(3), np.array([0, 0, 0]), seed=0)[1]  # one prompt: no spread
    (0.6666666666666666, 0.6666666666666666)
    """
    number = int(prompts.max()) + 1
    above, below = (np.bincount(prompts, values, number) for values in (numerators, denominators))
    draws = np.random.default_rng(seed).multinomial(number, np.full(number, 1 / number), RESAMPLES)
    low, high = np.percentile((draws @ above) / (draws @ below), [2.5, 97.5])
    return float(above.sum() / below.sum()), (float(low), float(high))


def row(setting: Setting, of: Steered | None, steering: Steering, sampling: Sampling, seed: int) -> dict[str, Any]:
    """The row of one setting and label, or of all labels together where it is None."""
    texts = setting.texts if of is None else (of,)
    prompts, seeds, hits, nll, tokens = (
        np.concatenate([getattr(t, name) for t in texts]) for name in ("prompts", "seeds", "hits", "nll", "tokens")
    )
    accuracy, accuracy_interval = over_prompts(hits, np.ones_like(hits), prompts, seed)
    loss, loss_interval = over_prompts(nll, tokens, prompts, seed)
    pools = [
        [words for words, s in zip(t.words, t.seeds, strict=True) if s == chosen]
        for t in texts
        for chosen in sampling.seeds
    ]
    return {
        "label": "all" if of is None else of.label,
        "rule": steering.rule,
        "strength": float(setting.strength),
        "k": setting.k,
        "n": len(hits),
        "accuracy": accuracy,
        "accuracy_interval": accuracy_interval,
        "perplexity": float(np.exp(loss)),
        "perplexity_interval": tuple(float(np.exp(end)) for end in loss_interval),
        **{f"distinct_{n}": float(np.mean([distinct_n(pool, n) for pool in pools])) for n in (1, 2, 3)},
        "tokens": float(tokens.mean()),
        "overhead": setting.overhead,
        "seeds": list(sampling.seeds),
        "by_seed": {
            "accuracy": [float(hits[seeds == s].mean()) for s in sampling.seeds],
            "perplexity": [float(np.exp(nll[seeds == s].sum() / tokens[seeds == s].sum())) for s in sampling.seeds],
        },
    }


def trade_off(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Accuracy by perplexity, a line for each k, a point for each strength."""
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    for k in dict.fromkeys(row["k"] for row in rows):
        chosen = [row for row in rows if row["k"] == k]
        x, y = ([row[name] for row in chosen] for name in ("perplexity", "accuracy"))
        ends = np.array([row["accuracy_interval"] for row in chosen]).T
        axes.errorbar(x, y, np.abs(ends - y), marker="o", capsize=2, label=f"k = {k}")
        for row in chosen:
            axes.annotate(
                f"{row['strength']:g}", (row["perplexity"], row["accuracy"]), xytext=(4, 4), textcoords="offset points"
            )
    axes.set(
        xlabel="perplexity under the unguided generator (lower is likelier)",
        ylabel="accuracy by separate judges",
        title="Strength by strength",
    )
    axes.legend()
    return figure


def _overhead(
    lm: CausalLM,
    guide: CausalGuide | Discriminator,
    prompts: Sequence[Sequence[int]],
    steering: Steering,
    sampling: Sampling,
    strength: float,
    k: int,
) -> float:
    """The cost of guidance, a full batch of prompts at once."""
    batch = [prompts[i % len(prompts)] for i in range(sampling.batch_size)]
    return overhead(
        lm,
        batch,
        sampling.new_tokens,
        k,
        lambda: Guidance(guide, lm.tokenizer, strength, k, steering.rule, reads="text"),
    )


def _accuracies(
    data: LabelledData, judges: Mapping[str, Discriminator], guides: Mapping[str, CausalGuide | Discriminator]
) -> dict[str, float]:
    """How often judges and guides are right on held-out texts, which nobody has learned."""
    if not data.held_out:
        return {}
    texts = [example.full_text for example in data.held_out]
    found = judged_labels(judges, data.labels, texts)
    figures = {"judges' accuracy on held-out texts": _share([e.label for e in data.held_out], found)}
    for label, guide in guides.items():
        logits = guide.logits(texts) if isinstance(guide, CausalGuide) else guide.logits([(t,) for t in texts])[0]
        figures[f"accuracy of the guide to {label} on held-out texts"] = _share(
            [e.label == label for e in data.held_out], [bool(logit > 0) for logit in logits]
        )
    return figures


def _share(wanted: Sequence[object], found: Sequence[object]) -> float:
    return float(np.mean([a == b for a, b in zip(wanted, found, strict=True)]))


def _examples(settings: Sequence[Setting], prompts: Sequence[str], steering: Steering) -> list[Example]:
    """Every text, as other experiments read them."""
    return [
        Example(
            f"{system}-{steered.label}-{number}",
            text=text,
            prefix=prompts[int(of)],
            label=steered.label,
            system=system,
            group=f"{steered.label}: {prompts[int(of)]}",
        )
        for setting in settings
        for system in [f"{steering.rule} {setting.strength:g} k={setting.k}"]
        for steered in setting.texts
        for number, (of, text) in enumerate(zip(steered.prompts, steered.texts, strict=True))
    ]


def _write_side_by_side(path: Path, settings: Sequence[Setting], prompts: Sequence[str]) -> None:
    """The first text of each prompt, label, k and strength, to be read."""
    with written_aside(path) as file:
        for number, prompt in enumerate(prompts):
            file.write(f"== {prompt}\n")
            for label_at in range(len(settings[0].texts)):
                for setting in settings:
                    steered = setting.texts[label_at]
                    first = int(np.flatnonzero(steered.prompts == number)[0])
                    text = " ".join(steered.texts[first].split())
                    file.write(f"{steered.label}, k {setting.k}, strength {setting.strength:g}: {text}\n")
            file.write("\n")
