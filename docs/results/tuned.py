"""Trains the pretrained pair on dialogues and scores FED and DSTC9: python docs/results/tuned.py MODELS DATA OUT STEP

MODELS holds the folders qwen-0.5b and qwen-1.5b, DATA the public sets. Every step leaves its files in OUT and goes on
where it was stopped. STEP is `train NAME`, `nll NAME before`, `nll NAME after` or `read NAME SET` (the log-probability
of every token), where NAME is `amateur` or `expert`; `draw tuned` or `draw untuned`, which draw negatives of the same
windows by the contrast; or `scores`, which writes docs/results/fed-tuned.jsonl and dstc9-tuned.jsonl.
"""

import json
import random
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from peft.tuners.lora.layer import LoraLayer
from pytorch_lightning import Trainer

from cdm.infilling import Gaps, Pair, Untrained, get_turns, held_out_nll, tokenise
from cdm.negatives import NegativeSampler
from cdm.sampling import Sampling
from cdm.segments import Gap
from data.corpus import Corpus
from data.sets.public import public_corpus
from models.causal import CausalLM
from models.conditional import PretrainedLM
from models.model import native_output_layer
from models.training import LanguageModelSchedule, Lora, train_language_model

HERE = Path(__file__).parent
MODELS = {"amateur": "qwen-0.5b", "expert": "qwen-1.5b"}
SETS = ("fed", "dstc9")
GAPS = Gaps(max_length=128, order="left-to-right", separator="\n", most=32)  # windows of an epoch
SCHEDULE = LanguageModelSchedule(epochs=8, learning_rate=2e-4, batch_size=4, lora=Lora())
UNTRAINED = Untrained(order="left-to-right")  # also how many tokens a model reads when it scores
DIALOGUES = 600  # from which windows to learn are cut
HELD_OUT = 50  # windows behind the held-out NLL
AT_ONCE = 5  # dialogues between two lines of a file
# as those of the untrained pair in docs/pretrained.md
SAMPLING = Sampling(gamma=1.0, plausibility=0.1, longest=32)
TURNS = 6  # of a window that gets a negative
TOKENS = 96
WINDOWS = 120
DRAWN_AT_ONCE = 20
CHOOSING = 4  # windows that choose the epoch


def load_corpus(root: str) -> Corpus:
    """Loads the dialogues to learn and the rated sets."""
    return public_corpus(list(SETS), root, training_sets=["topical_chat", "persona_chat"])


