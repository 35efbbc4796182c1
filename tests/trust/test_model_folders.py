"""A model's folder is read as its library reads it; damaged weights and code are a fault with its file."""

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
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

from baselines.bertscore import BertScore
from baselines.bleurt import Bleurt
from core.errors import InputError, SettingError
from core.notes import read_note
from discriminators.discriminator import Discriminator, new_bert, new_bilstm
from discriminators.guides import CausalGuide, new_causal_guide
from models.causal import CausalLM
from models.encoders import Encoder, WordVectors, load_embedder, load_encoder
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

    def change(folder: Path) -> str:
        change_weights(folder, set_row)
        return "weight .* must be finite"

    return change


def add_setting(file: str, text: str, key: str = "") -> Attack:
    def change(folder: Path) -> str:
        change_json(folder / file, text)
        return rf"{folder}.*{key}"

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
        return name if name == NOTE else str(folder)

    return write_file


def set_positions(number: int) -> Attack:
    """transformers would draw weights of this shape at random where the folder says so, and refuse them otherwise."""

    def change(folder: Path) -> str:
        change_json(folder / CONFIG, n_positions=number)
        return r"the weight transformer\.wpe\.weight has another shape"

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
        return "a module must be a torch module, but is"

    return change


HEADER = b"[" * 100_000
EVERYWHERE: dict[str, tuple[Attack, set[str]]] = {  # an attack and the loaders that it does not concern
    "missing weights": (drop_weights, set()),
    **{f"a weight of {value}": (set_last(value), set()) for value in (math.nan, math.inf, -math.inf)},
    "a number beyond the vocabulary": (number_beyond_vocabulary, {"bilstm", "discriminator"}),
}
LENGTHS = [f'"model_max_length": {value}' for value in ("-1", "0", '"512"', "1", "NaN", "[]", "true")]
BOUNDED = ("causal", "masked", "encoder", "sentence_encoder", "bertscore", "bleurt", "seq2seq")
KERNELS = [("causal", '"owner/kernel"'), ("encoder", '{"": "owner/kernel"}')]
ATTACKS: list[tuple[str, Attack]] = [
    *((name, attack) for attack, others in EVERYWHERE.values() for name in LOADERS if name not in others),
    *((name, add_setting(TOKENIZER, text)) for name in BOUNDED for text in LENGTHS),
    *(("causal", add_setting(CONFIG, f'"layer_norm_epsilon": {value}')) for value in ("NaN", '"small"', "-1")),
    *(("causal", set_positions(number)) for number in (0, 8, 32)),
    *((name, add_setting(CONFIG, f'"attn_implementation": {value}', "no kernel")) for name, value in KERNELS),
    ("sentence_transformer", add_setting(ENCODER, '"model_args": {"attn_implementation": "a/b"}', "no kernel")),
    ("discriminator", add_setting("discriminator.json", '"network": {"_target_": "os.system"}', "_target_")),
    *(("sentence_transformer", set_pooling(width)) for width in (1, 17)),
    ("sentence_transformer", name_module("base.model.pickle")),
    ("causal", add_setting(CONFIG, '"deep": ' + "[" * 100_000)),
    *(("seq2seq", add_setting(CONFIG, f'"decoder_start_token_id": {value}')) for value in (100_000, -1)),
    ("seq2seq", add_setting(CONFIG, '"pad_token_id": 100000')),
    *(
        ("causal", write(INDEX, text, WEIGHTS))
        for text in (b"{}", b"[]", b'{"weight_map": 3}', b'{"weight_map": {"a": 1}}', HEADER, b"{")
    ),
    ("causal", write(WEIGHTS, len(HEADER).to_bytes(8, "little") + HEADER)),
    *(("causal", write(NOTE, content)) for content in (b"a" * 501, b"\xff\xfe", b"a\x1b[2Jb", b"a\x00b")),
]


@pytest.mark.parametrize(("name", "attack"), ATTACKS)
def test_a_folder_that_was_changed_is_refused_with_its_file(
    name: str, attack: Attack, copy: Callable[[str], Path]
) -> None:
    load, kind = LOADERS[name]
    folder = copy(kind)
    pattern = attack(folder)
    with pytest.raises(InputError, match=pattern):
        load(folder)


