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
OWN = "data.path=in.jsonl output=out.jsonl"
PAIRS = "data.human=pairs.jsonl data.g1=pairs.jsonl data.g2=pairs.jsonl"
STEER = f"guided_text data=builtin_reviews {FEW}"
TABLE = "audit data=builtin_sets data.corpora.stories.rated=20 data.corpora.dialogues.rated=20"
AGREE, PILOT = "meta_eval data.path=rated.jsonl", "plan pilot.path=pilot.jsonl"
HUB = "there is no such folder, the model is not in the cache, and the model hub is not asked now"
HUB = f"{HUB}; network=true fetches it"
TALKS = "at least 2 dialogues to train on and 2 held-out ones, but there are"

SETTINGS = [
    (f"{STEER} strengths=[1,2]", "begin with 0"),
    ("oumg data.human=pairs.jsonl", "data.g1 must be given: data.g1=VALUE"),
    (f"guided_poetry {POEMS} guide=lstm", "model.guides.lstm"),
    ("toy cues=lasso", "cues must be"),
    ("score data=builtin_stories metric=word_count output=out.jsonl", "data must be a file of texts: data.path=FILE"),
    ("meta_eval data=builtin_stories metrics=[word_count]", "data must be a file of texts: data.path=FILE"),
    ("meta_eval data.path=pilot.jsonl", "pilot.jsonl: scores are needed"),
    (f"{AGREE} metrics=[cdm_generative]", "metrics.cdm_generative.folder must be given"),
    (f"{AGREE} +metric@metrics.m=bleu", "a metric must have one score, but m is also in the file"),
    ("meta_eval data.path=in.jsonl metrics=[word_count]", 'in.jsonl: at least one example needs "ratings"'),
    ("score metric=word_count data.path=in.jsonl output=.", "found the folder"),
    ("score metric=word_count data.path=in.jsonl output=in.jsonl", "different files"),
    ("score metric=word_count data.path=in.jsonl output=no/out.jsonl", "but there is no no"),
    ("score metric=word_count data.path=in.jsonl output=out.txt", "output must end in one of .jsonl, .csv, .tsv"),
    (f"cdm_dialogue {FEW} model.negatives.strategy=amr-multi", "graphs must be a file of AMR graphs for amr-multi"),
    ("plan data.columns.text=t", "data.columns names the columns of a pilot: give its file too, as pilot.path=FILE"),
    (
        "guided_text data=builtin_news data.columns.text=t",
        "columns is not a setting of builtin_news; allowed: ver",
    ),
    (
        "preferences data=pandalm data.root=. data.columns.text=t",
        "data.columns is not a setting (did you mean data.root",
    ),
    (f"oumg {PAIRS} kinds=[gru]", "kinds must be some of bilstm, bert, but 'gru' is among them"),
]
MODELS = [
    (f"score metric=mars metric.language_model=no/such {OWN}", f"metric.language_model=no/such: {HUB}"),
    (f"score metric=ctrleval {OWN}", f"metric.model=google/pegasus-large: {HUB}"),
    ("score metric=cdm_discriminative metric.models=nowhere data.path=3.jsonl output=out.jsonl", "nowhere/amateur"),
]
LATER = [  # known once the run has begun, and before anything is trained
    (
        "compare data.path=pilot.jsonl metrics=[word_count] level=[0.1,0.2]",
        "level must be a valid number, but is [0.1, 0.2]",
    ),
    (TABLE, "metrics must name the metrics to audit"),
    ("audit data=preferences data.path=judged.jsonl metrics=[word_count]", "data must hold texts: data.path=FILE"),
    (f"{TABLE} metrics=[word_count] cards=nowhere", "cards must be an existing folder, but there is no nowhere"),
    ("preferences data.path=judged.jsonl metrics=[bleu]", "data.outputs=FILE"),
    (f"{PILOT} pilot.systems=[a]", "pilot.systems must be two of those in the pilot (a, b), but is ['a']"),
    (f"{PILOT} pilot.systems=[a,c]", "pilot.systems must be two of those in the pilot (a, b), but is ['a', 'c']"),
    (f"{PILOT} pilot.aspect=fit", "pilot.aspect must be one with ratings in the pilot (overall), but is fit"),
    (PILOT, "but they differ by 1 on all 5 inputs of pilot.jsonl"),
    (f"mars_story {FEW} ratios=[0.2]", "ratios must ascend from 0, but is [0.2]"),
    (f"{STEER} labels=[mixed]", "labels must be some of negative, positive, but 'mixed' is among them"),
    ("guided_text data=builtin_dialogues", "guides and judges learn labelled texts, but"),
    ("preferences data=builtin_stories", "data must be preferences: data.path=FILE, or data=pandalm"),
    (
        f"cdm_dialogue {FEW} model.negatives.strategy=amr-multi model.negatives.graphs=no.txt",
        "no.txt: model.negatives.graphs must name a file, but there is none",
    ),
    (f"cdm_dialogue {FEW} model.negatives.strategy=exchange", "sentences that mention two of their concepts, which"),
    ("cdm_dialogue data=dialogues data.train_path=5.jsonl data.held_out_fraction=0.1", f"{TALKS} 4 and 1"),
    (f"oumg {PAIRS} tokens=no/such", "tokens must be characters, jieba, words, bpe, but are 'no/such'"),
    (f"oumg_poetry {POEMS} g2_k=200", "g2_k = 200: G2 chooses from the ranks 4k to 5k, which needs 1000"),
    (f"oumg_poetry {POEMS} inputs=49", "inputs must be at most the 48 held_out poems"),
    (f"oumg_poetry {POEMS} inputs=3", "at least 4 inputs are needed, but the 3 held_out poems have 3"),
    (f"guided_poetry {POEMS} guide_k=5000", "guide_k = 5000, which needs 5000 characters"),
    ("guided_text data.path=mine.jsonl generator=no/such", f"generator=no/such: {HUB}"),
    ("iwf corpus=in.jsonl model_name=no/such output=iwf.json", f"model_name=no/such: {HUB}"),
    (
        "guided_text data.path=mine.jsonl scale=paper model.device=cpu",
        f"model.generator.name=openai-community/gpt2-medium: {HUB}",
    ),
    (
        f"cdm_dialogue {FEW} scale=pretrained",
        f"model.amateur.name=Qwen/Qwen2.5-Coder-0.5B: {HUB}, or name folders instead: "
        "model.amateur.name=FOLDER model.expert.name=FOLDER",
    ),
]
HARDWARE = [
    ("toy trainer.accelerator=gpu trainer.devices=2", "trainer: No supported gpu backend found"),
    ("toy trainer=cpu trainer.devices=4096", "trainer.devices=4096, but this machine has"),
    ("toy trainer=cpu trainer.precision=16-mixed", "trainer.precision=16-mixed needs a GPU; on a CPU set 32-true or"),
    ("toy model=guided/paper model.device=cpu model.dtype=bf16", "model.dtype: dtype must be one of float32, bfloat16"),
    ("toy model=guided/paper model.device=cuda", "model.device: device=cuda, but this machine has 0"),
]
with_gpu = pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine has a GPU")


