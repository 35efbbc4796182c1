"""A local chat model as judge of public sets: python docs/results/judges.py collect|show FOLDER

`collect FOLDER --model MODEL --name NAME --seconds 800` asks MODEL about pairs of PandaLM and texts of SummEval in an
order drawn by seed 0, and keeps each answer in NAME.jsonl here; the same command goes on where it stopped. `show
FOLDER` prints the agreement of all kept answers with people. FOLDER holds the public sets, as in docs/pretrained.md.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from baselines.llm_judge import LLMJudge
from core.example import Example
from data.sets.public import RATED
from meta_eval.scored_set import ScoredSet

HERE = Path(__file__).parent
RUBRIC = HERE / "answers_rubric.txt"
SEED = 0
PAIRS = 200
TEXTS = 100
AT_ONCE = 8  # pairs, and then texts
DIGITS = 6


def draw_pairs(root: Path) -> list[dict[str, Any]]:
    """The pairs of PandaLM in the order in which they are asked about."""
    lines = (root / "pandalm" / "pairs.jsonl").read_text("utf-8").splitlines()
    order = np.random.default_rng(SEED).permutation(len(lines))
    return [json.loads(lines[place]) for place in order[:PAIRS]]


def draw_texts(root: Path) -> ScoredSet:
    """The texts of SummEval in the order in which they are rated."""
    rated = RATED["summeval"](root, False)
    order = np.random.default_rng(SEED).permutation(len(rated))
    return rated.take(order[:TEXTS])


def read_kept(name: str) -> dict[str, dict[str, Any]]:
    """The kept answers of a model, by the id of the pair or text."""
    path = HERE / f"{name}.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return {line["id"]: line for line in map(json.loads, lines)}


def to_examples(pair: Mapping[str, Any]) -> tuple[Example, Example]:
    """Both answers of a pair to their instruction."""
    instruction = f"{pair['instruction']}\n\n{pair['input']}".strip()
    first, second = (
        Example(f"{pair['id']}-{side}", text=str(pair[f"text_{side}"]), context=instruction) for side in "ab"
    )
    return first, second


def compare_pairs(judge: LLMJudge, pairs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A line for each pair: whether the answer that is shown first is better, for both orders."""
    verdicts = judge.compare([to_examples(pair) for pair in pairs])
    for place, pair in enumerate(pairs):
        answers = [answer.answer for answer in verdicts.answers if answer.pair == place]
        yield {"id": f"pandalm-{pair['id']}", "first": to_numbers(verdicts.first[place]), "answers": answers}


def rate_texts(judge: LLMJudge, texts: Iterable[Example]) -> Iterator[dict[str, Any]]:
    """A line for each text with its coherence."""
    examples = list(texts)
    scores = judge.score(examples)
    for place, example in enumerate(examples):
        answer = scores.explanations[place]["coherence"].get("answer")
        (score,) = to_numbers(scores.values["coherence"][place : place + 1])
        yield {"id": f"summeval-{example.id}", "coherence": score, "answers": [answer]}


def to_numbers(values: Iterable[float]) -> list[float | None]:
    """Rounded numbers for JSON; None where there is no verdict."""
    return [None if np.isnan(value) else round(float(value), DIGITS) for value in values]


def collect(chosen: argparse.Namespace) -> None:
    """Asks the model until the seconds are over; each line has the processor seconds that its batch took for a text."""
    ends = time.monotonic() + chosen.seconds
    settings = {"device": chosen.device, "dtype": chosen.dtype}
    of_texts = LLMJudge.from_settings(chosen.model, aspects=["coherence"], **settings)
    of_pairs = LLMJudge(of_texts.chat, ("answer",), str(RUBRIC))
    kept = read_kept(chosen.name)
    pairs = [pair for pair in draw_pairs(chosen.folder) if f"pandalm-{pair['id']}" not in kept]
    texts = [text for text in draw_texts(chosen.folder).examples if f"summeval-{text.id}" not in kept]
    while (pairs or texts) and time.monotonic() < ends:
        for work in (
            lambda: list(compare_pairs(of_pairs, pairs[:AT_ONCE])),
            lambda: list(rate_texts(of_texts, texts[:AT_ONCE])),
        ):
            started = time.process_time()
            lines = work()
            seconds = round((time.process_time() - started) / max(1, len(lines)), 3)
            with (HERE / f"{chosen.name}.jsonl").open("a", encoding="utf-8") as file:
                for line in lines:
                    file.write(json.dumps({**line, "seconds": seconds}, ensure_ascii=False) + "\n")
        del pairs[:AT_ONCE], texts[:AT_ONCE]
    sys.exit(0 if not (pairs or texts) else 75)  # 75: run again


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=["collect"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--name")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--seconds", type=float, default=800.0)
    chosen = parser.parse_args()
    collect(chosen)


if __name__ == "__main__":
    main()
