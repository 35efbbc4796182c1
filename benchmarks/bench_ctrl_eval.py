"""Speed and memory of CTRLEval beside the released algorithm, in turn in one process.

The comparator follows `lm_score` of the released program (thu-coai/CTRLEval, ctrleval.py): one pass of the whole model
per (source, target), in batches of 8 in file order, with the logits of every padded position. It reads the same tokens.
The models are random: a PEGASUS of 256 dimensions and 4+4 layers with all 96,103 tokens in the output layer, and one
layer of PEGASUS-large with a sixteenth of its vocabulary, so that each step has its share of the whole. The texts are
built-in reviews. Both ways must give equal scores. The column `products` is the ratio of their matrix products: what
the ratio of seconds would be if both ways multiplied equally fast and did nothing else.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from measuring import (
    count_products,
    describe_machine,
    measure,
    print_header,
    print_row,
    read_arguments,
    read_peak,
    reset_peak,
    show_range,
)
from shapes import build_random
from torch.nn import CrossEntropyLoss
from transformers import AutoTokenizer

from core.example import Example
from ctrl_eval.metric import ASPECTS, CTRLEval
from ctrl_eval.patterns import Pattern, coherence_patterns, consistency_patterns, relevance_pattern
from ctrl_eval.prompts import load_prompts
from data.sentences import split_english
from data.sets.attributes import builtin_reviews
from models.batching import pad_with_mask
from models.infilling import PEGASUS, Infiller
from models.seq2seq import Seq2SeqLM
from models.tiny import train_tokenizer

PROMPTS = load_prompts("sentiment")


@torch.inference_mode()
def score_in_batches(infiller: Infiller, patterns: Sequence[Pattern], closed: bool) -> list[float]:
    """Mean log-probability of each target, in batches of 8 in the order given."""
    infills = infiller.encode([(pattern.before, pattern.target, pattern.after) for pattern in patterns], closed)
    model, found = infiller.lm.model, list[float]()
    for start in range(0, len(infills), 8):
        batch = infills[start : start + 8]
        read, written = (
            pad_with_mask(rows, model.config.pad_token_id, model.device)
            for rows in ([each.source for each in batch], [each.target for each in batch])
        )
        targets = written["input_ids"]
        logits = model(**read, labels=targets).logits.view(-1, model.config.vocab_size)
        losses = CrossEntropyLoss(reduction="none", ignore_index=model.config.pad_token_id)(logits, targets.view(-1))
        found += (-losses.view(targets.shape).sum(1) / written["attention_mask"].sum(1)).tolist()
    return found


def score_as_released(infiller: Infiller, aspect: str, rows: Sequence[Example]) -> np.ndarray:
    """The scores of an aspect with equal weights for all evaluators of a text."""
    if aspect != "attribute_relevance":
        patterns = [
            coherence_patterns(split_english(row.full_text))
            if aspect == "coherence"
            else consistency_patterns(row.prefix or "", row.full_text)
            for row in rows
        ]
        each = [pattern for found in patterns for pattern in found]
        scores = score_in_batches(infiller, each, closed=aspect == "coherence")
        parts = np.split(np.array(scores), np.cumsum([len(found) for found in patterns])[:-1])
        return np.array([part.mean() for part in parts])
    words = [word for verbalizer in PROMPTS.verbalizers for word in verbalizer]
    gaps = [relevance_pattern(prompt, row.full_text) for row in rows for prompt in PROMPTS.prompts]
    scores = score_in_batches(infiller, [replace(gap, target=word) for gap in gaps for word in words], closed=False)
    p = np.exp(scores).reshape(len(rows), len(PROMPTS.prompts), len(PROMPTS.verbalizers), 2)
    label = np.array([PROMPTS.labels.index(row.label or "") for row in rows])
    asked = np.take_along_axis(p, label[:, None, None, None], axis=-1)[..., 0]
    return asked.sum((1, 2)) / p.sum((1, 2, 3))  # Eq. 1 with the weights of Eq. 15-16


def compare(lm: Seq2SeqLM, texts: Sequence[Example], runs: int, device: str) -> None:
    """A row of the table for each aspect; the two ways alternate."""
    infiller = Infiller(lambda: lm, lm.tokenizer, PEGASUS, 512)
    metric = CTRLEval(
        infiller,
        prompts=PROMPTS,
        token_budget=2048 if device == "cpu" else 16_384,
    )
    metric.score(texts[:2])  # warm up
    logging.disable()  # it warns of each run that no word frequencies are given
    for aspect in ASPECTS:
        some = texts[: max(1, len(texts) // 4)] if aspect == "attribute_relevance" else texts  # 24 prompts for each
        ways = {
            "released": partial(score_as_released, infiller, aspect, some),
            "here": lambda aspect=aspect, some=some: replace(metric, aspects=(aspect,)).score(some).values[aspect],
        }
        seconds, peaks = ({way: list[float]() for way in ways} for _ in range(2))
        found: dict[str, np.ndarray] = {}
        for _ in range(runs):
            for way, work in ways.items():
                reset_peak(device)
                done = measure(work, device)
                found[way] = done.found
                seconds[way].append(done.seconds)
                peaks[way].append(read_peak(device) / 2**20)
        products = count_products(ways["released"]) / count_products(ways["here"])
        ratios = [a / b for a, b in zip(seconds["released"], seconds["here"], strict=True)]
        difference = float(np.abs(found["here"] / found["released"] - 1).max())
        shown = [show_range(values) for values in (seconds["released"], seconds["here"], ratios)]
        print_row(
            aspect,
            len(some),
            *shown,
            f"{products:.2f}",
            *(f"{max(peaks[way]):.0f} MB" for way in ways),
            f"{difference:.0e}",
        )
        if difference > 1e-5:
            raise SystemExit("the two ways must give the same scores")


def main() -> None:
    chosen = read_arguments(
        __doc__,
        rows={"type": int, "default": 12, "help": "texts; attribute relevance reads a quarter of them"},
        models={"nargs": "+", "default": ["small PEGASUS", "PEGASUS-large, one layer of 16"]},
        tokenizer={"help": "a folder with the tokenizer of PEGASUS; default: one trained on the texts"},
        runs=3,
        device="cpu",
    )
    texts = builtin_reviews(train=1, held_out=1, rated=chosen.rows + -chosen.rows % 8).rated[0].examples[: chosen.rows]
    read = [row.full_text for row in texts] + [" ".join(PROMPTS.words)] * 20  # each label word is one token
    trained = train_tokenizer(read, 4000, additional=(PEGASUS.mask,), sentinels=())
    given = AutoTokenizer.from_pretrained(chosen.tokenizer) if chosen.tokenizer else trained
    for name in chosen.models:
        model = build_random(name).to(chosen.device)
        tokenizer = given if len(given) <= model.config.vocab_size else trained  # a slice has fewer tokens
        print(f"{name}, {len(tokenizer)} tokens, {describe_machine(chosen.device)}; median [range]")
        print_header(
            "aspect", "texts", "released, s", "here, s", "ratio", "products", "its peak", "peak here", "difference"
        )
        compare(Seq2SeqLM(model, tokenizer), texts, chosen.runs, chosen.device)


if __name__ == "__main__":
    main()
