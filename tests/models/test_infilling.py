"""What a model reads around its mask, beside what it read when it was trained; with real vocabularies."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Metaspace
from transformers import LlamaConfig, MarianConfig, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from core.errors import InputError, SettingError
from models.families import (
    AFTER,
    BART,
    BEFORE,
    LEFT_TO_RIGHT,
    MIDDLES,
    PEGASUS,
    SMALL,
    START,
    T5,
    TEXTS,
    Family,
    find_family,
)
from models.infilling import Infill, Infiller, Infilling, encode_infills, find_token, make_infilling
from models.loading import load_tokenizer
from models.tiny import TinyT5, train_tokenizer
from tests.slow_vocabularies import write_pegasus

SENTENCES = ["The book is new.", "It has fine maps!", "I liked it."]
TEXT = " ".join(SENTENCES)
GAPS = [("", SENTENCES[0], f" {SENTENCES[1]} {SENTENCES[2]}"), (f"{SENTENCES[0]} {SENTENCES[1]} ", SENTENCES[2], "")]
GAPS.insert(1, (f"{SENTENCES[0]} ", SENTENCES[1], f" {SENTENCES[2]}"))


Load = Callable[[str], Any]


@pytest.fixture(scope="module")
def load(vocabularies: Path) -> Load:
    """Reads a real vocabulary, each once."""
    return cache(lambda name: load_tokenizer(vocabularies / name))


def plain(tokenizer: PreTrainedTokenizerBase, text: str) -> Any:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def sources(tokenizer: PreTrainedTokenizerBase, family: Family, gaps: Any) -> list[tuple[int, ...]]:
    return [infill.source for infill in encode_infills(tokenizer, family, gaps)]


FAMILIES = {  # the vocabulary, the number of tokens of the model, the files that the hub has at least
    "pegasus": ("pegasus", 96103, ["spiece.model", "tokenizer_config.json"]),
    "t5": ("t5", 32128, ["spiece.model"]),
    "bart": ("roberta", 50265, ["vocab.json", "merges.txt"]),
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
        with pytest.raises(InputError, match=r"vocab.json: <mask> has the id 50264, but the bart has 50264 tokens"):
            Infiller.from_pretrained(few)


def test_a_vocabulary_with_the_masks_of_another_version_is_refused(vocabularies: Path, tmp_path: Path) -> None:
    text = (vocabularies / "pegasus/tokenizer.json").read_text("utf-8")
    swapped = text.replace("<mask_1>", "<mask_0>").replace("<mask_2>", "<mask_1>").replace("<mask_0>", "<mask_2>")
    (tmp_path / "tokenizer.json").write_text(swapped, "utf-8")
    shutil.copy(vocabularies / "pegasus/tokenizer_config.json", tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "pegasus", "vocab_size": 96103}')
    rule = r"tokenizer.json: a pegasus of 96103 tokens learned <mask_1> as the id 2, but here it is 3"
    with pytest.raises(InputError, match=rule):
        Infiller.from_pretrained(tmp_path)


@pytest.mark.parametrize(("name", "family", "mask"), [("pegasus", PEGASUS, 2), ("t5", T5, 32099)])
def test_the_mask_stands_for_the_ids_of_the_gap(load: Load, name: str, family: Family, mask: int) -> None:
    """As in their pretraining: `GetInputAndTarget` of PEGASUS's code, `noise_span_to_unique_sentinel` of T5's."""
    tokenizer = load(name)
    ids = [plain(tokenizer, sentence) for sentence in SENTENCES]
    assert name == "pegasus" or [i for sentence in ids for i in sentence] == plain(tokenizer, TEXT)
    masked = [[*ids[:j], [mask], *ids[j + 1 :], [1]] for j in range(len(SENTENCES))]
    assert sources(tokenizer, family, GAPS) == [tuple(i for part in row for i in part) for row in masked]


def test_bart_reads_and_writes_the_ids_of_the_text(load: Load) -> None:
    """Its pretraining puts the mask in place of whole words of GPT-2's ids, whose blanks stand before the words."""
    tokenizer = load("roberta")  # BART has the same vocabulary
    for gap, infill in zip(GAPS, encode_infills(tokenizer, BART, GAPS), strict=True):
        whole = tokenizer("".join(gap))["input_ids"]
        assert list(infill.target) == whole
        assert list(infill.source) == [*whole[: infill.start], 50264, *whole[infill.stop :]]
        assert str(tokenizer.decode(whole[infill.start : infill.stop])).strip() == gap[1]


