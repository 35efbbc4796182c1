"""Loading by name: what is there is loaded; what is not is one fault that says what was looked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from core.errors import InputError, MissingModelError
from models.causal import CausalLM
from models.encoders import Encoder, load_encoder
from models.loading import load_pretrained, load_tokenizer
from models.masked import MaskedLM
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyCausal, TinyT5


def test_a_folder_without_weights_says_so(tmp_path: Path) -> None:
    TinyCausal(300, 8, 1, 1, 8, max_length=16).build(["a b"], (), seed=0).save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(MissingModelError, match="the model in this folder cannot be loaded: Error no file named model"):
        CausalLM.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    "load",
    [
        CausalLM.from_pretrained,
        MaskedLM.from_pretrained,
        Seq2SeqLM.from_pretrained,
        Encoder.from_pretrained,
        load_encoder,
    ],
)
def test_every_kind_of_model_says_so(tmp_path: Path, load: Callable[[str], Any]) -> None:
    (tmp_path / "empty").mkdir()
    cases = [
        ("no/such", "^no/such: there is no such folder, the model is not in the cache, and the model hub"),
        (str(tmp_path / "no" / "such"), "there is no such folder, and the model hub has no such names"),
        ("../no/such", "there is no such folder, and the model hub has no such names"),
        (str(tmp_path / "empty"), r"a model's folder has .*, but this one has none of them"),
    ]
    for name, message in cases:
        with pytest.raises(MissingModelError, match=message) as found:
            load(name)
        assert found.value.fetchable == (name == "no/such")
    (tmp_path / "file").write_text("{}")
    with pytest.raises(InputError, match="but this is a file"):
        load(str(tmp_path / "file"))


def test_a_cached_model_that_is_refused_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    snapshot = tmp_path / "models--no--such" / "snapshots" / "0"
    snapshot.mkdir(parents=True)
    (tmp_path / "models--no--such" / "refs").mkdir()
    (tmp_path / "models--no--such" / "refs" / "main").write_text("0")
    (snapshot / "config.json").write_text('{"model_type": "gpt2"}')
    (snapshot / "pytorch_model.bin").write_bytes(b"x")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))

    def refuse(name: str, trust_remote_code: bool) -> None:
        raise OSError(f"{name} has no file named model.safetensors")

    with pytest.raises(MissingModelError, match=r"the model in the cache cannot be loaded: .*no file named model.safe"):
        load_pretrained(refuse, "no/such")


def test_other_faults_are_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        load_pretrained(lambda name, trust_remote_code: 1 / 0, "no/such")

    def stop(name: str, trust_remote_code: bool) -> None:
        raise KeyboardInterrupt

    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(KeyboardInterrupt):
        load_pretrained(stop, tmp_path)


def test_a_panic_of_a_library_is_a_fault_of_the_folder(tmp_path: Path) -> None:
    class PanicError(BaseException):
        """As the exception of a panic of Rust, which is no Exception."""

    def panic(name: str, trust_remote_code: bool) -> None:
        raise PanicError("index out of bounds")

    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(MissingModelError, match="cannot be loaded: index out of bounds"):
        load_pretrained(panic, tmp_path)
    with pytest.raises(PanicError):
        load_pretrained(panic, "no/such")


def test_a_tokenizer_draws_nothing(tmp_path: Path) -> None:
    """With BPE's dropout a text has other tokens each time."""
    raw = Tokenizer(models.BPE(unk_token="<unk>", dropout=0.5))
    raw.train_from_iterator(["abcdefgh abcdefgh"] * 9, trainers.BpeTrainer(special_tokens=["<unk>"]))
    PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="<unk>").save_pretrained(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    assert {tuple(tokenizer("abcdefgh")["input_ids"]) for _ in range(30)} == {(tokenizer.get_vocab()["abcdefgh"],)}
    drawing = AutoTokenizer.from_pretrained(tmp_path)
    assert len({tuple(drawing("abcdefgh")["input_ids"]) for _ in range(30)}) > 1


def test_a_tokenizer_is_tried_with_a_text(tmp_path: Path) -> None:
    raw = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="<unk>"))
    PreTrainedTokenizerFast(tokenizer_object=raw).save_pretrained(tmp_path)
    with pytest.raises(MissingModelError, match=r"tokenizer\.json: .*(UNK|no token)"):
        load_tokenizer(tmp_path)


def test_a_model_that_writes_need_not_know_the_mask_of_its_tokenizer(tmp_path: Path) -> None:
    """facebook/bart-large-cnn has 50,264 tokens, and a mask with the next id."""
    lm = TinyT5(300, 16, 32, 2, 1, 1).build(["a b"], (), seed=0)
    lm.tokenizer.add_special_tokens({"mask_token": "<mask>"})
    lm.save_pretrained(tmp_path)
    assert Seq2SeqLM.from_pretrained(tmp_path).tokenizer.mask_token_id == lm.model.config.vocab_size
    lm.tokenizer.add_tokens(["other"])
    lm.save_pretrained(tmp_path)
    with pytest.raises(MissingModelError, match="the tokenizer's token 'other' has the id"):
        Seq2SeqLM.from_pretrained(tmp_path)
