"""What asking chat models may cost: calls, tokens and their price, said before the first question."""

from __future__ import annotations

from collections.abc import Sequence

from baselines.chat import Chat

PER_TOKEN = 4  # characters, for estimates
MILLION = 1e6  # tokens that have a price


def describe_costs(
    questions: int,
    characters: int,
    chats: Sequence[Chat],
    repeats: int,
    price: tuple[float, float] | None,
) -> str:
    """Describes what questions with `characters` characters in all may cost.

    Every model is asked each question `repeats` times. `price` is the price of a million tokens of questions, and of a
    million tokens of answers.
    """
    asked = characters / PER_TOKEN * len(chats) * repeats
    tokens = [f"about {asked:,.0f} tokens of questions (an estimate: characters / {PER_TOKEN})"]
    answered = count_answer_tokens(questions * repeats, chats)
    if answered is not None:
        tokens.append(f"at most {answered:,.0f} of answers")
    parts = [", ".join(tokens)]
    if price is not None:
        of_questions, of_answers = price
        costs = [f"about {asked * of_questions / MILLION:.2f} for the questions"]
        if answered is not None:
            costs.append(f"at most {answered * of_answers / MILLION:.2f} for the answers")
        parts.append(", ".join(costs))
    return "; ".join(parts)


def count_answer_tokens(questions: int, chats: Sequence[Chat]) -> int | None:
    """Counts the tokens that the answers of all models have at most; None if some model has no limit."""
    limits = [chat.most_tokens for chat in chats]
    known = [limit for limit in limits if limit is not None]
    return questions * sum(known) if len(known) == len(limits) else None
