"""An LLM as judge: a chat model is asked for a number, as in G-Eval (Liu et al., EMNLP 2023), or for the better text.

Pairs are shown in both orders, because such judges prefer a position (Zheng et al. 2023, "Judging LLM-as-a-Judge").
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.chat import Chat, Question
from baselines.chat_settings import (
    Price,
    check_repeats,
    choose_aspects,
    find_answer_tokens,
    keep_replies,
    load_chats,
    open_endpoint,
    read_price,
)
from baselines.costs import describe_costs
from baselines.judged import (
    AspectQuestion,
    Judged,
    check_faults,
    explain_pairs,
    join_explanations,
    join_reasons,
    judge_reply,
    list_pair_answers,
    list_verdicts,
)
from baselines.replies import ChatFault, Reply
from baselines.rubrics import Aspect, fields_of, is_of_pairs, read_prompt, read_rubric, show
from core.errors import SettingError
from core.example import Example
from core.metric import BaseMetric
from core.progress import step
from core.scores import Scores, fields_by_settings, name_models
from core.selection import describe_missing_fields
from core.settings import Count, Several, Text, check
from core.signature import Setting, signature
from core.stages import fingerprint
from meta_eval.preferences import PairAnswer, Verdicts

log = logging.getLogger(__name__)

SAMPLE = Example("", text="text", turns=("a", "b"), context="context", prefix="prefix", label="label")


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
        timeout: float = 60.0,
        key_variable: str = "OPENAI_API_KEY",
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
        check_repeats(repeats, base_url, asking)
        if base_url is None:
            chats = load_chats(
                models,
                device=device,
                dtype=dtype,
                aspects=[*asked.values()],
                has_prompt=prompt is not None,
                answer_tokens=find_answer_tokens(asking, explain),
            )
        else:
            chats = open_endpoint(
                models, base_url, explain, {**asking, "timeout": timeout, "key_variable": key_variable}
            )
        chats = keep_replies(chats, cache)
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
        """The text of the prompt, which is read once; None without a prompt."""
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
        judged = self._ask_all([AspectQuestion(aspect, question, "letter") for question in asked])
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
            AspectQuestion(aspect, self._ask_rating(aspect, example), aspect.form)
            for aspect, example in product(self.asked.values(), examples)
        ]
        judged = self._ask_all(questions)
        values: dict[str, NDArray[np.float64]] = {}
        columns: dict[str, Sequence[Judged]] = {}
        for number, aspect in enumerate(self.asked):
            part = slice(number * len(examples), (number + 1) * len(examples))
            of_aspect = {rater: answers[part] for rater, answers in judged.items()}
            ratings = np.stack([list_verdicts(answers) for answers in of_aspect.values()])
            values[aspect] = self._join_ratings(ratings)
            for rater, answers in of_aspect.items():
                name = f"{aspect} by {rater}" if len(judged) > 1 else aspect
                columns[name] = answers
                values[name] = list_verdicts(answers)
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
        costs = describe_costs(questions, characters, self.chats, self.repeats, self.price)
        log.info("llm_judge: %d texts, at most %d calls, %s", texts, calls, costs)

    def _ask_all(self, questions: Sequence[AspectQuestion]) -> dict[str, list[Judged]]:
        """By rater, which is a model or one of its repeats, its answer to every question.

        Raises OutsideError where the endpoint answered none, and where more than a few answers were lost.
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
        questions: Sequence[AspectQuestion],
    ) -> Iterator[tuple[int, Reply | ChatFault]]:
        """The replies of one model, by the place of the question, as they come."""
        sent = [Question(question.text, question.form, repeat) for question in questions]
        with closing(chat.ask_all(sent, self.parallel)) as replies:
            for place, reply in replies:
                if isinstance(reply, Reply):
                    self.spent["prompt_tokens"] += reply.prompt_tokens
                    self.spent["answer_tokens"] += reply.answer_tokens
                yield place, reply


def describe_questions(
    aspect: Aspect,
    prompt: str | None,
    explains: bool,
) -> list[Any]:
    """Values that identify an aspect and the wording of its questions."""
    rating = aspect.ask_rating(SAMPLE, prompt, explains)
    choice = aspect.ask_choice(SAMPLE, "first", "second", prompt, explains)
    return [*vars(aspect).values(), rating, choice]
