"""+exp=mars_planning through the command line at toy size, the KL at both scales, and the sweeps of MARS."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.mars.planning import change_setting
from experiments.runner.configuration import compose_run, expand_sweep
from mars.augmentation import SelfPlanningAugmenter
from mars.cloze import Augmentation
from mars.metric import MARS
from mars.tagging import load_tagger
from tests.experiments.mars.test_story import TOY

ROOT = Path(__file__).parents[3]


def test_one_setting_changes_and_the_others_stay() -> None:
    augmenter = SelfPlanningAugmenter(None, Augmentation())  # type: ignore[arg-type]
    usual = MARS(augmenter, None, load_tagger("builtin"), {})  # type: ignore[arg-type]
    assert change_setting(usual, "q", 1.25) == replace(usual, q=1.25)
    assert change_setting(usual, "largest_ratio", 0.4).ratios == (0.0, 0.2, 0.4)
    changed = change_setting(usual, "max_guess", 5)
    assert changed == replace(usual, augmenter=replace(augmenter, settings=Augmentation(max_guess=5)))


def test_the_table_and_the_plot_have_every_value(run: Callable[..., Any], tmp_path: Path) -> None:
    found = run(
        *("+exp=mars_planning", *(setting for setting in TOY if "masked" not in setting), "data.train=200"),
        *("data.held_out=20", "data.rated=0", "development.rated=24", "varied.kl=[0.05,0.5]"),
        *("varied.planning_steps=[1]", "varied.max_guess=[0]", "varied.q=[1.0]", "varied.largest_ratio=[0.2]"),
        *(f"outputs={tmp_path}", f"run_dir={tmp_path}/run"),
    )
    assert found.returncode == 0, found.stderr
    rows = json.loads((tmp_path / "run/results.json").read_text("utf-8"))["table"]
    assert [(row["setting"], row["value"]) for row in rows] == [
        *(("kl", 0.05), ("kl", 0.5), ("planning_steps", 1), ("max_guess", 0)),
        *(("q", 1.0), ("largest_ratio", 0.2)),
    ]
    assert [row["KL"] for row in rows[:2]] == pytest.approx([0.05, 0.5], rel=0.02)
    assert {row["altered"] for row in rows} == {1}
    assert {row["n"] for row in rows} == {24}
    assert all(len(row["planning gain_interval"]) == 2 for row in rows)
    assert (tmp_path / "run/plots/settings.png").is_file()


@pytest.mark.parametrize("scale", ["tiny", "paper"])
@pytest.mark.parametrize("experiment", ["mars_story", "mars_news data.root=x", "mars_qa data.root=x", "mars_planning"])
def test_the_divergence_is_set_at_the_top_for_both_scales(experiment: str, scale: str) -> None:
    config = compose_run([*f"+exp={experiment}".split(), f"scale={scale}", "kl=0.35"], [ROOT / "configs"])
    assert config.model.metric.augmentation.kl == 0.35
    assert config.model.metric.masking.rounding == "ceil"


@pytest.mark.parametrize("sweep", sorted(path.stem for path in (ROOT / "configs/sweep").glob("mars_*.yaml")))
def test_every_job_of_a_sweep_has_settings_that_hold(sweep: str) -> None:
    jobs = expand_sweep(["+exp=mars_story", f"+sweep={sweep}"], [ROOT / "configs"])
    assert len(jobs) >= 4
    composed = [compose_run(job, [ROOT / "configs"]) for job in jobs]
    assert len({str(config.model.metric) + str(config.ratios) for config in composed}) == len(jobs)
