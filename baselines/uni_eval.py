"""UniEval (Zhong et al., EMNLP 2022): a sequence-to-sequence model answers a yes/no question about each utterance."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.pairs import ModelMetric, score_pairs
from core.example import Example
from core.scores import Scores, require
from core.settings import Count, checked_dataclass
from core.signature import Setting
from core.templates import fill_template
from models.seq2seq import Seq2SeqLM
from models.windows import CutTruncation, cut_end, refuse_cut


@checked_dataclass
class UniEval(ModelMetric):
    """The probability of "Yes" against "No", in (0, 1), averaged over the utterances of a dialogue; higher is better.

    UniEval judges single utterances. CDM (Table 2) averages them, here without the first one, which answers nothing.
    UniEval's own model for dialogues is `MingZhong/unieval-dialog`.
    """

    name = "uni_eval"
    requires = require("turns")
    loader = Seq2SeqLM
    # by aspect, the input with `{response}` and `{history}` in it
    questions: Mapping[str, str]
    # tokens of an input; UniEval reads 1024
    max_length: Count = 1024
    # an input that is too long is cut at its end (`warn`) or refused (`error`)
    truncation: CutTruncation = "warn"

    @property
    def settings(self) -> dict[str, Setting]:
        return super().settings | {f"question_{aspect}": text for aspect, text in self.questions.items()}

    def score_all(self, examples: Sequence[Example]) -> Scores:
        """Computes one aspect for each question."""
        values: dict[str, NDArray[np.float64]] = {}
        explanations: list[dict[str, Any]] = [{} for _ in examples]
        dropped = np.zeros(len(examples), dtype=np.int64)
        for aspect, question in self.questions.items():
            answers, lost = score_pairs(examples, partial(fill_questions, question), self._ask)
            means = [of_turns.mean() for of_turns in answers]
            values[aspect] = np.array(means)
            dropped += np.array(lost, dtype=np.int64)
            for example, explanation, of_turns in zip(
                examples,
                explanations,
                answers,
                strict=True,
            ):
                turns = zip(example.turns[1:], of_turns.tolist(), strict=True)
                explanation[aspect] = [[turn, round(answer, 4)] for turn, answer in turns]
        rule = f"the questions about a dialogue must have at most {self.max_length} tokens"
        refuse_cut(self.truncation, rule, dropped.tolist())
        return Scores(
            values=values,
            signature=self.signature,
            dropped_tokens=dropped.tolist(),
            explanations=explanations,
            notes=self.lm.notes,
        )

    def _ask(self, inputs: Sequence[str]) -> tuple[NDArray[np.float64], list[int]]:
        """P(yes) / (P(yes) + P(no)) of each input, and how many tokens it lost."""
        encode: Any = self.lm.tokenizer
        sources: list[list[int]] = []
        lost: list[int] = []
        for ids in encode(list(inputs), verbose=False)["input_ids"]:
            kept, cut = cut_end(ids, self.max_length, closing=1)
            sources.append(kept)
            lost.append(cut)
        words = encode(["Yes", "No"], add_special_tokens=False)["input_ids"]
        pairs = [(source, word[:1]) for source in sources for word in words]
        rows = self.lm.log_probabilities(pairs, token_budget=self.token_budget)
        yes, no = np.array(rows, dtype=np.float64).reshape(-1, 2).T
        return 1 / (1 + np.exp(no - yes)), lost


def fill_questions(question: str, example: Example) -> list[str]:
    """Returns the question about each utterance except the first."""
    questions: list[str] = []
    for number, turn in enumerate(example.turns[1:], start=1):
        history = "\n".join(example.turns[:number])
        questions.append(fill_template(question, {"response": turn, "history": history}))
    return questions
