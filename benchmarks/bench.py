"""Speed and memory beside the plain way of doing the same work: `python -m benchmarks.bench CASE`.

Models have random weights. Both ways of a case run in turn in one process and must give the same result. Cases:

- steps: seconds and peak memory of a scored and of a trained batch of these models, each in a new process.
- ctrl_eval: CTRLEval beside `lm_score` of the released program, batches of 8 in file order (thu-coai/CTRLEval).
  `products` is the ratio of matrix products.
- mars: augmentation of masked endings of built-in stories, all jobs in lockstep or one at a time.
- cdm: a small causal pair draws segments and scores dialogues, in batches or one at a time.
- pretrained: causal models by folder or name (`--models`, `--dtype auto`) score dialogues beside the plain forward of
  transformers, which reads each source with its target alone. Tokens are those that the plain way reads.
"""

import argparse
import itertools
import logging
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import CrossEntropyLoss
from torch.utils.flop_counter import FlopCounterMode

from cdm.discriminative import find_steps
from cdm.infilling import Gaps, Pair, Untrained, tokenise
from cdm.sampling import Sampling, sample_segments
from cdm.segments import Gap
from core.example import Example
from ctrl_eval.metric import CTRLEval
from ctrl_eval.patterns import Pattern, coherence_patterns, consistency_patterns, relevance_pattern
from ctrl_eval.prompts import load_prompts
from data.builtin.dialogues import generate_dialogues
from data.builtin.stories import generate_stories
from data.documents import count_documents
from data.sentences import split_english
from data.sets.builtin import builtin_corpus
from mars.augmentation import SelfPlanningAugmenter
from mars.masking import make_templates
from mars.references import Augmentation, Job
from models.batching import pad_with_mask
from models.causal import CausalLM
from models.families import PEGASUS
from models.infilling import Infiller
from models.seq2seq import Seq2SeqLM
from models.tiny import TinyCausal, train_tokenizer
from tests.random_models import PAPER, build_random

GB = 1e9
ROW_TOKENS = 128  # of a row of the case `steps`
SOURCE_TOKENS = 160  # tokens of a source of CDM
SEGMENT_TOKENS = 30  # tokens of a segment of CDM
MASKING_RATIOS = (0.2, 0.4, 0.6)  # of MARS
LOCKSTEP_JOBS = 64  # references in lockstep
SINGLE_JOBS = 6  # references one at a time
PROMPTS = load_prompts("sentiment")
AMATEUR = TinyCausal(  # as at the small scale
    1000,
    hidden_size=48,
    num_attention_heads=2,
    num_hidden_layers=1,
    intermediate_size=96,
    shape="gpt_neox",
)
EXPERT = TinyCausal(
    1000,
    hidden_size=96,
    num_attention_heads=4,
    num_hidden_layers=4,
    intermediate_size=288,
    shape="gpt_neox",
)
SourceTarget = tuple[Sequence[int], Sequence[int]]  # token ids that a model reads, and those that it scores
CTRL_EVAL_COLUMNS = ("aspect", "texts", "released, s", "here, s", "ratio", "products", "largest difference")
PRETRAINED_COLUMNS = (
    "model",
    "path",
    "tokens",
    "plain, tokens a second",
    "here, tokens a second",
    "ratio",
    "difference",
)


def timed(work: Callable[[], Any], device: str = "cpu") -> tuple[Any, float]:
    """Does some work, waits for the GPU, and returns the result and the wall-clock seconds."""
    wait = torch.cuda.synchronize if device != "cpu" else lambda: None
    wait()
    start = time.perf_counter()
    result = work()
    wait()
    return result, time.perf_counter() - start


def print_row(*cells: Any) -> None:
    shown = " | ".join(map(format_cell, cells))
    print(f"| {shown} |", flush=True)


def format_cell(cell: Any) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.0f}" if abs(cell) >= 100 else f"{cell:.3g}"


def print_header(*columns: str) -> None:
    print_row(*columns)
    print_row(*("---" for _ in columns))


