"""Corpus: the split by content, and its labels."""

from operator import attrgetter
from typing import Any, cast

import pytest

from core.errors import SettingError
from core.example import Example
from data.corpus import Corpus, Key, split_by, split_share
from meta_eval.scored_set import ScoredSet

EXAMPLES = [Example(str(i), text=f"t{i}", turns=(f"u{i // 3}", "v"), group=f"g{i // 3}") for i in range(60)]


@pytest.mark.parametrize("key", [attrgetter("group"), attrgetter("turns")])
def test_a_split_depends_on_content_and_seed_only(key: Key) -> None:
    train, held_out = split_by(EXAMPLES, key, held_out=4, seed=0)
    assert (len(train), len(held_out)) == (48, 12)
    assert not set(map(key, train)) & set(map(key, held_out))
    assert train == tuple(e for e in EXAMPLES if e in set(train))  # in their order
    backwards, kept = split_by(EXAMPLES[::-1], key, held_out=4, seed=0)
    assert (set(backwards), set(kept)) == (set(train), set(held_out))
    assert set(split_by(EXAMPLES, key, held_out=4, seed=1)[1]) != set(held_out)


def test_a_share_of_the_keys_is_rounded_up() -> None:
    assert split_share(EXAMPLES, attrgetter("group"), 0.11, seed=0) == split_by(EXAMPLES, attrgetter("group"), 3, 0)
    assert split_share((), attrgetter("group"), 0.5, seed=0) == ((), ())
    for wrong in (10, -0.1, float("nan"), "x", None):
        with pytest.raises(SettingError, match=f"^held_out_fraction must be .*, but is {wrong!r}$"):
            split_share(EXAMPLES, attrgetter("group"), cast(Any, wrong), seed=0)


def test_labels_are_those_of_all_texts() -> None:
    a, b, c, none = (Example(x or "-", text="t", label=x) for x in ("a", "b", "c", None))
    assert Corpus("x", (c, none), (a, a), (ScoredSet("y", (b,)),), True).labels == ("a", "b", "c")
