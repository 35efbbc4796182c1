"""A model's folder holds tensors, JSON and vocabulary; whatever else it says is a fault with its file and key."""

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

from baselines.bertscore import BertScore
from baselines.bleurt import Bleurt
from core.faults import InputFaults
from core.notes import read_note
from discriminators.discriminator import Discriminator, new_bert, new_bilstm
from discriminators.guides import CausalGuide, new_causal_guide
from models.causal import CausalLM
from models.encoders import Encoder, WordVectors, load_encoder
from models.infilling import Infiller
from models.masked import MaskedLM
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyGPT2, TinyT5, initialise_model

WORDS = ["cat", "dog", "red", "green"]
WEIGHTS, CONFIG, TOKENIZER, NOTE = "model.safetensors", "config.json", "tokenizer_config.json", "note.txt"
INDEX = "model.safetensors.index.json"
pytestmark = pytest.mark.filterwarnings("default")

LOADERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "causal": (CausalLM.from_pretrained, "gpt2"),
    "masked": (MaskedLM.from_pretrained, "bert_masked"),
    "seq2seq": (Seq2SeqLM.from_pretrained, "t5"),
    "infiller": (lambda folder: Infiller.from_pretrained(folder).lm, "t5"),
    "encoder": (lambda folder: load_encoder(str(folder)), "bert"),
    "sentence_encoder": (lambda folder: Encoder.from_pretrained(str(folder)), "bert"),
    "word_vectors": (lambda folder: WordVectors.of_encoder(str(folder)), "bert"),
    "bertscore": (lambda folder: BertScore.from_pretrained(str(folder)), "bert"),
    "bleurt": (lambda folder: Bleurt.from_pretrained(str(folder)), "bert_rater"),
    "new_bert": (lambda folder: new_bert(encoder=str(folder)), "bert"),
    "discriminator": (Discriminator.from_pretrained, "bert_discriminator"),
    "bilstm": (Discriminator.from_pretrained, "bilstm"),
    "guide": (CausalGuide.from_pretrained, "guide"),
}


@pytest.fixture(scope="module")
def kinds(saved_bert: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A sound folder of each kind of model."""
    root = tmp_path_factory.mktemp("kinds")
    bert = saved_bert(WORDS, 16, 2, 48)
    config = BertConfig.from_pretrained(bert)
    for name, kind, outputs in (
        ("bert_masked", BertForMaskedLM, 2),
        ("bert_rater", BertForSequenceClassification, 1),
    ):
        shutil.copytree(bert, root / name)
        config.num_labels = outputs
        initialise_model(kind, config, 0).save_pretrained(root / name)
    gpt2 = TinyGPT2(vocabulary=300, n_embd=8, n_head=1, n_layer=2, n_inner=8, max_length=16).build(WORDS, (), seed=0)
    gpt2.save_pretrained(root / "gpt2")
    t5 = TinyT5(300, d_model=8, d_ff=8, num_heads=1, num_layers=1, num_decoder_layers=1).build(WORDS, (), seed=0)
    t5.save_pretrained(root / "t5")
    new_bert(encoder=str(bert)).save_pretrained(root / "bert_discriminator")
    new_bilstm([("cat dog",)] * 2, "words", embedding_dim=4, hidden_dim=4).save_pretrained(root / "bilstm")
    new_causal_guide([("cat dog",)], gpt2.tokenizer, 4, 4).save_pretrained(root / "guide")
    return {"bert": bert, **{path.name: path for path in root.iterdir()}}


@pytest.fixture
def copy(kinds: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the folder of a kind, to damage."""

    def copy(kind: str) -> Path:
        return Path(shutil.copytree(kinds[kind], tmp_path / "model" / kind))

    return copy


def weights_in(folder: Path) -> Path:
    """The largest safetensors file: an encoder's rather than its head's."""
    return max(folder.rglob("*.safetensors"), key=lambda path: path.stat().st_size)


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> Path:
    file = weights_in(folder)
    weights = load_file(file)
    change(weights)
    save_file(weights, file, {"format": "pt"})
    return file


def change_json(file: Path, text: str | None = None, **values: Any) -> None:
    """Other values; `text`, an object without its last brace, for what JSON cannot say."""
    content = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    content = {key: value for key, value in {**content, **values}.items() if text is None or f'"{key}"' not in text}
    written = json.dumps(content)
    file.write_text(written if text is None else f"{written[:-1]}, {text}}}", encoding="utf-8")


@pytest.mark.parametrize("name", LOADERS)
def test_a_sound_folder_is_loaded(name: str, kinds: dict[str, Path]) -> None:
    load, kind = LOADERS[name]
    assert load(kinds[kind]) is not None


@pytest.mark.parametrize("name", LOADERS)
def test_missing_weights_are_refused(name: str, copy: Callable[[str], Path]) -> None:
    """transformers would draw them at random, and warn."""
    load, kind = LOADERS[name]
    folder, dropped = copy(kind), []

    def drop(weights: dict[str, torch.Tensor]) -> None:
        dropped.extend(sorted(key for key in weights if "pooler" not in key and "known" not in key)[1:2])
        for key in dropped:
            del weights[key]

    change_weights(folder, drop)
    with pytest.raises(InputFaults, match=dropped[0].rpartition(".")[0].rpartition(".")[2].replace("[", ".")):
        load(folder)


def set_row(value: float, weights: dict[str, torch.Tensor]) -> None:
    """Another value for the last number of the first matrix: a token that a short test does not read."""
    key = min(key for key, each in weights.items() if each.dim() == 2 and each.is_floating_point())
    weights[key][-1, -1] = value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e38], ids=str)
