"""What a language model's knowledge of the contexts brings to MARS's score (`+exp=mars_knowledge`).

Models of several sizes fill the blanks. Each learns plain texts and the contexts and references of one half of every
rated set, and fills the other half (cross-fitting). No model learns a rated text, a rating or a context that it fills.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.example import Example
from core.faults import SettingFault
from core.scores import Scores
from core.selection import has_field, references_of
from core.settings import Count, Several, Share, checked_dataclass
from core.stages import fingerprint
from data.corpus import Corpus, RatedSet
from data.splits import Parts, split_by, split_share
from experiments.contracts import Outcome, Run, Table
from experiments.mars.experiment import change_augmentation, find_augmenter
from experiments.mars.plots import plot_gains
from experiments.presentation import present
from experiments.training import LanguageModelPlan, Trained, find_or_train
from mars.masking import fold_words, longest_common_subsequence
from mars.metric import MARS, Compared, MarsSettings
from mars.references import Augmented, Augmenter, Job
from meta_eval.bootstrap import Estimate
from meta_eval.comparison import difference
from meta_eval.scored_set import ScoredSet
from models.causal import CausalLM

ALONE = "reference_alone"
NOISE = "other context"
BINS = {"1": (1, 1), "2-3": (2, 3), "4 and more": (4, np.inf)}  # changed words
SPLIT = (
    "Each half of a set is filled by a model that learned plain texts and the contexts and references of the other "
    "half. Gains: Spearman's rho minus that of the human reference alone, with paired 95 % bootstrap intervals over "
    "inputs. width: of the model."
)
GAIN_CAPTION = (
    f"{SPLIT} mars: its gain. {NOISE}: the same masks, filled in view of another input's context (noise). no context: "
    "filled without any. knowledge: mars minus the row with another context. growth: mars minus mars of the smallest "
    "model. loss: nats per token of the contexts and references that the models fill. read: by how many nats per token "
    "a reference is likelier after its own context than after another one."
)
CHANGED_CAPTION = (
    f"{SPLIT} Texts whose reference has changed words, by their number: words of the human reference that are not in "
    "the same order in the augmented one; of several masking ratios the one with most counts."
)


@checked_dataclass
class Knowledge:
    """Which models fill blanks, and what of the rated sets counts.

    Attributes:
        widths: of the models, ascending; heads and inner layer grow in proportion.
        largest_ratios: by rated set the largest masking ratio, where it is not that of the metric.
        inputs: by rated set how many inputs count, where not all do; the seed draws them.
        references: how many references of an input count, the first ones.
        aspects: how many rated aspects count, the first ones.
        context_words: how many words of a context count, the first ones; they are learned and read.
    """

    widths: Several[Count]
    largest_ratios: Mapping[str, Share]
    inputs: Mapping[str, Count]
    references: Count
    aspects: Count
    context_words: Count


@dataclass(frozen=True)
class OtherContexts:
    """The noise control: blanks are filled in view of another input's context, `others[context]`."""

    augmenter: Augmenter
    others: Mapping[str, str]

    @property
    def depends(self) -> Mapping[str, Any]:
        """What a text depends on besides its job."""
        return {**self.augmenter.depends, "other_contexts": fingerprint(sorted(self.others.items()))}

    def augment(self, jobs: Sequence[Job]) -> list[Augmented]:
        """The references with their blanks filled; masks stay those of the true contexts."""
        return self.augmenter.augment([replace(job, context=self.others[job.context]) for job in jobs])


@dataclass(frozen=True)
class Filled:
    """A rated set in two halves, and what models of one width made of it.

    Attributes:
        width: of the models.
        loss: nats per token of the contexts and references, mean of the halves.
        read: nats per token that the own context spares a reference, mean of the halves.
        rows: the scores by row.
        changed: how many words of its reference are changed at most, for each text.
    """

    width: int
    loss: float
    read: float
    rows: Mapping[str, Scores]
    changed: np.ndarray


