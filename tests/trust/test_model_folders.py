"""A model's folder holds tensors, JSON and vocabulary; whatever else it says is a fault with its file and key."""

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

from baselines.bertscore import BertScore
from baselines.bleurt import Bleurt
from core.errors import InputError
from core.notes import read_note
from discriminators.discriminator import Discriminator, new_bert, new_bilstm
from discriminators.guides import CausalGuide, new_causal_guide
from models.causal import CausalLM
from models.encoders import Encoder, WordVectors, load_encoder
from models.infilling import Infiller
from models.masked import MaskedLM
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyCausal, TinyT5, initialise_model

WORDS = ["cat", "dog", "red", "green"]
WEIGHTS, CONFIG, TOKENIZER, NOTE = "model.safetensors", "config.json", "tokenizer_config.json", "note.txt"
ENCODER = "sentence_bert_config.json"
INDEX = "model.safetensors.index.json"
pytestmark = pytest.mark.filterwarnings("default")

LOADERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "causal": (CausalLM.from_pretrained, "gpt2"),
    "masked": (MaskedLM.from_pretrained, "bert_masked"),
    "seq2seq": (Seq2SeqLM.from_pretrained, "t5"),
    "infiller": (lambda folder: Infiller.from_pretrained(folder).lm, "t5"),
    "encoder": (lambda folder: load_encoder(str(folder)), "bert"),
    "sentence_encoder": (lambda folder: Encoder.from_pretrained(str(folder)), "bert"),
    "sentence_transformer": (lambda folder: Encoder.from_pretrained(str(folder)), "sentence_transformer"),
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
    gpt2 = TinyCausal(300, 8, 1, 2, 8, max_length=16).build(WORDS, (), seed=0)
    gpt2.save_pretrained(root / "gpt2")
    t5 = TinyT5(300, d_model=8, d_ff=8, num_heads=1, num_layers=1, num_decoder_layers=1).build(WORDS, (), seed=0)
    t5.save_pretrained(root / "t5")
    new_bert(encoder=str(bert)).save_pretrained(root / "bert_discriminator")
    new_bilstm([("cat dog",)] * 2, "words", embedding_dim=4, hidden_dim=4).save_pretrained(root / "bilstm")
    new_causal_guide([("cat dog",)], gpt2.tokenizer, 4, 4).save_pretrained(root / "guide")
    SentenceTransformer(str(bert)).save(str(root / "sentence_transformer"))
    change_json(root / "sentence_transformer" / ENCODER, model_args={"dtype": "float32"}, tokenizer_args={})
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


Attack = Callable[[Path], str]  # changes a folder; the pattern of the fault that names it


def drop_weights(folder: Path) -> str:
    """transformers would draw them at random, and warn."""
    dropped: list[str] = []

    def drop(weights: dict[str, torch.Tensor]) -> None:
        dropped.extend(sorted(key for key in weights if "pooler" not in key and "known" not in key)[1:2])
        del weights[dropped[0]]

    change_weights(folder, drop)
    return dropped[0].rpartition(".")[0].rpartition(".")[2].replace("[", ".")


def set_last(value: float) -> Attack:
    """Another value for the last number of the first matrix: a token that a short test does not read."""

    def set_row(weights: dict[str, torch.Tensor]) -> None:
        key = min(key for key, each in weights.items() if each.dim() == 2 and each.is_floating_point())
        weights[key][-1, -1] = value

    return lambda folder: rf"{change_weights(folder, set_row).name}.*weight.*(finite|nan|inf|1e\+38)"


def link_elsewhere(folder: Path) -> str:
    file = weights_in(folder)
    elsewhere = shutil.move(file, folder.parents[1] / "elsewhere")
    file.symlink_to(os.path.relpath(elsewhere, file.parent))
    return rf"{file.name}.*links? .*outside"


def index(shard: str) -> Attack:
    def write_index(folder: Path) -> str:
        file = weights_in(folder)
        keys = list(load_file(file))
        shutil.move(file, file.parent.parent / "elsewhere.safetensors")
        named = shard.format(file.parent) if shard != "{}" else [{}]
        found = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(keys, named)}
        (file.parent / INDEX).write_text(json.dumps(found), encoding="utf-8")
        return rf"{INDEX}: weight_map must"

    return write_index


