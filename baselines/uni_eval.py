"""UniEval (Zhong et al., EMNLP 2022): a sequence-to-sequence model answers a yes/no question about each utterance."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.pairs import score_pairs
from core.example import Example
from core.scores import Scores, fields
from core.selection import score_complete
from core.settings import Count, checked_dataclass
from core.signature import MODEL_LIBRARIES, signature
from core.templates import fill_template
from models.seq2seq import Seq2SeqLM
from models.windows import CutTruncation, cut_end, refuse_cut


@checked_dataclass
class UniEval:
    """The probability of "Yes" against "No", in (0, 1), averaged over the utterances of a dialogue; higher is better.

    UniEval judges single utterances. CDM (Table 2) averages them, here without the first one, which
    answers nothing.

    Attributes:
        lm: the model; UniEval's own for dialogues is `MingZhong/unieval-dialog`.
        model: its name, for the signature.
        questions: by aspect, the input with `{response}` and `{history}` in it.
        max_length: tokens of an input; UniEval reads 1024.
        truncation: the end of an input that is too long is cut and counted (`warn`), or it is refused (`error`).
        token_budget: padded tokens in a batch.
    """

    requires = fields("turns")
    lm: Seq2SeqLM
    model: str
    questions: Mapping[str, str]
    max_length: Count = 1024
    truncation: CutTruncation = "warn"
    token_budget: Count = 16_384

    @classmethod
    def from_pretrained(
        cls,
        model: str,
        questions: Mapping[str, str],
        device: str = "cpu",
        dtype: str = "float32",
        **settings: Any,
    ) -> "UniEval":
        """Loads a hub name or a folder; `settings` are the other attributes.

        Raises MissingModel where neither a folder nor a reachable hub has it.
        """
        return cls(Seq2SeqLM.from_pretrained(model, device, dtype), model, dict(questions), **settings)

    @property
    def signature(self) -> str:
        """One line: the metric, its settings, model and versions."""
        return signature(
            "uni_eval",
            libraries=MODEL_LIBRARIES,
            model=self.model,
            identity=self.lm.identity,
            max_length=self.max_length,
            **{f"question_{aspect}": question for aspect, question in self.questions.items()},
        )

    def score(self, examples: Sequence[Example]) -> Scores:
        """One aspect for each question; NaN for a dialogue of one turn.

        Raises ExampleFaults where no example has turns, and with `error` for all dialogues that would be cut.
        """
        return score_complete(examples, self.requires, "uni_eval", self._score)

    def _score(self, examples: Sequence[Example]) -> Scores:
        values: dict[str, NDArray[np.float64]] = {}
        explanations: list[dict[str, Any]] = [{} for _ in examples]
        dropped = np.zeros(len(examples), dtype=np.int64)
        for aspect, question in self.questions.items():
            answers, lost = score_pairs(examples, partial(_fill_questions, question), self._ask)
            values[aspect] = np.array([own.mean() for own in answers])
            dropped += np.array(lost, dtype=np.int64)
            for example, explanation, own in zip(examples, explanations, answers, strict=True):
                turns = zip(example.turns[1:], own.tolist(), strict=True)
                explanation[aspect] = [[turn, round(answer, 4)] for turn, answer in turns]
        rule = f"the questions about a dialogue must have at most {self.max_length} tokens"
        refuse_cut(self.truncation, rule, dropped.tolist())
        return Scores(values, self.signature, (), dropped.tolist(), explanations, self.lm.notes)

    def _ask(self, inputs: Sequence[str]) -> tuple[NDArray[np.float64], list[int]]:
        """P(yes) / (P(yes) + P(no)) of each input, and how many tokens it lost."""
        encode: Any = self.lm.tokenizer
        cut = [cut_end(ids, self.max_length, closing=1) for ids in encode(list(inputs), verbose=False)["input_ids"]]
        words = [encode(word, add_special_tokens=False)["input_ids"][:1] for word in ("Yes", "No")]
        pairs = [(source, word) for source, _ in cut for word in words]
        rows = self.lm.log_probabilities(pairs, token_budget=self.token_budget)
        yes, no = np.array(rows, dtype=np.float64).reshape(-1, 2).T
        return 1 / (1 + np.exp(no - yes)), [lost for _, lost in cut]


def _fill_questions(question: str, example: Example) -> list[str]:
    """The question about each utterance but the first."""
    turns = example.turns
    return [
        fill_template(question, {"response": turns[t], "history": "\n".join(turns[:t])}) for t in range(1, len(turns))
    ]
