"""An LLM as judge: a chat model is asked for a number, as in G-Eval (Liu et al., EMNLP 2023), or for the better text.

Pairs are shown in both orders, because such judges prefer a position (Zheng et al. 2023, "Judging LLM-as-a-Judge").
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from baselines.asking import Asking
from baselines.chat import CachedChat, Chat, Question
from baselines.endpoint import EndpointChat
from baselines.readings import describe_lack, rate
from baselines.replies import ChatFault, EndpointFault, Reply
from baselines.rubrics import Aspect, fields_of, is_of_pairs, read_prompt, read_rubric, show
from baselines.verdicts import Form
from core.errors import SettingError
from core.example import Example
from core.metric import BaseMetric
from core.progress import step
from core.scores import LOST, Scores, fields_by_settings, name_models
from core.selection import describe_missing_fields
from core.settings import Count, NonNegative, Several, Text, check, to_tuple
from core.signature import Setting, signature
from core.stages import fingerprint
from meta_eval.preferences import PairAnswer, Verdicts

log = logging.getLogger(__name__)

Price = Annotated[tuple[NonNegative, NonNegative], BeforeValidator(to_tuple)]

USUAL = ("coherence",)  # the aspects of our rubric that are asked about unless others are named
PER_TOKEN = 4  # characters, for estimates
FEW, FEW_SHARE = 3, 0.01  # lost answers with which scores are still written, whichever are more
SAMPLE = Example("", text="text", turns=("a", "b"), context="context", prefix="prefix", label="label")


@dataclass(frozen=True)
class Asked:
    """A question about an aspect."""

    aspect: Aspect
    text: str
    form: Form


@dataclass(frozen=True)
class Judged:
    """What one rater answered to a question."""

    # NaN without a verdict
    verdict: float
    # why there is no verdict
    reason: str | None = None
    # what the model wrote, and the tokens of question and answer; none for a question without a reply
    answer: str | None = None
    tokens: int = 0

    @property
    def explanation(self) -> dict[str, Any]:
        """What explains a score."""
        return {} if self.answer is None else {"answer": self.answer, "tokens": self.tokens}


@dataclass(frozen=True)
class LLMJudge(BaseMetric):
    """A chat model's rating per aspect, on the scale of the rubric; higher is better. A yes is 1 and a no 0.

    The rating is read only in the form that was asked for (`baselines.verdicts`). If the model gives probabilities, the
    score is the mean of the scale's numbers, weighted by their probabilities at the token of the rating (G-Eval's sum
    of p(s) s, over the numbers of the scale).

    With a panel or repeats the score is the mean of the models' ratings, each the mean of its repeats; a text that some
    model does not rate has none. The ratings themselves are further aspects, `ASPECT by MODEL`, with the number of the
    repeat.
    """

    name = "llm_judge"
    requires = fields_by_settings(
        lambda rubric=None, aspects=None, prompt=None: fields_of(
            read_rubric(rubric, choose_aspects(rubric, aspects)).values(), read_prompt(prompt)
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
    # whether the models give their reasons before each verdict
    explain: bool = False
    spent: dict[str, int] = field(default_factory=lambda: {"prompt_tokens": 0, "answer_tokens": 0}, compare=False)
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
        explain: bool = False,
        **asking: Any,
    ) -> LLMJudge:
        """Builds a judge behind `base_url`, or a local one by transformers; several models are a panel.

        Without `aspects`, all aspects of a rubric file are asked, or coherence of the built-in rubric. `cache` is a
        folder of stages for replies, `asking` holds settings of `EndpointChat`. Raises SettingError.
        """
        check(Count, parallel=parallel, repeats=repeats)
        check(Price | None, price=price)
        check(Text | None, base_url=base_url)
        check(bool, explain=explain)
        models = [model] if isinstance(model, str) else model
        check(Several[Text], model=models)
        names = choose_aspects(rubric, aspects)
        asked = read_rubric(rubric, names)  # before a model is loaded
        read_prompt(prompt)
        if repeats > 1 and (base_url is None or asking.get("temperature", Asking.temperature) == 0):
            raise SettingError("repeats need base_url and a temperature above 0: the answers are equal otherwise")
        chats: list[Chat] = []
        if base_url is None:
            chats += load_chats(
                models,
                device=device,
                dtype=dtype,
                aspects=[*asked.values()],
                has_prompt=prompt is not None,
                answer_tokens=find_answer_tokens(asking, explain),
            )
        else:
            how = {**asking, "structured": False} if explain else asking
            if explain and asking.get("structured") is True:
                raise SettingError("structured=true asks for the verdict alone, but explain=true for reasons before it")
            chats += [EndpointChat(name, base_url, **how) for name in models]
        if cache is not None:
            chats = [CachedChat(chat, Path(cache)) for chat in chats]
        return cls(
            chat=chats[0],
            aspects=names,
            rubric=rubric,
            parallel=parallel,
            panel=tuple(chats[1:]),
            repeats=repeats,
            price=read_price(price),
            prompt=prompt,
            explain=explain,
        )

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

    @property
    def called(self) -> str:
        """What tables call the judge."""
        return name_models([chat.name for chat in self.chats])

    def compare(self, pairs: Sequence[tuple[Example, Example]]) -> Verdicts:
        """Asks which text of each pair is better, in both orders; the question shows the input of the first text.

        The verdict of a panel, or of repeats, is that of their majority in each order; unread answers do not count.

        Raises SettingError for several aspects, for a prompt of one text, and as `score_all`.
        """
        aspect = self._find_aspect_of_pairs()
        lacks = partial(describe_missing_fields, requires=fields_of([aspect], self.template), metric=self.name)
        lacking = [lacks(first) or lacks(second) for first, second in pairs]
        orders = [self._ask_in_both_orders(aspect, first, second) for first, second in pairs]
        readable = [both for both, lack in zip(orders, lacking, strict=True) if not lack]
        asked = list(dict.fromkeys(chain.from_iterable(readable)))
        self._announce(len(pairs), len(asked), sum(map(len, asked)))
        judged = self._ask_all([Asked(aspect, question, "letter") for question in asked])
        panel: dict[str, NDArray[np.float64]] = {}
        answers: list[PairAnswer] = []
        for rater, found in judged.items():
            by_question = dict(zip(asked, found, strict=True))
            of_rater = list(list_pair_answers(rater, orders, lacking, by_question))
            panel[rater] = np.array([answer.first for answer in of_rater]).reshape(-1, 2)
            answers += of_rater
        verdicts = Verdicts.of_panel(
            panel, [None] * len(pairs), signature("llm_judge_pairs", libraries=(), **self.settings)
        )
        reasons = explain_pairs(answers, len(pairs))
        for pair in np.flatnonzero(~np.isnan(verdicts.outcomes)):
            reasons[pair] = None
        return replace(verdicts, reasons=reasons, answers=tuple(answers))

    def _find_aspect_of_pairs(self) -> Aspect:
        """The one aspect by which texts are compared. Raises SettingError for several, and for a prompt of one text."""
        if self.template is not None and not is_of_pairs(self.template):
            raise SettingError(f"prompt={self.prompt} must mark two texts, {{text_a}} and {{text_b}}, to compare them")
        if len(self.asked) > 1:
            raise SettingError(f"aspects must name one aspect to compare texts by, but are {list(self.asked)}")
        (aspect,) = self.asked.values()
        return aspect

    def _ask_in_both_orders(
        self,
        aspect: Aspect,
        first: Example,
        second: Example,
    ) -> tuple[str, str]:
        ask = partial(aspect.ask_choice, first, prompt=self.template, explains=self.explain)
        return ask(show(first), show(second)), ask(show(second), show(first))

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """One score per aspect of the rubric, and the ratings behind it; NaN with a reason if the model gave no rating.

        Raises SettingError if the endpoint refuses the key or the model, and for a prompt of two texts.
        """
        if self.template is not None and is_of_pairs(self.template):
            raise SettingError(f"prompt={self.prompt} must mark one text, {{text}}, to rate it")
        if not self.announced:
            self.announce(examples)
        questions = [
            Asked(aspect, self._ask_rating(aspect, example), aspect.form)
            for aspect, example in product(self.asked.values(), examples)
        ]
        judged = self._ask_all(questions)
        values: dict[str, NDArray[np.float64]] = {}
        columns: dict[str, Sequence[Judged]] = {}
        for number, aspect in enumerate(self.asked):
            part = slice(number * len(examples), (number + 1) * len(examples))
            of_aspect = {rater: answers[part] for rater, answers in judged.items()}
            ratings = [[answer.verdict for answer in answers] for answers in of_aspect.values()]
            values[aspect] = self._join_ratings(np.array(ratings))
            for rater, answers in of_aspect.items():
                name = f"{aspect} by {rater}" if len(judged) > 1 else aspect
                columns[name] = answers
                values[name] = np.array([answer.verdict for answer in answers])
        places = range(len(examples))
        return Scores(
            values,
            self.signature,
            reasons=[join_reasons(columns, place) for place in places],
            explanations=[join_explanations(columns, place) for place in places],
        )

    def _ask_rating(self, aspect: Aspect, example: Example) -> str:
        return aspect.ask_rating(example, self.template, explains=self.explain)

    def _join_ratings(self, ratings: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean over models of the means of their repeats, of ratings of shape (raters, n)."""
        by_model = ratings.reshape(len(self.chats), self.repeats, -1)
        known = (~np.isnan(by_model)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            means = np.nansum(by_model, axis=1) / known
        return means.mean(axis=0)

    @property
    def settings(self) -> dict[str, Setting]:
        """Models, rubric, repeats, and whether requests ask for token probabilities and for answers in a schema."""
        depends = [chat.depends for chat in self.chats]
        questions = [describe_questions(aspect, self.template, self.explain) for aspect in self.asked.values()]
        settings: dict[str, Setting] = {
            "model": "+".join(chat.name.replace("|", " ") for chat in self.chats),
            "rubric": fingerprint(questions),
            "logprobs": all(bool(of_chat.get("logprobs", True)) for of_chat in depends),
            "structured": all(bool(of_chat.get("structured")) for of_chat in depends),
        }
        if self.repeats > 1:
            settings["repeats"] = self.repeats
        return {**settings, "source": fingerprint(depends)}

    def announce(self, examples: Iterable[Example]) -> None:
        """Logs what rating these examples may cost."""
        texts = 0
        characters = 0
        for example in examples:
            texts += 1
            characters += sum(len(self._ask_rating(aspect, example)) for aspect in self.asked.values())
        self.announced.append(texts)
        self._announce(texts, texts * len(self.asked), characters)

    def _announce(
        self,
        texts: int,
        questions: int,
        characters: int,
    ) -> None:
        """Says what the questions may cost, before every model is asked them as often as `repeats` says."""
        calls = questions * len(self.chats) * self.repeats
        asked = characters / PER_TOKEN * len(self.chats) * self.repeats
        parts = [f"about {asked:,.0f} tokens of questions (an estimate: characters / {PER_TOKEN})"]
        costs: list[str] = []
        if self.price is not None:
            costs.append(f"about {asked * self.price[0] / 1e6:.2f} for the questions")
        limits = [chat.most_tokens for chat in self.chats]
        known = [limit for limit in limits if limit is not None]
        if len(known) == len(limits):
            answered = questions * self.repeats * sum(known)
            parts.append(f"at most {answered:,.0f} of answers")
            if self.price is not None:
                costs.append(f"at most {answered * self.price[1] / 1e6:.2f} for the answers")
        said = "; ".join(", ".join(several) for several in (parts, costs) if several)
        log.info("llm_judge: %d texts, at most %d calls, %s", texts, calls, said)

    def _ask_all(self, questions: Sequence[Asked]) -> dict[str, list[Judged]]:
        """By rater, which is a model or one of its repeats, its answer to every question.

        Raises EndpointFault where the endpoint answered none, and where more than a few answers were lost.
        """
        judged: dict[str, list[Judged]] = {}
        faults: list[ChatFault] = []
        total = len(questions) * len(self.chats) * self.repeats
        with step("asking", total) as advance:
            for chat, repeat in product(self.chats, range(self.repeats)):
                rater = f"{chat.name} {repeat + 1}" if self.repeats > 1 else chat.name
                answers: dict[int, Judged] = {}
                for place, reply in self._ask(chat, repeat, questions):
                    faults += [reply] if isinstance(reply, ChatFault) else []
                    answers[place] = judge_reply(reply, questions[place])
                    advance(1)
                judged[rater] = [answers[place] for place in range(len(questions))]
        check_faults(faults, total)
        spent = self.spent["prompt_tokens"], self.spent["answer_tokens"]
        cost = "" if self.price is None else f", {float(np.dot(spent, self.price)) / 1e6:.4f} in all"
        log.info("llm_judge: %d tokens of questions, %d of answers so far, kept ones too%s", *spent, cost)
        return judged

    def _ask(
        self,
        chat: Chat,
        repeat: int,
        questions: Sequence[Asked],
    ) -> Iterator[tuple[int, Reply | ChatFault]]:
        """The replies of one model, by the place of the question, as they come."""
        sent = [Question(question.text, question.form, repeat) for question in questions]
        with closing(chat.ask_all(sent, self.parallel)) as replies:
            for place, reply in replies:
                if isinstance(reply, Reply):
                    self.spent["prompt_tokens"] += reply.prompt_tokens
                    self.spent["answer_tokens"] += reply.answer_tokens
                yield place, reply


def judge_reply(reply: Reply | ChatFault, question: Asked) -> Judged:
    """What a reply says about the question, or why it says nothing."""
    if isinstance(reply, ChatFault):
        return Judged(math.nan, f"{reply}{LOST if reply.passes else ''}")
    aspect = question.aspect
    verdict = rate(reply, question.form, aspect.scale, aspect.name)
    tokens = reply.prompt_tokens + reply.answer_tokens
    if isinstance(verdict, str):
        lack = describe_lack(reply, question.form, aspect.scale, verdict)
        return Judged(math.nan, lack, reply.text, tokens)
    return Judged(verdict, None, reply.text, tokens)


def check_faults(faults: Sequence[ChatFault], total: int) -> None:
    """Raises EndpointFault where no question got an answer, and where more than a few answers were lost."""
    if total and len(faults) == total and all(fault.cause for fault in faults):
        raise EndpointFault(f"none of {total} questions got an answer: {faults[-1]}")
    lost = [fault for fault in faults if fault.passes]
    if len(lost) > max(FEW, FEW_SHARE * total):
        what = f"{len(lost)} of {total} answers are lost, the last one because {lost[-1]}"
        raise EndpointFault(f"{what}: run again, which asks for the answers that did not come")


def join_reasons(columns: Mapping[str, Sequence[Judged]], place: int) -> str | None:
    """Explains why ratings of the example at this index are missing; None if none is missing."""
    reasons = [f"{name}: {answers[place].reason}" for name, answers in columns.items() if answers[place].reason]
    return "; ".join(reasons) or None


def join_explanations(columns: Mapping[str, Sequence[Judged]], place: int) -> dict[str, dict[str, Any]]:
    """Joins the explanations of the ratings of the example at this index."""
    return {name: answers[place].explanation for name, answers in columns.items()}


def list_pair_answers(
    rater: str,
    orders: Sequence[tuple[str, str]],
    lacking: Sequence[str | None],
    judged: Mapping[str, Judged],
) -> Iterator[PairAnswer]:
    """What a rater said about each pair, in the order as asked and in the reverse one."""
    for pair, (both, lack) in enumerate(zip(orders, lacking, strict=True)):
        for is_reversed, question in zip((False, True), both, strict=True):
            answered = Judged(math.nan, lack) if lack else judged[question]
            yield PairAnswer(
                judge=rater,
                pair=pair,
                is_reversed=is_reversed,
                question=question,
                first=answered.verdict,
                answer=answered.answer,
                reason=answered.reason,
            )


def explain_pairs(answers: Sequence[PairAnswer], pairs: int) -> list[str | None]:
    """The first reason why an answer about each pair is missing."""
    reasons: list[str | None] = [None] * pairs
    for answer in answers:
        reasons[answer.pair] = reasons[answer.pair] or answer.reason
    return reasons


def describe_questions(
    aspect: Aspect,
    prompt: str | None,
    explains: bool,
) -> list[Any]:
    """Values that identify an aspect and the wording of its questions."""
    rating = aspect.ask_rating(SAMPLE, prompt, explains)
    choice = aspect.ask_choice(SAMPLE, "first", "second", prompt, explains)
    return [*vars(aspect).values(), rating, choice]


def choose_aspects(rubric: str | None, aspects: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of the aspects that are asked about; empty for all of a rubric of the user's."""
    if isinstance(aspects, str):
        return (aspects,)
    if aspects is not None:
        return tuple(aspects)
    return USUAL if rubric is None else ()


def read_price(price: Sequence[float] | None) -> tuple[float, float] | None:
    """The price of a million tokens of questions, and of answers."""
    if price is None:
        return None
    of_questions, of_answers = price
    return float(of_questions), float(of_answers)


def find_answer_tokens(asking: Mapping[str, Any], explain: bool) -> int:
    """Finds the maximum number of tokens of a local model's answer: one, unless it explains.

    Raises SettingError for other settings of an endpoint.
    """
    usual: dict[str, Any] = {setting.name: setting.default for setting in fields(Asking)}
    taken = {"answer_tokens"} if explain else set[str]()
    unread = sorted(
        name for name, value in asking.items() if value not in (usual.get(name), None) and name not in taken
    )
    if unread:
        raise SettingError(f"{', '.join(unread)}: settings of an endpoint, but there is no base_url")
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
    """The models in this process. Raises SettingError for a scale that the first token of an answer cannot tell."""
    from baselines.local_chat import LocalChat  # an endpoint needs no torch

    chats: list[Chat] = []
    for name in models:
        chat = LocalChat(name, device, dtype, has_prompt, answer_tokens)
        if answer_tokens == 1:
            for aspect in aspects:
                chat.check_scale(*aspect.scale)
        chats.append(chat)
    return chats
