"""Speed of CTRLEval, compared with one pass per (source, target) in batches of 8 in file order.

The model is a random PEGASUS of 256 dimensions and 4+4 layers (`--size large`: 1024 and 16+16) with the real
vocabulary; the texts are rows of the released sentiment set. Both ways must give equal scores. Texts and vocabulary are
read from $SHARED_DATA and the folder `tokenizers` next to it.
"""

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import matrix_speed
from transformers import AutoTokenizer, PegasusConfig, PegasusForConditionalGeneration

from core.example import Example
from ctrl_eval.metric import ASPECTS, CTRLEval
from ctrl_eval.patterns import Pattern, coherence_patterns, consistency_patterns, relevance_pattern
from ctrl_eval.prompts import load_prompts
from data.sentences import make_splitter
from models.infilling import PEGASUS, Infiller
from models.seq2seq import Seq2SeqLM

SHARED = Path(os.environ.get("SHARED_DATA", Path(__file__).parents[1].parent / "shared/data"))
SPLIT = r"(?<=[.!?])\s+"
Pair = tuple[str, str]  # source and target
SIZES = {"small": (256, 4, 4), "large": (1024, 16, 16)}  # dimensions, layers on each side, heads


def examples(rows: int) -> list[Example]:
    """Rows of the sentiment set, evenly spread over the file."""
    lines = [line.split("\t") for line in (SHARED / "ctrleval/data_senti.txt").read_text("utf-8").splitlines()]
    chosen = lines[:: max(1, len(lines) // rows)][:rows]
    return [
        Example(str(i), text=text, prefix=prefix, label=label) for i, (label, prefix, text, *_) in enumerate(chosen)
    ]


def random_pegasus(size: str, device: str) -> Seq2SeqLM:
    """A random PEGASUS with the real vocabulary of 96103 tokens."""
    width, layers, heads = SIZES[size]
    tokenizer = AutoTokenizer.from_pretrained(str(SHARED.parent / "tokenizers/pegasus"))
    config = PegasusConfig(
        vocab_size=96103,
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        max_position_embeddings=512,
    )
    torch.manual_seed(0)
    model: Any = PegasusForConditionalGeneration(config)
    return Seq2SeqLM(model.to(device).eval(), tokenizer)


@torch.inference_mode()
def plain_pass(lm: Seq2SeqLM, pairs: Sequence[Pair], closed: bool) -> list[float]:
    """Mean log-probability of each target, in batches of 8 in the order given."""
    found: list[float] = []
    for start in range(0, len(pairs), 8):
        sources, texts = zip(*pairs[start : start + 8], strict=True)
        read = lm.tokenizer(list(sources), padding="longest", return_tensors="pt").to(lm.device)
        written = lm.tokenizer(list(texts), padding="longest", add_special_tokens=closed, return_tensors="pt").to(
            lm.device
        )
        targets = written["input_ids"]
        output = lm.model(input_ids=read["input_ids"], attention_mask=read["attention_mask"], labels=targets)
        losses = torch.nn.functional.cross_entropy(
            output.logits.flatten(0, 1), targets.flatten(), reduction="none", ignore_index=lm.model.config.pad_token_id
        )
        lengths = written["attention_mask"].sum(1)
        found += (-losses.view(targets.shape).sum(1) / lengths).tolist()
    return found


def pair_of(pattern: Pattern) -> Pair:
    """Source and target, without blanks beside the mask, so that its sides are read apart."""
    return f"{pattern.before.rstrip()}{PEGASUS.mask}{pattern.after.lstrip()}", pattern.target


def plain(lm: Seq2SeqLM, aspect: str, rows: Sequence[Example]) -> np.ndarray:
    """The scores of an aspect with equal weights for all evaluators of a text."""
    prompts = load_prompts("sentiment")
    pairs: list[Pair] = []
    for row in rows:
        if aspect == "coherence":
            pairs += [pair_of(p) for p in coherence_patterns(make_splitter(SPLIT)(row.full_text))]
        elif aspect == "consistency":
            pairs += [pair_of(p) for p in consistency_patterns(row.prefix or "", row.full_text)]
        else:
            for prompt in prompts.prompts:
                pattern = relevance_pattern(prompt, row.full_text)
                words = [word for verbalizer in prompts.verbalizers for word in verbalizer]
                pairs += [pair_of(Pattern(pattern.before, word, pattern.after)) for word in words]
    scores = plain_pass(lm, pairs, closed=aspect == "coherence")
    if aspect != "attribute_relevance":
        counts = [len(make_splitter(SPLIT)(row.full_text)) if aspect == "coherence" else 2 for row in rows]
        parts = np.split(np.array(scores), np.cumsum(counts)[:-1])
        return np.array([part.mean() for part in parts])
    p = np.exp(scores).reshape(len(rows), len(prompts.prompts), len(prompts.verbalizers), 2)
    label = np.array([prompts.labels.index(row.label or "") for row in rows])
    asked = np.take_along_axis(p, label[:, None, None, None], axis=-1)[..., 0]
    return asked.sum((1, 2)) / p.sum((1, 2, 3))  # Eq. 1 with the weights of Eq. 15-16


@torch.inference_mode()
def encoder_speed(lm: Seq2SeqLM, length: int = 96, tokens: int = 2048, batches: int = 8) -> float:
    """GFLOP/s of the encoder's products in batches of equal texts, which are as large as the metric's batches."""
    ids = torch.randint(200, 9000, (tokens // length, length))
    encoder = lm.model.get_encoder()
    encoder(input_ids=ids)
    start = time.perf_counter()
    for _ in range(batches):
        encoder(input_ids=ids)
    seconds = time.perf_counter() - start
    config = lm.model.config
    per_token = 2 * (4 * config.d_model**2 + 2 * config.d_model * config.encoder_ffn_dim) + 4 * length * config.d_model
    return batches * ids.numel() * config.encoder_layers * per_token / seconds / 1e9


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=12, help="texts; the plain way takes long")
    arguments.add_argument("--size", choices=SIZES, default="small")
    arguments.add_argument("--device", default="cpu")
    chosen = arguments.parse_args()
    rows = examples(chosen.rows)
    lm = random_pegasus(chosen.size, chosen.device)
    metric = CTRLEval(
        Infiller(lambda: lm, lm.tokenizer, PEGASUS, 512),
        prompts=load_prompts("sentiment"),
        split=make_splitter(SPLIT),
        token_budget=2048 if chosen.device == "cpu" else 16_384,
    )
    metric.score(rows[:2])  # warm up
    print(f"{len(rows)} texts, {torch.get_num_threads()} threads")
    print(f"{'aspect':22}{'plain':>10}{'here':>10}{'ratio':>8}{'largest difference':>22}")
    for aspect in ASPECTS:
        single = replace(metric, aspects=(aspect,))
        start = time.perf_counter()
        ours = single.score(rows).values[aspect]
        here = time.perf_counter() - start
        start = time.perf_counter()
        theirs = plain(lm, aspect, rows)
        there = time.perf_counter() - start
        difference = float(np.abs(ours - theirs).max())
        rate = f"{len(rows) / here:.1f} texts/s"
        print(f"{aspect:22}{there:9.2f}s{here:9.2f}s{there / here:8.1f}{difference:22.1e}   {rate}")
        if difference > 1e-4:
            raise SystemExit("the two ways must give the same scores")
    if chosen.device != "cpu":
        return
    whole, encoder = matrix_speed() / 1e9, encoder_speed(lm)
    print(f"encoder {encoder:.0f} GFLOP/s of {whole:.0f} GFLOP/s in large matrix products ({encoder / whole:.0%})")


if __name__ == "__main__":
    main()
