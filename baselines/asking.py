"""Asking an endpoint: the body of a request, and checks that the answer has what was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from baselines.replies import Choice, list_positions
from baselines.verdicts import Form
from core.settings import Count, NonNegative, Seed, Text, checked_dataclass

TOP = 20  # alternatives asked for; the most that hosted endpoints give


def write_schema(name: str, **kind: Any) -> dict[str, Any]:
    """The JSON schema of an object with one field."""
    return {"type": "object", "properties": {name: kind}, "required": [name], "additionalProperties": False}


SCHEMAS: dict[Form, dict[str, Any]] = {  # of answers that are a verdict alone, where an endpoint takes them
    "number": write_schema("rating", type="integer"),  # not every endpoint takes its limits; beyond them it is unread
    "letter": write_schema("choice", type="string", enum=["A", "B", "C"]),
    "word": write_schema("answer", type="string", enum=["yes", "no"]),
}


@checked_dataclass
class Asking:
    """The settings of a request. A setting that is None is left out, for endpoints that refuse it."""

    # maximum tokens of an answer, those of its reasoning included where the endpoint counts them
    answer_tokens: Count | None = 1024
    temperature: NonNegative | None = 0.0
    # whether to ask for the probabilities of tokens, which one question finds out; true: the endpoint must give them
    logprobs: bool | Literal["auto"] = "auto"
    # whether to ask for the verdict alone, as JSON of a schema; as above
    structured: bool | Literal["auto"] = "auto"
    # of a reasoning model, such as low
    reasoning_effort: Text | None = None
    # an instruction before the question
    system: Text | None = None
    seed: Seed | None = None
    # further keys of the request's body, such as {max_completion_tokens: 2048}
    extra: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if taken := sorted({"model", "messages", "stream", "n"} & set(self.extra or {})):
            raise ValueError(f"extra must not have the keys {', '.join(taken)}")

    def body(
        self,
        model: str,
        question: str,
        repeat: int = 0,
        form: Form = "number",
    ) -> dict[str, Any]:
        """Returns the body of a request; each repeat of a question has a different seed."""
        schema = {"name": "verdict", "strict": True, "schema": SCHEMAS[form]}
        settings: dict[str, Any] = {
            "temperature": self.temperature,
            "max_tokens": self.answer_tokens,
            "reasoning_effort": self.reasoning_effort,
            "seed": None if self.seed is None else self.seed + repeat,
            "logprobs": True if self.logprobs else None,
            "top_logprobs": TOP if self.logprobs else None,
            "response_format": {"type": "json_schema", "json_schema": schema} if self.structured else None,
        }
        sent = {key: value for key, value in settings.items() if value is not None}
        messages = [{"role": "user", "content": question}]
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": self.system})
        return {"model": model, "messages": messages, **sent, **(self.extra or {})}


def follows_schema(choice: Choice) -> bool:
    """Whether the answer is JSON that follows the schema of a number."""
    try:
        answer = json.loads(choice.message.content or "")
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and SCHEMAS["number"]["properties"].keys() == answer.keys()


def has_probabilities(choice: Choice) -> bool:
    """Whether the answer comes with the probabilities of its tokens."""
    return bool(list_positions(choice))


# by setting of Asking, what tells that an answer heeds it
HEEDED: Mapping[str, Callable[[Choice], bool]] = {"logprobs": has_probabilities, "structured": follows_schema}