def test_the_layout_of_the_hubs_cache_is_read(kinds: dict[str, Path], tmp_path: Path) -> None:
    """Its snapshots hold links into the folder `blobs` beside them."""
    snapshot = tmp_path / "models--a--b" / "snapshots" / "0123"
    (tmp_path / "models--a--b" / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for i, file in enumerate(kinds["gpt2"].iterdir()):
        shutil.copy(file, tmp_path / "models--a--b" / "blobs" / str(i))
        (snapshot / file.name).symlink_to(f"../../blobs/{i}")
    (tmp_path / "models--a--b" / "blobs" / "note").write_text("a note", "utf-8")
    (snapshot / NOTE).symlink_to("../../blobs/note")
    assert CausalLM.from_pretrained(snapshot).notes == ("a note",)


Change = Callable[[Path], object]  # what a right folder may hold


def link_elsewhere(folder: Path) -> None:
    file = weights_in(folder)
    elsewhere = shutil.move(file, folder.parents[1] / "shared_disk")
    file.symlink_to(os.path.relpath(elsewhere, file.parent))


def add_checkpoint(folder: Path) -> None:
    (folder / "checkpoint-500").mkdir()
    change_json(folder / "checkpoint-500/adapter_config.json", base_model_name_or_path="no/such", peft_type="LORA")


RIGHT: dict[str, Change] = {
    "weights on a shared disk": link_elsewhere,
    "an adapter of a checkpoint": add_checkpoint,
    "a link": lambda folder: (folder / "runs").symlink_to(folder.parent),
    "a pipe": lambda folder: os.mkfifo(folder / "config.pipe.json"),
    "a file with comments": lambda folder: (folder / "my_config.json").write_text("{} // mine", "utf-8"),
    "the name of a file": lambda folder: change_json(folder / TOKENIZER, note="/etc/hosts"),
}


@pytest.mark.parametrize("change", RIGHT.values(), ids=RIGHT)
@pytest.mark.parametrize("name", ["causal", "sentence_transformer", "discriminator"])
def test_a_right_folder_is_read_as_its_library_reads_it(name: str, change: Change, copy: Callable[[str], Path]) -> None:
    load, kind = LOADERS[name]
    folder = copy(kind)
    change(folder / "encoder" if kind == "bert_discriminator" else folder)
    assert load(folder) is not None


def test_a_model_with_an_adapter_beside_it_is_read(copy: Callable[[str], Path]) -> None:
    peft = pytest.importorskip("peft", reason="the extra peft is not installed")
    folder = copy("gpt2")
    model = CausalLM.from_pretrained(folder).model
    peft.get_peft_model(model, peft.LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True)).save_pretrained(folder)
    assert (folder / "adapter_model.safetensors").is_file()
    assert CausalLM.from_pretrained(folder).parameters > CausalLM.from_pretrained(copy_of(folder)).parameters


def copy_of(folder: Path) -> Path:
    """The model without its adapter."""
    plain = Path(shutil.copytree(folder, folder.parent / "plain"))
    (plain / "adapter_config.json").unlink()
    return plain


def test_what_an_encoder_passes_on_to_its_library_stays(copy: Callable[[str], Path]) -> None:
    folder = copy("sentence_transformer")
    change_json(folder / ENCODER, model_args={"attn_implementation": "eager"}, tokenizer_args={"use_fast": True})
    assert Encoder.from_pretrained(str(folder)).model[0].auto_model.config._attn_implementation == "eager"


def test_an_encoder_of_word_vectors_is_read(tmp_path: Path, kinds: dict[str, Path]) -> None:
    tokens = Tokenizer.from_file(str(kinds["bert"] / "tokenizer.json"))
    static = StaticEmbedding(tokens, embedding_dim=4)
    SentenceTransformer(modules=[static]).save(str(tmp_path))
    encoder = Encoder.from_pretrained(str(tmp_path))
    expected = static.embedding.weight[tokens.encode("cat dog", add_special_tokens=False).ids].mean(0)
    torch.testing.assert_close(torch.tensor(encoder.embed(["cat dog"])[0]), expected.detach())
    assert encoder.identity == Encoder.from_pretrained(str(tmp_path)).identity
    with pytest.raises(SettingError, match=r"word vectors are the input embeddings of a model of transformers, but .*"):
        load_embedder(str(tmp_path), static=True)


def test_a_note_is_a_short_text(copy: Callable[[str], Path]) -> None:
    folder = copy("gpt2")
    (folder / NOTE).write_text(f"{'ä' * 500}\n", encoding="utf-8")
    assert read_note(folder) == ("ä" * 500,)
    assert read_note("openai-community/gpt2") == ()
    (folder / NOTE).rename(folder / "other.txt")
    (folder / NOTE).symlink_to("other.txt")
    with pytest.raises(InputError, match=r"note\.txt: must be a regular file, but is a link or a folder$"):
        read_note(folder)
