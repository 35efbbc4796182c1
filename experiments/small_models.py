"""A tiny model of each kind on built-in text (`+exp=models`, `make models`): what the examples and the demo use."""

from data.corpus import Corpus
from experiments.cdm.experiment import GENERATIVE, get_negatives, get_pooler, train_discriminators, train_pair
from experiments.cdm.plans import CdmPlan
from experiments.contracts import Outcome, Run
from experiments.ctrl_eval.experiment import find_or_count_frequencies
from experiments.presentation import present
from experiments.steering.models import SteeringPlan, load_generator, split_parts, train_label_guide, train_label_judges
from experiments.training import DiscriminatorPlan, GuidePlan, LanguageModelPlan, Trained, find_or_train


def models(
    run: Run,
    dialogues: Corpus,
    remarks: Corpus,
    topics: Corpus,
    stories: Corpus,
    cdm: CdmPlan,
    infiller: LanguageModelPlan,
    language_model: LanguageModelPlan,
    generator: LanguageModelPlan,
    guide: GuidePlan,
    judge: DiscriminatorPlan,
    share: float,
) -> Outcome:
    """Trains a model of each kind, or finds it as a stage of an earlier run.

    The dialogues are for CDM. The remarks are for the infiller of CTRLEval with its word frequencies, for the generator
    (`share` of them), the guides and the judges, which halve the others; `topics` are the same texts with their topics
    as labels, for further guides and judges. The stories are for the language model of MARS.
    """
    pair = train_pair(run, dialogues, cdm)
    negatives = get_negatives(run, pair, dialogues, cdm.negatives)
    discriminators = train_discriminators(run, {GENERATIVE: negatives}, cdm)
    pooler = get_pooler(run, pair, dialogues, cdm.pooler)
    texts, held_out = ([example.full_text for example in part] for part in (remarks.train, remarks.held_out))
    backbone = find_or_train(run, "infiller", infiller, texts, held_out)
    story_texts, held_out_stories = ([e.full_text for e in part] for part in (stories.train, stories.held_out))
    fluent = find_or_train(run, "language_model", language_model, story_texts, held_out_stories)
    plan = SteeringPlan(generator, guide, judge, share, cdm.device)
    writer, lm = load_generator(run, plan, split_parts(remarks, plan, run.seed).generator, remarks)
    guides: list[Trained] = []
    judges: list[Trained] = []
    for labelled in (remarks, topics):
        parts = split_parts(labelled, plan, run.seed)  # by their texts, so that those of the generator are left out
        guides += [train_label_guide(run, guide, lm, label, parts.guide) for label in labelled.labels]
        judges += train_label_judges(run, judge, labelled.labels, parts.judge).values()
    trained = (pair.amateur, pair.expert, *discriminators.values(), backbone, fluent, writer, *guides, *judges)
    return present(
        run,
        models={model.name: model for model in trained},
        folders={"pooler": pooler, "iwf": find_or_count_frequencies(run, backbone, texts)},
        synthetic=True,
    )
