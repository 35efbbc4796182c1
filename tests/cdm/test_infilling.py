"""Training learns, keeps the best weights, and ends where it would have ended after being killed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cdm.infilling import Gaps, Pair, PairReading, TokenisedDialogues, held_out_nll
from core.errors import SettingError
from data.builtin.dialogues import generate_dialogues
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyT5
from models.training import LanguageModelSchedule, train_language_model
from tests.toy_models import QUIET

PLAN = TinyT5(
    400,
    32,
    64,
    2,
    1,
    1,
    dropout_rate=0.1,
)
DIALOGUES = [example.turns for example in generate_dialogues(120, seed=8)]
GAPS = Gaps(max_length=1000)  # every dialogue is one window


def train(
    folder: Path,
    schedule: LanguageModelSchedule,
    texts: Sequence[tuple[str, ...]],
    trainer: Any = QUIET,
) -> None:
    """A model learns a gap of each text in an epoch."""
    lm = GAPS.build(PLAN, DIALOGUES, seed=0)
    learned = GAPS.tasks(lm, texts)
    train_language_model(
        lm,
        learned,
        GAPS.tasks(lm, DIALOGUES[100:])(1),
        schedule,
        folder,
        trainer,
        seed=0,
    )


def test_training_learns_and_keeps_the_best(tmp_path: Path) -> None:
    lm = GAPS.build(PLAN, DIALOGUES, seed=0)
    held_out = GAPS.tokenise(lm, DIALOGUES[100:])
    tasks = held_out.tasks(seed=1)
    before = held_out_nll(lm, held_out.infilling, tasks)
    schedule = LanguageModelSchedule(epochs=3, batch_size=16, learning_rate=0.01)
    train(tmp_path, schedule, DIALOGUES[:100] * 2)
    curve = json.loads((tmp_path / "curve.json").read_text("utf-8"))
    after = held_out_nll(Seq2SeqLM.from_pretrained(tmp_path), held_out.infilling, tasks)
    assert after < before - 1
    held = [point["val/loss"] for point in curve if "val/loss" in point]
    assert len(held) == 3
    assert after == pytest.approx(min(held), abs=1e-4)
    assert curve[-1]["step"] == 3 * 13  # 200 tasks in batches of 16
    assert not (tmp_path / "checkpoints").exists()


def test_amateur_and_expert_learn_the_same_gaps() -> None:
    lm = GAPS.build(PLAN, DIALOGUES, seed=0)
    once, thrice = (GAPS.tasks(lm, [turns for turns in DIALOGUES[:9] for _ in range(n)])(7) for n in (1, 3))
    assert thrice[::3] == once
    assert thrice[1::3] != once
    assert GAPS.tasks(lm, DIALOGUES[5:9])(7) == once[5:]  # whatever else is learned
    assert all(task.source[-1] == lm.tokenizer.eos_token_id for task in once)  # as T5 was pretrained


@pytest.mark.parametrize("room", [2, 3, 9])
def test_no_gap_lies_in_the_turns_that_are_given(pair: Pair, room: int) -> None:
    """Also in windows that begin behind the given turns, or hold nothing else."""
    turns = [[token] for token in range(10, 16)]
    marks = len(pair.infilling.marks) - 1
    tokenised = TokenisedDialogues(
        [turns],
        pair.infilling,
        separator=(3,),
        max_length=marks + room,
        prompt_turns=2,
        tokens={token: f"Ġ{token}" for token in range(10, 16)},
    )
    segments = [task.segment for seed in range(60) for task in tokenised.tasks(seed)]
    assert set(segments) == {(12,), (13,), (14,), (15,)}


def test_the_partial_order_is_checked_and_said(
    pair: Pair, dialogues: list[tuple[str, ...]], caplog: pytest.LogCaptureFixture
) -> None:
    tasks = pair.tokenise(dialogues[:10]).tasks(seed=0)
    order = pair.compare(tasks)
    other_way = Pair(pair.expert, pair.amateur, pair.reading)
    caplog.clear()
    reverse = other_way.compare(tasks)
    assert (order.amateur_nll, order.expert_nll) == (reverse.expert_nll, reverse.amateur_nll)
    assert order.holds != reverse.holds
    failing = order if not order.holds else reverse
    assert "NOT BETTER" in str(failing)
    assert any(record.levelname == "WARNING" for record in caplog.records) == (not reverse.holds)


def test_how_much_a_pair_reads_is_saved_with_it(pair: Pair, tmp_path: Path) -> None:
    reading = PairReading(60, prompt_turns=1)
    for name, lm in (("amateur", pair.amateur), ("expert", pair.expert)):
        reading.save(lm)
        lm.save_pretrained(tmp_path / name)
    loaded = Pair.from_pretrained(tmp_path / "amateur", tmp_path / "expert")
    assert loaded.reading == reading
    PairReading(60).save(pair.expert)
    pair.expert.save_pretrained(tmp_path / "expert")
    with pytest.raises(SettingError, match="must read dialogues in the same way, but learned PairReading"):
        Pair.from_pretrained(tmp_path / "amateur", tmp_path / "expert")
    once = Pair.from_pretrained(tmp_path / "amateur", tmp_path / "amateur", dtype="bfloat16")
    assert (once.amateur.dtype, once.amateur is once.expert) == ("bfloat16", True)
