"""What a model reads around its mask, beside what it read when it was trained; with real vocabularies."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerBase

from core.faults import InputFaults, SettingFault
from models.infilling import BART, PEGASUS, T5, Convention, Infiller, convention_of, encode_infills, sentinel_infilling
from models.loading import load_tokenizer
from models.tiny import TinyT5
from tests.slow_vocabularies import write_pegasus

SENTENCES = ["The book is new.", "It has fine maps!", "I liked it."]
TEXT = " ".join(SENTENCES)
GAPS = [("", SENTENCES[0], f" {SENTENCES[1]} {SENTENCES[2]}"), (f"{SENTENCES[0]} {SENTENCES[1]} ", SENTENCES[2], "")]
GAPS.insert(1, (f"{SENTENCES[0]} ", SENTENCES[1], f" {SENTENCES[2]}"))


def plain(tokenizer: PreTrainedTokenizerBase, text: str) -> Any:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def sources(tokenizer: PreTrainedTokenizerBase, convention: Convention, gaps: Any) -> list[tuple[int, ...]]:
    return [infill.source for infill in encode_infills(tokenizer, convention, gaps)]


FAMILIES = {  # the vocabulary, the number of tokens of the model, the files that the hub has at least
    "pegasus": ("pegasus", 96103, ["spiece.model", "tokenizer_config.json"]),
    "t5": ("t5", 32128, ["spiece.model"]),
    "bart": ("roberta", 50265, ["vocab.json", "merges.txt"]),
    "led": ("roberta", 50265, ["vocab.json", "merges.txt"]),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_reads_the_same_from_the_fewest_files(vocabularies: Path, tmp_path: Path, family: str) -> None:
    """Both are checked against the ids of the pretraining."""
    name, size, files = FAMILIES[family]
    whole = shutil.copytree(vocabularies / name, tmp_path / "whole")
    few = tmp_path / "few"
    few.mkdir()
    if family == "pegasus":
        write_pegasus(whole, few)
    else:
        for file in files:
            shutil.copy(whole / file, few)
    config = {"model_type": family, "vocab_size": size, "is_encoder_decoder": True}
    for folder in (whole, few):
        (folder / "config.json").write_text(json.dumps(config))
    gaps = [*GAPS, ("It was ", "good", ". End"), ("The book ", "is", " new.")]
    expected, found = (Infiller.from_pretrained(folder).encode(gaps, closed=True) for folder in (whole, few))
    assert found == expected
    (few / "config.json").write_text(json.dumps({**config, "vocab_size": 50264}))  # as facebook/bart-large-cnn
    if family == "bart":
        with pytest.raises(InputFaults, match=r"vocab.json: <mask> has the id 50264, but the bart has 50264 tokens"):
            Infiller.from_pretrained(few)


def test_a_vocabulary_with_the_masks_of_another_version_is_refused(vocabularies: Path, tmp_path: Path) -> None:
    text = (vocabularies / "pegasus/tokenizer.json").read_text("utf-8")
    swapped = text.replace("<mask_1>", "<mask_0>").replace("<mask_2>", "<mask_1>").replace("<mask_0>", "<mask_2>")
    (tmp_path / "tokenizer.json").write_text(swapped, "utf-8")
    shutil.copy(vocabularies / "pegasus/tokenizer_config.json", tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "pegasus", "vocab_size": 96103}')
    rule = r"tokenizer.json: a pegasus of 96103 tokens learned <mask_1> as the id 2, but here it is 3"
    with pytest.raises(InputFaults, match=rule):
        Infiller.from_pretrained(tmp_path)


@pytest.mark.parametrize(("name", "convention", "mask"), [("pegasus", PEGASUS, 2), ("t5", T5, 32099)])
def test_the_mask_stands_for_the_ids_of_the_gap(
    vocabularies: Path, name: str, convention: Convention, mask: int
) -> None:
    """As in their pretraining: `GetInputAndTarget` of PEGASUS's code, `noise_span_to_unique_sentinel` of T5's."""
    tokenizer = load_tokenizer(vocabularies / name)
    ids = [plain(tokenizer, sentence) for sentence in SENTENCES]
    assert name == "pegasus" or [i for sentence in ids for i in sentence] == plain(tokenizer, TEXT)
    masked = [[*ids[:j], [mask], *ids[j + 1 :], [1]] for j in range(len(SENTENCES))]
    assert sources(tokenizer, convention, GAPS) == [tuple(i for part in row for i in part) for row in masked]


def test_pegasus_reads_prompts_as_in_the_released_program(vocabularies: Path) -> None:
    """Its tokenizer (transformers 4.4.2) drops the blanks around a mask and encodes each side by itself."""
    tokenizer = load_tokenizer(vocabularies / "pegasus")
    found = sources(tokenizer, PEGASUS, [("It was ", "", ". End"), ("The book ", "", " is"), ("", "", "")])
    assert found == [(168, 140, 2, 110, 107, 4645, 1), (139, 410, 2, 117, 1), (2, 1)]


def test_t5_reads_a_lone_piece_between_the_mask_and_punctuation(vocabularies: Path) -> None:
    """As with the tokenizer of the released program; in its pretraining the full stop alone would follow."""
    tokenizer = load_tokenizer(vocabularies / "t5")
    (found,) = sources(tokenizer, T5, [("It was ", "good", ". End")])
    assert tokenizer.convert_ids_to_tokens(list(found)) == ["▁It", "▁was", "<extra_id_0>", "▁", ".", "▁End", "</s>"]
    assert tokenizer.tokenize("It was good. End") == ["▁It", "▁was", "▁good", ".", "▁End"]


@pytest.mark.parametrize(("before", "segment", "after"), [*GAPS, ("It was ", "good", ". End")])
def test_bart_reads_and_writes_the_ids_of_the_text(vocabularies: Path, before: str, segment: str, after: str) -> None:
    """Its pretraining puts the mask in place of whole words of GPT-2's ids, whose blanks stand before the words."""
    tokenizer = load_tokenizer(vocabularies / "roberta")  # BART has the same vocabulary
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


def test_models_that_cannot_fill_gaps_are_refused() -> None:
    tokenizer = TinyT5(400, 16, 32, 2, 1, 1).build([TEXT], (), seed=0).tokenizer
    with pytest.raises(SettingFault, match=r"needs '<mask>' as one token, but .* does not know it"):
        encode_infills(tokenizer, BART, GAPS)
    with pytest.raises(SettingFault, match=r"convention is known for .*, but the model is of the type 'gpt2'"):
        convention_of("gpt2")