def mars_knowledge(
    run: Run,
    data: Corpus,
    others: Mapping[str, Corpus],
    language_model: LanguageModelPlan,
    metric: MarsSettings,
    knowledge: Knowledge,
) -> Outcome:
    """Gains over the human reference alone by size of model, with noise control, and by the number of changed words.

    Args:
        run: from the runner; its seed draws the halves, the other contexts and the models.
        data: plain texts to train on, and rated ones with references and context.
        others: further corpora, whose rated sets count too; their plain texts do not.
        language_model: the model whose width changes.
        metric: settings of MARS.
        knowledge: the widths, and what of the rated sets counts.

    Raises SettingFault for a rated text without context or reference, for sets with fewer than four contexts, and for
    texts that are too long for the model.
    """
    make = metric.load(run.stages.root, caches_vectors=True)
    rated = [cut(one, knowledge, run.seed) for corpus in (data, *others.values()) for one in corpus.rated]
    halves = {one.name: split_halves(one, run.seed) for one in rated}
    models: dict[str, Trained] = {}
    filled: dict[str, list[Filled]] = {one.name: [] for one in rated}
    for width in knowledge.widths:
        plan = replace(language_model, model=resize(language_model.model, width))
        for half in (0, 1):
            learned = [text for parts in halves.values() for text in list_texts(parts[1 - half])]
            texts = [*(e.full_text for e in data.train), *learned], [e.full_text for e in data.held_out]
            models[f"width_{width}_half_{half + 1}"] = find_or_train(run, f"mars_knowledge_{width}", plan, *texts)
        pair = [make("self_planning", models[f"width_{width}_half_{half + 1}"].source) for half in (0, 1)]
        for one in rated:
            largest = knowledge.largest_ratios.get(one.name, 1.0)
            ratios = tuple(ratio for ratio in metric.ratios if ratio <= largest)
            fillers = [replace(each, ratios=ratios).with_corpus(one.examples) for each in pair]
            with run.timed(f"augmentation and similarity {one.name}"):
                filled[one.name].append(fill(width, fillers, halves[one.name], run.seed))
    sets = [gather(one, halves[one.name], filled[one.name]) for one in rated]
    gains = [row for one in sets for row in list_gains(one, filled[one.name])]
    by_changes = [row for one in sets for row in list_gains_by_changes(one, filled[one.name])]
    return present(
        run,
        sets,
        models,
        [
            Table("Gain over the human reference alone", GAIN_CAPTION, gains),
            Table("Gain by changed words", CHANGED_CAPTION, by_changes),
        ],
        [f"contexts: their first {knowledge.context_words} words; references: the first {knowledge.references}"],
        settings={"data": "+".join(halves)},
        plots={"gain_by_loss": plot_gains(gains)},
        drawn=[],
        synthetic=any(one.synthetic for one in rated),
    )


def cut(rated: RatedSet, knowledge: Knowledge, seed: int) -> RatedSet:
    """What counts of the set and of each example. Raises SettingFault where a context or a reference is missing."""
    if lacking := [e.id for e in rated.examples if not (has_field(e, "context") and references_of(e))]:
        raise SettingFault(
            f"every rated text needs a context and a reference, but {lacking[0]} of {rated.name} does not"
        )
    examples = (
        replace(
            e,
            context=" ".join((e.context or "").split()[: knowledge.context_words]),
            references=tuple(references_of(e)[: knowledge.references]),
            ratings=dict(list(e.ratings.items())[: knowledge.aspects]),
        )
        for e in rated.examples
    )
    chosen = split_by(tuple(examples), lambda e: e.context, knowledge.inputs.get(rated.name, len(rated.examples)), seed)
    return replace(rated, examples=chosen[1])


def split_halves(rated: RatedSet, seed: int) -> Parts:
    """The texts in two halves without a common context. Raises SettingFault where one has fewer than two contexts."""
    halves = split_share(rated.examples, lambda e: e.context, 0.5, seed)
    contexts = [{e.context for e in half} for half in halves]
    if min(map(len, contexts)) < 2:
        raise SettingFault(
            "mars_knowledge needs at least 4 inputs with different contexts in a set, two for each half, but "
            f"{rated.name} has {sum(map(len, contexts))}"
        )
    return halves