def name_adapter(base: str) -> Attack:
    """transformers would read the weights of the folder or the hub's model that an adapter names."""

    def write_adapter(folder: Path) -> str:
        change_json(folder / "adapter_config.json", base_model_name_or_path=base, peft_type="LORA")
        return r"adapter_config\.json: .* merge"

    return write_adapter


def add_setting(file: str, text: str, key: str = "") -> Attack:
    def change(folder: Path) -> str:
        change_json(folder / file, text)
        return rf"{folder}.*{file if key else ''}.*{key}"

    return change


def number_beyond_vocabulary(folder: Path) -> str:
    (file,) = folder.rglob("tokenizer.json")
    content = json.loads(file.read_text("utf-8"))
    content["model"]["vocab"][list(content["model"]["vocab"])[-1]] = 100_000
    file.write_text(json.dumps(content), encoding="utf-8")
    return r"token.*100000"


def write(name: str, content: bytes, *removed: str) -> Attack:
    def write_file(folder: Path) -> str:
        for each in removed:
            (folder / each).unlink()
        (folder / name).write_bytes(content)
        return name

    return write_file


def link(name: str, target: str) -> Attack:
    def write_link(folder: Path) -> str:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).symlink_to(target)
        return name

    return write_link


def make_pipe(folder: Path) -> str:
    os.mkfifo(folder / "merges.txt")
    return r"merges\.txt"


def set_texts(file: str, values: dict[str, Any]) -> Attack:
    """Settings that name files beside the folder, or what a library passes on to its loaders."""

    def change(folder: Path) -> str:
        shutil.copy(folder / "tokenizer.json", folder.parent / "elsewhere.json")
        change_json(folder / file, **json.loads(json.dumps(values).replace("FOLDER", str(folder.parent))))
        return rf"{file}: {next(iter(values))} must"

    return change


def set_positions(number: int) -> Attack:
    """transformers would draw weights of this shape at random where the folder says so, and refuse them otherwise."""

    def change(folder: Path) -> str:
        change_json(folder / CONFIG, n_positions=number)
        return rf"{WEIGHTS}: the weight transformer\.wpe\.weight has another shape"

    return change


def set_pooling(width: int) -> Attack:
    def change(folder: Path) -> str:
        change_json(folder / "1_Pooling" / CONFIG, embedding_dimension=width)
        return f"{folder}.*{width}"

    return change


