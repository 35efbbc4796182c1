"""An LLM as judge: a chat model is asked for a number, as in G-Eval (Liu et al., EMNLP 2023), or for the better text.

Pairs are shown in both orders, because such judges prefer a position (Zheng et al. 2023, "Judging LLM-as-a-Judge").
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from baselines.chat import Chat, Question, ask_once
from baselines.endpoint import EndpointChat
from baselines.readings import Judged, judge_reply
from baselines.replies import ChatFault
from baselines.rubrics import Aspect, fields_of, is_of_pairs, read_prompt, read_rubric, show
from core.errors import OutsideError, SettingError
from core.example import Example
from core.metric import BaseMetric
from core.progress import step
from core.scores import Scores, fields_by_settings, name_models
from core.selection import describe_missing_fields
from core.settings import Count, NonNegative, Several, Text, check, to_tuple
from core.signature import Setting, signature
from core.stages import Cache, Stages, fingerprint
from meta_eval.design import Floats
from meta_eval.preferences import PairAnswer, Verdicts

log = logging.getLogger(__name__)

Price = Annotated[tuple[NonNegative, NonNegative], BeforeValidator(to_tuple)]

SAMPLE = Example(
    "",
    text="text",
    turns=("a", "b"),
    context="context",
    prefix="prefix",
    label="label",
)
USUAL = ("coherence",)  # the aspects of our rubric that are asked about unless others are named
PER_TOKEN = 4  # characters, for estimates
FEW, FEW_SHARE = 3, 0.01  # lost answers with which scores are still written, whichever are more


def choose_aspects(rubric: str | None, aspects: str | Sequence[str] | None) -> tuple[str, ...]:
    """Chooses the names of the aspects to ask about; empty for all aspects of the user's rubric."""
    if isinstance(aspects, str):
        return (aspects,)
    if aspects is not None:
        return tuple(aspects)
    return USUAL if rubric is None else ()


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
    # a folder of stages for replies, so that a killed run asks nothing twice; None keeps none
    kept: Path | None = None
    # tokens of questions and of answers so far
    spent: Counter[str] = field(default_factory=Counter, compare=False)
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
        if repeats > 1 and (base_url is None or not asking.get("temperature")):
            raise SettingError("repeats need base_url and a temperature above 0: the answers are equal otherwise")
        if explain and asking.get("structured") is True:
            raise SettingError("structured asks for the verdict alone, but explain for reasons before it")
        chats: list[Chat] = []
        if base_url is not None:
            if explain:
                asking["structured"] = False
            chats += [EndpointChat(name, base_url, **asking) for name in models]
        else:
            from baselines.local_chat import LocalChat  # an endpoint needs no torch

            answer_tokens = count_tokens(asking, explain)
            for name in models:
                chat = LocalChat(
                    name,
                    device,
                    dtype,
                    prompt is not None,
                    answer_tokens,
                )
                for aspect in asked.values():
                    chat.check_scale(*aspect.scale)
                chats.append(chat)
        return cls(
            chat=chats[0],
            aspects=names,
            rubric=rubric,
            parallel=parallel,
            panel=tuple(chats[1:]),
            repeats=repeats,
            price=None if price is None else (price[0], price[1]),
            prompt=prompt,
            explain=explain,
            kept=None if cache is None else Path(cache),
        )

    @cached_property
    def asked(self) -> dict[str, Aspect]:
        """The aspects, read once, so that all texts get the same question."""
        ask = partial(replace, prompt=self.template, explains=self.explain)
        return {name: ask(aspect) for name, aspect in read_rubric(self.rubric, self.aspects).items()}

    @cached_property
    def template(self) -> str | None:
        """The text of the prompt, which is read once; None without a prompt."""
        return read_prompt(self.prompt)

    @property
    def chats(self) -> tuple[Chat, ...]:
        return self.chat, *self.panel

    @cached_property
    def caches(self) -> list[Cache | None]:
        """What keeps the replies of each model; opened at the first question."""
        if self.kept is None:
            return [None] * len(self.chats)
        stages = Stages(self.kept)
        return [stages.open_cache("llm_judge", chat.depends, code=[type(chat)]) for chat in self.chats]

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
        orders = [ask_in_both_orders(aspect, *pair) for pair in pairs]
        readable = [both for both, lack in zip(orders, lacking, strict=True) if not lack]
        asked = list(dict.fromkeys(chain.from_iterable(readable)))
        self._announce(len(pairs), [len(question.text) for question in asked])
        answers: list[PairAnswer] = []
        judged = self._ask_all(asked)
        for rater, found in judged.items():
            by_question = dict(zip(asked, found, strict=True))
            for pair, (both, lack) in enumerate(zip(orders, lacking, strict=True)):
                for is_reversed, question in zip((False, True), both, strict=True):
                    verdict = Judged(math.nan, lack) if lack else by_question[question]
                    answers.append(
                        PairAnswer(
                            judge=rater,
                            pair=pair,
                            is_reversed=is_reversed,
                            question=question.text,
                            first=verdict.verdict,
                            answer=verdict.answer,
                            reason=verdict.reason,
                        )
                    )
        first = np.array([answer.first for answer in answers]).reshape(len(judged), -1, 2)
        panel = dict(zip(judged, first, strict=True))
        reasons: list[str | None] = [None] * len(pairs)
        verdicts = Verdicts.of_panel(panel, reasons, signature("llm_judge_pairs", libraries=(), **self.settings))
        for answer in answers:
            if np.isnan(verdicts.outcomes[answer.pair]):
                reasons[answer.pair] = reasons[answer.pair] or answer.reason
        return replace(verdicts, reasons=reasons, answers=tuple(answers))

    def _find_aspect_of_pairs(self) -> Aspect:
        """The one aspect by which texts are compared. Raises SettingError for several, and for a prompt of one text."""
        if self.template is not None and not is_of_pairs(self.template):
            raise SettingError(f"prompt={self.prompt} must mark two texts, {{text_a}} and {{text_b}}, to compare them")
        if len(self.asked) > 1:
            raise SettingError(f"aspects must name one aspect to compare texts by, but are {list(self.asked)}")
        (aspect,) = self.asked.values()
        return aspect

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """One score per aspect of the rubric, and the ratings behind it; NaN with a reason if the model gave no rating.

        Raises SettingError if the endpoint refuses the key or the model, and for a prompt of two texts.
        """
        if self.template is not None and is_of_pairs(self.template):
            raise SettingError(f"prompt={self.prompt} must mark one text, {{text}}, to rate it")
        if not self.announced:
            self.announce(examples)
        asked = [ask_rating(aspect, example) for aspect, example in product(self.asked.values(), examples)]
        columns: dict[str, Sequence[Judged]] = {}
        values: dict[str, Floats] = {}
        judged = self._ask_all(asked)
        for number, aspect in enumerate(self.asked):
            part = slice(number * len(examples), (number + 1) * len(examples))
            ratings = {rater: answers[part] for rater, answers in judged.items()}
            verdicts = np.array([[answer.verdict for answer in answers] for answers in ratings.values()])
            values[aspect] = self._join_ratings(verdicts)
            names = [f"{aspect} by {rater}" if len(judged) > 1 else aspect for rater in judged]
            columns |= dict(zip(names, ratings.values(), strict=True))
            values |= dict(zip(names, verdicts, strict=True))
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return Scores(
            values,
            self.signature,
            reasons=list(map(join_reasons, rows)),
            explanations=[{name: answer.explanation for name, answer in row.items()} for row in rows],
        )

    def _join_ratings(self, ratings: Floats) -> Floats:
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
        questions = [describe_questions(aspect) for aspect in self.asked.values()]
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
        lengths: list[int] = []
        for example in examples:
            lengths += [len(aspect.ask_rating(example)) for aspect in self.asked.values()]
        texts = len(lengths) // len(self.asked)
        self.announced.append(texts)
        self._announce(texts, lengths)

    def _announce(self, texts: int, characters: Sequence[int]) -> None:
        """Says what questions of so many characters may cost, each asked of every model as often as `repeats` says."""
        asked = self.repeats * len(characters)
        calls = asked * len(self.chats)
        tokens = self.repeats * len(self.chats) * sum(characters) / PER_TOKEN
        answered = asked * sum(math.inf if chat.most_tokens is None else chat.most_tokens for chat in self.chats)
        costs = f"about {tokens:,.0f} tokens of questions (an estimate: characters / {PER_TOKEN})"
        costs += f", at most {answered:,.0f} of answers"
        if self.price is not None:
            costs += f"; at most {np.dot(self.price, (tokens, answered)) / 1e6:.2f} in all"
        log.info(
            "llm_judge: %d texts, at most %d calls, %s",
            texts,
            calls,
            costs,
        )

    def _ask_all(self, questions: Sequence[Question]) -> dict[str, list[Judged]]:
        """By rater, which is a model or one of its repeats, its answer to every question.

        Raises OutsideError where the endpoint answered none, and where more than a few answers were lost.
        """
        judged: dict[str, list[Judged]] = {}
        faults: list[ChatFault] = []
        total = len(questions) * len(self.chats) * self.repeats
        with step("asking", total) as advance:
            for (chat, cache), repeat in product(zip(self.chats, self.caches, strict=True), range(self.repeats)):
                rater = f"{chat.name} {repeat + 1}" if self.repeats > 1 else chat.name
                sent = [replace(question, repeat=repeat) for question in questions]
                answers: dict[int, Judged] = {}
                with closing(
                    ask_once(
                        chat,
                        sent,
                        self.parallel,
                        cache,
                    )
                ) as replies:
                    for place, reply in replies:
                        if isinstance(reply, ChatFault):
                            faults.append(reply)
                        else:
                            self.spent.update(questions=reply.prompt_tokens, answers=reply.answer_tokens)
                        answers[place] = judge_reply(reply, questions[place])
                        advance(1)
                judged[rater] = [answers[place] for place in range(len(questions))]
        check_faults(faults, total)
        spent = self.spent["questions"], self.spent["answers"]
        cost = "" if self.price is None else f", {float(np.dot(spent, self.price)) / 1e6:.4f} in all"
        log.info("llm_judge: %d tokens of questions, %d of answers so far, kept ones too%s", *spent, cost)
        return judged


