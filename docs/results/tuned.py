"""Trains the pretrained pair on dialogues and scores FED and DSTC9: python docs/results/tuned.py MODELS DATA OUT STEP

MODELS holds the folders qwen-0.5b, qwen-1.5b and mpnet, DATA the public sets. Every step leaves its files in OUT and
goes on where it was stopped. NAME is `amateur` or `expert`, PAIR is `tuned` or `untuned`. STEP is one of

    train NAME
    nll NAME before    the held-out loss; or after
    read NAME SET      the log-probability of every token of fed or dstc9
    draw PAIR          negatives of the same windows, by the contrast
    learn PAIR SET     mpnet learns these negatives and scores a set (Generative CDM)
    keep SET ...       writes what the pages show to this folder
"""

import csv
import json
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from peft.tuners.lora.layer import LoraLayer
from pytorch_lightning import Trainer
from sklearn.metrics import roc_auc_score

from cdm.infilling import Gaps, Pair, TokenisedDialogues, Untrained, get_turns, held_out_nll, tokenise
from cdm.negatives import NegativeSampler
from cdm.sampling import Sampling
from cdm.segments import Gap
from data.corpus import Corpus
from data.sets.public import public_corpus
from discriminators.discriminator import new_bert
from discriminators.metric import DiscriminatorScore
from discriminators.texts import LabelledText
from discriminators.training import TrainingSettings, train_classifier
from docs.results.tables import read_lines, show_figure
from meta_eval.scored_set import ScoredSet
from models.causal import CausalLM
from models.conditional import PretrainedLM
from models.infilling import Ids
from models.model import native_output_layer
from models.training import LanguageModelSchedule, Lora, train_language_model

HERE = Path(__file__).parent
DIGITS = 4
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
SEEDS = 1  # of encoders whose mean is Generative CDM
MARK_UP = re.compile(r"^#+ |`|</?\w|\*\*|[{}]", re.MULTILINE)  # headings, code, tags, bold, braces
GENERATIVE = {"generative_contrast_mpnet": "tuned", "generative_contrast_mpnet_untuned": "untuned"}

Dialogues = list[tuple[str, ...]]


def load_corpus(root: str) -> Corpus:
    """Loads the dialogues to learn and the rated sets."""
    return public_corpus(list(SETS), root, training_sets=["topical_chat", "persona_chat"])


def split_held_out(data: Corpus) -> tuple[Dialogues, Dialogues]:
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


def read(folder: Path, dialogues: Dialogues, out: Path) -> None:
    """Appends a line for each dialogue to `out`: its index, and the log-probability (nats) of every token.

    They are read in an order drawn by seed 0, so that a reading that is stopped leaves a random sample.
    """
    lm = load(folder)
    tokenised = tokenise(lm, dialogues, UNTRAINED.max_length)
    order = [*range(len(dialogues))]
    random.Random(0).shuffle(order)
    out.touch()
    done = read_steps(out)
    waiting = [i for i in order if i not in done]
    for first in range(0, len(waiting), AT_ONCE):
        some = waiting[first : first + AT_ONCE]
        pairs = {i: list_pairs(tokenised, i) for i in some}
        scores = iter(lm.log_probabilities([*chain(*pairs.values())]))
        with out.open("a", encoding="utf-8") as file:
            for i in some:
                steps = np.concatenate([*islice(scores, len(pairs[i]))])
                rounded = [round(step, DIGITS) for step in steps.tolist()]
                file.write(json.dumps([i, rounded]) + "\n")


def list_pairs(tokenised: TokenisedDialogues, number: int) -> list[tuple[Ids, Ids]]:
    """Lists source and target of each turn of a dialogue."""
    turns = tokenised.dialogues[number]
    pairs = []
    for place, turn in enumerate(turns):
        if turn:
            gap = Gap(place, 0, len(turn))
            task = tokenised.task(turns, gap)
            target = tokenised.infilling.target(task.segment)
            pairs.append((task.source, target))
    return pairs


def read_steps(path: Path) -> dict[int, list[float]]:
    """Reads the log-probabilities of each dialogue that a model has read, by its index."""
    return dict(read_lines(path))


def draw(pair: Pair, data: Corpus, out: Path) -> None:
    """Appends a line for each window to `out`: its turns, and those of its negative, null where none was drawn."""
    windows = choose_windows(pair, get_turns(data.train))
    sampler = NegativeSampler(pair, windows, "mixed-single", SAMPLING, seed=0)
    out.touch()
    done = len(read_lines(out))
    for first in range(done, len(windows), DRAWN_AT_ONCE):
        some = range(first, min(first + DRAWN_AT_ONCE, len(windows)))
        drawn = sampler.draw(some)
        negatives = dict(zip(drawn.indices, drawn.negatives, strict=True))
        with out.open("a", encoding="utf-8") as file:
            for i in some:
                line = {"window": sampler.positives[i], "negative": negatives.get(i)}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def choose_windows(pair: Pair, dialogues: Dialogues) -> Dialogues:
    """Chooses the beginnings of dialogues that get a negative: `WINDOWS` of at most `TOKENS` tokens."""
    windows: Dialogues = []
    shuffled = random.Random(1).sample(dialogues, len(dialogues))
    for dialogue in shuffled:
        window = dialogue[:TURNS]
        [turns] = pair.tokenise([window]).dialogues
        if sum(map(len, turns)) <= TOKENS:
            windows.append(window)
        if len(windows) == WINDOWS:
            break
    return windows


