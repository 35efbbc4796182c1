"""A model folder cannot run code of its own, even if somebody answers `y` to a question."""

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from baselines.bertscore import BertScore
from baselines.bleurt import Bleurt
from core.errors import MissingModelError
from ctrl_eval.metric import CTRLEval
from discriminators.discriminator import new_bert
from models.causal import CausalLM
from models.conditional import load_conditional
from models.encoders import Encoder, load_encoder
from models.masked import MaskedLM
from models.seq2seq import Seq2SeqLM

ROOT = Path(__file__).parents[2]
CODE = """
from pathlib import Path
Path({trace!r}).touch()
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
class Config(PreTrainedConfig):
    model_type = "planted"
class Model(PreTrainedModel):
    config_class = Config
class Tokenizer(PreTrainedTokenizerFast):
    pass
"""
KINDS = ("", "ForCausalLM", "ForMaskedLM", "ForSeq2SeqLM", "ForSequenceClassification")
MODEL_CODE = {f"AutoModel{kind}": "planted.Model" for kind in KINDS}
TOKENIZER_CODE = {"AutoTokenizer": [None, "planted.Tokenizer"]}
PLANTED: dict[str, dict[str, dict[str, Any]]] = {
    "configuration": {
        "config.json": {"model_type": "planted", "auto_map": {"AutoConfig": "planted.Config", **MODEL_CODE}}
    },
    "model": {"config.json": {"model_type": "clip_text_model", "auto_map": MODEL_CODE}},
    "tokenizer": {
        "config.json": {"model_type": "timesformer"},
        "tokenizer_config.json": {"tokenizer_class": "Planted", "auto_map": TOKENIZER_CODE},
    },
    "module": {"modules.json": {"idx": 0, "name": "0", "path": "", "type": "planted.Model"}},
}


LOADERS = {
    "configuration": (
        *(CausalLM.from_pretrained, MaskedLM.from_pretrained, Seq2SeqLM.from_pretrained, Encoder.from_pretrained),
        *(load_conditional, load_encoder, BertScore.from_pretrained, Bleurt.from_pretrained, CTRLEval.from_pretrained),
        lambda folder: new_bert(encoder=folder),
    ),
    "model": (CausalLM.from_pretrained, Seq2SeqLM.from_pretrained, Bleurt.from_pretrained),
    "tokenizer": (load_encoder, BertScore.from_pretrained, CTRLEval.from_pretrained),
    "module": (Encoder.from_pretrained,),
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("what", "load"), [(what, load) for what, loads in LOADERS.items() for load in loads])
def test_no_model_folder_runs_code(
    saved_bert: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    load: Callable[[str], object],
    what: str,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question="": asked.append(question) or "y")
    folder = saved_bert(["the", "cat"], 16, 2, 48)
    for name, more in PLANTED[what].items():
        path = folder / name
        before = json.loads(path.read_text("utf-8")) if path.is_file() else {}
        path.write_text(json.dumps([more] if what == "module" else before | more), encoding="utf-8")
    (folder / "planted.py").write_text(CODE.format(trace=str(tmp_path / "trace")), encoding="utf-8")
    with pytest.raises(
        MissingModelError, match=f"^{re.escape(str(folder))}: .*this model needs .* such code is never run"
    ):
        load(str(folder))
    assert not asked
    assert not (tmp_path / "trace").exists()


def test_only_one_function_loads_by_what_a_folder_says() -> None:
    """transformers' Auto classes choose a class by the folder's files; each is an argument of `load_pretrained`."""
    found = []
    for file in ROOT.glob("[a-z]*/**/*.py"):
        if file.relative_to(ROOT).parts[0].startswith(("tests", "benchmarks")):
            continue
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text if "Auto" in text else "")):
            if isinstance(node, ast.Call) and re.match(r"Auto\w+\.from_pretrained", ast.unparse(node.func)):
                found.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert found == []