def resize(model: Any, width: int) -> Any:
    """The plan of a TinyGPT2 with another width; its heads and its inner layer grow in proportion."""
    heads = max(1, width * model.n_head // model.n_embd)
    return replace(model, n_embd=width, n_head=heads, n_inner=width * model.n_inner // model.n_embd)


def list_pairs(half: Sequence[Example]) -> list[tuple[str, str]]:
    """Each context with each of its references, once."""
    return list(dict.fromkeys((e.context or "", reference) for e in half for reference in e.references))


def list_texts(half: Sequence[Example]) -> list[str]:
    """What a model learns of the half: contexts with their references."""
    return [f"{context} {reference}" for context, reference in list_pairs(half)]


def exchange_contexts(half: Sequence[Example], seed: int) -> dict[str, str]:
    """Another context of the half for each one, every one taken once."""
    contexts = sorted({e.context or "" for e in half})
    random.Random(seed).shuffle(contexts)
    return dict(zip(contexts, [*contexts[1:], *contexts[:1]], strict=True))


def measure_loss(lm: CausalLM, pairs: Sequence[tuple[str, str]]) -> float:
    """Nats per token of the second text of a pair after the first. Raises SettingFault for a pair that is too long."""
    first, second = (lm.tokenizer([pair[i] for pair in pairs], add_special_tokens=False)["input_ids"] for i in (0, 1))
    read = [((lm.start, *source), target) for source, target in zip(first, second, strict=True)]
    if (longest := max(len(source) + len(target) for source, target in read)) > lm.max_length:
        raise SettingFault(f"model.language_model.model.max_length must be at least {longest}, but is {lm.max_length}")
    return -float(np.concatenate(lm.log_probabilities(read)).mean())


def fill(width: int, fillers: Sequence[MARS], halves: Parts, seed: int) -> Filled:
    """The rows of one width, and the losses of its models; each half has its filler. Scores go half by half."""
    rows: dict[str, list[Compared]] = {"mars": [], NOISE: [], "no context": []}
    losses: list[tuple[float, float]] = []
    for filler, half in zip(fillers, halves, strict=True):
        augmenter, exchanged = find_augmenter(filler), exchange_contexts(half, seed)
        rows["mars"] += filler.compare(half)
        rows[NOISE] += replace(filler, augmenter=OtherContexts(augmenter, exchanged)).compare(half)
        rows["no context"] += change_augmentation(filler, use_context=False).compare(half)
        own = [(context, f" {reference}") for context, reference in list_pairs(half)]
        other = [(exchanged[context], reference) for context, reference in own]
        whole = measure_loss(augmenter.lm, [("", text) for text in list_texts(half)])
        losses.append((whole, measure_loss(augmenter.lm, other) - measure_loss(augmenter.lm, own)))
    loss, read = np.mean(losses, axis=0).tolist()
    line = "|other_half=".join([fillers[0].signature, str(find_augmenter(fillers[1]).depends["model"])])
    scores = {ALONE: replace(fillers[0], ratios=(0.0,)).score_compared(rows["mars"])}
    scores |= {row: fillers[0].score_compared(compared) for row, compared in rows.items()}
    named = {row: replace(each, signature=f"{line}|row={row}", explanations=()) for row, each in scores.items()}
    return Filled(width, loss, read, named, np.array([count_changed_words(one) for one in rows["mars"]]))


def count_changed_words(compared: Compared) -> int:
    """The most words of a human reference that one of its augmentations lacks or has in another order."""
    made = [each for row in compared.references for each in row]
    pairs = ((fold_words(each.augmented.text), fold_words(each.reference)) for each in made)
    return max((int((~longest_common_subsequence(*pair)).sum()) for pair in pairs), default=0)


def gather(rated: RatedSet, halves: Parts, filled: Sequence[Filled]) -> ScoredSet:
    """The texts of both halves with the scores of every width; the human reference alone does not depend on it."""
    scores = {f"{row}, {one.width}": scored for one in filled for row, scored in one.rows.items() if row != ALONE}
    scores = {ALONE: filled[0].rows[ALONE], **scores}
    return ScoredSet(rated.name, (*halves[0], *halves[1]), scores, rated.synthetic)


def list_gains(scored: ScoredSet, filled: Sequence[Filled]) -> Iterator[dict[str, Any]]:
    """What the models of each width bring, by rated aspect."""
    for aspect, one in itertools.product(scored.aspects, filled):
        mars, noise, bare = (f"{row}, {one.width}" for row in ("mars", NOISE, "no context"))
        pairs = {"mars": (mars, ALONE), NOISE: (noise, ALONE), "no context": (bare, ALONE), "knowledge": (mars, noise)}
        pairs |= {"growth": (mars, f"mars, {filled[0].width}")}
        n = int(scored.rated(aspect).scored(ALONE, mars, aspect=aspect).sum())
        names = {"set": scored.name, "aspect": aspect, "width": one.width, "n": n, "loss": one.loss, "read": one.read}
        yield {**names, **{name: compare_rows(scored, aspect, *pair) for name, pair in pairs.items()}}


def list_gains_by_changes(scored: ScoredSet, filled: Sequence[Filled]) -> Iterator[dict[str, Any]]:
    """The gain of `mars` by the number of changed words in the reference of a text."""
    for aspect, one, (name, (fewest, most)) in itertools.product(scored.aspects, filled, BINS.items()):
        chosen = scored.take(np.flatnonzero((one.changed >= fewest) & (one.changed <= most))).rated(aspect)
        names = {"set": scored.name, "aspect": aspect, "width": one.width, "changed words": name, "n": len(chosen)}
        yield {**names, "gain": compare_rows(chosen, aspect, f"mars, {one.width}", ALONE)}


def compare_rows(scored: ScoredSet, aspect: str, row: str, over: str) -> Estimate:
    """Spearman of a row minus that of another one, with its interval over inputs."""
    rated = scored.rated(aspect)
    return difference(rated.values(row, aspect), rated.values(over, aspect), rated.ratings(aspect), groups=rated.groups)
