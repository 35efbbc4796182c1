"""Pairs of outputs and human texts: pairing, splitting, what is made alike, faults, what discriminators learn."""

import random
import unicodedata
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InputError
from core.example import Example
from data.files import write_examples
from discriminators.discriminator import new_bilstm
from discriminators.training import TrainingSettings, train_classifier
from meta_eval.scored_set import ScoredSet
from oumg.comparison import (
    OutputPair,
    PairedOutputs,
    PairSettings,
    judge_pairs,
    label_pairs,
    pair_texts,
    read_comparison,
)
from oumg.pieces import draw_common_length, find_shared_start, normalise_text, split_pieces, strip_templates
from oumg.relative import relative_scores
from tests.toy_models import QUIET

WORDS = ["red", "green", "blue", "cat", "dog", "sun", "moon", "tree", "sea", "bird", "stone", "road"]
WHOLE, MATCHED = PairSettings("words", match_length=False), PairSettings("words")


def texts(prefix: str, by_input: dict[str, list[str]]) -> list[Example]:
    return [
        Example(f"{prefix}-{name}-{i}", text=text, group=name)
        for name, outputs in by_input.items()
        for i, text in enumerate(outputs)
    ]


def between(*by_input: dict[str, list[str]], settings: PairSettings = WHOLE, **more: Any) -> PairedOutputs:
    """The pairs of human texts and the outputs of two systems, by input."""
    names = ("human", "g1", "g2")
    human, first, second = (ScoredSet(name, tuple(texts(name, of))) for name, of in zip(names, by_input, strict=True))
    return pair_texts(
        human,
        first,
        second,
        settings,
        **more,
    )


def pairs_of(comparison: PairedOutputs) -> tuple[OutputPair, ...]:
    return (*comparison.train, *comparison.test)


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def sentences(seed: int, inputs: int, lengths: tuple[int, int] = (6, 6)) -> dict[str, list[str]]:
    rng = random.Random(seed)
    return {f"i{i:03d}": [sentence(rng, rng.randint(*lengths))] for i in range(inputs)}


def test_inputs_are_split_before_all_else_and_weigh_alike() -> None:
    human, first = sentences(0, 40), sentences(1, 40)
    second = {name: [*one, "an other red cat"] for name, one in sentences(2, 40).items()}
    first = {name: [*one, "one more blue dog"] for name, one in first.items()}
    found = between(human, first, second)
    train, test = ({pair.input for pair in side} for side in (found.train, found.test))
    assert train | test == set(human)
    assert not train & test
    assert len(test) == 10
    assert (len(found.train), len(found.test)) == (60, 20)
    for side in (found.train, found.test):
        labels = [text.label for text in label_pairs(side)]
        assert labels.count(1) == labels.count(0) == 2 * len(side)
        for pair in side:
            assert {e.group for e in (*pair.human, pair.first, pair.second)} == {pair.input}
    assert [pair.first.id[-1] for pair in found.test] == [pair.second.id[-1] for pair in found.test] == ["0", "1"] * 10


def test_the_order_of_the_inputs_and_files_changes_nothing() -> None:
    human, first, second = (sentences(seed, 20, (4, 9)) for seed in range(3))
    once = between(
        human,
        first,
        second,
        settings=MATCHED,
    )
    a, b, c = (dict(random.Random(i).sample(sorted(of.items()), 20)) for i, of in enumerate((human, first, second)))
    assert list(a) != list(human)
    assert (
        between(
            a,
            b,
            c,
            settings=MATCHED,
        )
        == once
    )
    assert (
        between(
            human,
            first,
            second,
            settings=replace(MATCHED, seed=1),
        )
        != once
    )


def test_human_texts_are_drawn_before_any_is_drawn_again() -> None:
    def human_ids(people: int, outputs: int) -> list[str]:
        human = {f"i{i}": [f"text {k} here" for k in range(people)] for i in range(4)}
        machine = {f"i{i}": [f"output {k} there" for k in range(outputs)] for i in range(4)}
        found = between(human, machine, machine)
        return sorted(e.id for pair in pairs_of(found) if pair.input == "i0" for e in pair.human)

    assert human_ids(1, 1) == ["human-i0-0"] * 2
    assert len(set(human_ids(9, 2))) == 4
    assert human_ids(4, 2) == [f"human-i0-{k}" for k in range(4)]
    drawn = human_ids(3, 2)
    assert len(drawn) == 4
    assert len(set(drawn)) == 3


def test_texts_that_meet_are_of_one_length_and_none_shows_its_end() -> None:
    found = between(*(sentences(i, 200, of) for i, of in enumerate([(5, 9), (9, 30), (3, 12)])), settings=MATCHED)
    lengths, shares = [], []
    for pair in pairs_of(found):
        whole = [len(e.text.split()) for e in (*pair.human, pair.first, pair.second)]
        read = {len(segments[0].split()) for segments in pair.segments}
        assert len(read) == 1
        if len(set(whole)) > 1:
            assert max(read) < min(whole)
            assert max(read) >= min(whole) / 2
        lengths.append(max(read))
        shares.append(max(read) / min(whole))
    assert 0.6 < np.mean(shares) < 0.8
    assert len(set(lengths)) > 4
    assert draw_common_length([7, 7, 7], np.random.default_rng(0)) == 7
    assert {draw_common_length([5, 9], np.random.default_rng(i)) for i in range(40)} == {3, 4}


