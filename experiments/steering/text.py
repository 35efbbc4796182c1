"""Guided decoding of a causal language model: texts steered to labels, by strength and k (OUMG, section 3.2; FUDGE)."""

from core.faults import InputFaults
from core.signature import MODEL_LIBRARIES, signature
from data.corpus import Corpus
from discriminators.discriminator import Discriminator
from experiments.contracts import Outcome, Run, Table
from experiments.report import plots
from experiments.steering import tables
from experiments.steering.findings import held_out_accuracies, is_above_chance, steer
from experiments.steering.generation import check_candidates
from experiments.steering.models import (
    LabelJudges,
    generator_share,
    load_generator,
    train_label_guide,
    train_label_judges,
)
from experiments.steering.parts import split_parts
from experiments.steering.prompts import choose_prompts, encode_prompts
from experiments.steering.settings import Steering, TextSampling
from experiments.training import (
    DiscriminatorPlan,
    GuidePlan,
    LanguageModelPlan,
    Pretrained,
    folders_of,
    load_guide,
    prefix_notes,
)


def guided_text(
    run: Run,
    data: Corpus,
    generator: LanguageModelPlan | Pretrained,
    guide: GuidePlan,
    judge: DiscriminatorPlan,
    steering: Steering,
    sampling: TextSampling,
    share: float = 0.5,
    device: str = "cpu",
    dtype: str = "float32",
) -> Outcome:
    """A generator steered to each label, at every strength and k.

    Args:
        run: from the runner.
        data: labelled texts; the generator, the guides and the judges learn different ones.
        generator: any causal language model by name, or one to train here.
        guide: of each label.
        judge: of each label.
        steering: the settings of guidance to compare.
        sampling: how texts are sampled.
        share: of the training texts for a generator that is trained here.
        device: where models generate and judge.
        dtype: of the weights of the generator; guides and judges are small and stay in float32.
    """
    labels = list(data.labels if steering.labels is None else steering.labels)
    if unknown := [label for label in labels if label not in data.labels]:
        raise InputFaults([f"labels must be some of {', '.join(data.labels)}, but {unknown[0]!r} is among them"])
    if isinstance(generator, LanguageModelPlan):
        check_candidates(steering.ks, generator.model.vocabulary)
    prompts, from_texts = choose_prompts(data, sampling)
    parts = split_parts(data, generator_share(generator, share), run.seed)
    writer = load_generator(run, generator, parts.generator, data, device, dtype)
    check_candidates(steering.ks, len(writer.lm.tokenizer))
    rows = encode_prompts(writer.lm, prompts, sampling.new_tokens)
    trained_guides = {label: train_label_guide(run, guide, writer.lm, label, parts.guide) for label in labels}
    guides = {label: load_guide(each.source, device) for label, each in trained_guides.items()}
    trained_judges = train_label_judges(run, judge, data.labels, parts.judge)
    judges = LabelJudges(
        data.labels,
        {label: Discriminator.from_pretrained(each.source, device) for label, each in trained_judges.items()},
    )

    found = steer(run, writer.lm, guides, judges, prompts, rows, steering, sampling)
    samples = run.folder / "samples.jsonl"
    if run.stages.first:
        tables.write_samples(samples, found, steering.rule, prompts)
    together = tables.steering_rows(found, steering.rule, run.seed)
    own = {"generator": writer.trained} if writer.trained.is_trained_here else {}
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
        tables=[
            Table("Steered texts", tables.CAPTION, together),
            Table("Steered texts by label", tables.CAPTION, tables.label_rows(found, steering.rule, run.seed)),
        ],
        plots={
            "accuracy_and_perplexity": tables.plot_trade_off(together),
            **({"training_curves": plots.training_curves({name: own[name].curve for name in own})} if own else {}),
        },
        models=folders_of(
            {each.name: each for models in (own, trained_guides, trained_judges) for each in models.values()}
        ),
        figures={
            "prompts": len(prompts),
            "generator parameters (millions)": writer.lm.parameters / 1e6,
            **{f"{name} held-out NLL (nats per token)": each.held_out_nll for name, each in own.items()},
            **held_out_accuracies(data, judges, guides),
        },
        notes=[*prefix_notes(guide), *_notes(data, judges, from_texts, sampling.prompt_words)],
        files=[samples],
        synthetic=data.synthetic,
    )


def _notes(data: Corpus, judges: LabelJudges, prompts_from_texts: bool, prompt_words: int) -> list[str]:
    notes: list[str] = []
    if prompts_from_texts:
        notes.append(
            f"{data.name} has no prefixes, so the prompts are the first {prompt_words} words of held-out texts of all "
            "labels, and some may show a label themselves; sampling.prompts sets others"
        )
    found = judges.find_labels([example.full_text for example in data.held_out])
    if data.held_out and not is_above_chance([example.label for example in data.held_out], found):
        notes.append(
            f"on {len(found)} held-out texts the judges are not above chance: the accuracy of steered texts says "
            "little; train on more texts, or change model.judge"
        )
    return notes