def describe_machine() -> str:
    card = f"{torch.cuda.get_device_name()}, " if torch.cuda.is_available() else ""
    return f"{card}{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f} at the start"


def count_products(work: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def time_steps(name: str, chosen: argparse.Namespace) -> None:
    """Prints the time of a scored and of a trained batch, each with the peak memory up to then."""
    model = build_random(name, chosen.layers)
    model = model.to(chosen.device, getattr(torch, chosen.dtype)).train()
    ids = torch.randint(200, 9000, (chosen.rows, ROW_TOKENS), device=chosen.device)
    inputs = {"input_ids": ids}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)

    @torch.inference_mode()
    def score() -> None:
        model(**inputs)

    def train() -> None:
        logits = model(**inputs).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    cells: list[str] = []
    for work in (score, train):
        work()  # warm up
        start = time.process_time()
        _, seconds = timed(work, chosen.device)
        of_cpu = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if chosen.device != "cpu":
            peak = torch.cuda.max_memory_allocated()
        cells.append(f"{seconds:.2f} s ({of_cpu:.2f} s of CPU), {peak / GB:.1f} GB")
    millions = model.num_parameters() / 1e6
    print_row(name, f"{chosen.layers or 'all'} layers, {millions:.0f} M", *cells)


def steps(chosen: argparse.Namespace) -> None:
    print_header("model", "size", "score: time, peak memory", "train: time, peak memory")
    for name in chosen.models or PAPER:
        spawning = multiprocessing.get_context("spawn")
        process = spawning.Process(target=time_steps, args=(name, chosen))
        process.start()
        process.join()
        if process.exitcode:
            print_row(name, f"failed with exit code {process.exitcode}", "", "")


@torch.inference_mode()
def score_in_batches(
    infiller: Infiller,
    patterns: Sequence[Pattern],
    closed: bool,
) -> list[float]:
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


def score_as_released(
    infiller: Infiller,
    aspect: str,
    rows: Sequence[Example],
) -> np.ndarray:
    """Computes an aspect as the released program does, with equal weights for all patterns of a text."""
    if aspect == "attribute_relevance":
        return score_relevance_as_released(infiller, rows)
    is_coherence = aspect == "coherence"
    if is_coherence:
        patterns = [coherence_patterns(split_english(row.full_text)) for row in rows]
    else:
        patterns = [consistency_patterns(row.prefix or "", row.full_text) for row in rows]
    scores = score_in_batches(infiller, list(itertools.chain(*patterns)), closed=is_coherence)
    ends = np.cumsum([len(of_text) for of_text in patterns])
    parts = np.split(np.array(scores), ends[:-1])
    return np.array([part.mean() for part in parts])


def score_relevance_as_released(infiller: Infiller, rows: Sequence[Example]) -> np.ndarray:
    """Computes attribute relevance as the released program does, by Eq. 1 with the weights of Eq. 15-16."""
    words = [word for verbalizer in PROMPTS.verbalizers for word in verbalizer]
    gaps = [relevance_pattern(prompt, row.full_text) for row in rows for prompt in PROMPTS.prompts]
    patterns = [replace(gap, target=word) for gap in gaps for word in words]
    scores = score_in_batches(infiller, patterns, closed=False)
    shape = (len(rows), len(PROMPTS.prompts), len(PROMPTS.verbalizers), 2)
    p = np.exp(scores).reshape(shape)
    label = np.array([PROMPTS.labels.index(row.label or "") for row in rows])
    asked = np.take_along_axis(p, label[:, None, None, None], axis=-1)
    of_label = asked[..., 0].sum((1, 2))
    of_all = p.sum((1, 2, 3))
    return of_label / of_all


def ctrl_eval(chosen: argparse.Namespace) -> None:
    rows = chosen.rows + -chosen.rows % 8
    reviews = builtin_corpus("builtin_reviews", train=1, held_out=1, rated=rows).rated[0]
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
        metric.score(texts[:2])  # warm up
        logging.disable()  # it warns of each run that no word frequencies are given
        print(name)
        print_header(*CTRL_EVAL_COLUMNS)
        for aspect in metric.aspects:
            compare_ctrl_eval(metric, aspect, texts, chosen)


