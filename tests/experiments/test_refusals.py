"""Settings, hardware and models that a run refuses: exit code 2 and a message, before anything is trained."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from data.builtin.dialogues import rated_dialogues
from data.files import write_examples
from data.sets.builtin import builtin_corpus

FEW = "data.train=40 data.held_out=8 data.rated=16"
POEMS = "+size=poems data.train=600 data.held_out=48"
PAIRS = "data.human=pairs.jsonl data.g1=pairs.jsonl data.g2=pairs.jsonl"
STEER = f"guided_text data=builtin_reviews {FEW}"
HUB = "there is no such folder, the model is not in the cache, and the model hub is not asked now"
HUB = f"{HUB}; network=true fetches it"
TALKS = "at least 2 training dialogues and 2 held-out ones, but there are"

SETTINGS = [
    (f"guided_poetry {POEMS} guide=lstm", "model.guides.lstm"),
    (f"cdm_dialogue {FEW} model.negatives.strategy=amr-multi", "graphs must be a file of AMR graphs for amr-multi"),
    (
        "guided_text data=builtin_news +data.columns.text=t",
        "columns is not a setting of builtin_news; allowed: ver",
    ),
    (f"oumg {PAIRS} kinds=[gru]", "kinds must be some of bilstm, bert, but 'gru' is not one of these"),
]
LATER = [  # known once the run has begun, and before anything is trained
    (f"{STEER} labels=[mixed]", "labels must be some of negative, positive, but 'mixed' is not one of these"),
    ("guided_text data=builtin_dialogues", "guides and judges learn labelled texts, but"),
    (
        f"cdm_dialogue {FEW} model.negatives.strategy=amr-multi model.negatives.graphs=no.txt",
        "no.txt: model.negatives.graphs must name a file, but there is none",
    ),
    (f"cdm_dialogue {FEW} model.baseline=[gru]", "model.baseline[0] must be 'bert' or 'bilstm', but is 'gru'"),
    ("cdm_dialogue data=dialogues data.train_path=5.jsonl data.held_out_fraction=0.1", f"{TALKS} 4 and 1"),
    (f"oumg {PAIRS} tokens=no/such", "tokens must be characters, jieba, words, bpe, but are 'no/such'"),
    (f"oumg_poetry {POEMS} g2_k=200", "g2_k = 200: G2 chooses from the ranks 4k to 5k, which needs 1000"),
    (f"oumg_poetry {POEMS} inputs=3", "at least 4 inputs are needed, but the 3 held_out poems have 3"),
    (f"guided_poetry {POEMS} guide_k=5000", "guide_k = 5000, which needs 5000 characters"),
    ("guided_text data.path=mine.jsonl generator=no/such", f"generator=no/such: {HUB}"),
    (
        f"cdm_dialogue {FEW} scale=pretrained",
        f"model.amateur.name=Qwen/Qwen2.5-Coder-0.5B: {HUB}, or name a folder instead: model.amateur.name=FOLDER",
    ),
]
HARDWARE = [
    ("toy trainer.accelerator=gpu trainer.devices=2", "trainer: No supported gpu backend found"),
    ("toy trainer=cpu trainer.devices=4096", "trainer.devices=4096, but this machine has"),
    ("toy model=guided/paper model.device=cpu model.dtype=bf16", "model.dtype: dtype must be one of float32, bfloat16"),
    ("toy model=guided/paper model.device=cuda", "model.device: device=cuda, but this machine has 0"),
]
with_gpu = pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine has a GPU")


@pytest.fixture
def files(tmp_path: Path) -> None:
    """Files of a user in the working folder."""
    example = {"id": "a", "text": "A cat.", "prefix": "A", "label": "positive", "references": ["A dog."]}
    (tmp_path / "in.jsonl").write_text(json.dumps(example) + "\n")
    (tmp_path / "pairs.jsonl").write_text("".join(f'{{"id": "{i}", "text": "a red cat sat"}}\n' for i in range(8)))
    write_examples(tmp_path / "mine.jsonl", builtin_corpus("builtin_reviews", train=100, held_out=1).train)
    write_examples(tmp_path / "5.jsonl", rated_dialogues(5, seed=0))


@pytest.mark.filterwarnings("default")  # Lightning's
@pytest.mark.parametrize(
    ("command", "message"), [*SETTINGS, *LATER, *(pytest.param(*case, marks=with_gpu) for case in HARDWARE)]
)
@pytest.mark.usefixtures("files", "no_training")
def test_a_run_is_refused(run: Callable[..., Any], tmp_path: Path, command: str, message: str) -> None:
    where = ("outputs=outputs", "hydra.run.dir=outputs/run", "logger=none")
    trainer = () if "trainer" in command or "cuda" in command else ("trainer=cpu",)
    experiment, *settings = command.split()
    ended = run(f"+exp={experiment}", *trainer, *settings, *where)
    assert ended.returncode == 2, ended.stderr
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not [*tmp_path.rglob("results.json")]
    assert not [*tmp_path.rglob("curve.json")]  # nothing was trained