def learn(encoder: Path, rated: ScoredSet, out: Path, pair: str) -> None:
    """Trains encoders on the negatives of a pair, one for each seed, and keeps their scores of a rated set."""
    texts: list[LabelledText] = []
    for number, line in enumerate(read_lines(out / f"negatives_{pair}.jsonl")):
        if line["negative"] is None:
            continue
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
        metric = DiscriminatorScore(discriminator, dialogues=True)
        quality = metric.score(rated.examples).values["quality"]
        path = out / f"{rated.name}_{pair}_{seed}.json"
        path.write_text(json.dumps(quality.tolist()), "utf-8")


def keep_scores(rated: ScoredSet, out: Path) -> None:
    """Writes the scores of a set by id, of the dialogues that both tuned models have read, beside the untrained pair's.

    The latter have names in `_untuned`; those of Discriminative CDM are the ones of SET.jsonl. Generative CDM is there
    if the encoders have read the set.
    """
    of_amateur = read_steps(out / f"{rated.name}_amateur.jsonl")
    of_expert = read_steps(out / f"{rated.name}_expert.jsonl")
    untuned = {line["id"]: line["scores"] for line in read_lines(HERE / f"{rated.name}.jsonl")}
    generative = {}
    for metric, pair in GENERATIVE.items():
        if (out / f"{rated.name}_{pair}_0.json").is_file():
            generative[metric] = average_encoders(rated.name, out, pair)
    kept: list[str] = []
    for i, example in enumerate(rated.examples):
        if i not in of_amateur or i not in of_expert:
            continue
        scores: dict[str, Any] = {}
        amateur = np.mean(of_amateur[i])
        expert = np.mean(of_expert[i])
        tuned = {
            "contrast_average": expert - amateur,
            "expert_likelihood": expert,
            "amateur_likelihood": amateur,
        }
        for metric, value in tuned.items():
            scores[metric] = {"quality": round(float(value), DIGITS)}
            scores[f"{metric}_untuned"] = untuned[example.id][metric]
        for metric, values in generative.items():
            scores[metric] = {"quality": values[i]}
        line = {"id": example.id, "scores": scores}
        kept.append(json.dumps(line))
    path = HERE / f"{rated.name}-tuned.jsonl"
    path.write_text("\n".join(kept) + "\n", "utf-8")


def average_encoders(name: str, out: Path, pair: str) -> list[float]:
    """Averages the standardised scores of a set by the encoders that learned the negatives of a pair."""
    columns = []
    for seed in range(SEEDS):
        path = out / f"{name}_{pair}_{seed}.json"
        scores = np.array(json.loads(path.read_text("utf-8")))
        columns.append((scores - scores.mean()) / scores.std())
    return np.mean(columns, axis=0).round(DIGITS).tolist()


def keep_negatives(out: Path) -> None:
    """Writes the turns that both pairs have drawn again, and in how many of them mark-up stands."""
    turns: list[dict[str, Any]] = []
    counts: list[dict[str, Any]] = []
    for pair in PAIRS:
        of_pair = [*list_redrawn(out, pair)]
        before = [bool(MARK_UP.search(row["turn"])) for row in of_pair]
        after = [bool(MARK_UP.search(row["drawn"])) for row in of_pair]
        labels = [0] * len(before) + [1] * len(after)
        area = roc_auc_score(labels, before + after)
        counts.append(
            {
                "drawn by": f"the {pair} pair",
                "turns": len(of_pair),
                "with mark-up": sum(after),
                "with mark-up before": sum(before),
                "AUC": show_figure(area),
            }
        )
        turns += of_pair
    write_csv("tuned_negatives", turns)
    write_csv("tuned_mark_up", counts)


def list_redrawn(out: Path, pair: str) -> Iterator[dict[str, Any]]:
    """Lists the turns that a pair has drawn again."""
    for number, line in enumerate(read_lines(out / f"negatives_{pair}.jsonl")):
        window = line["window"]
        for turn, drawn in zip(window, line["negative"] or window, strict=True):
            if turn != drawn:
                yield {"pair": pair, "window": number, "turn": turn, "drawn": drawn}


def keep_losses(out: Path) -> None:
    """Writes the held-out NLL of both models before and after the training."""
    rows = []
    for model, base in MODELS.items():
        row = {"nats per token": f"{model}, {base}"}
        for which in ("before", "after"):
            text = (out / f"nll_{model}_{which}").read_text("utf-8")
            row[which] = show_figure(float(text))
        rows.append(row)
    write_csv("tuned_nll", rows)


def write_csv(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes a table to the folder of the results."""
    with (HERE / f"{name}.csv").open("w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(named: str, root: str, target: str, *step: str) -> None:
    """Runs one step."""
    models = Path(named)
    out = Path(target)
    data = load_corpus(root)
    rated = {scored.name: scored for scored in data.rated}
    match step:
        case ["train", name]:
            train(models / MODELS[name], data, out / name)
        case ["nll", name, which]:
            folder = models / MODELS[name] if which == "before" else out / name
            nll = measure_nll(folder, data)
            (out / f"nll_{name}_{which}").write_text(str(nll), "utf-8")
        case ["read", name, of_set]:
            dialogues = get_turns(rated[of_set].examples)
            read(out / name, dialogues, out / f"{of_set}_{name}.jsonl")
        case ["draw", pair]:
            tuned = [out / name for name in MODELS]
            untuned = [models / base for base in MODELS.values()]
            amateur, expert = map(load, tuned if pair == "tuned" else untuned)
            both = Pair(amateur, expert, max_length=UNTRAINED.max_length)
            draw(both, data, out / f"negatives_{pair}.jsonl")
        case ["learn", pair, of_set]:
            learn(models / "mpnet", rated[of_set], out, pair)
        case ["keep", *sets]:
            for of_set in sets:
                keep_scores(rated[of_set], out)
            keep_negatives(out)
            keep_losses(out)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