@pytest.mark.parametrize("name", LOADERS)
def test_weights_that_no_score_can_come_from_are_refused(name: str, value: float, copy: Callable[[str], Path]) -> None:
    load, kind = LOADERS[name]
    folder = copy(kind)
    file = change_weights(folder, partial(set_row, value))
    with pytest.raises(InputFaults, match=rf"{file.name}.*weight.*(finite|nan|inf|1e\+38)"):
        load(folder)


@pytest.mark.parametrize("name", LOADERS)
def test_what_lies_elsewhere_is_not_read(name: str, copy: Callable[[str], Path], tmp_path: Path) -> None:
    load, kind = LOADERS[name]
    folder = copy(kind)
    file = weights_in(folder)
    shutil.move(file, tmp_path / "elsewhere")
    file.symlink_to(os.path.relpath(tmp_path / "elsewhere", file.parent))
    with pytest.raises(InputFaults, match=rf"{file.name}.*links? .*outside"):
        load(folder)


@pytest.mark.parametrize("name", [name for name, (_, kind) in LOADERS.items() if kind not in ("bilstm", "guide")])
@pytest.mark.parametrize("shard", ["../elsewhere.safetensors", "{}/elsewhere.safetensors", "{}"])
def test_an_index_names_files_of_its_folder(name: str, shard: str, copy: Callable[[str], Path], tmp_path: Path) -> None:
    load, kind = LOADERS[name]
    folder = copy(kind)
    file = weights_in(folder)
    place = file.parent
    keys = list(load_file(file))
    shutil.move(file, place.parent / "elsewhere.safetensors")
    named = shard.format(place.parent) if shard != "{}" else [{}]
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(keys, named)}
    (place / INDEX).write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(InputFaults, match=rf"{INDEX}: weight_map must"):
        load(folder)


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"weight_map": 3}', '{"weight_map": {"a": 1}}', "[" * 100_000, "{"], ids=str.__len__
)
def test_an_index_that_is_none(text: str, copy: Callable[[str], Path]) -> None:
    folder = copy("gpt2")
    (folder / WEIGHTS).rename(folder / "model-1.safetensors")
    (folder / INDEX).write_text(text, encoding="utf-8")
    with pytest.raises(InputFaults, match=INDEX):
        CausalLM.from_pretrained(folder)


@pytest.mark.parametrize("base", ["../other", "/elsewhere", "openai-community/gpt2"])
@pytest.mark.parametrize("name", ["causal", "encoder", "sentence_encoder", "bertscore"])
def test_an_adapter_is_no_model(name: str, base: str, copy: Callable[[str], Path]) -> None:
    """It would read the weights of the folder or the hub's model that it names."""
    load, kind = LOADERS[name]
    folder = copy(kind)
    change_json(folder / "adapter_config.json", base_model_name_or_path=base, peft_type="LORA")
    with pytest.raises(InputFaults, match=r"adapter_config\.json: .* merge"):
        load(folder)


