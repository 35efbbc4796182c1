"""Plans and what is made of them: a model of the hub, in a folder, or trained once under all that it depends on."""

import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from core.errors import InputError, SettingError
from discriminators.discriminator import Discriminator, new_bert, new_bilstm
from discriminators.texts import LabelledText
from discriminators.training import TrainingSettings
from experiments.contracts import Run
from experiments.training import (
    DiscriminatorPlan,
    LanguageModelPlan,
    MaskedTokens,
    Pretrained,
    Trained,
    choose_groups,
    encode_fitting,
    find_or_train,
)
from models.batching import NOT_LEARNED
from models.tiny import TinyCausal
from models.training import LanguageModelSchedule
from tests.toy_models import QUIET

TEXTS = [LabelledText((word,), label, f"{word}{i}") for i in range(8) for label, word in enumerate(("bad", "good"))]
PLAN = DiscriminatorPlan(
    partial(new_bilstm, tokens="words", embedding_dim=4, hidden_dim=4), TrainingSettings(epochs=1, held_out=0.5)
)


@pytest.fixture
def run(kept: Run) -> Run:
    return replace(kept, trainer=QUIET)


def test_a_hub_name_loads_and_identifies_itself_and_needs_no_text(run: Run) -> None:
    found = find_or_train(run, "causal", Pretrained("openai-community/gpt2"), [])
    assert (found.source, found.identity, found.folder) == ("openai-community/gpt2", "openai-community/gpt2", None)
    assert not found.is_trained_here


def test_a_fetched_model_is_identified_by_its_revision(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    cached = tmp_path / "models--mine--model"
    (cached / "snapshots/abc").mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs/main").write_text("abc", "utf-8")
    (cached / "snapshots/abc/config.json").write_text("{}", "utf-8")
    assert find_or_train(run, "causal", Pretrained("mine/model"), []).identity == "mine/model@abc"


def test_a_folder_is_identified_by_its_files_wherever_it_lies(run: Run, tmp_path: Path) -> None:
    found: list[Trained] = []
    for name, weights in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_text(weights, "utf-8")
        found.append(find_or_train(run, name, Pretrained(str(tmp_path / name)), []))
    assert [each.source for each in found] == [str(tmp_path / name) for name in "abc"]
    assert found[0].identity == found[1].identity != found[2].identity
    assert not any(each.is_trained_here for each in found)


def test_what_was_trained_here_is_identified_by_its_stage_and_has_a_best_loss() -> None:
    points = ({"step": 1, "train/loss": 1.0}, {"step": 2, "val/loss": 3.0}, {"step": 3, "val/loss": 2.5})
    found = Trained("expert", Path("stages/expert-0123"), points)
    assert (found.source, found.identity) == ("stages/expert-0123", "expert-0123")
    assert found.held_out_nll == pytest.approx(2.5)


def test_settings_of_a_classifier_are_checked_before_anything_is_trained() -> None:
    with pytest.raises(SettingError, match="attention_dropout must be less than 1, but is 2"):
        DiscriminatorPlan(partial(new_bert, attention_dropout=2.0), TrainingSettings(epochs=1))


def test_a_masked_task_asks_for_what_it_hides_and_for_nothing_else() -> None:
    row = [1, *range(10, 30), 1]
    task = MaskedTokens(0.25).task(row, mask=3, rng=random.Random(0))
    hidden = [i for i, token in enumerate(task.source) if token == 3]
    assert len(hidden) == 5
    assert {*hidden} <= {*range(1, len(row) - 1)}
    assert task.source == [3 if i in hidden else token for i, token in enumerate(row)]
    assert task.target == [token if i in hidden else NOT_LEARNED for i, token in enumerate(row)]


def test_a_limit_on_texts_keeps_whole_groups_of_both_classes() -> None:
    pairs = [LabelledText((f"{word}{i}",), label, str(i)) for i in range(20) for label, word in enumerate("ab")]
    for most, kept in ((None, 40), (100, 40), (10, 10), (11, 10)):
        chosen = choose_groups(pairs, most, seed=0)
        assert (len(chosen), sum(text.label for text in chosen)) == (kept, kept // 2)
        assert chosen == [text for text in pairs if text in chosen]
    assert choose_groups(pairs, 10, seed=1) != choose_groups(pairs, 10, seed=0)


def test_a_discriminator_is_found_again_where_it_depends_on_the_same(run: Run, kept: Run) -> None:
    first = find_or_train(run, "judge", PLAN, TEXTS)
    assert first.is_trained_here
    assert first.identity.startswith("judge-")
    assert {"step", "val/loss", "val/accuracy", "val/auc", "val/order"} == set(first.curve[-1])
    assert Discriminator.from_pretrained(first.source).logits([("good",)])[0].shape == (1,)
    idle = replace(run, trainer=kept.trainer)
    assert find_or_train(idle, "judge", PLAN, TEXTS) == first
    changes: list[dict[str, Any]] = [
        {"seed": 1},
        {"texts": [*TEXTS, *TEXTS]},
        {"plan": replace(PLAN, training=replace(PLAN.training, epochs=2))},
        {"plan": replace(PLAN, build=partial(PLAN.build, hidden_dim=8))},
        {"run": replace(idle, training={"precision": "bf16-mixed"})},
        {"run": replace(idle, training={"precision": "32-true", "callbacks": [{"_target_": "mine.Stops"}]})},
    ]
    for changed in changes:
        with pytest.raises(AssertionError, match="nothing is trained"):
            find_or_train(**{"run": idle, "name": "judge", "plan": PLAN, "texts": TEXTS, **changed})


def test_texts_that_are_too_long_are_left_out_unless_all_are(caplog: pytest.LogCaptureFixture) -> None:
    lm = TinyCausal(300, 16, 2, 1, 32).build(["one two three"], (), seed=0)
    (short,) = lm.tokenizer(["one"], add_special_tokens=False)["input_ids"]
    with caplog.at_level("WARNING"):
        assert encode_fitting(lm, ["one", "one two three"], len(short)) == [short]
    assert f"1 of 2 texts have more than {len(short)} tokens and are left out" in caplog.text
    with pytest.raises(InputError, match="must have at most 0 tokens, but all 2 have more"):
        encode_fitting(lm, ["one", "two"], 0)


def test_a_small_model_needs_texts_to_learn_and_held_out_ones(run: Run) -> None:
    plan = LanguageModelPlan(
        TinyCausal(300, 16, 2, 1, 32), LanguageModelSchedule(1, 1e-3, batch_size=2), MaskedTokens()
    )
    for texts, held_out, lacking in (([], ["a"], "training"), (["a"], [], "held-out")):
        with pytest.raises(SettingError, match=f"the small model lm learns .* but these have no {lacking} texts"):
            find_or_train(run, "lm", plan, texts, held_out)
