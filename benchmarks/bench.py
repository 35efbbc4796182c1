"""Speed beside the plain way of doing the same work: `python -m benchmarks.bench CASE`.

Both ways of a case run in turn in one process and must give the same result; the median of their ratios is printed.
Models have random weights. Cases:

- ctrl_eval: CTRLEval beside `lm_score` of the released program, batches of 8 in file order (thu-coai/CTRLEval).
- mars: augmentation of masked endings of built-in stories, all together beside one at a time.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from torch.nn import CrossEntropyLoss

from core.example import Example
from ctrl_eval.aspects import ASPECTS
from ctrl_eval.ensemble import aggregate
from ctrl_eval.metric import CTRLEval
from ctrl_eval.patterns import Pattern
from ctrl_eval.prompts import load_prompts
from data.builtin.stories import generate_stories
from data.documents import count_documents
from data.sets.builtin import builtin_corpus
from mars.augmentation import SelfPlanningAugmenter
from mars.masking import make_templates
from mars.references import Augmentation, Job
from models.batching import pad_with_mask
from models.causal import CausalLM
from models.families import PEGASUS
from models.infilling import Infiller
from models.seq2seq import Seq2SeqLM
from models.tiny import train_tokenizer
from tests.random_models import build_random

MASKING_RATIOS = (0.2, 0.4, 0.6)  # of MARS
PROMPTS = load_prompts("sentiment")


def timed(work: Callable[[], Any], device: str) -> tuple[Any, float]:
    """Does some work, waits for the GPU, and returns the result and the processor seconds (of a GPU, seconds)."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    start = clock()
    result = work()
    if device != "cpu":
        torch.cuda.synchronize()
    return result, clock() - start


def print_row(*cells: Any) -> None:
    shown = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells]
    print(f"| {' | '.join(shown)} |", flush=True)


def print_header(*columns: str) -> None:
    print_row(*columns)
    print_row(*("---" for _ in columns))


def describe_machine() -> str:
    card = f"{torch.cuda.get_device_name()}, " if torch.cuda.is_available() else ""
    return f"{card}{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f} at the start"


def compare(
    what: str,
    number: int,
    plain: Callable[[], Any],
    here: Callable[[], Any],
    chosen: argparse.Namespace,
) -> tuple[Any, Any]:
    """Prints the seconds of both ways for `number` pieces of work, and returns their results."""
    found = here()  # warm up
    expected = None
    seconds = np.empty((chosen.runs, 2))
    for of_run in seconds:
        expected, of_run[0] = timed(plain, chosen.device)
        found, of_run[1] = timed(here, chosen.device)
    ratios = seconds[:, 0] / seconds[:, 1]
    median = f"{np.median(ratios):.2f} [{ratios.min():.2f}, {ratios.max():.2f}]"
    print_row(what, number, *(np.median(seconds, axis=0) / number).tolist(), median)
    return expected, found


@torch.inference_mode()
def score_in_batches(infiller: Infiller, patterns: Sequence[Pattern], closed: bool) -> list[float]:
    """Computes the mean log-probability of each target, in batches of 8 in the given order, as the released program."""
    parts = [(pattern.before, pattern.target, pattern.after) for pattern in patterns]
    infills = infiller.encode(parts, closed)
    model = infiller.lm.model
    pad = model.config.pad_token_id
    scores: list[float] = []
    for start in range(0, len(infills), 8):
        batch = infills[start : start + 8]
        read = pad_with_mask([infill.source for infill in batch], pad, model.device)
        written = pad_with_mask([infill.target for infill in batch], pad, model.device)
        targets = written["input_ids"]
        logits = model(**read, labels=targets).logits
        cross_entropy = CrossEntropyLoss(reduction="none", ignore_index=pad)
        losses = cross_entropy(logits.view(-1, model.config.vocab_size), targets.view(-1))
        sums = -losses.view(targets.shape).sum(1)
        lengths = written["attention_mask"].sum(1)
        scores += (sums / lengths).tolist()
    return scores


