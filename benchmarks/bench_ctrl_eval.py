"""Speed of CTRLEval, compared with one pass per (source, target) in batches of 8 in file order.

The model is a random PEGASUS of 256 dimensions and 4+4 layers, or PEGASUS-large, with all 96,103 tokens in the output
layer. The texts are built-in reviews. Both ways must give equal scores.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from measuring import describe_machine, measure, print_comparison, print_header, read_arguments
from shapes import build_random

from core.example import Example
from ctrl_eval.metric import ASPECTS, CTRLEval
from ctrl_eval.patterns import Pattern, coherence_patterns, consistency_patterns, relevance_pattern
from ctrl_eval.prompts import load_prompts
from data.sentences import split_english
from data.sets.attributes import builtin_reviews
from models.infilling import PEGASUS, Infiller
from models.seq2seq import Seq2SeqLM
from models.tiny import train_tokenizer

PROMPTS = load_prompts("sentiment")


@torch.inference_mode()
def score_in_order(lm: Seq2SeqLM, patterns: Sequence[Pattern], closing: str) -> list[float]:
    """Mean log-probability of each target, in batches of 8 in the order given."""
    found: list[float] = []
    for start in range(0, len(patterns), 8):
        batch = patterns[start : start + 8]
        sources = [f"{p.before.rstrip()}{PEGASUS.mask}{p.after.lstrip()}" for p in batch]  # its sides are read apart
        read, written = (
            lm.tokenizer(texts, padding="longest", add_special_tokens=False, return_tensors="pt").to(lm.device)
            for texts in (sources, [pattern.target + closing for pattern in batch])
        )
        targets = written["input_ids"]
        output = lm.model(input_ids=read["input_ids"], attention_mask=read["attention_mask"], labels=targets)
        losses = torch.nn.functional.cross_entropy(
            output.logits.flatten(0, 1), targets.flatten(), reduction="none", ignore_index=lm.model.config.pad_token_id
        )
        found += (-losses.view(targets.shape).sum(1) / written["attention_mask"].sum(1)).tolist()
    return found


def score_plainly(lm: Seq2SeqLM, aspect: str, rows: Sequence[Example]) -> np.ndarray:
    """The scores of an aspect with equal weights for all evaluators of a text."""
    if aspect != "attribute_relevance":
        patterns = [
            coherence_patterns(split_english(row.full_text))
            if aspect == "coherence"
            else consistency_patterns(row.prefix or "", row.full_text)
            for row in rows
        ]
        closing = PEGASUS.closing if aspect == "coherence" else ""
        scores = score_in_order(lm, [pattern for found in patterns for pattern in found], closing)
        parts = np.split(np.array(scores), np.cumsum([len(found) for found in patterns])[:-1])
        return np.array([part.mean() for part in parts])
    words = [word for verbalizer in PROMPTS.verbalizers for word in verbalizer]
    gaps = [relevance_pattern(prompt, row.full_text) for row in rows for prompt in PROMPTS.prompts]
    scores = score_in_order(lm, [replace(gap, target=word) for gap in gaps for word in words], "")
    p = np.exp(scores).reshape(len(rows), len(PROMPTS.prompts), len(PROMPTS.verbalizers), 2)
    label = np.array([PROMPTS.labels.index(row.label or "") for row in rows])
    asked = np.take_along_axis(p, label[:, None, None, None], axis=-1)[..., 0]
    return asked.sum((1, 2)) / p.sum((1, 2, 3))  # Eq. 1 with the weights of Eq. 15-16


def main() -> None:
    rows = {"type": int, "default": 12, "help": "texts; the plain way takes long"}
    chosen = read_arguments(__doc__, rows=rows, model="small PEGASUS", device="cpu")
    texts = builtin_reviews(train=1, held_out=1, rated=chosen.rows + -chosen.rows % 8).rated[0].examples[: chosen.rows]
    tokenizer = train_tokenizer([row.full_text for row in texts], 4000, additional=(PEGASUS.mask,), sentinels=())
    lm = Seq2SeqLM(build_random(chosen.model).to(chosen.device), tokenizer)
    metric = CTRLEval(
        Infiller(lambda: lm, tokenizer, PEGASUS, 512),
        prompts=PROMPTS,
        token_budget=2048 if chosen.device == "cpu" else 16_384,
    )
    metric.score(texts[:2])  # warm up
    print(f"{chosen.model}, {len(texts)} texts, {describe_machine(chosen.device)}; seconds")
    print_header("aspect", "plain", "here", "ratio", "largest difference", "texts a second")
    for aspect in ASPECTS:
        single = replace(metric, aspects=(aspect,))
        here = measure(lambda single=single: single.score(texts), chosen.device)
        plain = measure(lambda aspect=aspect: score_plainly(lm, aspect, texts), chosen.device)
        difference = float(np.abs(here.found.values[aspect] - plain.found).max())
        print_comparison(aspect, plain, here, difference, len(texts) / here.seconds)
        if difference > 1e-4:
            raise SystemExit("the two ways must give the same scores")


if __name__ == "__main__":
    main()
