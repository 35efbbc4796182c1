"""Trains the pretrained pair on dialogues and scores FED and DSTC9: python docs/results/tuned.py MODELS DATA OUT STEP

MODELS holds the folders qwen-0.5b, qwen-1.5b and mpnet, DATA the public sets. Every step leaves its files in OUT and
goes on where it was stopped. NAME is `amateur` or `expert`, PAIR is `tuned` or `untuned`. STEP is one of

    train NAME
    nll NAME before    the held-out loss; or after
    read NAME SET      the log-probability of every token of fed or dstc9
    draw PAIR          negatives of the same windows, by the contrast
    learn PAIR SET     mpnet learns these negatives and scores a set (Generative CDM)
    keep               writes what the pages show to this folder
"""

import csv
import json
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from peft.tuners.lora.layer import LoraLayer
from pytorch_lightning import Trainer
from sklearn.metrics import roc_auc_score

from cdm.infilling import Gaps, Pair, Untrained, get_turns, held_out_nll, tokenise
from cdm.negatives import NegativeSampler
from cdm.sampling import Sampling
from cdm.segments import Gap
from data.corpus import Corpus
from data.sets.public import public_corpus
from discriminators.discriminator import new_bert
from discriminators.metric import DiscriminatorScore
from discriminators.texts import LabelledText
from discriminators.training import TrainingSettings, train_classifier
from meta_eval.design import Floats
from meta_eval.scored_set import ScoredSet
from models.causal import CausalLM
from models.conditional import PretrainedLM
from models.model import native_output_layer
from models.training import LanguageModelSchedule, Lora, train_language_model

HERE = Path(__file__).parent
MODELS = {"amateur": "qwen-0.5b", "expert": "qwen-1.5b"}
SETS = ("fed", "dstc9")
GAPS = Gaps(max_length=128, order="left-to-right", separator="\n", most=32)  # windows of an epoch
SCHEDULE = LanguageModelSchedule(epochs=16, learning_rate=2e-4, batch_size=4, lora=Lora())
UNTRAINED = Untrained(order="left-to-right")  # also how many tokens a model reads when it scores
DIALOGUES = 600  # from which windows to learn are cut
HELD_OUT = 50  # windows behind the held-out NLL
AT_ONCE = 5  # dialogues that are read before their lines are written
# as those of the untrained pair in docs/pretrained.md
SAMPLING = Sampling(gamma=1.0, plausibility=0.1, longest=32)
TURNS = 6  # of a window that gets a negative
TOKENS = 96
WINDOWS = 120
DRAWN_AT_ONCE = 20
CHOOSING = 4  # windows that choose the epoch
PAIRS = ("tuned", "untuned")
ENCODER = partial(new_bert, freeze_embeddings=True, frozen_layers=10, turns=TURNS)  # the upper two layers of 12 learn
LEARNING = TrainingSettings(epochs=3, learning_rate=1e-4, token_budget=1024, keep="loss")
SEEDS = 2  # of encoders whose mean is Generative CDM
MARK_UP = re.compile(r"^#+ |`|</?\w|\*\*|[{}]", re.MULTILINE)  # headings, code, tags, bold, braces
GENERATIVE = "generative_contrast_mpnet"


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
            make_trainer=partial(make_trainer, precision="bf16-mixed"),
        )


def make_trainer(**settings: Any) -> Trainer:
    """Makes a trainer for one process."""
    return Trainer(accelerator="cpu", devices=1, enable_progress_bar=False, **settings)


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

    They are read in an order drawn by seed 0, so that a reading that is stopped leaves a random sample.
    """
    lm = load(folder)
    tokenised = tokenise(lm, dialogues, UNTRAINED.max_length)
    order = random.Random(0).sample(range(len(dialogues)), len(dialogues))
    done = read_steps(out) if out.is_file() else {}
    waiting = [i for i in order if i not in done]
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
            for i in dict.fromkeys(owners):
                steps = np.concatenate([row for row, owner in zip(scores, owners, strict=True) if owner == i])
                rounded = [round(step, 4) for step in steps.tolist()]
                file.write(json.dumps([i, rounded]) + "\n")


def read_steps(path: Path) -> dict[int, list[float]]:
    """Reads the log-probabilities of each dialogue that a model has read, by its index."""
    return dict(read_json(path))


def read_json(path: Path) -> list[Any]:
    """Reads a file of one JSON value a line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


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


def learn(encoder: Path, rated: ScoredSet, out: Path, pair: str) -> None:
    """Trains encoders on the negatives of a pair, one for each seed, and keeps their scores of a rated set."""
    texts: list[LabelledText] = []
    for number, line in enumerate(read_json(out / f"negatives_{pair}.jsonl")):
        if line["negative"] is not None:
            window = tuple(line["window"])
            negative = tuple(line["negative"])
            group = str(number)
            texts.append(LabelledText(window, 1, group, negative))
            texts.append(LabelledText(negative, 0, group, window))
    for seed in range(SEEDS):
        discriminator = train_classifier(
            partial(ENCODER, encoder=str(encoder)),
            texts,
            folder=out / f"encoder_{pair}_{seed}",
            make_trainer=make_trainer,
            settings=LEARNING,
            seed=seed,
        )
        scores = DiscriminatorScore(discriminator, dialogues=True).score(rated.examples)
        line = json.dumps(scores.values["quality"].tolist())
        (out / f"{rated.name}_{pair}_{seed}.json").write_text(line, "utf-8")