def score_as_released(metric: CTRLEval, aspect: str, rows: Sequence[Example]) -> np.ndarray:
    """Computes an aspect with the batches of the released program."""
    asking = ASPECTS[aspect]
    of_texts = [asking.patterns(row, metric.material) for row in rows]
    scores = iter(score_in_batches(metric.infiller, list(chain(*of_texts)), asking.is_closed))
    values: list[float] = []
    for row, patterns in zip(rows, of_texts, strict=True):
        log_p = np.array(list(islice(scores, len(patterns))))
        found = asking.evaluate(
            row,
            patterns,
            log_p,
            metric.material,
        )
        values.append(aggregate(found.scores, found.weights, metric.weights))
    return np.array(values)


def ctrl_eval(chosen: argparse.Namespace) -> None:
    rows = chosen.rows + -chosen.rows % 8
    (reviews,) = builtin_corpus(
        "builtin_reviews",
        train=1,
        held_out=1,
        rated=rows,
    ).rated
    texts = reviews.examples[: chosen.rows]
    # each label word is one token
    read = [row.full_text for row in texts] + [" ".join(PROMPTS.words)] * 20
    tokenizer = train_tokenizer(
        read,
        4000,
        additional=(PEGASUS.mask,),
        sentinels=(),
    )
    for name in chosen.models or ("small PEGASUS", "PEGASUS-large, one layer of 16"):
        lm = Seq2SeqLM(build_random(name).to(chosen.device), tokenizer)
        infiller = Infiller(lambda lm=lm: lm, tokenizer, PEGASUS, 512)
        metric = CTRLEval(infiller, prompts=PROMPTS, token_budget=2048 if chosen.device == "cpu" else 16_384)
        for aspect in metric.aspects:
            of_aspect = replace(metric, aspects=(aspect,))
            # a text has 24 prompts of relevance
            some = texts[: max(1, len(texts) // 4)] if aspect == "attribute_relevance" else texts
            plain = partial(score_as_released, metric, aspect, some)
            here = partial(of_aspect.score_all, some)
            released, scores = compare(
                f"{name}, {aspect}",
                len(some),
                plain,
                here,
                chosen,
            )
            np.testing.assert_allclose(scores.values[aspect], released, rtol=1e-5)


def list_jobs(number: int) -> list[Job]:
    """Lists masked endings of stories."""
    stories = generate_stories(-(-number // len(MASKING_RATIOS)), seed=0)
    documents = count_documents([story.text for story in stories], str.split)
    jobs: list[Job] = []
    for story in stories:
        context = story.context or ""
        ending = story.text.removeprefix(context).strip()
        templates = make_templates(
            ending,
            context,
            MASKING_RATIOS,
            documents,
        )
        jobs += [Job(context, template) for template in templates]
    return jobs[:number]


def mars(chosen: argparse.Namespace) -> None:
    jobs = list_jobs(chosen.rows)
    # the model has more tokens, which are never written
    tokenizer = train_tokenizer(
        [job.context for job in jobs],
        4000,
        max_length=1024,
        sentinels=(),
    )
    for name in chosen.models or ("small GPT-2",):
        lm = CausalLM(build_random(name).to(chosen.device), tokenizer)
        together = SelfPlanningAugmenter(lm, Augmentation(), token_budget=10**9)
        alone = SelfPlanningAugmenter(lm, Augmentation(), token_budget=1)
        ways = (partial(way.augment, jobs) for way in (alone, together))
        texts = [[filled.text for filled in way] for way in compare(name, len(jobs), *ways, chosen=chosen)]
        assert texts[0] == texts[1], "the texts must not depend on the batch"


CASES = {case.__name__: case for case in (ctrl_eval, mars)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--models", nargs="*", help="names of tests/random_models.py")
    parser.add_argument(
        "--rows",
        type=int,
        default=8,
        help="texts or references",
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=3,
        help="of each way",
    )
    parser.add_argument("--device", default="cpu")
    chosen = parser.parse_args()
    print(f"{chosen.case}, {describe_machine()}")
    print_header("work", "pieces", "plain way, s each", "here, s each", "times as fast")
    CASES[chosen.case](chosen)


if __name__ == "__main__":
    main()
