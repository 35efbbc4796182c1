"""Settings: lists and numbers that are refused, with what they must be and what was found."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from core.settings import ascending_ratios, counts, seeds, some_of
from data.sets.attributes import builtin_news, builtin_reviews
from data.sets.dialogues import builtin_dialogues
from data.sets.songci import builtin_verse
from data.sets.stories import builtin_stories

ratios = partial(ascending_ratios, name="ratios")
ks = partial(counts, name="ks")
kinds = partial(some_of, known=("bert", "bilstm"), name="kinds")


@pytest.mark.parametrize(
    ("check", "good"), [(seeds, [3, 0, 2**32 - 1]), (ks, [8, 32]), (kinds, ["bert"]), (ratios, [0, 0.2, 0.9])]
)
def test_what_holds_is_returned(check: Callable[[Any], Any], good: list[Any]) -> None:
    assert check(good) == good
    assert check(tuple(good)) == good


@pytest.mark.parametrize("wrong", [[], None, 3, "0", {0: 1}], ids=repr)
@pytest.mark.parametrize("check", [seeds, ks, kinds, ratios])
def test_no_list_and_an_empty_one_are_refused(check: Callable[[Any], Any], wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a list of .*, at least one and all different, but is"):
        check(wrong)


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        *((seeds, wrong) for wrong in ([0, 0], [-1], [2**32], [0.0], [True], ["0"], [None], [[0]])),
        *((ks, wrong) for wrong in ([8, 8], [0], [-8], [1.5], [float("inf")], [True])),
        *((kinds, wrong) for wrong in (["lstm"], ["bert", "bert"], [0])),
        *((ratios, wrong) for wrong in ([0, 0], [-0.1], [0, 1], [0, float("nan")], [0, float("inf")], ["0"])),
    ],
    ids=repr,
)
def test_wrong_and_repeated_values_are_refused(check: Callable[[Any], Any], wrong: list[Any]) -> None:
    with pytest.raises(ValueError, match="all different, but is") as found:
        check(wrong)
    assert str(wrong) in str(found.value)


@pytest.mark.parametrize("wrong", [[0.2], [0, 0.4, 0.2]])
def test_ratios_ascend_from_0(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="ratios must ascend from 0, but is"):
        ratios(wrong)


@pytest.mark.parametrize("load", [builtin_reviews, builtin_news, builtin_dialogues, builtin_stories, builtin_verse])
def test_built_in_corpora_have_no_negative_sizes(load: Callable[..., Any]) -> None:
    for wrong in ({"train": -1}, {"held_out": -1}, {"train": 2.5}):
        with pytest.raises(ValueError, match="must be a whole number of texts from 0 on, but is"):
            load(**{"train": 4, "held_out": 2, **wrong})


@pytest.mark.parametrize("load", [builtin_reviews, builtin_news, builtin_dialogues, builtin_stories])
def test_built_in_corpora_without_rated_texts_have_no_rated_set(load: Callable[..., Any]) -> None:
    assert load(train=4, held_out=2, rated=0).rated == ()
