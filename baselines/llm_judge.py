"""An LLM as judge: a chat model is asked for a number, as in G-Eval (Liu et al., EMNLP 2023), or for the better text.

Pairs are shown in both orders, because such judges prefer a position (Zheng et al. 2023, "Judging LLM-as-a-Judge").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

from baselines.chat import Chat, Question, ask_once
from baselines.endpoint import EndpointChat
from baselines.readings import Judged, judge_reply
from baselines.replies import ChatFault
from baselines.rubrics import Aspect, fields_of, read_prompt, read_rubric, show
from core.errors import OutsideError, SettingError
from core.example import Example
from core.metric import BaseMetric
from core.progress import step
from core.scores import Scores, fields_by_settings
from core.selection import describe_missing_fields
from core.settings import Count, Text, check
from core.signature import Setting, signature
from core.stages import Cache, Stages, fingerprint
from meta_eval.preferences import PairAnswer, Verdicts

USUAL = ("coherence",)  # the aspects of our rubric that are asked about unless others are named
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
    # a file with the question about a text in other words (`baselines.rubrics`), or None for those of this repository
    prompt: str | None = None
    # whether the model gives its reasons before each verdict
    explain: bool = False
    # a folder of stages for replies, so that a killed run asks nothing twice; None keeps none
    kept: Path | None = None

    @classmethod
    def from_settings(
        cls,
        model: str,
        base_url: str | None = None,
        aspects: str | Sequence[str] | None = None,
        rubric: str | None = None,
        parallel: int = 4,
        cache: str | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        prompt: str | None = None,
        explain: bool = False,
        **asking: Any,
    ) -> LLMJudge:
        """Builds a judge behind `base_url`, or a local one by transformers.

        Without `aspects`, all aspects of a rubric file are asked, or coherence of the built-in rubric. `cache` is a
        folder of stages for replies, `asking` holds settings of `EndpointChat`. Raises SettingError.
        """
        check(Count, parallel=parallel)
        check(Text, model=model)
        check(Text | None, base_url=base_url)
        check(bool, explain=explain)
        names = choose_aspects(rubric, aspects)
        asked = read_rubric(rubric, names)  # before a model is loaded
        read_prompt(prompt)
        if explain and prompt is not None:
            raise SettingError(f"explain has no effect on prompt={prompt}: ask for reasons in the prompt")
        kept = None if cache is None else Path(cache)
        if base_url is not None:
            chat: Chat = EndpointChat(model, base_url, kept=kept, **asking)
        else:
            refuse_asking({"explain": explain, **asking})
            from baselines.local_chat import LocalChat  # an endpoint needs no torch

            chat = LocalChat(model, device, dtype, has_prompt=prompt is not None)
            for aspect in asked.values():
                chat.check_scale(*aspect.scale)
        return cls(
            chat=chat,
            aspects=names,
            rubric=rubric,
            parallel=parallel,
            prompt=prompt,
            explain=explain,
            kept=kept,
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

    @cached_property
    def cache(self) -> Cache | None:
        """What keeps the replies; opened at the first question."""
        if self.kept is None:
            return None
        return Stages(self.kept).open_cache("llm_judge", self.chat.depends, code=[type(self.chat)])

    def compare(self, pairs: Sequence[tuple[Example, Example]]) -> Verdicts:
        """Asks which text of each pair is better, in both orders; the question shows the input of the first text.

        Raises SettingError for several aspects, for a prompt, and as `score_all`.
        """
        aspect = self._find_aspect_of_pairs()
        lacks = partial(describe_missing_fields, requires=fields_of([aspect]), metric=self.name)
        lacking = [lacks(first) or lacks(second) for first, second in pairs]
        orders = [ask_in_both_orders(aspect, *pair) for pair in pairs]
        readable = [both for both, lack in zip(orders, lacking, strict=True) if not lack]
        by_question = self._ask_all(chain.from_iterable(readable))
        answers: list[PairAnswer] = []
        for pair, is_reversed in product(range(len(pairs)), (False, True)):
            question = orders[pair][is_reversed]
            lack = lacking[pair]
            verdict = Judged(math.nan, lack) if lack else by_question[question]
            answers.append(
                PairAnswer(
                    judge=self.chat.name,
                    pair=pair,
                    is_reversed=is_reversed,
                    question=question.text,
                    first=verdict.verdict,
                    answer=verdict.answer,
                    reason=verdict.reason,
                )
            )
        first = np.array([answer.first for answer in answers]).reshape(-1, 2)
        reasons = [one.reason or other.reason for one, other in zip(answers[::2], answers[1::2], strict=True)]
        return Verdicts(
            first,
            reasons,
            signature("llm_judge_pairs", libraries=(), **self.settings),
            name=self.chat.name,
            answers=tuple(answers),
            has_probabilities=bool(self.settings["logprobs"]),
        )

    def _find_aspect_of_pairs(self) -> Aspect:
        """The one aspect by which texts are compared. Raises SettingError for several, and for a prompt."""
        if self.template is not None:
            raise SettingError(f"prompt={self.prompt} asks about one text: pairs are compared without a prompt")
        if len(self.asked) > 1:
            raise SettingError(f"aspects must name one aspect to compare texts by, but are {list(self.asked)}")
        (aspect,) = self.asked.values()
        return aspect

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """One score per aspect of the rubric; NaN with a reason if the model gave no rating.

        Raises SettingError if the endpoint refuses the key or the model.
        """
        asked = {name: [*map(partial(ask_rating, aspect), examples)] for name, aspect in self.asked.items()}
        judged = self._ask_all(chain.from_iterable(asked.values()))
        columns = {name: [*map(judged.__getitem__, questions)] for name, questions in asked.items()}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return Scores(
            {aspect: np.array([answer.verdict for answer in answers]) for aspect, answers in columns.items()},
            self.signature,
            reasons=list(map(join_reasons, rows)),
            explanations=[{name: answer.explanation for name, answer in row.items()} for row in rows],
        )

    @property
    def settings(self) -> dict[str, Setting]:
        """Model, rubric, and whether token probabilities weight the ratings."""
        depends = self.chat.depends
        return {
            "model": self.chat.name.replace("|", " "),
            "rubric": fingerprint([vars(aspect) for aspect in self.asked.values()]),
            "logprobs": bool(depends.get("logprobs", True)),
            "source": fingerprint(depends),
        }

    def _ask_all(self, questions: Iterable[Question]) -> dict[Question, Judged]:
        """The model's answer to every question; equal ones are asked once.

        Raises OutsideError where the endpoint answered none, and as soon as more than a few answers are lost.
        """
        asked = list(dict.fromkeys(questions))
        faults: list[ChatFault] = []
        answers: dict[Question, Judged] = {}
        with (
            step("asking", len(asked)) as advance,
            closing(ask_once(self.chat, asked, self.parallel, self.cache)) as replies,
        ):
            for place, reply in replies:
                if isinstance(reply, ChatFault):
                    faults.append(reply)
                    check_faults(faults, len(asked))
                answers[asked[place]] = judge_reply(reply, asked[place])
                advance(1)
        return answers


def refuse_asking(asking: Mapping[str, Any]) -> None:
    """Raises SettingError for settings that only an endpoint has, unless they have their defaults."""
    usual = {name: setting.default for name, setting in EndpointChat.__dataclass_fields__.items()}
    unread = [name for name, value in asking.items() if value != {"explain": False, **usual}.get(name)]
    if unread:
        raise SettingError(f"{', '.join(unread)}: these settings need an endpoint, but there is no base_url")


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
