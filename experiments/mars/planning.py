"""What the settings of MARS do, on development data: the KL of planning, k, sigma, q and the largest masking ratio.

One setting varies at a time. For each value the table shows how far planning moves the model (KL), the agreement with
the ratings, and what planning adds to it. The rated texts are not those that the other experiments report.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from core.settings import Count, Positive, Several, Share, Size, checked_dataclass
from data.corpus import Corpus, RatedSet
from experiments.contracts import Outcome, Run, Table
from experiments.mars.findings import Gain, list_references, mean_altered, measure_altered, measure_gain
from experiments.mars.variants import MetricPlan
from experiments.presentation import present
from experiments.training import LanguageModelPlan, Pretrained, find_or_train
from mars.augmentation import SelfPlanningAugmenter
from mars.cloze import mean_kl
from mars.metric import MARS
from meta_eval.agreement import Agreement
from meta_eval.scored_set import ScoredSet
from models.causal import CausalLM

CAPTION = (
    "Development data, not the reported sets. One setting varies, the others have their defaults. KL: of planned from "
    "plain next-token distributions over all planned tokens (nats). planning gain: Spearman minus that of k = 0 with "
    "the same other settings. altered: the share of augmented references with a blank."
)


@checked_dataclass
class VariedSettings:
    """The values of each setting.

    Attributes:
        kl: how far planning moves the next-token distribution, in nats.
        planning_steps: k.
        max_guess: sigma.
        q: the weight of each masking ratio relative to the one before.
        largest_ratio: the largest masking ratio, in steps of 0.2 from 0.
    """

    kl: Several[Positive]
    planning_steps: Several[Count]
    max_guess: Several[Size]
    q: Several[Positive]
    largest_ratio: Several[Share]


@dataclass(frozen=True)
class SettingEffect:
    """What MARS does at one value of a setting.

    Attributes:
        kl: measured, in nats; None where no token was planned.
        row: the agreement with the ratings.
        gain: over MARS without planning.
        altered: the share of augmented references with a blank.
    """

    setting: str
    value: float
    kl: float | None
    row: Agreement
    gain: Gain
    altered: float


def mars_planning(
    run: Run,
    data: Corpus,
    development: Corpus,
    language_model: LanguageModelPlan | Pretrained,
    metric: MetricPlan,
    varied: VariedSettings,
) -> Outcome:
    """One table and one plot over all settings of `varied`.

    Args:
        run: from the runner.
        data: texts to train the language model on.
        development: the first rated set is scored.
        language_model: fills the blanks.
        metric: the default of each setting.
        varied: the values of each setting.
    """
    make = metric.load(run.stages.root)
    texts = [e.full_text for e in data.train], [e.full_text for e in data.held_out]
    model = find_or_train(run, "language_model", language_model, *texts)
    lm = CausalLM.from_pretrained(model.source, metric.device, metric.dtype)
    rated = development.rated[0]
    usual = make(SelfPlanningAugmenter(lm, metric.augmentation, metric.token_budget), model.source)
    with run.timed("augmentation and similarity"):
        effects = [
            _measure(setting, value, change_setting(usual, setting, value), rated)
            for setting, value in _list_values(varied)
        ]
    return present(
        run,
        models={"language_model": model},
        tables=[Table("Settings of MARS", CAPTION, [_cells(effect) for effect in effects])],
        settings={"data": data.name},
        plots={"settings": plot_effects(effects)},
        synthetic=development.synthetic,
    )


def change_setting(usual: MARS, setting: str, value: float) -> MARS:
    """The metric with another value of one setting."""
    match setting:
        case "q":
            return replace(usual, q=value)
        case "largest_ratio":
            return replace(usual, ratios=tuple(round(0.2 * i, 2) for i in range(round(value / 0.2) + 1)))
        case _:
            return _augment_with(usual, {setting: value})


def _augment_with(metric: MARS, changes: Mapping[str, Any]) -> MARS:
    assert isinstance(metric.augmenter, SelfPlanningAugmenter)
    settings = replace(metric.augmenter.settings, **changes)
    return replace(metric, augmenter=replace(metric.augmenter, settings=settings))


def _list_values(varied: VariedSettings) -> Iterator[tuple[str, float]]:
    for setting in VariedSettings.__annotations__:
        for value in getattr(varied, setting):
            yield setting, value


def _measure(setting: str, value: float, metric: MARS, rated: RatedSet) -> SettingEffect:
    compared = metric.compare(rated.examples)
    plain = _augment_with(metric, {"planning_steps": 0}).score(rated.examples)
    texts = ScoredSet.of(rated, {"mars": metric.score_compared(compared), "mars_without_planning": plain})
    gain = measure_gain(texts, "mars_without_planning")
    altered = mean_altered(measure_altered(compared, metric.ratios), metric.ratios)
    kl = mean_kl(one.augmented for one in list_references(compared))
    return SettingEffect(setting, value, kl, texts.by_metric(texts.aspects[0])["mars"], gain, altered)


def _cells(effect: SettingEffect) -> dict[str, Any]:
    return {
        "setting": effect.setting,
        "value": effect.value,
        "KL": float("nan") if effect.kl is None else effect.kl,
        "n": effect.gain.n,
        "agreement (spearman)": effect.row.spearman,
        "planning gain": effect.gain.spearman,
        "altered": effect.altered,
    }


def plot_effects(effects: Sequence[SettingEffect]) -> Figure:
    """A panel per setting: the agreement above, and below it what planning adds, both with 95 % intervals."""
    settings = list(dict.fromkeys(effect.setting for effect in effects))
    figure = Figure(figsize=(2.6 * len(settings), 5), layout="constrained")
    panels = figure.subplots(2, len(settings), sharey="row", squeeze=False)
    for column, setting in zip(panels.T, settings, strict=True):
        chosen = [effect for effect in effects if effect.setting == setting]
        for panel, estimates in zip(
            column, ([e.row.spearman for e in chosen], [e.gain.spearman for e in chosen]), strict=True
        ):
            values = np.array([estimate.value for estimate in estimates])
            ends = np.array([[estimate.low, estimate.high] for estimate in estimates]).T
            panel.errorbar(range(len(chosen)), values, yerr=np.abs(ends - values), marker="o", capsize=3)
            panel.set_xticks(range(len(chosen)), [f"{effect.value:g}" for effect in chosen], fontsize=8)
            panel.grid(axis="y", linewidth=0.3)
        column[1].axhline(0, color="black", linewidth=0.6)
        column[0].set_title(setting, fontsize=9)
    panels[0][0].set_ylabel("Spearman with the ratings", fontsize=9)
    panels[1][0].set_ylabel("gain by planning", fontsize=9)
    figure.suptitle(f"Settings of MARS on {effects[0].row.set} (development data)", fontsize=10)
    return figure
