"""Chat models: an OpenAI-compatible endpoint, or an instruction model in this process, behind one question."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import torch

from core.faults import SettingFault
from core.stages import Stages, fingerprint
from models.causal import CausalLM

TOP = 20  # alternatives asked for; the most that hosted endpoints give
ANSWER_TOKENS = 16


@dataclass(frozen=True)
class Reply:
    """What a chat model answered.

    Attributes:
        text: the answer; where a local model was asked, its likeliest next token.
        alternatives: per token of the answer, the likeliest tokens with their log-probabilities; empty where the
            endpoint gives none.
        prompt_tokens, answer_tokens: what the question and the answer cost.
    """

    text: str
    alternatives: Sequence[Sequence[tuple[str, float]]]
    prompt_tokens: int
    answer_tokens: int


class ChatFault(Exception):  # noqa: N818, a reason why there is no score
    """The endpoint gave no answer to a question after all retries; the message says why."""


class Chat(Protocol):
    """Answers one question at a time; may be asked from several threads."""

    name: str
    depends: dict[str, Any]

    def ask(self, question: str) -> Reply:
        """Raises ChatFault."""
        ...


class EndpointChat:
    """A model behind an OpenAI-compatible endpoint (vLLM, llama.cpp, `transformers serve`, hosted ones).

    The openai client waits and tries again after 408, 409, 429, 5xx and cut connections. The key is read from an
    environment variable and never written.

    Args:
        model: its name at the endpoint.
        base_url: of the endpoint, such as http://localhost:8000/v1.
        key_variable: the environment variable that holds the key; a local server without a key needs none.
        retries, timeout: how often a question is asked again, and for how many seconds an answer is awaited.
        requests_per_minute: None for no limit.

    Raises SettingFault where the client is not installed.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        key_variable: str = "OPENAI_API_KEY",
        retries: int = 5,
        timeout: float = 60.0,
        requests_per_minute: float | None = None,
    ) -> None:
        try:
            import openai
        except ImportError as error:
            raise SettingFault("an endpoint needs its client: pip install 'judging-generated-text[judge]'") from error
        self.openai, self.model, self.name = openai, model, model
        place = urlsplit(base_url)
        self.place = f"{place.hostname}:{place.port}{place.path}"  # without a user or password
        self.depends = {"model": model, "endpoint": self.place}
        key = os.environ.get(key_variable, "none")
        self.client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=retries, timeout=timeout)
        self.key_variable = key_variable
        self.pause = 0.0 if requests_per_minute is None else 60.0 / requests_per_minute
        self.lock, self.next_time = threading.Lock(), 0.0

    def ask(self, question: str) -> Reply:
        """Raises ChatFault where there is no answer, SettingFault where key or model are refused."""
        self._wait_for_turn()
        try:
            found = self.client.chat.completions.create(
                model=self.model,
                messages=[{"role": "user", "content": question}],
                temperature=0.0,
                max_tokens=ANSWER_TOKENS,
                logprobs=True,
                top_logprobs=TOP,
            )
        except (self.openai.AuthenticationError, self.openai.PermissionDeniedError) as error:
            raise SettingFault(f"{self.place} refuses the key in {self.key_variable} ({error.status_code})") from error
        except self.openai.NotFoundError as error:
            raise SettingFault(f"{self.place} has no model {self.model} (404)") from error
        except self.openai.APIStatusError as error:
            said = _one_line(error.response.text)
            raise ChatFault(f"the endpoint failed: {type(error).__name__} ({error.status_code}): {said}") from error
        except self.openai.OpenAIError as error:
            raise ChatFault(f"the endpoint failed: {type(error).__name__}: {_one_line(str(error))}") from error
        except ValueError as error:  # an answer that is not JSON
            raise ChatFault(f"the endpoint's answer cannot be read: {_one_line(str(error))}") from error
        choices = getattr(found, "choices", None)  # a text where the answer was no JSON object
        if not choices or choices[0].message is None:
            raise ChatFault(f"the endpoint's answer has no choices: {str(found)[:60]!r}")
        given = choices[0].logprobs.content if choices[0].logprobs else None
        alternatives = [[(each.token, each.logprob) for each in token.top_logprobs] for token in given or ()]
        usage = found.usage
        return Reply(
            choices[0].message.content or "",
            alternatives,
            usage.prompt_tokens if usage else 0,
            usage.completion_tokens if usage else 0,
        )

    def _wait_for_turn(self) -> None:
        if not self.pause:
            return
        with self.lock:
            now = time.monotonic()
            turn = max(now, self.next_time)
            self.next_time = turn + self.pause
        time.sleep(turn - now)


class LocalChat:
    """An instruction model by transformers: the distribution of the first token of its answer.

    Raises MissingModel where neither a folder nor a reachable hub has the model, SettingFault for one without a chat
    template.
    """

    def __init__(self, model: str, device: str = "cpu", dtype: str = "float32") -> None:
        self.lm = CausalLM.from_pretrained(model, device, dtype)
        if not self.lm.tokenizer.chat_template:
            raise SettingFault(f"model={model} has no chat template: an instruction model is needed")
        self.name, self.depends = model, {"model": model, "identity": self.lm.identity}
        self.lock = threading.Lock()

    @torch.inference_mode()
    def ask(self, question: str) -> Reply:
        """The likeliest first tokens; a question that is too long raises ChatFault."""
        text = self.lm.tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], add_generation_prompt=True, tokenize=False
        )
        ids = self.lm.tokenizer(str(text), add_special_tokens=False)["input_ids"]
        if len(ids) > self.lm.max_length:
            raise ChatFault(f"the question has {len(ids)} tokens, and the model reads {self.lm.max_length}")
        with self.lock:
            logits = self.lm.model(torch.tensor([ids], device=self.lm.device)).logits[0, -1].float()
        best = torch.log_softmax(logits, -1).topk(min(200, len(logits)))
        tokens = self.lm.tokenizer.batch_decode(best.indices[:, None].tolist())
        return Reply(tokens[0], [list(zip(tokens, best.values.tolist(), strict=True))], len(ids), 1)


class CachedChat:
    """Keeps the replies of another chat in a cache of a folder of stages, so that a killed run asks nothing twice."""

    def __init__(self, chat: Chat, kept: Path) -> None:
        self.chat, self.name, self.depends = chat, chat.name, chat.depends
        self.cache = Stages(kept).open_cache("llm_judge", chat.depends, version=1)

    def ask(self, question: str) -> Reply:
        return Reply(**self.cache.get(fingerprint(question), lambda: asdict(self.chat.ask(question))))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