def count_tokens(asking: Mapping[str, Any], explain: bool) -> int:
    """The maximum number of tokens of a local model's answer: one, unless `explain` asks for reasons.

    Raises SettingError for settings that only an endpoint has.
    """
    usual = {name: setting.default for name, setting in EndpointChat.__dataclass_fields__.items()}
    unread = sorted(name for name, value in asking.items() if value not in (usual.get(name), None))
    if explain and "answer_tokens" in unread:
        unread.remove("answer_tokens")
    if unread:
        raise SettingError(f"{', '.join(unread)}: these settings need an endpoint, but there is no base_url")
    answer_tokens = asking.get("answer_tokens") or usual["answer_tokens"]
    check(Count, answer_tokens=answer_tokens)
    return answer_tokens if explain else 1


def check_faults(faults: Sequence[ChatFault], total: int) -> None:
    """Raises OutsideError if no question got an answer, or if more than a few answers were lost."""
    if total and len(faults) == total and all(fault.cause for fault in faults):
        raise OutsideError(f"none of {total} questions got an answer: {faults[-1]}")
    lost = [fault for fault in faults if fault.passes]
    if len(lost) > max(FEW, FEW_SHARE * total):
        what = f"{len(lost)} of {total} answers are lost, the last one because {lost[-1]}"
        raise OutsideError(f"{what}: run again, which asks for the answers that did not come")


def join_reasons(answers: Mapping[str, Judged]) -> str | None:
    """Joins the reasons why ratings of a text are missing, by the name of the rating; None if none is missing."""
    return "; ".join(f"{name}: {judged.reason}" for name, judged in answers.items() if judged.reason) or None


def ask_rating(aspect: Aspect, example: Example) -> Question:
    """Asks for a rating of a text."""
    return Question(
        aspect.ask_rating(example),
        aspect.form,
        aspect.scale,
        aspect.name,
    )


def ask_in_both_orders(aspect: Aspect, first: Example, second: Example) -> tuple[Question, Question]:
    """Asks which text is better for the input of the first one, in both orders."""
    one = show(first)
    other = show(second)
    as_given = aspect.ask_choice(first, one, other)
    turned = aspect.ask_choice(first, other, one)
    return Question(as_given, "letter"), Question(turned, "letter")


def describe_questions(aspect: Aspect) -> list[Any]:
    """Values that identify an aspect and the wording of its questions."""
    rating = aspect.ask_rating(SAMPLE)
    choice = aspect.ask_choice(SAMPLE, "first", "second")
    return [
        aspect.name,
        aspect.instruction,
        aspect.levels,
        aspect.is_yes_no,
        rating,
        choice,
    ]
