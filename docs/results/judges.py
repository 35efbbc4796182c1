"""A local chat model as judge of public sets: python docs/results/judges.py collect|show FOLDER

`collect FOLDER --model MODEL --name NAME --seconds 800` asks MODEL about pairs of PandaLM and texts of SummEval in an
order drawn by seed 0, and keeps each answer in judge_NAME.jsonl here; the same command goes on where it stopped, and
exit code 75 says that something is left. `show FOLDER` prints the agreement of kept answers with people. FOLDER holds
the public sets, as in docs/pretrained.md.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import judge
from baselines.llm_judge import LLMJudge
from core.example import Example
from core.scores import Scores
from data.sets.public import RATED
from judge.report.outcome import print_outcome
from judge.terminal import console
from meta_eval.preferences import settle_orders
from meta_eval.scored_set import ScoredSet

HERE = Path(__file__).parent
RUBRIC = HERE / "answers_rubric.txt"
SEED = 0
PAIRS = 200
TEXTS = 100
AT_ONCE = 8  # pairs, and then texts
AGAIN = 75  # exit code: something is left
ASPECT = "coherence"  # of SummEval
Lines = dict[str, dict[str, Any]]  # kept answers by the id of a pair or text
DIGITS = 6


def draw_pairs(root: Path) -> list[dict[str, Any]]:
    """Lists the pairs of PandaLM in the order in which the judge is asked about them."""
    lines = (root / "pandalm" / "pairs.jsonl").read_text("utf-8").splitlines()
    order = np.random.default_rng(SEED).permutation(len(lines))
    return [json.loads(lines[place]) for place in order[:PAIRS]]


def draw_texts(root: Path) -> ScoredSet:
    """Returns the texts of SummEval in the order in which the judge rates them."""
    rated = RATED["summeval"](root, False)
    order = np.random.default_rng(SEED).permutation(len(rated))
    return rated.take(order[:TEXTS])


def read_kept(path: Path) -> Lines:
    """Reads the kept answers of a model, by the id of the pair or text."""
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return {line["id"]: line for line in map(json.loads, lines)}


def to_examples(pair: Mapping[str, Any]) -> tuple[Example, Example]:
    """Returns both answers of a pair as examples."""
    return to_example(pair, "a"), to_example(pair, "b")


def to_example(pair: Mapping[str, Any], side: str) -> Example:
    """Returns the answer of one side of a pair (`side`) as an example."""
    text = str(pair[f"text_{side}"])
    return Example(f"{pair['id']}-{side}", text=text, context=join_instruction(pair))


def join_instruction(pair: Mapping[str, Any]) -> str:
    """Returns the instruction, with its input, that both answers of a pair answer."""
    return f"{pair['instruction']}\n\n{pair['input']}".strip()


def compare_pairs(judge: LLMJudge, pairs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields a line for each pair: whether the answer that is shown first is better, for both orders."""
    verdicts = judge.compare([to_examples(pair) for pair in pairs])
    for place, pair in enumerate(pairs):
        yield {
            "id": f"pandalm-{pair['id']}",
            "first": to_numbers(verdicts.first[place]),
            "answers": [answer.answer for answer in verdicts.answers if answer.pair == place],
        }


def rate_texts(judge: LLMJudge, texts: Iterable[Example]) -> Iterator[dict[str, Any]]:
    """Yields a line for each text, with its rating of coherence."""
    examples = list(texts)
    scores = judge.score(examples)
    for place, example in enumerate(examples):
        answer = scores.explanations[place][ASPECT].get("answer")
        (score,) = to_numbers(scores.values[ASPECT][place : place + 1])
        yield {"id": f"summeval-{example.id}", ASPECT: score, "answers": [answer]}


def to_numbers(values: Iterable[float]) -> list[float | None]:
    """Rounds numbers for JSON; None for a missing verdict."""
    return [None if np.isnan(value) else round(float(value), DIGITS) for value in values]