def test_the_layout_of_the_hubs_cache_is_read(kinds: dict[str, Path], tmp_path: Path) -> None:
    """Its snapshots hold links into the folder `blobs` beside them, and to nothing else."""
    snapshot = tmp_path / "models--a--b" / "snapshots" / "0123"
    (tmp_path / "models--a--b" / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for i, file in enumerate(kinds["gpt2"].iterdir()):
        shutil.copy(file, tmp_path / "models--a--b" / "blobs" / str(i))
        (snapshot / file.name).symlink_to(f"../../blobs/{i}")
    assert CausalLM.from_pretrained(snapshot).parameters
    shutil.copy(kinds["gpt2"] / WEIGHTS, tmp_path / "models--a--b" / "refs")
    (snapshot / WEIGHTS).unlink()
    (snapshot / WEIGHTS).symlink_to("../../refs")
    with pytest.raises(InputFaults, match="outside"):
        CausalLM.from_pretrained(snapshot)


def test_a_folder_within_the_folder_is_a_link(copy: Callable[[str], Path]) -> None:
    folder, other = copy("bert_discriminator"), copy("bert")
    shutil.rmtree(folder / "encoder")
    (folder / "encoder").symlink_to(other)
    with pytest.raises(InputFaults, match=r"encoder.*outside"):
        Discriminator.from_pretrained(folder)


@pytest.mark.parametrize("kind", ["fifo", "loop"])
def test_a_folder_holds_files(kind: str, copy: Callable[[str], Path]) -> None:
    folder = copy("gpt2")
    if kind == "fifo":
        os.mkfifo(folder / "merges.txt")
    else:
        (folder / "merges.txt").symlink_to("merges.txt")
    with pytest.raises(InputFaults, match=r"merges\.txt"):
        CausalLM.from_pretrained(folder)


SETTINGS = [
    (CONFIG, '"layer_norm_epsilon": NaN', "layer_norm_epsilon"),
    (CONFIG, '"layer_norm_epsilon": Infinity', "layer_norm_epsilon"),
    (CONFIG, '"layer_norm_epsilon": 1e999', "layer_norm_epsilon"),
    (CONFIG, '"inner": {"list": [0, -Infinity]}', r"inner\.list\[1\]"),
    (CONFIG, '"layer_norm_epsilon": "small"', ""),
    (CONFIG, '"layer_norm_epsilon": -1', ""),
    (CONFIG, '"n_positions": 0', "n_positions"),
    (CONFIG, '"deep": ' + "[" * 100_000, ""),
    *((TOKENIZER, f'"model_max_length": {value}', "model_max_length") for value in ("-1", "0", '"512"', "NaN", "[]")),
    (TOKENIZER, '"model_max_length": 1', "model_max_length"),
    (TOKENIZER, '"model_max_length": true', "model_max_length"),
]


@pytest.mark.parametrize(("file", "text", "key"), SETTINGS, ids=[text[:40] for _, text, _ in SETTINGS])
def test_absurd_settings_are_refused(file: str, text: str, key: str, copy: Callable[[str], Path]) -> None:
    folder = copy("gpt2")
    change_json(folder / file, text)
    with pytest.raises(InputFaults, match=rf"{folder}.*{file if key else ''}.*{key}"):
        CausalLM.from_pretrained(folder)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("seq2seq", "decoder_start_token_id", 100_000),
        ("seq2seq", "decoder_start_token_id", -1),
        ("seq2seq", "pad_token_id", 100_000),
        ("masked", "pad_token_id", -1),
    ],
)
def test_tokens_of_the_settings(name: str, key: str, value: int, copy: Callable[[str], Path]) -> None:
    load, kind = LOADERS[name]
    folder = copy(kind)
    change_json(folder / CONFIG, f'"{key}": {value}')
    with pytest.raises(InputFaults, match=key):
        load(folder)


@pytest.mark.parametrize("value", ["-1", "0", '"512"', "1"])
@pytest.mark.parametrize("name", ["masked", "encoder", "sentence_encoder", "bertscore", "bleurt", "seq2seq"])
def test_lengths_of_every_kind_of_model(name: str, value: str, copy: Callable[[str], Path]) -> None:
    load, kind = LOADERS[name]
    folder = copy(kind)
    change_json(folder / TOKENIZER, f'"model_max_length": {value}')
    with pytest.raises(InputFaults, match=rf"{TOKENIZER}: model_max_length must be"):
        load(folder)


@pytest.mark.parametrize("name", sorted(LOADERS.keys() - {"bilstm", "discriminator"}))
def test_tokens_beyond_the_vocabulary(name: str, copy: Callable[[str], Path]) -> None:
    load, kind = LOADERS[name]
    folder = copy(kind)
    (file,) = folder.rglob("tokenizer.json")
    content = json.loads(file.read_text("utf-8"))
    vocabulary = content["model"]["vocab"]
    vocabulary[list(vocabulary)[-1]] = 100_000
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputFaults, match=r"token.*100000"):
        load(folder)


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_deep_headers(depth: int, copy: Callable[[str], Path]) -> None:
    folder = copy("gpt2")
    header = b"[" * depth
    (folder / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(InputFaults, match=WEIGHTS):
        CausalLM.from_pretrained(folder)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"a" * 501, "500 characters"),
        (b"\xff\xfe", "UTF-8"),
        (b"a\x1b[2Jb", "text"),
        (b"a\x00b", "text"),
        (None, "link"),
    ],
)
def test_notes(content: bytes | None, what: str, copy: Callable[[str], Path], tmp_path: Path) -> None:
    folder = copy("gpt2")
    if content is None:
        (tmp_path / "secret").write_text("secret", encoding="utf-8")
        (folder / NOTE).symlink_to(tmp_path / "secret")
    else:
        (folder / NOTE).write_bytes(content)
    with pytest.raises(InputFaults, match=rf"{NOTE}: must be .*{what}"):
        read_note(folder)
    with pytest.raises(InputFaults, match=NOTE):
        CausalLM.from_pretrained(folder)
    (folder / NOTE).unlink()
    (folder / NOTE).write_text(f"{'ä' * 500}\n", encoding="utf-8")
    assert read_note(folder) == ("ä" * 500,)