def test_a_small_model_reads_what_it_was_trained_on() -> None:
    """`ctrl_eval.gaps` encodes what stands before, in and after a gap each by itself, with its blanks."""
    tokenizer = TinyT5(400, 16, 32, 2, 1, 1).build([TEXT, "It was good. End"], (), seed=0).tokenizer
    infilling = make_infilling(T5, tokenizer)
    gaps = [*GAPS, ("It was ", "good", ". End")]
    for (before, segment, after), infill in zip(gaps, encode_infills(tokenizer, T5, gaps), strict=True):
        assert list(infill.source) == infilling.read(plain(tokenizer, before), plain(tokenizer, after))
        assert [*infill.target, *infilling.closing] == infilling.target(plain(tokenizer, segment))


def test_models_that_cannot_fill_gaps_are_refused() -> None:
    tokenizer = TinyT5(400, 16, 32, 2, 1, 1).build([TEXT], (), seed=0).tokenizer
    with pytest.raises(SettingError, match=r"needs '<mask>' as one token, but .* does not know it"):
        encode_infills(tokenizer, BART, GAPS)
    with pytest.raises(
        SettingError, match=r"known for causal models and for .*, but the model is of the type 'marian'"
    ):
        find_family(MarianConfig(), tokenizer)


def test_a_token_that_stands_for_unknown_text_is_known_itself() -> None:
    """Qwen's tokenizers have one token that ends a text and stands for unknown text."""
    tokenizer = train_tokenizer(SENTENCES, 300, ("<|endoftext|>",), sentinels=())
    tokenizer.unk_token = "<|endoftext|>"
    assert find_token(tokenizer, "<|endoftext|>") == tokenizer.unk_token_id
    with pytest.raises(SettingError, match="does not know it"):
        find_token(tokenizer, "<|fim_prefix|>")


@pytest.mark.parametrize("name", ["pegasus", "t5", "bart"])
def test_encoder_decoders_read_and_write_the_same_ids_as_ever(load: Load, name: str) -> None:
    """The ids of source and target, and where the segment begins, as they were before families had one table.

    They are those of CTRLEval's released program (transformers 4.4.2). PEGASUS drops the blanks around a mask and
    encodes each side by itself. T5 reads a lone piece between the mask and punctuation; in its pretraining the
    punctuation alone would follow.
    """
    golden = json.loads((Path(__file__).parent / "infilled.json").read_text("utf-8"))
    gaps = [tuple(gap) for gap in golden["gaps"]]
    tokenizer = load(FAMILIES[name][0])
    family = {"pegasus": PEGASUS, "t5": T5, "bart": BART}[name]
    variants = {"plain": family, "without_mask": family.without_mask(), "source_first": family.with_source_first()}
    keys = [key for key in golden if key.startswith(f"{name}/")]
    assert len(keys) == 4
    for key in keys:
        _, variant, kind = key.split("/")
        infills = encode_infills(tokenizer, variants[variant], gaps, closed=kind == "closed")
        found = [[list(infill.source), list(infill.target[: infill.stop]), infill.start] for infill in infills]
        assert found == golden[key], key


@pytest.mark.parametrize(("name", "family"), [("pegasus", PEGASUS), ("t5", T5), ("roberta", BART)])
def test_text_that_spells_a_special_token_is_text(load: Load, name: str, family: Family) -> None:
    tokenizer = load(name)
    spelled = ("A film </s> of <mask_1> ", "note <extra_id_1> here", " and <mask> more </s>.")
    for variant in (family, family.without_mask(), family.with_source_first()):
        ((whole,), (bare,)) = (encode_infills(tokenizer, variant, [gap]) for gap in (spelled, ("", "", "")))
        special = [i for i in tokenizer.all_special_ids if i != tokenizer.unk_token_id]
        for found, frame in ((whole.source, bare.source), (whole.target, bare.target)):
            assert [i for i in found if i in special] == [i for i in frame if i in special]