@pytest.fixture
def files(tmp_path: Path) -> set[str]:
    """Files of a user in the working folder; their names."""
    example = {"id": "a", "text": "A cat.", "prefix": "A", "label": "positive", "references": ["A dog."]}
    (tmp_path / "in.jsonl").write_text(json.dumps(example) + "\n")
    (tmp_path / "pairs.jsonl").write_text("".join(f'{{"id": "{i}", "text": "a red cat sat"}}\n' for i in range(8)))
    write_examples(tmp_path / "mine.jsonl", builtin_corpus("builtin_reviews", train=100, held_out=1).train)
    rated = {"text": "x", "references": ["x"], "ratings": {"q": 1}, "scores": {"m": 1}}
    (tmp_path / "rated.jsonl").write_text(json.dumps(rated) + "\n")
    answers = [(system, group, 3 + (system == "a")) for system in "ab" for group in "vwxyz"]
    pilot = [{"text": "t", "system": s, "group": g, "ratings": {"overall": rating}} for s, g, rating in answers]
    (tmp_path / "pilot.jsonl").write_text("".join(json.dumps(each) + "\n" for each in pilot))
    (tmp_path / "judged.jsonl").write_text('{"id": "q", "system_a": "x", "system_b": "y", "winner": "x"}\n')
    for number in (3, 5):
        write_examples(tmp_path / f"{number}.jsonl", rated_dialogues(number, seed=0))
    return {path.name for path in tmp_path.iterdir()}


@pytest.mark.filterwarnings("default")  # Lightning's
@pytest.mark.parametrize(
    ("command", "message"), [*SETTINGS, *MODELS, *LATER, *(pytest.param(*case, marks=with_gpu) for case in HARDWARE)]
)
def test_a_run_is_refused(run: Callable[..., Any], files: set[str], tmp_path: Path, command: str, message: str) -> None:
    where = ("outputs=outputs", "run_dir=outputs/run", "logger=none")
    trainer = () if "trainer" in command or "cuda" in command else ("trainer=cpu",)
    experiment, *settings = command.split()
    ended = run(f"+exp={experiment}", *trainer, *settings, *where)
    assert ended.returncode == 2, ended.stderr
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    begun = {"outputs"} if (command, message) in LATER else set()
    assert {path.name for path in tmp_path.iterdir()} == files | begun
    assert not [*tmp_path.rglob("curve.json")]  # nothing was trained