def collect(chosen: argparse.Namespace) -> int:
    """Asks the model until the seconds are over; each line has the processor seconds that its batch took for a text."""
    ends = time.monotonic() + chosen.seconds
    of_texts = LLMJudge.from_settings(
        chosen.model,
        aspects=[ASPECT],
        device=chosen.device,
        dtype=chosen.dtype,
    )
    of_pairs = LLMJudge(of_texts.chat, ("answer",), str(RUBRIC))
    path = chosen.kept / f"judge_{chosen.name}.jsonl"
    kept = read_kept(path)
    all_pairs = draw_pairs(chosen.folder)
    all_texts = draw_texts(chosen.folder).examples
    pairs = [pair for pair in all_pairs if f"pandalm-{pair['id']}" not in kept]
    texts = [text for text in all_texts if f"summeval-{text.id}" not in kept]
    while (pairs or texts) and time.monotonic() < ends:
        keep(compare_pairs(of_pairs, pairs[:AT_ONCE]), path)
        keep(rate_texts(of_texts, texts[:AT_ONCE]), path)
        del pairs[:AT_ONCE]
        del texts[:AT_ONCE]
    return AGAIN if pairs or texts else 0


def keep(answers: Iterator[dict[str, Any]], path: Path) -> None:
    """Appends answers to a file."""
    started = time.process_time()
    lines = list(answers)
    seconds = round((time.process_time() - started) / max(1, len(lines)), 3)
    with path.open("a", encoding="utf-8") as file:
        for line in lines:
            timed = {**line, "seconds": seconds}
            file.write(json.dumps(timed, ensure_ascii=False) + "\n")


def show(chosen: argparse.Namespace) -> int:
    """Prints the agreement of every kept judge with people."""
    for path in sorted(chosen.kept.glob("judge_*.jsonl")):
        name = path.stem.removeprefix("judge_")
        kept = read_kept(path)
        for prefix in ("pandalm", "summeval"):
            lines = [line for key, line in kept.items() if key.startswith(prefix)]
            print(describe(prefix, lines))
        pairs = list_judgements(draw_pairs(chosen.folder), kept, name)
        rated = rate_kept(draw_texts(chosen.folder), kept, name)
        print_outcome(judge.prefer(pairs).present(), console())
        print_outcome(judge.agree(rated).present(), console())
    return 0


def describe(title: str, lines: Sequence[Mapping[str, Any]]) -> str:
    """Describes how many answers there are, how many cannot be read, and how many processor seconds a text took."""
    verdicts = [value for line in lines for value in line.get("first", [line.get(ASPECT)])]
    unread = sum(verdict is None for verdict in verdicts)
    seconds = float(np.mean([line["seconds"] for line in lines]))
    return f"{title}: {len(lines)} asked, {unread} of {len(verdicts)} answers unread, {seconds:.2f} processor s each"


def list_judgements(pairs: Iterable[Mapping[str, Any]], kept: Lines, name: str) -> Iterator[dict[str, Any]]:
    """Yields the judgements of people about the kept pairs, with the verdicts of the model and of published judges."""
    for pair in pairs:
        line = kept.get(f"pandalm-{pair['id']}")
        if line is None:
            continue
        first = np.array([line["first"]], dtype=np.float64)
        (outcome,) = settle_orders(first).tolist()
        for person, winner in enumerate(pair["people"], start=1):
            yield {
                "group": join_instruction(pair),
                "system_a": pair["system_a"],
                "system_b": pair["system_b"],
                "winner": winner,
                "rater": str(person),
                "judges": {name: None if np.isnan(outcome) else outcome, **pair["judges"]},
            }


def rate_kept(rated: ScoredSet, kept: Lines, name: str) -> ScoredSet:
    """Returns the texts that have an answer, with the ratings of people and the model's scores for coherence."""
    places = [place for place, example in enumerate(rated.examples) if f"summeval-{example.id}" in kept]
    chosen = rated.take(places)
    values = [kept[f"summeval-{example.id}"][ASPECT] for example in chosen.examples]
    reasons = ["the answer cannot be read" if value is None else None for value in values]
    scores = Scores({ASPECT: np.array(values, dtype=np.float64)}, name, reasons)
    examples = tuple(
        Example(
            id=example.id,
            text=example.text,
            context=example.context,
            system=example.system,
            group=example.group,
            ratings={ASPECT: example.ratings[ASPECT]},
        )
        for example in chosen.examples
    )
    return ScoredSet("summeval", examples, {name: scores})


def main() -> int:
    """Runs the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=["collect", "show"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kept", type=Path, default=HERE, help="the folder of kept answers")
    parser.add_argument("--model")
    parser.add_argument("--name")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--seconds", type=float, default=800.0)
    chosen = parser.parse_args()
    return collect(chosen) if chosen.work == "collect" else show(chosen)


if __name__ == "__main__":
    sys.exit(main())
