"""Speed of judges beside a plain way of doing the same work: `python -m benchmarks.judges CASE`.

- chat: an instruction model (`--model FOLDER`) rates texts of one to three built-in stories, beside plain `generate` of
  transformers in batches of `--rows` in the order of the file. Tokens are those of questions and answers; with
  `--answer-tokens` above 1 the model explains first. Both ways must give the same answers.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from baselines.chat import Question
from baselines.local_chat import LocalChat
from baselines.replies import Reply
from baselines.rubrics import read_rubric
from benchmarks.bench import describe_machine, print_header, print_row
from core.example import Example
from data.builtin.stories import generate_stories
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=[chat.__name__])
    parser.add_argument("--model", help="a folder or a hub name of an instruction model")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--questions", type=int, default=48)
    parser.add_argument("--answer-tokens", type=int, default=1)
    chosen = parser.parse_args()
    globals()[chosen.case](chosen)


if __name__ == "__main__":
    main()