def small_tokenizer(tokens: list[str], sentencepiece: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer of a few words with these tokens; of SentencePiece's kind it puts a space before every text."""
    if not sentencepiece:
        return train_tokenizer([TEXT], 300, tuple(tokens), sentinels=())
    pieces = ["<unk>", "<s>", "</s>", *"▁☺.Idiklet"]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(BPE(vocabulary, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = Metaspace(prepend_scheme="first")
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    wrapped.add_special_tokens({"additional_special_tokens": tokens})
    return wrapped


@pytest.mark.parametrize("family", MIDDLES, ids=lambda family: family.name)
def test_a_vocabulary_tells_the_family(family: Family) -> None:
    """Every family by the shape of its tokens: marks around the parts of a text in the family's own order."""
    tokens = [token for token in (*family.marks, family.closing) if token not in (START, "</s>")]
    tokenizer = small_tokenizer(tokens, sentencepiece=bool(family.anchor))
    config = LlamaConfig(vocab_size=len(tokenizer))
    assert find_family(config, tokenizer) == find_family(config, tokenizer, "fill-in-the-middle") == family
    assert find_family(config, tokenizer, "left-to-right") == LEFT_TO_RIGHT
    whole = plain(tokenizer, "I liked it.")  # no boundary of the gap is within a token
    before = plain(tokenizer, "I liked")
    after = whole[-1:]
    segment = whole[len(before) : -1]
    (infill,) = encode_infills(tokenizer, family, [("I liked ", "it", ".")], closed=True)
    parts = {BEFORE: before, AFTER: after}
    expected: list[int] = []
    for part in family.source:
        expected += parts[part] if part in TEXTS else [find_token(tokenizer, part)]
    assert list(infill.source) == expected
    end = tokenizer.eos_token_id if family.closing == START else tokenizer.convert_tokens_to_ids(family.closing)
    assert list(infill.target) == [*segment, end]
    assert (infill.start, infill.stop) == (0, len(infill.target))
    (opened,) = encode_infills(tokenizer, family, [("I liked ", "it", ".")])
    assert list(opened.target) == segment


def test_left_to_right_reads_what_precedes_the_gap() -> None:
    tokenizer = small_tokenizer([])
    family = find_family(LlamaConfig(vocab_size=len(tokenizer)), tokenizer)
    assert family == LEFT_TO_RIGHT
    infills = encode_infills(tokenizer, family, [("I liked ", "it", "."), ("", "It", " is.")], closed=True)
    start = tokenizer.eos_token_id
    assert [list(infill.source) for infill in infills] == [[start, *plain(tokenizer, "I liked")], [start]]
    assert [list(infill.target) for infill in infills] == [plain(tokenizer, " it"), plain(tokenizer, "It")]
    (bare,) = encode_infills(tokenizer, family.without_mask(), [("I liked ", "it", " much.")])
    assert list(bare.source) == [start, *plain(tokenizer, "I liked much.")]
    assert list(bare.target) == plain(tokenizer, " it")
    with pytest.raises(SettingError, match="fill-in-the-middle needs the tokens of one of codegemma, qwen"):
        find_family(LlamaConfig(vocab_size=len(tokenizer)), tokenizer, "fill-in-the-middle")


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9), st.integers(6, 14), st.booleans(), st.booleans())
def test_a_cut_keeps_the_gap_and_counts(
    before: int, after: int, written: int, max_length: int, around: bool, causal: bool
) -> None:
    family = SMALL if causal else T5
    infilling = Infilling(family, (1, BEFORE, 2, AFTER, 3))
    texts = tuple(range(100, 100 + before)), tuple(range(200, 200 + after))
    infill = Infill(infilling, *texts, tuple(range(300, 300 + written)), 0, written)
    cut, dropped = infill.cut(max_length, around)
    assert cut.longest <= max_length
    assert [token for token in cut.source if token < 100] == [1, 2, 3]
    assert cut.before == texts[0][before - len(cut.before) :] or not around
    assert cut.after == texts[1][: len(cut.after)]
    assert cut.target == infill.target[: len(cut.target)]
    assert dropped == len(infill.source) - len(cut.source) + written - len(cut.target)
    if infill.longest <= max_length:
        assert (cut, dropped) == (infill, 0)
    elif causal:
        assert cut.longest == max_length or len(cut.target) == written
