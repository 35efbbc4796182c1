"""What a model reads around its mask, beside what it read when it was trained; with real vocabularies."""

from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from models.infilling import BART, PEGASUS, T5, Convention, encode_infills, sentinel_infilling
from models.tiny import TinyT5

SENTENCES = ["The book is new.", "It has fine maps!", "I liked it."]
TEXT = " ".join(SENTENCES)
GAPS = [("", SENTENCES[0], f" {SENTENCES[1]} {SENTENCES[2]}"), (f"{SENTENCES[0]} {SENTENCES[1]} ", SENTENCES[2], "")]
GAPS.insert(1, (f"{SENTENCES[0]} ", SENTENCES[1], f" {SENTENCES[2]}"))


def load(folder: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(str(folder))


def plain(tokenizer: PreTrainedTokenizerBase, text: str) -> Any:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def sources(tokenizer: PreTrainedTokenizerBase, convention: Convention, gaps: Any) -> list[tuple[int, ...]]:
    return [infill.source for infill in encode_infills(tokenizer, convention, gaps)]


def test_pegasus_reads_sentences_that_were_encoded_one_by_one(vocabularies: Path) -> None:
    """Its pretraining puts one id in place of a sentence (`GetInputAndTarget` of its code)."""
    tokenizer = load(vocabularies / "pegasus")
    ids = [plain(tokenizer, sentence) for sentence in SENTENCES]
    expected = []
    for j in range(len(SENTENCES)):
        masked = [*ids[:j], [2], *ids[j + 1 :], [1]]
        expected.append(tuple(i for sentence in masked for i in sentence))
    assert sources(tokenizer, PEGASUS, GAPS) == expected


def test_pegasus_reads_prompts_as_in_the_released_program(vocabularies: Path) -> None:
    """Its tokenizer (transformers 4.4.2) drops the blanks around a mask and encodes each side by itself."""
    tokenizer = load(vocabularies / "pegasus")
    found = sources(tokenizer, PEGASUS, [("It was ", "", ". End"), ("The book ", "", " is"), ("", "", "")])
    assert found == [(168, 140, 2, 110, 107, 4645, 1), (139, 410, 2, 117, 1), (2, 1)]


def test_t5_reads_the_ids_of_the_text_without_those_of_the_gap(vocabularies: Path) -> None:
    """Its pretraining puts a sentinel in place of a span of ids (`noise_span_to_unique_sentinel` of its code)."""
    tokenizer = load(vocabularies / "t5")
    ids = [plain(tokenizer, sentence) for sentence in SENTENCES]
    assert [i for sentence in ids for i in sentence] == plain(tokenizer, TEXT)
    expected = []
    for j in range(len(SENTENCES)):
        masked = [*ids[:j], [32099], *ids[j + 1 :], [1]]
        expected.append(tuple(i for sentence in masked for i in sentence))
    assert sources(tokenizer, T5, GAPS) == expected


def test_t5_reads_a_lone_piece_between_the_mask_and_punctuation(vocabularies: Path) -> None:
    """As with the tokenizer of the released program; in its pretraining the full stop alone would follow."""
    tokenizer = load(vocabularies / "t5")
    (found,) = sources(tokenizer, T5, [("It was ", "good", ". End")])
    assert tokenizer.convert_ids_to_tokens(list(found)) == ["▁It", "▁was", "<extra_id_0>", "▁", ".", "▁End", "</s>"]
    assert tokenizer.tokenize("It was good. End") == ["▁It", "▁was", "▁good", ".", "▁End"]


@pytest.mark.parametrize(("before", "segment", "after"), [*GAPS, ("It was ", "good", ". End")])
def test_bart_reads_and_writes_the_ids_of_the_text(vocabularies: Path, before: str, segment: str, after: str) -> None:
    """Its pretraining puts the mask in place of whole words of GPT-2's ids, whose blanks stand before the words."""
    tokenizer = load(vocabularies / "roberta")  # BART has the same vocabulary
    (infill,) = encode_infills(tokenizer, BART, [(before, segment, after)])
    whole = tokenizer(f"{before}{segment}{after}")["input_ids"]
    assert list(infill.target) == whole
    assert list(infill.source) == [*whole[: infill.start], 50264, *whole[infill.stop :]]
    assert str(tokenizer.decode(whole[infill.start : infill.stop])).strip() == segment


@pytest.mark.parametrize(("before", "segment", "after"), [*GAPS, ("It was ", "good", ". End")])
def test_a_small_model_reads_what_it_was_trained_on(before: str, segment: str, after: str) -> None:
    """`ctrl_eval.gaps` encodes what stands before, in and after a gap each by itself, with its blanks."""
    tokenizer = TinyT5(400, 16, 32, 2, 1, 1).build([TEXT, "It was good. End"], (), seed=0).tokenizer
    infilling = sentinel_infilling(tokenizer)
    (infill,) = encode_infills(tokenizer, T5, [(before, segment, after)])
    assert list(infill.source) == [*plain(tokenizer, before), *infilling.mask, *plain(tokenizer, after)]
    assert list(infill.target) == infilling.target(plain(tokenizer, segment))