def test_human_texts_of_a_pair_have_the_form_of_its_outputs() -> None:
    rng = random.Random(0)
    human = {f"i{i}": [sentence(rng, words) for words in (3, 5, 9, 5)] for i in range(4)}
    machine = {f"i{i}": [sentence(rng, words) for words in (9, 5, 3)] for i in range(4)}
    found = between(
        human,
        machine,
        machine,
        settings=MATCHED,
        form_of=lambda e: len(e.full_text.split()),
    )
    for pair in pairs_of(found):
        assert {len(e.full_text.split()) for e in (*pair.human, pair.second)} == {len(pair.first.full_text.split())}
        assert [s[0] for s in pair.segments] == [e.text for e in (*pair.human, pair.first, pair.second)]
        assert pair.cut == 0
    fives = {e.id for pair in found.test for e in pair.human if len(e.full_text.split()) == 5}
    assert len(fives) == 2  # each of them once


def test_what_one_origin_always_begins_or_ends_with_is_taken_off_all() -> None:
    human = sentences(0, 40)
    first = {name: [f"Answer: {one}."] for name, (one,) in sentences(1, 40).items()}
    second = {name: [f"{one}."] for name, (one,) in sentences(2, 40).items()}
    human["i001"] = ["red sun."]  # one that has it too
    found = between(human, first, second)
    assert found.templates == (("end", "."), ("start", "Answer:"))
    read = {pair.input: pair.segments for pair in pairs_of(found)}
    assert [s[0] for s in read["i000"]] == [sentences(i, 40)["i000"][0] for i in (0, 0, 1, 2)]
    assert read["i001"][0] == ("red sun",)


def test_the_source_is_read_before_the_text_and_never_cut() -> None:
    source = {f"i{i}": f"la source numéro {i} est plus longue" for i in range(4)}
    human = [Example(n, text="red sun and moon", context=source[n]) for n in source]
    first = [Example(n, text="red sea and stone and more") for n in source]  # it need not say it again

    def paired(*of: list[Example]) -> PairedOutputs:
        h, a, b = (ScoredSet(name, tuple(each)) for name, each in zip("hab", of, strict=True))
        return pair_texts(
            h,
            a,
            b,
            with_source,
        )

    with_source = replace(MATCHED, source=True)
    found = paired(human, first, first)
    for pair in pairs_of(found):
        assert {segments[0] for segments in pair.segments} == {source[pair.input]}
        assert len({len(segments[1].split()) for segments in pair.segments}) == 1
    with_source = replace(WHOLE, source=True)
    other = [*first[:3], replace(first[3], context="une autre")]
    with pytest.raises(InputError) as found_faults:
        paired(human[:2] + other[2:], other, human)
    assert found_faults.value.faults == ('h:4: each input needs one context, but "i3" has 2',)
    with pytest.raises(InputError, match='h:1: each input needs one context, but "i0" has none'):
        paired(first, first, first)


def test_all_faults_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    good = {f"i{i}": ["red green blue"] for i in range(6)}
    human = texts("h", {**good, "i2": ["red"], "alone": ["red green"]})
    first = texts("a", {**good, "i3": ["red green", "blue sun"]})
    second = texts("b", {name: one for name, one in good.items() if name != "i5"})
    for name, examples in (("human", human), ("g1", first), ("g2", second)):
        write_examples(tmp_path / f"{name}.jsonl", examples)
    h, a, b = (tmp_path / f"{name}.jsonl" for name in ("human", "g1", "g2"))
    with pytest.raises(InputError) as found:
        read_comparison(
            h,
            a,
            b,
            WHOLE,
        )
    rule = "each input needs a human text and outputs of both systems"
    assert found.value.faults == (
        f'{h}:3: a text needs at least two words or marks, found "red"',
        f'{b}:4: both systems need equally many outputs for an input, but "i3" has 1 here and 2 in {a}',
        f'{h}:6: {rule}, but "i5" is not in {b}',
        f'{a}:7: {rule}, but "i5" is not in {b}',
        f'{h}:7: {rule}, but "alone" is not in {a} and {b}',
    )
    (tmp_path / "human.jsonl").write_text('{"id": "x", "text": " "}\n')
    (tmp_path / "g1.jsonl").write_text('{"id": "x", "text": "red green"\n')
    with pytest.raises(InputError) as found:
        read_comparison(
            h,
            a,
            b,
            WHOLE,
        )
    assert [line.split(": ")[0] for line in found.value.faults] == [f"{h}:1", f"{a}:1"]