def split_held_out(data: Corpus) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Returns the held-out dialogues that choose the epoch, and those of the held-out NLL."""
    dialogues = get_turns(data.held_out)
    return dialogues[::2], dialogues[1::2]


def train(model: Path, data: Corpus, folder: Path) -> None:
    """Trains LoRA beside the frozen weights of a model, and saves the merged model."""
    texts = random.Random(0).sample(get_turns(data.train), DIALOGUES)
    choosing, _ = split_held_out(data)
    lm = GAPS.build(PretrainedLM(str(model), dtype="bfloat16"), texts, 0)
    # all of it in bfloat16: peft would copy what its float32 matrices read
    with (
        native_output_layer(lm.model),
        patch.object(LoraLayer, "_cast_input_dtype", lambda layer, states, dtype: states),
    ):
        train_language_model(
            lm,
            train=GAPS.tasks(lm, texts),
            held_out=GAPS.tasks(lm, choosing)(0)[:CHOOSING],
            schedule=SCHEDULE,
            folder=folder,
            make_trainer=partial(
                Trainer, accelerator="cpu", devices=1, precision="bf16-mixed", enable_progress_bar=False
            ),
        )


def load(folder: Path) -> CausalLM:
    """Loads a model, trained or not, that reads dialogues left to right."""
    lm = CausalLM.from_pretrained(folder, dtype="bfloat16")
    UNTRAINED.apply(lm)
    return lm


def measure_nll(folder: Path, data: Corpus) -> float:
    """Computes the mean NLL (nats per token) of the last turns of held-out windows."""
    lm = load(folder)
    _, checking = split_held_out(data)
    tokenised = tokenise(lm, checking, GAPS.max_length)
    tasks = random.Random(0).sample(tokenised.tasks(0), HELD_OUT)
    return held_out_nll(lm, tokenised.infilling, tasks)


def read(folder: Path, dialogues: Sequence[Sequence[str]], out: Path) -> None:
    """Appends a line for each dialogue to `out`: its index, and the log-probability (nats) of every token.

    The shortest come first: those longer than the models' window take many times as long.
    """
    done = read_lines(out) if out.is_file() else {}
    lm = load(folder)
    tokenised = tokenise(lm, dialogues, UNTRAINED.max_length)
    lengths = [sum(map(len, turns)) for turns in tokenised.dialogues]
    waiting = sorted((i for i in range(len(lengths)) if i not in done), key=lambda i: lengths[i])
    for first in range(0, len(waiting), AT_ONCE):
        pairs: list[tuple[Sequence[int], Sequence[int]]] = []
        owners: list[int] = []  # the dialogue of each pair
        for i in waiting[first : first + AT_ONCE]:
            turns = tokenised.dialogues[i]
            tasks = [tokenised.task(turns, Gap(t, 0, len(turn))) for t, turn in enumerate(turns) if turn]
            pairs += [(task.source, tokenised.infilling.target(task.segment)) for task in tasks]
            owners += [i] * len(tasks)
        scores = lm.log_probabilities(pairs)
        with out.open("a", encoding="utf-8") as file:
            for i in waiting[first : first + AT_ONCE]:
                steps = np.concatenate([row for row, owner in zip(scores, owners, strict=True) if owner == i])
                file.write(json.dumps([i, [round(step, 4) for step in steps.tolist()]]) + "\n")


def read_lines(path: Path) -> dict[int, list[float]]:
    """Reads the log-probabilities of each dialogue that a model has read, by its index."""
    return dict(map(json.loads, path.read_text("utf-8").splitlines()))


def draw(pair: Pair, data: Corpus, out: Path) -> None:
    """Appends a line for each window to `out`: its turns, and those of its negative, null where none was drawn."""
    windows: list[tuple[str, ...]] = []
    for dialogue in random.Random(1).sample(get_turns(data.train), len(data.train)):
        window = dialogue[:TURNS]
        if sum(map(len, pair.tokenise([window]).dialogues[0])) <= TOKENS:
            windows.append(window)
        if len(windows) == WINDOWS:
            break
    sampler = NegativeSampler.prepare(pair, windows, "mixed-single", SAMPLING, seed=0)
    done = len(out.read_text("utf-8").splitlines()) if out.is_file() else 0
    for first in range(done, len(windows), DRAWN_AT_ONCE):
        drawn = sampler.draw(range(first, min(first + DRAWN_AT_ONCE, len(windows))))
        negatives = dict(zip(drawn.indices, drawn.negatives, strict=True))
        with out.open("a", encoding="utf-8") as file:
            for i in range(first, min(first + DRAWN_AT_ONCE, len(windows))):
                line = {"window": sampler.positives[i], "negative": negatives.get(i)}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_scores(name: str, ids: Sequence[str], out: Path) -> None:
    """Writes the scores of a set by id, of the dialogues that both tuned models have read, beside the untrained pair's.

    The latter are those of SET.jsonl, with names in `_untuned`.
    """
    of_amateur, of_expert = (read_lines(out / f"{name}_{model}.jsonl") for model in MODELS)
    lines = (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()
    untuned = {line["id"]: line["scores"] for line in map(json.loads, lines)}
    kept: list[str] = []
    for i, key in enumerate(ids):
        if i not in of_amateur or i not in of_expert:
            continue
        amateur = np.array(of_amateur[i])
        expert = np.array(of_expert[i])
        momentum = expert - amateur
        tuned = {
            "contrast_average": momentum.mean(),
            "contrast_sum": momentum.sum(),
            "contrast_max": momentum.max(),
            "contrast_min": momentum.min(),
            "expert_likelihood": expert.mean(),
            "amateur_likelihood": amateur.mean(),
        }
        scores = {metric: {"quality": round(float(value), 5)} for metric, value in tuned.items()}
        scores |= {f"{metric}_untuned": untuned[key][metric] for metric in tuned}
        kept.append(json.dumps({"id": key, "scores": scores}))
    (HERE / f"{name}-tuned.jsonl").write_text("\n".join(kept) + "\n", "utf-8")


def main(models: Path, root: str, out: Path, step: str, name: str = "", which: str = "") -> None:
    """Runs one step."""
    data = load_corpus(root)
    by_name = {scored.name: scored for scored in data.rated}
    if step == "scores":
        for scored in data.rated:
            write_scores(scored.name, [example.id for example in scored.examples], out)
        return
    if step == "draw":
        folders = [out / model if name == "tuned" else models / MODELS[model] for model in MODELS]
        draw(Pair(*map(load, folders), max_length=UNTRAINED.max_length), data, out / f"negatives_{name}.jsonl")
        return
    base = models / MODELS[name]
    tuned = out / name
    if step == "train":
        train(base, data, tuned)
    elif step == "nll":
        print("held-out NLL", name, which, measure_nll(base if which == "before" else tuned, data))
    else:
        read(tuned, get_turns(by_name[which].examples), out / f"{which}_{name}.jsonl")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
