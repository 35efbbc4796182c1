"""Speed of judges beside a plain way of doing the same work: `python -m benchmarks.judges CASE`.

- chat: an instruction model (`--model FOLDER`) rates texts of one to three built-in stories, beside plain `generate` of
  transformers in batches of `--rows` in the order of the file. Tokens are those of questions and answers; with
  `--answer-tokens` above 1 the model explains first. Both ways must give the same answers.
- prefer: `judge prefer` on `--battles` of `--systems` in memory, with its intervals and its tests of all pairs, beside
  plain strengths with intervals alone: each of 1,000 resamples counts its battles and fits them.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from scipy.special import expit

import judge
from baselines.chat import Question
from baselines.local_chat import LocalChat
from baselines.replies import Reply
from baselines.rubrics import read_rubric
from benchmarks.bench import describe_machine, print_header, print_row
from core.example import Example
from data.builtin.stories import generate_stories
from judge.verbs.prefer import read_given
from meta_eval.bootstrap import Floats
from meta_eval.intervals import Resampling
from meta_eval.preferences import Preferences
from meta_eval.strengths import fit_strengths
from models.batching import pad_with_mask

CHAT_COLUMNS = ("way", "questions", "tokens", "seconds", "tokens a second", "ratio", "equal answers")


def time_processor(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of some work and its processor seconds."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


@torch.inference_mode()
def generate_plainly(chat: LocalChat, questions: Sequence[str], rows: int) -> list[list[int]]:
    """The answers' tokens by `generate`, in batches padded on the left."""
    answers: list[list[int]] = []
    sources = [chat.read(question) for question in questions]
    for first in range(0, len(sources), rows):
        batch = sources[first : first + rows]
        padded = pad_with_mask([source[::-1] for source in batch], 0, chat.lm.device)
        written = chat.lm.model.generate(
            input_ids=padded["input_ids"].flip(1),
            attention_mask=padded["attention_mask"].flip(1),
            max_new_tokens=chat.answer_tokens,
            do_sample=False,
            pad_token_id=chat.lm.tokenizer.pad_token_id,
        )
        answers += written[:, padded["input_ids"].shape[1] :].tolist()
    return answers


def chat(chosen: argparse.Namespace) -> None:
    """Prints tokens a second of both ways."""
    model = LocalChat(chosen.model, chosen.device, chosen.dtype, answer_tokens=chosen.answer_tokens)
    (aspect,) = read_rubric(None, ["coherence"]).values()
    stories = generate_stories(3 * chosen.questions, seed=0)
    texts = [" ".join(story.text for story in stories[3 * i : 3 * i + 1 + i % 3]) for i in range(chosen.questions)]
    examples = [Example(str(i), text=text) for i, text in enumerate(texts)]
    asked = [aspect.ask_rating(example, explains=chosen.answer_tokens > 1) for example in examples]
    model.ask(asked[0])
    replies, seconds = time_processor(lambda: dict(model.ask_all([Question(text) for text in asked])))
    answers, plain_seconds = time_processor(lambda: generate_plainly(model, asked, chosen.rows))
    tokens = sum(reply.prompt_tokens + reply.answer_tokens for reply in replies.values() if isinstance(reply, Reply))
    texts_of_plain = [model.lm.tokenizer.decode(answer, skip_special_tokens=True) for answer in answers]
    equal = sum(replies[i].text.strip() == text.strip() for i, text in enumerate(texts_of_plain))
    print(describe_machine())
    print_header(*CHAT_COLUMNS)
    print_row("generate", len(asked), tokens, plain_seconds, tokens / plain_seconds, 1.0, "")
    print_row(
        "here", len(asked), tokens, seconds, tokens / seconds, plain_seconds / seconds, f"{equal} of {len(asked)}"
    )


def draw_battles(systems: int, battles: int) -> list[dict[str, str]]:
    """Battles of random pairs, one for each input, won by the odds of strengths from 2 to -2; a tenth are ties."""
    rng = np.random.default_rng(0)
    strengths = np.linspace(2, -2, systems)
    first = rng.integers(0, systems, battles)
    second = (first + rng.integers(1, systems, battles)) % systems
    wins = rng.random(battles) < expit(strengths[first] - strengths[second])
    is_tie = rng.random(battles) < 0.1
    winners = np.where(is_tie, "tie", np.where(wins, "a", "b")).tolist()
    return [
        {"id": f"q{number}", "system_a": f"m{a}", "system_b": f"m{b}", "winner": winner}
        for number, (a, b, winner) in enumerate(zip(first.tolist(), second.tolist(), winners, strict=True))
    ]


def bootstrap_plainly(given: Preferences, resamples: int) -> Floats:
    """The strengths of resamples of battles, one at a time."""
    systems = len(given.systems)
    first, second = given.numbers
    rng = np.random.default_rng(0)
    fitted: list[Floats] = []
    for _ in range(resamples):
        drawn = rng.integers(0, len(given), len(given))
        wins = np.full((systems, systems), 1 / (2 * (systems - 1)))
        np.add.at(wins, (first[drawn], second[drawn]), given.outcomes[drawn])
        np.add.at(wins, (second[drawn], first[drawn]), 1 - given.outcomes[drawn])
        np.fill_diagonal(wins, 0)
        fitted.append(fit_strengths(wins[None])[0])
    return np.stack(fitted)


def prefer(chosen: argparse.Namespace) -> None:
    """Prints processor seconds of both ways, and how wide their intervals are."""
    rows = draw_battles(chosen.systems, chosen.battles)
    study, seconds = time_processor(lambda: judge.prefer(rows))
    given = read_given(rows, {})
    draws, plain_seconds = time_processor(lambda: bootstrap_plainly(given, Resampling().resamples))
    widths = dict(
        zip(given.systems, np.quantile(draws, 0.975, axis=0) - np.quantile(draws, 0.025, axis=0), strict=True)
    )
    here = {system.system: system.strength.high - system.strength.low for system in study.ranking.systems}
    print(describe_machine())
    print_header("way", "systems", "battles", "seconds", "ratio", "mean width of intervals")
    print_row("strengths alone", chosen.systems, chosen.battles, plain_seconds, 1.0, float(np.mean([*widths.values()])))
    ratio = plain_seconds / seconds
    print_row("judge.prefer", chosen.systems, chosen.battles, seconds, ratio, float(np.mean([*here.values()])))
    print(f"the answer, {len(study.notes[-1])} characters: {study.notes[-1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=[chat.__name__, prefer.__name__])
    parser.add_argument("--model", help="a folder or a hub name of an instruction model")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--questions", type=int, default=48)
    parser.add_argument("--answer-tokens", type=int, default=1)
    parser.add_argument("--systems", type=int, default=30)
    parser.add_argument("--battles", type=int, default=60_000)
    chosen = parser.parse_args()
    globals()[chosen.case](chosen)


if __name__ == "__main__":
    main()
