"""Trains a tiny model of each kind on built-in text, for the examples and the demo (`+exp=models`, `make models`)."""

from collections.abc import Mapping
from dataclasses import replace

from data.corpus import Corpus
from experiments.cdm.experiment import (
    GENERATIVE,
    NegativesPlan,
    PoolerPlan,
    get_negatives,
    get_pooler,
    train_discriminators,
    train_pair,
)
from experiments.contracts import Run, Study
from experiments.ctrl_eval.experiment import find_or_count_frequencies
from experiments.presentation import present
from experiments.steering.models import SteeringPlan, load_generator, split_parts, train_guides, train_judges
from experiments.training import (
    DiscriminatorPlan,
    GuidePlan,
    LanguageModelPlan,
    Trained,
    find_or_train,
    list_texts,
)


def models(
    run: Run,
    dialogues: Corpus,
    remarks: Corpus,
    topics: Corpus,
    stories: Corpus,
    amateur: LanguageModelPlan,
    expert: LanguageModelPlan,
    negatives: NegativesPlan,
    discriminators: Mapping[str, DiscriminatorPlan],
    pooler: PoolerPlan,
    infiller: LanguageModelPlan,
    language_model: LanguageModelPlan,
    generator: LanguageModelPlan,
    guide: GuidePlan,
    judge: DiscriminatorPlan,
    share: float,
) -> Study:
    """Trains a model of each kind, or finds it as a stage of an earlier run.

    CDM learns the dialogues, the language model of MARS the stories, the infiller of CTRLEval the remarks. The
    generator learns a share of the remarks (`share`). Guides learn half of the other remarks, judges the other half.
    `topics` are the same texts with their topics as labels; further guides and judges learn them.
    """
    pair = train_pair(run, dialogues, amateur, expert)
    drawn = get_negatives(run, pair, dialogues, negatives)
    classifiers = train_discriminators(run, {GENERATIVE: drawn}, discriminators)
    pooler_folder = get_pooler(run, pair, dialogues, pooler)
    texts = list_texts(remarks.train)
    backbone = find_or_train(run, "infiller", infiller, texts, list_texts(remarks.held_out))
    fluent = find_or_train(
        run, "language_model", language_model, list_texts(stories.train), list_texts(stories.held_out)
    )
    steering = train_steering(run, SteeringPlan(generator, guide, judge, share), remarks, topics)
    trained = (pair.amateur, pair.expert, *classifiers.values(), backbone, fluent, *steering)
    study = present(
        run,
        models={model.name: model for model in trained},
        folders={"pooler": pooler_folder, "iwf": find_or_count_frequencies(run, backbone, texts)},
    )
    return replace(study, synthetic=True)


def train_steering(
    run: Run,
    plan: SteeringPlan,
    remarks: Corpus,
    topics: Corpus,
) -> list[Trained]:
    """Trains the generator on the remarks, then guides and judges of sentiments and of topics."""
    generator, lm = load_generator(run, plan, split_parts(remarks, plan, run.seed).generator, remarks)
    trained = [generator]
    for labelled in (remarks, topics):
        parts = split_parts(labelled, plan, run.seed)  # by their texts, so that those of the generator are left out
        trained += train_guides(run, plan.guide, labelled.labels, parts.guide, lm).values()
        trained += train_judges(run, plan.judge, labelled.labels, parts.judge).values()
    return trained
