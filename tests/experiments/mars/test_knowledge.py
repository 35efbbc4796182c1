"""What knowledge of the contexts brings to MARS: halves, noise control, changed words and gains, at toy size."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.example import Example
from core.faults import SettingFault
from core.scores import Scores
from data.corpus import RatedSet
from experiments.mars import knowledge as module
from experiments.mars.knowledge import (
    ALONE,
    NOISE,
    Filled,
    Knowledge,
    OtherContexts,
    count_changed_words,
    cut,
    exchange_contexts,
    gather,
    list_gains,
    list_gains_by_changes,
    list_texts,
    measure_loss,
    resize,
    split_halves,
)
from experiments.runner.configuration import expand_sweep
from mars.masking import Blank, Kept
from mars.metric import Compared
from mars.references import Augmented, AugmentedReference, Job
from meta_eval.correlation import spearman
from models.tiny import TinyGPT2

TOY = """
+exp=mars_knowledge data.train=40 data.held_out=8 data.rated=16 knowledge.widths=[8,16] logger=none cues=none
model.language_model.model.n_layer=1 model.language_model.model.vocabulary=400 model.language_model.schedule.epochs=1
"""


class Echo:
    """An augmenter that writes the context it reads."""

    depends: Mapping[str, Any] = {"augmenter": "echo", "use_context": True}

    def augment(self, jobs: Sequence[Job]) -> list[Augmented]:
        return [Augmented(f"{job.context}: {len(job.template)}", (), 0.0, 0) for job in jobs]


def example(name: str, context: str, reference: str = "r", rating: float = 0.0) -> Example:
    return Example(name, name, context=context, references=(reference,), group=context, ratings={"q": rating})


def test_the_noise_control_changes_what_is_read_and_nothing_else() -> None:
    jobs = [Job("a", (Kept("x"), Blank(1))), Job("b", (Kept("y"),))]
    noise = OtherContexts(Echo(), {"a": "b", "b": "a"})
    assert [one.text for one in noise.augment(jobs)] == ["b: 2", "a: 1"]
    assert noise.depends["use_context"]
    assert noise.depends != Echo.depends
    assert noise.depends != OtherContexts(Echo(), {"a": "a", "b": "b"}).depends


@pytest.mark.parametrize("count", [2, 3, 50])
def test_every_context_is_exchanged_for_another_one(count: int) -> None:
    half = [example(f"{i}{j}", f"context {i}") for i in range(count) for j in range(2)]
    found = exchange_contexts(half, seed=3)
    assert sorted(found) == sorted(found.values()) == sorted({e.context or "" for e in half})
    assert all(context != other for context, other in found.items())
    assert found == exchange_contexts(half[::-1], seed=3)
    assert count < 50 or found != exchange_contexts(half, seed=4)


def test_the_first_words_references_and_aspects_count() -> None:
    knowledge = Knowledge([8], {}, {}, references=2, aspects=1, context_words=3)
    full = Example(
        "a", "text", context="one  two\nthree four", references=(" ", "r", "s", "t"), ratings={"q": 1, "p": 2}
    )
    [found] = cut(RatedSet("toys", (full,), synthetic=True), knowledge, 0).examples
    assert found == replace(full, context="one two three", references=("r", "s"), ratings={"q": 1})
    assert list_texts([found, found]) == ["one two three r", "one two three s"]
    many = RatedSet("toys", tuple(example(f"{i}", f"context {i // 2}") for i in range(40)), synthetic=True)
    first, second = (cut(many, replace(knowledge, inputs={"toys": 5}), seed).examples for seed in (0, 1))
    assert len(first) == len(second) == 10
    assert len({e.context for e in first}) == 5
    assert first != second
    with pytest.raises(SettingFault, match="needs a context and a reference, but b of toys"):
        cut(RatedSet("toys", (full, replace(full, id="b", context=" ")), synthetic=True), knowledge, 0)


def test_words_change_where_the_order_does_and_the_most_changed_augmentation_counts() -> None:
    def augmented(*texts: str) -> tuple[AugmentedReference, ...]:
        kept = (Kept("x"),)
        return tuple(AugmentedReference("", "A red kite flew.", 0.0, kept, Augmented(t, (), 0, 0)) for t in texts)

    for texts, most in (
        (["A red kite flew."], 0),
        (["a Red kite flew ."], 0),
        (["A kite red flew."], 1),
        (["A red kite flew.", "A blue bird flew.", "A red bird flew."], 2),
        (["A very red kite flew."], 0),
    ):
        assert count_changed_words(Compared((0.0,), np.zeros((1, 1)), "x", (augmented(*texts),))) == most
    assert count_changed_words(Compared((0.0,), np.empty((0, 1)), "x", reason="refused")) == 0


def test_models_grow_in_proportion() -> None:
    model = TinyGPT2(vocabulary=300, n_embd=128, n_head=4, n_layer=1, n_inner=384)
    found = [resize(model, width) for width in (16, 64, 192)]
    assert [(one.n_embd, one.n_head, one.n_inner) for one in found] == [(16, 1, 48), (64, 2, 192), (192, 6, 576)]


def test_the_loss_is_that_of_the_tokens_after_the_first_text() -> None:
    lm = TinyGPT2(300, n_embd=16, n_head=1, n_layer=1, n_inner=16, max_length=32).build(["a b c"], (), seed=0)
    [first, second] = lm.tokenizer(["a b", " c c"], add_special_tokens=False)["input_ids"]
    alone, after = lm.log_probabilities([((lm.start,), [*first, *second]), ((lm.start, *first), second)])
    assert measure_loss(lm, [("", "a b c c")]) == pytest.approx(-alone.mean())
    assert measure_loss(lm, [("a b", " c c")]) == pytest.approx(-after.mean())
    assert after == pytest.approx(alone[len(first) :], abs=1e-5)
    with pytest.raises(SettingFault, match="max_length must be at least"):
        measure_loss(lm, [("", "b c " * 20)])


def test_gains_are_paired_differences_by_width_and_by_changed_words() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=80)
    examples = [example(f"{i}", f"context {i // 2}", rating=rating) for i, rating in enumerate(ratings)]
    halves = tuple(examples[:30]), tuple(examples[30:])

    def filled(width: int, noise: float) -> Filled:
        columns = {ALONE: ratings + 2 * np.sin(np.arange(80)), "mars": ratings + noise * rng.normal(size=80)}
        columns |= {NOISE: rng.normal(size=80), "no context": rng.normal(size=80)}
        rows = {name: Scores({"quality": column}, name, [None] * 80) for name, column in columns.items()}
        return Filled(width, 5.0 - width, 0.1, rows, np.arange(80) % 5)

    widths = [filled(1, 2.0), filled(2, 0.1)]
    scored = gather(RatedSet("toys", tuple(examples), synthetic=True), halves, widths)
    assert list(scored.scores)[:2] == [ALONE, "mars, 1"]
    first, second = list_gains(scored, widths)

    def rho(row: str, at: Any = slice(None)) -> float:
        values = scored.values(row, "q")[at]
        return float(spearman(values, ratings[at], np.ones((1, len(values))))[0])

    assert [(row["width"], row["n"], row["loss"]) for row in (first, second)] == [(1, 80, 4.0), (2, 80, 3.0)]
    assert second["mars"].value == pytest.approx(rho("mars, 2") - rho(ALONE))
    assert second["knowledge"].value == pytest.approx(rho("mars, 2") - rho(f"{NOISE}, 2"))
    assert second["growth"].value == pytest.approx(rho("mars, 2") - rho("mars, 1"))
    assert second["knowledge"].low > 0
    assert first["growth"].value == 0
    by_changes = [*list_gains_by_changes(scored, widths)][3:]
    assert [(row["changed words"], row["n"]) for row in by_changes] == [("1", 16), ("2-3", 32), ("4 and more", 16)]
    chosen = np.flatnonzero(np.arange(80) % 5 == 1)
    assert by_changes[0]["gain"].value == pytest.approx(rho("mars, 2", chosen) - rho(ALONE, chosen))


def test_models_learn_the_other_half_and_the_plain_texts_alone(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[Sequence[str]] = []
    halves: list[tuple[Sequence[Example], ...]] = []
    train, split = module.find_or_train, module.split_share

    def note_texts(run: Any, name: str, plan: Any, texts: Sequence[str], held_out: Sequence[str]) -> Any:
        learned.append(texts)
        return train(run, name, plan, texts, held_out)

    def note_halves(*arguments: Any) -> Any:
        halves.append(split(*arguments))
        return halves[-1]

    monkeypatch.setattr(module, "find_or_train", note_texts)
    monkeypatch.setattr(module, "split_share", note_halves)
    ended = run(*TOY.split(), f"outputs={tmp_path}", f"run_dir={tmp_path}/run")
    assert ended.returncode == 0, ended.stderr
    [parts] = halves
    for half, texts in enumerate(learned[:2]):
        assert list(texts[40:]) == list_texts(parts[1 - half])
        own = [text for e in parts[half] for text in (e.context or "", e.text, *e.references)]
        assert not [text for text in texts for each in own if each in text]
        assert not [text for text in texts for e in parts[1 - half] if e.text in text]
    results = json.loads((tmp_path / "run/results.json").read_text("utf-8"))
    gains = [row for row in results["table"] if "knowledge" in row]
    assert [(row["width"], row["n"], row["growth"]) for row in gains] == [(8, 16, 0), (16, 16, gains[1]["growth"])]
    agreement = {row["metric"]: row["spearman"] for row in results["table"] if "metric" in row}
    assert len(agreement) == 7
    assert gains[1]["mars"] == pytest.approx(agreement["mars, 16"] - agreement[ALONE])
    assert sum(row["n"] for row in results["table"] if "changed words" in row and row["width"] == 8) == 16
    assert results["synthetic"]
    assert (tmp_path / "run/plots/gain_by_loss.png").is_file()


def test_seeds_change_the_halves() -> None:
    assert len(expand_sweep(["+exp=mars_knowledge", "+sweep=seeds"])) == 3
    examples = [example(f"{i}", f"context {i}") for i in range(40)]
    first, second = (module.split_share(examples, lambda e: e.context, 0.5, seed)[0] for seed in (0, 1))
    assert len(first) == len(second) == 20
    assert first != second


def test_each_half_needs_two_contexts() -> None:
    def split(count: int) -> tuple[tuple[Example, ...], ...]:
        examples = tuple(example(f"{i}{j}", f"context {i}") for i in range(count) for j in range(3))
        return split_halves(RatedSet("few", examples, synthetic=True), seed=0)

    assert [len(half) for half in split(4)] == [6, 6]
    for count in (1, 2, 3):
        with pytest.raises(SettingFault, match=f"at least 4 inputs .* but few has {count}$"):
            split(count)
