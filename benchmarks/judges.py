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
from judge.pair_inputs import read_given
from meta_eval.design import Floats
from meta_eval.preferences import Preferences
from meta_eval.strengths import fit_strengths
from models.batching import pad_with_mask
from models.devices import choose_dtype

CHAT_COLUMNS = ("way", "questions", "tokens", "seconds", "tokens a second", "ratio", "equal answers")
PREFER_COLUMNS = ("way", "systems", "battles", "seconds", "ratio", "mean width of intervals")
TIES = 0.1  # share of battles


def time_processor(work: Callable[[], Any]) -> tuple[Any, float]:
    """Does some work; returns its result and the processor seconds it took."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def load_plainly(chosen: argparse.Namespace, chat: LocalChat) -> Any:
    """Loads the model as transformers does."""
    dtype = choose_dtype(chosen.device, chosen.dtype)
    return type(chat.lm.model).from_pretrained(chosen.model, dtype=dtype).to(chosen.device).eval()


@torch.inference_mode()
def generate_plainly(
    chat: LocalChat,
    model: Any,
    questions: Sequence[str],
    rows: int,
) -> list[list[int]]:
    """Generates the tokens of the answers by `generate`, in batches padded on the left."""
    answers: list[list[int]] = []
    sources = [chat.read(question) for question in questions]
    for first in range(0, len(sources), rows):
        batch = sources[first : first + rows]
        padded = pad_with_mask([source[::-1] for source in batch], 0, chat.lm.device)
        written = model.generate(
            input_ids=padded["input_ids"].flip(1),
            attention_mask=padded["attention_mask"].flip(1),
            max_new_tokens=chat.answer_tokens,
            do_sample=False,
            pad_token_id=chat.lm.tokenizer.pad_token_id,
        )
        answers += written[:, padded["input_ids"].shape[1] :].tolist()
    return answers


def chat(chosen: argparse.Namespace) -> None:
    """Prints the tokens per second of this project's way and of the plain way."""
    model = LocalChat(chosen.model, chosen.device, chosen.dtype, answer_tokens=chosen.answer_tokens)
    asked = list_questions(chosen.questions, explains=chosen.answer_tokens > 1)
    model.ask(asked[0])
    questions = [Question(text) for text in asked]
    replies, seconds = time_processor(lambda: dict(model.ask_all(questions)))
    plain = load_plainly(chosen, model)
    written, plain_seconds = time_processor(lambda: generate_plainly(model, plain, asked, chosen.rows))
    tokens = 0
    equal = 0
    for place, ids in enumerate(written):
        reply = replies[place]
        assert isinstance(reply, Reply)
        tokens += reply.prompt_tokens + reply.answer_tokens
        text = model.lm.tokenizer.decode(ids, skip_special_tokens=True)
        equal += reply.text.strip() == str(text).strip()
    print(describe_machine())
    print_header(*CHAT_COLUMNS)
    for way, took, same in (("generate", plain_seconds, len(asked)), ("here", seconds, equal)):
        cells = [way, len(asked), tokens, took, tokens / took, plain_seconds / took, same]
        print_row(*cells)


def list_questions(number: int, explains: bool) -> list[str]:
    """Makes questions about the coherence of texts, each of one to three stories."""
    (aspect,) = read_rubric(None, ["coherence"]).values()
    stories = iter(generate_stories(3 * number, seed=0))
    questions: list[str] = []
    for place in range(number):
        text = " ".join(next(stories).text for _ in range(1 + place % 3))
        questions.append(aspect.ask_rating(Example(str(place), text=text), explains=explains))
    return questions


def draw_battles(systems: int, battles: int) -> list[dict[str, str]]:
    """Draws battles of random pairs, one per input; strengths from 2 to -2 give the odds, a tenth are ties."""
    rng = np.random.default_rng(0)
    strengths = np.linspace(2, -2, systems)
    rows: list[dict[str, str]] = []
    for number in range(battles):
        first, second = rng.choice(systems, 2, replace=False)
        odds = expit(strengths[first] - strengths[second])
        winner = "a" if rng.random() < odds else "b"
        winner = "tie" if rng.random() < TIES else winner
        rows.append(
            {
                "id": f"q{number}",
                "system_a": f"m{first}",
                "system_b": f"m{second}",
                "winner": winner,
            }
        )
    return rows


def bootstrap_plainly(given: Preferences, resamples: int) -> Floats:
    """Computes the strengths of resamples of battles, one resample at a time."""
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
    """Prints the processor seconds of this project's way and of the plain way, and how wide their intervals are."""
    rows = draw_battles(chosen.systems, chosen.battles)
    study, seconds = time_processor(lambda: judge.prefer(rows))
    given = read_given(rows, {})
    assert given is not None
    draws, plain_seconds = time_processor(lambda: bootstrap_plainly(given, resamples=1000))
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    plain_width = float(np.mean(high - low))
    width = float(np.mean([system.strength.high - system.strength.low for system in study.found.ranking.systems]))
    print(describe_machine())
    print_header(*PREFER_COLUMNS)
    for way, took, wide in (("strengths alone", plain_seconds, plain_width), ("judge.prefer", seconds, width)):
        cells = [way, chosen.systems, chosen.battles, took, plain_seconds / took, wide]
        print_row(*cells)
    answer = study.answer
    print(f"the answer, {len(answer)} characters: {answer}")


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