def compare_ctrl_eval(
    metric: CTRLEval,
    aspect: Any,
    texts: Sequence[Example],
    chosen: argparse.Namespace,
) -> None:
    """Prints how long this project's way and the released way take for an aspect; fails if their scores differ."""
    if aspect == "attribute_relevance":
        texts = texts[: max(1, len(texts) // 4)]  # 24 prompts for each
    of_aspect = replace(metric, aspects=(aspect,))
    released = partial(score_as_released, metric.infiller, aspect, texts)

    def here() -> np.ndarray:
        return of_aspect.score(texts).values[aspect]

    plain = ours = np.empty(0)
    plain_seconds = seconds = 0.0
    ratios: list[float] = []
    for _ in range(chosen.runs):
        plain, plain_seconds = timed(released, chosen.device)
        ours, seconds = timed(here, chosen.device)
        ratios.append(plain_seconds / seconds)
    difference = float(np.abs(ours / plain - 1).max())
    cells = [
        aspect,
        len(texts),
        plain_seconds,
        seconds,
        f"{statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]",
        count_products(released) / count_products(here),
        f"{difference:.0e}",
    ]
    print_row(*cells)
    assert difference <= 1e-5, "the two ways must give the same scores"


def mars(chosen: argparse.Namespace) -> None:
    stories = generate_stories(-(-LOCKSTEP_JOBS // len(MASKING_RATIOS)), seed=0)
    texts = [story.text for story in stories]
    jobs: list[Job] = []
    documents = count_documents(texts, str.split)
    for story in stories:
        context = story.context or ""
        ending = story.text.removeprefix(context).strip()
        templates = make_templates(ending, context, MASKING_RATIOS, documents)
        jobs += [Job(context, template) for template in templates]
    jobs = jobs[:LOCKSTEP_JOBS]
    (name,) = chosen.models or ("small GPT-2",)
    # the model has more tokens, which are never written
    tokenizer = train_tokenizer(
        texts,
        4000,
        max_length=1024,
        sentinels=(),
    )
    lm = CausalLM(build_random(name).to(chosen.device), tokenizer)
    together = SelfPlanningAugmenter(lm, Augmentation(), token_budget=10**9)
    alone = SelfPlanningAugmenter(lm, Augmentation(), token_budget=1)
    together.augment(jobs[:2])  # warm up
    ours, seconds = timed(lambda: together.augment(jobs), chosen.device)
    single, single_seconds = timed(lambda: alone.augment(jobs[:SINGLE_JOBS]), chosen.device)
    print_header("way", "references", "seconds each")
    print_row("lockstep", len(jobs), seconds / len(jobs))
    print_row("one at a time", len(single), single_seconds / len(single))
    texts_alone = [reference.text for reference in single]
    texts_together = [reference.text for reference in ours[:SINGLE_JOBS]]
    assert texts_alone == texts_together, "the texts must not depend on the batch"


def cdm(chosen: argparse.Namespace) -> None:
    dialogues = [example.turns for example in generate_dialogues(chosen.rows, seed=0)]
    uniforms = np.random.default_rng(0).random((len(dialogues), SEGMENT_TOKENS))
    gaps = Gaps(SOURCE_TOKENS, order="fill-in-the-middle")
    amateur = gaps.build(AMATEUR, dialogues, seed=0)
    expert = gaps.build(EXPERT, dialogues, seed=0)
    pair = Pair(amateur, expert, SOURCE_TOKENS)
    tasks = pair.tokenise(dialogues).tasks(seed=0)
    sources = [list(task.source) for task in tasks]

    def draw(token_budget: int) -> list[list[int]]:
        return sample_segments(pair, sources, Sampling(gamma=1.0), uniforms, token_budget=token_budget)

    def score(token_budget: int) -> list[list[float]]:
        steps = find_steps(pair, pair.tokenise(dialogues), token_budget)
        return [dialogue.momentum.tolist() for dialogue in steps]

    print_header("work", "one at a time, s", "in batches, s", "ratio", "tokens a second in batches")
    for work in (draw, score):
        here, seconds = timed(partial(work, 16_384))
        _, alone = timed(partial(work, 1))
        tokens = sum(map(len, here))
        print_row(work.__name__, alone, seconds, alone / seconds, tokens / seconds)


@torch.inference_mode()
def score_plainly(lm: CausalLM, pairs: Sequence[SourceTarget]) -> list[np.ndarray]:
    """Computes log P (nats) of each target by the plain forward pass of transformers, one pair at a time."""
    rows: list[np.ndarray] = []
    for source, target in pairs:
        ids = torch.tensor([[*source, *target]], device=lm.device)
        output = lm.model(input_ids=ids[:, :-1], use_cache=False)
        logits = output.logits[0, len(source) - 1 :].float()
        written = ids[0, len(source) :, None]
        scores = logits.log_softmax(-1).gather(-1, written)
        rows.append(scores.squeeze(-1).cpu().numpy())
    return rows


def largest_difference(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> float:
    """Returns the largest absolute difference between two lists of log-probabilities, in nats."""
    largest = 0.0
    for a, b in zip(some, others, strict=True):
        largest = max(largest, float(np.abs(a - b).max()))
    return largest


def pretrained(chosen: argparse.Namespace) -> None:
    dialogues = [example.turns for example in generate_dialogues(chosen.rows, seed=0)]
    print_header(*PRETRAINED_COLUMNS)
    for name in chosen.models:
        lm = CausalLM.from_pretrained(name, chosen.device, chosen.dtype)
        for path in ("whole texts", "left-to-right", "fill-in-the-middle"):
            pairs = list_wholes(lm, dialogues) if path == "whole texts" else list_gaps(lm, dialogues, path)
            tokens = sum(len(source) + len(target) - 1 for source, target in pairs)
            plain, seconds = timed(partial(score_plainly, lm, pairs), chosen.device)
            here, ours = timed(partial(lm.log_probabilities, pairs, token_budget=2048), chosen.device)
            cells = [
                name,
                path,
                tokens,
                tokens / seconds,
                tokens / ours,
                seconds / ours,
                largest_difference(plain, here),
            ]
            print_row(*cells)


def list_wholes(lm: CausalLM, dialogues: Sequence[Sequence[str]]) -> list[SourceTarget]:
    """Lists each dialogue as one target after the start token."""
    texts = [" ".join(turns) for turns in dialogues]
    return [([lm.start], lm.tokenizer(text)["input_ids"]) for text in texts]


def list_gaps(
    lm: CausalLM,
    dialogues: Sequence[Sequence[str]],
    order: Any,
) -> list[SourceTarget]:
    """Lists each turn of each dialogue as a target; the source is what this `order` reads of the other turns."""
    Untrained(order=order).apply(lm)
    tokenised = tokenise(lm, dialogues, SOURCE_TOKENS)
    pairs: list[SourceTarget] = []
    for turns in tokenised.dialogues:
        for number, turn in enumerate(turns):
            task = tokenised.task(turns, Gap(number, 0, len(turn)))
            target = tokenised.infilling.target(task.segment)
            pairs.append((task.source, target))
    return pairs


CASES = {case.__name__: case for case in (steps, ctrl_eval, mars, cdm, pretrained)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument(
        "--models",
        nargs="*",
        help="names of tests/random_models.py, or folders; default: all of the case",
    )
    parser.add_argument("--layers", type=int, help="of every model of `steps`; default: all")
    parser.add_argument(
        "--rows",
        type=int,
        default=8,
        help="rows of a batch, texts, or dialogues",
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=3,
        help="of each way; the median is shown",
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    chosen = parser.parse_args()
    print(f"{chosen.case}, {describe_machine()}")
    CASES[chosen.case](chosen)


if __name__ == "__main__":
    main()