def test_files_without_common_inputs_are_reported_once() -> None:
    h, a, b = (
        ScoredSet(name, tuple(Example(f"{name}-{i}", text="red green") for i in range(9))) for name in ("h", "a", "b")
    )
    with pytest.raises(InputError) as found:
        pair_texts(
            h,
            a,
            b,
            WHOLE,
        )
    (fault,) = found.value.faults
    assert fault.startswith("h: the three files must share inputs (the same group, or the same id")
    few = ScoredSet("h", tuple(Example(f"{i}", text="red green") for i in range(3)))
    with pytest.raises(InputError, match="h: a comparison needs at least 4 inputs, but 3 are in all files"):
        pair_texts(
            few,
            few,
            few,
            WHOLE,
        )


BUILD = partial(
    new_bilstm,
    tokens="words",
    embedding_dim=16,
    hidden_dim=16,
    dropout=0.1,
)
TRAINING = TrainingSettings(epochs=6, learning_rate=1e-2, token_budget=1024)


def marked(seed: int, inputs: int, share: float) -> dict[str, list[str]]:
    """Sentences of which this share says `yes`, the others `no`."""
    rng = random.Random(seed)
    return {
        name: [f"{one} {'yes' if rng.random() < share else 'no'} {sentence(rng, 2)}"]
        for name, (one,) in sentences(seed, inputs).items()
    }


def test_the_better_system_wins(tmp_path: Path) -> None:
    pairs = between(
        marked(0, 120, 1.0),
        marked(1, 120, 0.8),
        marked(2, 120, 0.0),
        settings=MATCHED,
    )
    learned = label_pairs(pairs.train)
    trained = [
        train_classifier(
            BUILD,
            learned,
            tmp_path / str(seed),
            QUIET,
            TRAINING,
            seed=seed,
        )
        for seed in (0, 1)
    ]
    judged = judge_pairs(pairs.test, trained)
    inputs = [pair.input for pair in pairs.test]
    scores = relative_scores(
        judged.human,
        judged.first,
        judged.second,
        inputs,
        [*np.repeat(inputs, 2)],
    )
    assert scores.inputs == scores.pairs == 30
    assert scores.hsrd.low > 0
    assert scores.ur.low > 0.5
    assert scores.accuracy.low > 0.5
    assert (judged.human.shape, judged.first.shape, judged.second.shape) == ((2, 60), (2, 30), (2, 30))
    assert np.array_equal(judged.human[:, 0::2], judged.human[:, 1::2])  # one human text per input
    assert len(scores.by_seed["ur"]) == 2
    assert np.array_equal(judge_pairs(pairs.test, trained[:1]).first[0], judged.first[0])


def test_texts_that_differ_in_their_files_alone_are_read_alike() -> None:
    """White space, Unicode forms, a template, and words after the text of a system."""
    rng = random.Random(9)
    human = {name: [f"{one} café"] for name, (one,) in sentences(0, 160).items()}
    first = {
        name: [unicodedata.normalize("NFD", f"Answer:  {one}\n{sentence(rng, rng.randint(6, 9))}")]
        for name, (one,) in human.items()
    }
    second = {name: [f" {one}\t{sentence(rng, rng.randint(6, 9))} "] for name, (one,) in human.items()}
    found = between(
        human,
        first,
        second,
        settings=MATCHED,
    )
    assert all(len(set(map(tuple, pair.segments))) == 1 for pair in pairs_of(found))


def test_a_template_leaves_two_pieces_and_is_held_by_nearly_all() -> None:
    assert find_shared_start([["a ", "b ", "c"]] * 3) == ("a ",)
    assert find_shared_start([["a ", "b ", "c"]] * 18 + [["x ", "y ", "z"]]) == ()
    assert find_shared_start([["a ", "b ", "c"]] * 19 + [["x ", "y ", "z"]]) == ("a ",)
    assert find_shared_start([["a ", "b"]]) == ()
    assert strip_templates(["a ", "b ", "c ", "d"], {("a ",), ("a ", "b ")}, {("d",)}) == ["a ", "b ", "c ", "d"]
    assert strip_templates(["a ", "b ", "c ", "d ", "e"], {("a ",), ("a ", "b ")}, {("e",)}) == ["c ", "d "]


def test_pieces_of_a_text_are_the_text() -> None:
    text = normalise_text("  Well,\n don't  好的！e\u0301 x_y 3.5")
    assert text == "Well, don't 好的！é x_y 3.5"
    for kind in ("words", "characters", "jieba", "bpe"):
        assert "".join(split_pieces(text, kind)) == text
    assert [p.strip() for p in split_pieces(text, "words")] == [
        *("Well", ",", "don", "'", "t", "好", "的", "！", "é", "x_y", "3", ".", "5")
    ]
    assert split_pieces("今天 天气好", "jieba") == ["今天 ", "天气", "好"]
    assert split_pieces("", "words") == []