def name_module(kind: str) -> Attack:
    def change(folder: Path) -> str:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        modules[1]["type"] = f"sentence_transformers.{kind}"
        (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
        return r"modules\.json: a module must be one of Transformer, .*, but is"

    return change


OUTSIDE: list[dict[str, Any]] = [
    {"vocab_file": "../elsewhere.json"},
    {"merges_file": "FOLDER/elsewhere.json"},
    {"fast_tokenizer_files": ["tokenizer.json", "../elsewhere.json"]},
    {"init_inputs": [{"x": ["../elsewhere.json"]}]},
]
PASSED_ON: list[dict[str, Any]] = [
    {"model_args": {"variant": "../elsewhere"}},
    {"model_args": {"ignore_mismatched_sizes": True}},
    {"model_kwargs": {"weights_only": False, "gguf_file": "../elsewhere.gguf"}},
    {"tokenizer_args": {"tokenizer_file": "../elsewhere.json"}},
    {"processor_kwargs": {"vocab_file": "../elsewhere.json"}},
    {"config_args": {"_configuration_file": "../elsewhere.json"}},
    {"config_kwargs": {"hidden_size": 8}},
    {"tokenizer_name_or_path": "../other"},
]
HEADER = b"[" * 100_000
PIECES_OF_NO_MODEL = {"bilstm", "guide"}
EVERYWHERE: dict[str, tuple[Attack, set[str]]] = {  # an attack and the loaders that it does not concern
    "missing weights": (drop_weights, set()),
    **{f"a weight of {value}": (set_last(value), set()) for value in (math.nan, math.inf, -math.inf, 1e38)},
    "a link to elsewhere": (link_elsewhere, set()),
    **{
        f"an index of {shard}": (index(shard), PIECES_OF_NO_MODEL)
        for shard in ("../elsewhere.safetensors", "{}/elsewhere.safetensors", "{}")
    },
    "a number beyond the vocabulary": (number_beyond_vocabulary, {"bilstm", "discriminator"}),
}
LENGTHS = [f'"model_max_length": {value}' for value in ("-1", "0", '"512"', "1", "NaN", "[]", "true")]
ADAPTED = ("causal", "encoder", "sentence_encoder", "bertscore")
BOUNDED = ("causal", "masked", "encoder", "sentence_encoder", "bertscore", "bleurt", "seq2seq")
ATTACKS: list[tuple[str, Attack]] = [
    *((name, attack) for attack, others in EVERYWHERE.values() for name in LOADERS if name not in others),
    *((name, name_adapter(base)) for name in ADAPTED for base in ("../other", "/elsewhere", "openai-community/gpt2")),
    *((name, add_setting(TOKENIZER, text)) for name in BOUNDED for text in LENGTHS),
    *(("causal", add_setting(CONFIG, f'"layer_norm_epsilon": {value}')) for value in ("NaN", '"small"', "-1")),
    *(("causal", set_positions(number)) for number in (0, 8, 32)),
    ("causal", add_setting(CONFIG, '"n_layer": 0', "must have at least one layer")),
    ("encoder", add_setting(CONFIG, '"num_hidden_layers": 0', "must have at least one layer")),
    *((name, set_texts(TOKENIZER, outside)) for name in ("causal", "sentence_encoder") for outside in OUTSIDE),
    *(("sentence_transformer", set_texts(ENCODER, passed)) for passed in PASSED_ON),
    *(("sentence_transformer", set_pooling(width)) for width in (1, 17)),
    ("sentence_transformer", name_module("base.model.pickle")),
    ("sentence_transformer", name_module("models.CLIPModel")),
    ("causal", add_setting(CONFIG, '"deep": ' + "[" * 100_000)),
    ("seq2seq", add_setting(CONFIG, '"decoder_start_token_id": 100000', "decoder_start_token_id")),
    ("seq2seq", add_setting(CONFIG, '"decoder_start_token_id": -1', "decoder_start_token_id")),
    ("seq2seq", add_setting(CONFIG, '"pad_token_id": 100000', "pad_token_id")),
    ("masked", add_setting(CONFIG, '"pad_token_id": -1', "pad_token_id")),
    *(
        ("causal", write(INDEX, text, WEIGHTS))
        for text in (b"{}", b"[]", b'{"weight_map": 3}', b'{"weight_map": {"a": 1}}', HEADER, b"{")
    ),
    ("causal", write(WEIGHTS, len(HEADER).to_bytes(8, "little") + HEADER)),
    *(("causal", write(NOTE, content)) for content in (b"a" * 501, b"\xff\xfe", b"a\x1b[2Jb", b"a\x00b")),
    ("causal", link(NOTE, "/etc/passwd")),
    ("causal", link("merges.txt", "merges.txt")),
    ("causal", make_pipe),
    ("discriminator", link("encoder", "../../other")),
]


@pytest.mark.parametrize(("name", "attack"), ATTACKS)
def test_a_folder_that_was_changed_is_refused_with_its_file(
    name: str, attack: Attack, copy: Callable[[str], Path], kinds: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(kinds["bert"], tmp_path / "other")
    load, kind = LOADERS[name]
    folder = copy(kind)
    pattern = attack(folder)
    with pytest.raises(InputError, match=pattern):
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
    with pytest.raises(InputError, match="outside"):
        CausalLM.from_pretrained(snapshot)


def test_a_note_is_a_short_text(copy: Callable[[str], Path]) -> None:
    folder = copy("gpt2")
    (folder / NOTE).write_text(f"{'ä' * 500}\n", encoding="utf-8")
    assert read_note(folder) == ("ä" * 500,)
    assert read_note("openai-community/gpt2") == ()
    (folder / NOTE).rename(folder / "other.txt")
    (folder / NOTE).symlink_to("other.txt")
    with pytest.raises(InputError, match=r"note\.txt: must be a regular file, but is a link or a folder$"):
        read_note(folder)