def keep_scores(rated: ScoredSet, out: Path) -> None:
    """Writes the scores of a set by id, of the dialogues that both tuned models have read, beside the untrained pair's.

    The latter have names in `_untuned`; those of Discriminative CDM are the ones of SET.jsonl.
    """
    of_amateur = read_steps(out / f"{rated.name}_amateur.jsonl")
    of_expert = read_steps(out / f"{rated.name}_expert.jsonl")
    untuned = {line["id"]: line["scores"] for line in read_json(HERE / f"{rated.name}.jsonl")}
    generative = {pair: average_encoders(rated.name, out, pair) for pair in PAIRS}
    kept: list[str] = []
    for i, example in enumerate(rated.examples):
        if i not in of_amateur or i not in of_expert:
            continue
        tuned = pool(np.array(of_amateur[i]), np.array(of_expert[i]))
        scores = {metric: {"quality": round(value, 5)} for metric, value in tuned.items()}
        scores |= {f"{metric}_untuned": untuned[example.id][metric] for metric in tuned}
        scores[GENERATIVE] = {"quality": generative["tuned"][i]}
        scores[f"{GENERATIVE}_untuned"] = {"quality": generative["untuned"][i]}
        kept.append(json.dumps({"id": example.id, "scores": scores}))
    (HERE / f"{rated.name}-tuned.jsonl").write_text("\n".join(kept) + "\n", "utf-8")


def pool(amateur: Floats, expert: Floats) -> dict[str, float]:
    """Computes the scores of a dialogue from the log-probabilities of its tokens under both models."""
    momentum = expert - amateur
    return {
        "contrast_average": float(momentum.mean()),
        "contrast_sum": float(momentum.sum()),
        "contrast_max": float(momentum.max()),
        "contrast_min": float(momentum.min()),
        "expert_likelihood": float(expert.mean()),
        "amateur_likelihood": float(amateur.mean()),
    }


def average_encoders(name: str, out: Path, pair: str) -> list[float]:
    """Averages the standardised scores of a set by the encoders that learned the negatives of a pair."""
    columns = []
    for seed in range(SEEDS):
        line = (out / f"{name}_{pair}_{seed}.json").read_text("utf-8")
        scores = np.array(json.loads(line))
        columns.append((scores - scores.mean()) / scores.std())
    return np.mean(columns, axis=0).round(5).tolist()


def keep_negatives(out: Path) -> Iterator[Mapping[str, Any]]:
    """Writes the turns that both pairs have drawn again; yields how often they have mark-up, and the AUC of it."""
    rows: list[list[Any]] = [["pair", "window", "turn", "drawn"]]
    for pair in PAIRS:
        has_mark_up: list[bool] = []
        is_negative: list[bool] = []
        for number, line in enumerate(read_json(out / f"negatives_{pair}.jsonl")):
            for turn, drawn in zip(line["window"], line["negative"] or line["window"], strict=True):
                if turn != drawn:
                    rows.append([pair, number, turn, drawn])
                    has_mark_up += [bool(MARK_UP.search(text)) for text in (turn, drawn)]
                    is_negative += [False, True]
        yield {
            "negatives": f"by the {pair} pair",
            "n": sum(is_negative),
            "with mark-up": sum(np.logical_and(has_mark_up, is_negative)),
            "of the turns they replace": sum(np.logical_and(has_mark_up, np.logical_not(is_negative))),
            "AUC": roc_auc_score(is_negative, has_mark_up),
        }
    with (HERE / "tuned_negatives.tsv").open("w", encoding="utf-8") as file:
        csv.writer(file, "excel-tab", lineterminator="\n").writerows(rows)


def keep(data: Corpus, out: Path) -> None:
    """Writes scores, negatives and small tables to the folder of the results."""
    for rated in data.rated:
        keep_scores(rated, out)
    write_csv("tuned_mark_up", [*keep_negatives(out)])
    losses = []
    for model, base in MODELS.items():
        values = {which: float((out / f"nll_{model}_{which}").read_text()) for which in ("before", "after")}
        losses.append({"held-out NLL": f"{model}, {base}", **values})
    write_csv("tuned_nll", losses)


def write_csv(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes a table to the folder of the results."""
    with (HERE / f"{name}.csv").open("w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(models: Path, root: str, out: Path, step: str, name: str = "", which: str = "") -> None:
    """Runs one step."""
    data = load_corpus(root)
    if step == "keep":
        keep(data, out)
        return
    by_name = {scored.name: scored for scored in data.rated}
    if step == "learn":
        learn(models / "mpnet", by_name[which], out, name)
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
        nll = measure_nll(base if which == "before" else tuned, data)
        (out / f"nll_{name}_{which}").write_text(f"{nll:.4f}\n", "utf-8")
    else:
        read(tuned, get_turns(by_name[which].examples), out / f"{which}_{name}.jsonl")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
