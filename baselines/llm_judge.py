"""An LLM as judge: a chat model is asked for a number, as in G-Eval (Liu et al., EMNLP 2023), or for the better text.

Pairs are shown in both orders, because such judges prefer a position (Zheng et al. 2023, "Judging LLM-as-a-Judge").
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from baselines.chat import CachedChat, Chat
from baselines.endpoint import Asking, ChatFault, ChosenToken, EndpointChat, EndpointFault, Reply, to_word
from baselines.rubrics import Aspect, fields_of, is_of_pairs, read_prompt, read_rubric, show
from baselines.verdicts import IS_YES, Form, Lack, Verdict, read_verdict
from core.errors import SettingError
from core.example import Example
from core.metric import BaseMetric
from core.progress import step
from core.scores import LOST, Scores, fields_by_settings
from core.selection import describe_missing_fields
from core.settings import Count, NonNegative, Several, Text, check, to_tuple
from core.signature import Setting, signature
from core.stages import fingerprint
from meta_eval.preferences import Verdicts

log = logging.getLogger(__name__)

Price = Annotated[tuple[NonNegative, NonNegative], BeforeValidator(to_tuple)]
Question = tuple[Aspect, str, Form]
Answer = tuple[float | str, dict[str, Any]]  # a verdict, or the reason why there is none, with what explains it

USUAL = ("coherence",)  # the aspects of our rubric that are asked about unless others are named
SHOWN = 80  # characters of an answer without a verdict: its last ones, where a verdict would be
PER_TOKEN = 4  # characters, for estimates
FEW, FEW_SHARE = 3, 0.01  # lost answers with which scores are still written, whichever are more
SAMPLE = Example("", text="text", turns=("a", "b"), context="context", prefix="prefix", label="label")


@dataclass(frozen=True)
class LLMJudge(BaseMetric):
    """A chat model's rating per aspect, on the scale of the rubric; higher is better. A yes is 1 and a no 0.

    The rating is read in its place in the answer alone (`baselines.verdicts`). Where the model gives probabilities, the
    score is the mean of the scale's numbers weighted by those at the token of the rating (G-Eval's sum of p(s) s, over
    the numbers of the scale alone).

    With a panel or repeats the score is the mean of the models' ratings, each the mean of its repeats; a text that some
    model does not rate has none. The ratings themselves are further aspects, `ASPECT by MODEL`, with the number of the
    repeat.
    """

    name = "llm_judge"
    requires = fields_by_settings(
        lambda rubric=None, aspects=None, prompt=None: fields_of(
            read_rubric(rubric, _usual(rubric, aspects)).values(), read_prompt(prompt)
        )
    )
    chat: Chat
    # names of aspects of the rubric; empty for all
    aspects: tuple[str, ...]
    # a file (`baselines.rubrics`), or None for the rubric of this repository
    rubric: str | None = None
    # questions that wait for an answer at once
    parallel: int = 1
    # further models that are asked the same
    panel: tuple[Chat, ...] = ()
    # how often each model is asked each question
    repeats: int = 1
    # of a million tokens of questions, and of answers
    price: tuple[float, float] | None = None
    # a file with the question in other words (`baselines.rubrics`), or None for those of this repository
    prompt: str | None = None
    spent: dict[str, int] = field(default_factory=lambda: {"prompt_tokens": 0, "answer_tokens": 0}, compare=False)
    failed: list[ChatFault] = field(default_factory=list, compare=False)
    announced: list[int] = field(default_factory=list, compare=False)

    @classmethod
    def from_settings(
        cls,
        model: str | Sequence[str],
        base_url: str | None = None,
        aspects: str | Sequence[str] | None = None,
        rubric: str | None = None,
        repeats: int = 1,
        price: Sequence[float] | None = None,
        parallel: int = 4,
        cache: str | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        prompt: str | None = None,
        **endpoint: Any,
    ) -> LLMJudge:
        """A judge behind `base_url`, or by transformers without one; with several models a panel.

        `aspects` None takes all of a file, and coherence of our own rubric. `cache` is a folder of stages for replies.
        Raises SettingError.
        """
        check(Count, parallel=parallel, repeats=repeats)
        check(Price | None, price=price)
        check(Text | None, base_url=base_url)
        models = [model] if isinstance(model, str) else model
        check(Several[Text], model=models)
        asked = _usual(rubric, aspects)
        aspects_asked = read_rubric(rubric, asked)  # before a model is loaded
        read_prompt(prompt)
        usual = {each.name: each.default for each in fields(Asking)}
        if repeats > 1 and (base_url is None or endpoint.get("temperature", usual["temperature"]) == 0):
            raise SettingError("repeats need base_url and a temperature above 0: the answers are equal otherwise")
        if base_url is None:
            if unread := sorted(name for name, value in endpoint.items() if value not in (usual.get(name), None)):
                raise SettingError(f"{', '.join(unread)}: settings of an endpoint, but there is no base_url")
            from baselines.local_chat import LocalChat  # an endpoint needs no torch

            has_prompt = prompt is not None
            local = [LocalChat(each, device, dtype, has_prompt) for each in models]
            for chat, aspect in product(local, aspects_asked.values()):
                chat.check_scale(*aspect.scale)
            chats: list[Chat] = [*local]
        else:
            chats = [EndpointChat(each, base_url, **endpoint) for each in models]
        if cache is not None:
            chats = [CachedChat(each, Path(cache)) for each in chats]
        priced = None if price is None else (float(price[0]), float(price[1]))
        return cls(chats[0], asked, rubric, parallel, tuple(chats[1:]), repeats, priced, prompt)

    @cached_property
    def asked(self) -> dict[str, Aspect]:
        """The aspects, read once, so that all texts get the same question."""
        return read_rubric(self.rubric, self.aspects)

    @cached_property
    def template(self) -> str | None:
        """The text of the prompt, read once."""
        return read_prompt(self.prompt)

    @property
    def chats(self) -> tuple[Chat, ...]:
        return self.chat, *self.panel

    def compare(self, pairs: Sequence[tuple[Example, Example]]) -> Verdicts:
        """Which text of each pair is better, asked in both orders; the input is that of the first.

        A panel, or repeats, say in each order what most of them say; those that cannot be read do not count.

        Raises SettingError for several aspects, for a prompt of one text, and as `score_all`.
        """
        if self.template is not None and not is_of_pairs(self.template):
            raise SettingError(f"prompt={self.prompt} must mark two texts, {{text_a}} and {{text_b}}, to compare them")
        if len(self.asked) > 1:
            raise SettingError(f"aspects must name one aspect to compare texts by, but are {list(self.asked)}")
        (aspect,) = self.asked.values()
        lacks = partial(describe_missing_fields, requires=fields_of([aspect], self.template), metric=self.name)
        lacking = [lacks(a) or lacks(b) for a, b in pairs]
        orders = [self._ask_in_both_orders(aspect, a, b) for a, b in pairs]
        asked = list(dict.fromkeys(q for both, lack in zip(orders, lacking, strict=True) if not lack for q in both))
        self._announce(len(pairs), len(asked), sum(map(len, asked)))
        panel, reasons = dict[str, Any](), list[list[str]]([] for _ in pairs)
        for name, found in self._ask_all([(aspect, question, "letter") for question in asked]).items():
            own = {question: answer for question, (answer, _) in zip(asked, found, strict=True)}
            answers = [[lack or own[q] for q in both] for both, lack in zip(orders, lacking, strict=True)]
            panel[name] = np.reshape([to_number(answer) for both in answers for answer in both], (-1, 2))
            for known, both in zip(reasons, answers, strict=True):
                known += [answer for answer in both if isinstance(answer, str)][:1]
        kept = {name: value for name, value in self.settings.items() if name != "logprobs"}
        line = signature("llm_judge_pairs", libraries=(), **kept)
        verdicts = Verdicts.of_panel(panel, [], line)
        unread = np.isnan(verdicts.outcomes)
        return replace(verdicts, reasons=[r[0] if lack else None for r, lack in zip(reasons, unread, strict=True)])

    def _ask_in_both_orders(self, aspect: Aspect, a: Example, b: Example) -> list[str]:
        one, other = show(a), show(b)
        return [aspect.ask_choice(a, x, y, self.template) for x, y in ((one, other), (other, one))]

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """One aspect per aspect of the rubric, and its ratings; NaN with a reason where the model gave no rating.

        Raises SettingError where the endpoint refuses the key or the model, and for a prompt of two texts.
        """
        if self.template is not None and is_of_pairs(self.template):
            raise SettingError(f"prompt={self.prompt} must mark one text, {{text}}, to rate it")
        if not self.announced:
            self.announce(examples)
        asked = self.asked.values()
        questions = [(each, each.ask_rating(example, self.template)) for each in asked for example in examples]
        found = self._ask_all([(each, question, each.form) for each, question in questions])
        columns: dict[str, list[tuple[float | str, dict[str, Any]]]] = {}
        values: dict[str, NDArray[np.float64]] = {}
        for k, name in enumerate(self.asked):
            part = slice(k * len(examples), (k + 1) * len(examples))
            own = {f"{name} by {rater}" if len(found) > 1 else name: rows[part] for rater, rows in found.items()}
            each = {key: np.array([to_number(answer) for answer, _ in rows]) for key, rows in own.items()}
            by_model = np.reshape([*each.values()], (len(self.chats), self.repeats, len(examples)))
            known = ~np.isnan(by_model)
            with np.errstate(invalid="ignore"):
                values[name] = (np.nansum(by_model, axis=1) / known.sum(axis=1)).mean(axis=0)
            values |= each
            columns |= own
        rows = [{name: column[i] for name, column in columns.items()} for i in range(len(examples))]
        lacking = [[f"{name}: {a}" for name, (a, _) in row.items() if isinstance(a, str)] for row in rows]
        explanations = [{name: explained for name, (_, explained) in row.items()} for row in rows]
        return Scores(values, self.signature, ["; ".join(each) or None for each in lacking], (), explanations)

    @property
    def settings(self) -> dict[str, Setting]:
        """Models, rubric, repeats, and whether probabilities of tokens and answers of a schema are asked for."""
        depends = [chat.depends for chat in self.chats]
        return {
            "model": "+".join(chat.name.replace("|", " ") for chat in self.chats),
            "rubric": fingerprint([describe_questions(each, self.template) for each in self.asked.values()]),
            "logprobs": all(bool(each.get("logprobs", True)) for each in depends),
            "structured": all(bool(each.get("structured")) for each in depends),
            **({"repeats": self.repeats} if self.repeats > 1 else {}),
            "source": fingerprint(depends),
        }

    def announce(self, examples: Iterable[Example]) -> None:
        """Says in the log what rating these examples may cost."""
        texts = characters = 0
        for example in examples:
            texts += 1
            characters += sum(len(each.ask_rating(example, self.template)) for each in self.asked.values())
        self.announced.append(texts)
        self._announce(texts, texts * len(self.asked), characters)

    def _announce(self, texts: int, questions: int, characters: int) -> None:
        """Says what the questions may cost, before every model is asked them as often as `repeats` says."""
        most = [chat.most_tokens for chat in self.chats]
        asked = characters / PER_TOKEN * len(most) * self.repeats
        answered = None if None in most else questions * self.repeats * sum(each or 0 for each in most)
        said = f"about {asked:,.0f} tokens of questions (an estimate: characters / {PER_TOKEN})"
        said += "" if answered is None else f", at most {answered:,.0f} of answers"
        if self.price is not None:
            said += f"; about {asked * self.price[0] / 1e6:.2f} for the questions"
            said += "" if answered is None else f", at most {answered * self.price[1] / 1e6:.2f} for the answers"
        log.info("llm_judge: %d texts, at most %d calls, %s", texts, questions * len(most) * self.repeats, said)

    def _ask_all(self, questions: Sequence[Question]) -> dict[str, list[Answer]]:
        """By rater, which is a model or one of its repeats, its answer to every question; several are asked at once.

        Raises EndpointFault where the endpoint answered none, and where more than a few answers were lost.
        """
        names = [f"{c.name} {r + 1}" if self.repeats > 1 else c.name for c in self.chats for r in range(self.repeats)]
        asked = list(product(self.chats, range(self.repeats), questions))
        pool, before = ThreadPoolExecutor(self.parallel), len(self.failed)
        found: list[Answer] = []
        try:
            with step("asking", len(asked)) as advance:
                for answer in pool.map(lambda each: self._ask(*each), asked):
                    found.append(answer)
                    advance(1)
        except BaseException:  # Ctrl-C, or a fault of the endpoint: nobody waits for what is being asked
            pool.shutdown(wait=False, cancel_futures=True)
            for chat in self.chats:
                chat.stop()
            raise
        pool.shutdown()
        failed = self.failed[before:]
        if asked and len(failed) == len(asked) and all(fault.cause for fault in failed):
            raise EndpointFault(f"none of {len(asked)} questions got an answer: {failed[-1]}")
        lost = [fault for fault in failed if fault.passes]
        if len(lost) > max(FEW, FEW_SHARE * len(asked)):
            what = f"{len(lost)} of {len(asked)} answers are lost, the last one because {lost[-1]}"
            raise EndpointFault(f"{what}: run again, which asks for the answers that did not come")
        spent = self.spent["prompt_tokens"], self.spent["answer_tokens"]
        cost = "" if self.price is None else f", {float(np.dot(spent, self.price)) / 1e6:.4f} in all"
        log.info("llm_judge: %d tokens of questions, %d of answers so far, kept ones too%s", *spent, cost)
        return {name: found[k * len(questions) : (k + 1) * len(questions)] for k, name in enumerate(names)}

    def _ask(self, chat: Chat, repeat: int, question: Question) -> Answer:
        aspect, text, form = question
        try:
            reply = chat.ask(text, repeat, form)
        except ChatFault as fault:
            self.failed.append(fault)
            return f"{fault}{LOST if fault.passes else ''}", {}
        self.spent["prompt_tokens"] += reply.prompt_tokens
        self.spent["answer_tokens"] += reply.answer_tokens
        explained = {"answer": reply.text, "tokens": reply.prompt_tokens + reply.answer_tokens}
        found = rate(reply, form, aspect.scale, aspect.name)
        return describe_lack(reply, form, aspect.scale, found) if isinstance(found, str) else found, explained


def describe_questions(aspect: Aspect, prompt: str | None) -> list[Any]:
    """What changes with the aspect and with the words of its questions."""
    rating = aspect.ask_rating(SAMPLE, prompt)
    choice = aspect.ask_choice(SAMPLE, "first", "second", prompt)
    return [*vars(aspect).values(), rating, choice]


def to_number(answer: float | str) -> float:
    """NaN for the reason why there is no answer."""
    return math.nan if isinstance(answer, str) else answer


def rate(reply: Reply, form: Form, scale: tuple[int, int], label: str = "") -> float | Lack:
    """The verdict of an answer, or how many it gives; with probabilities, the mean of what it might have been.

    The numbers of the scale, or 1 for yes and 0 for no, are weighted by the probabilities that their tokens had where
    the token of the verdict was chosen.

    >>> four = (("4", math.log(0.6)), ("5", math.log(0.2)), ("!", math.log(0.2)))
    >>> rate(Reply(text="4", chosen=(ChosenToken(place=0, token="4", likeliest=four),)), "number", (1, 5))
    4.25
    >>> yes = (("Yes", math.log(0.6)), ("No", math.log(0.2)))
    >>> rate(Reply(text="Yes", chosen=(ChosenToken(place=0, token="Yes", likeliest=yes),)), "word", (0, 1))
    0.75
    """
    verdict = read_verdict(reply.text, form, scale, label, reply.is_cut)
    if not isinstance(verdict, Verdict):
        return verdict
    numbers = {str(number): float(number) for number in range(scale[0], scale[1] + 1)}
    levels: dict[str, float] = {"number": numbers, "word": IS_YES, "letter": {}}[form]
    token = next((each for each in reply.chosen if stands_at(each, verdict.place)), None)
    if token is None or levels.get(to_word(token.token)) != verdict.value:
        return verdict.value
    known = [(levels.get(to_word(other)), math.exp(p)) for other, p in token.likeliest]
    weights = [(level, p) for level, p in known if level is not None]
    total = sum(p for _, p in weights)
    return round(sum(level * p for level, p in weights) / total, 12) if total else verdict.value


def stands_at(token: ChosenToken, place: int | None) -> bool:
    """Whether a token holds the character at a place of the answer."""
    return place is not None and token.place <= place < token.place + len(token.token)


def _usual(rubric: str | None, aspects: str | Sequence[str] | None) -> tuple[str, ...]:
    """The aspects that are asked about; without names that of our rubric, or all of another one."""
    if isinstance(aspects, str):
        return (aspects,)
    if aspects is not None:
        return tuple(aspects)
    return USUAL if rubric is None else ()


def describe_lack(reply: Reply, form: Form, scale: tuple[int, int], lack: Lack = "no") -> str:
    """Why an answer counts for nothing."""
    numbers = f"number from {scale[0]} to {scale[1]}"
    verdict = {"number": numbers, "letter": "choice of A, B or C", "word": "yes or no"}[form]
    if reply.is_cut:
        return f"the judge's answer was cut after {reply.answer_tokens} tokens, before a {verdict}"
    text = " ".join(reply.text.split())
    shown = text if len(text) <= SHOWN else f"…{text[-SHOWN:]}"
    return (
        f"the judge gave {lack} {verdict}, but {shown!r}"
        if lack == "no"
        else f"the judge gave {lack} {verdict}: {shown!r}"
    )
