"""Settings of an LLM judge: the models behind it, its aspects and the price of their tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from baselines.asking import Asking
from baselines.chat import CachedChat, Chat
from baselines.endpoint import EndpointChat
from baselines.rubrics import Aspect
from core.errors import SettingError
from core.settings import Count, NonNegative, check, to_tuple

Price = Annotated[tuple[NonNegative, NonNegative], BeforeValidator(to_tuple)]

USUAL = ("coherence",)  # the aspects of our rubric that are asked about unless others are named


def choose_aspects(rubric: str | None, aspects: str | Sequence[str] | None) -> tuple[str, ...]:
    """Chooses the names of the aspects to ask about; empty for all aspects of the user's rubric."""
    if isinstance(aspects, str):
        return (aspects,)
    if aspects is not None:
        return tuple(aspects)
    return USUAL if rubric is None else ()


def read_price(price: Sequence[float] | None) -> tuple[float, float] | None:
    """Returns the price of a million tokens of questions, and of a million tokens of answers; None without a price."""
    if price is None:
        return None
    of_questions, of_answers = price
    return float(of_questions), float(of_answers)


def keep_replies(chats: Sequence[Chat], cache: str | None) -> list[Chat]:
    """Makes chats that keep their replies in the folder `cache`; without a folder, returns them unchanged."""
    return [*chats] if cache is None else [CachedChat(chat, Path(cache)) for chat in chats]


def open_endpoint(
    models: Sequence[str],
    base_url: str,
    explain: bool,
    asking: Mapping[str, Any],
) -> list[Chat]:
    """Makes a chat for each model of an endpoint.

    Raises SettingError if `explain` asks for reasons while a schema allows the verdict alone.
    """
    if not explain:
        return [EndpointChat(name, base_url, **asking) for name in models]
    if asking.get("structured") is True:
        raise SettingError("structured asks for the verdict alone, but explain for reasons before it")
    plain = {**asking, "structured": False}
    return [EndpointChat(name, base_url, **plain) for name in models]


def check_repeats(
    repeats: int,
    base_url: str | None,
    asking: Mapping[str, Any],
) -> None:
    """Raises SettingError if repeated questions would all get the same answer."""
    temperature = asking.get("temperature", Asking.temperature)
    if repeats > 1 and (base_url is None or temperature == 0):
        raise SettingError("repeats need base_url and a temperature above 0: the answers are equal otherwise")


def find_answer_tokens(asking: Mapping[str, Any], explain: bool) -> int:
    """Finds the maximum number of tokens of a local model's answer: one, unless `explain` asks for reasons.

    Raises SettingError for settings that only an endpoint has.
    """
    usual: dict[str, Any] = {setting.name: setting.default for setting in fields(Asking)}
    taken = {"answer_tokens"} if explain else set[str]()
    unread = sorted(
        name for name, value in asking.items() if value not in (usual.get(name), None) and name not in taken
    )
    if unread:
        raise SettingError(f"{', '.join(unread)}: these settings need an endpoint, but there is no base_url")
    check(Count | None, answer_tokens=asking.get("answer_tokens"))
    if not explain:
        return 1
    return asking.get("answer_tokens") or usual["answer_tokens"]


def load_chats(
    models: Sequence[str],
    device: str,
    dtype: str,
    aspects: Sequence[Aspect],
    has_prompt: bool,
    answer_tokens: int,
) -> list[Chat]:
    """Loads the models in this process.

    Raises SettingError for a scale whose numbers cannot be told apart by the first token of an answer.
    """
    from baselines.local_chat import LocalChat  # an endpoint needs no torch

    chats: list[Chat] = []
    for name in models:
        chat = LocalChat(name, device, dtype, has_prompt, answer_tokens)
        if answer_tokens == 1:
            for aspect in aspects:
                chat.check_scale(*aspect.scale)
        chats.append(chat)
    return chats
