"""An instruction model in this process as a chat model: its first token is the verdict, with all probabilities."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch

from baselines.chat import Question, Replies
from baselines.replies import ChatFault, ChosenToken, Reply
from core.errors import MissingModelError, SettingError
from models.batching import batches_by_budget, halve_when_out_of_memory
from models.conditional import load_conditional
from models.model import decode_tokens

# What a chat template takes for today, whatever form it asks for, so that scores are the same tomorrow.
TODAY = "{%- macro strftime_now(format) -%}26 Jul 2024{%- endmacro -%}"
OPENING = ("<", "[")  # of tokens that mark a part of a conversation
TRIALS = ("Answer with 1.", "Answer with 2.")
LIKELIEST = 200  # tokens whose probabilities are kept
# Padded tokens of a batch: on a CPU few, which its caches hold and after which progress is shown, elsewhere many.
BUDGET = 1024
BUDGET_ELSEWHERE = 16_384


class LocalChat:
    """An instruction model by transformers: the likeliest first token of its answer, and the probabilities there.

    A special token in a question is read as the text that it is. A model without a chat template, such as Flan-T5,
    reads the question alone, which a prompt of the user's must fit to it.

    Raises SettingError for a model with neither a template nor a prompt, MissingModelError for a faulty template.
    """

    def __init__(
        self,
        model: str,
        device: str = "cpu",
        dtype: str = "float32",
        *,
        has_prompt: bool = False,
    ) -> None:
        self.lm = load_conditional(model, device, dtype)
        self.name = name_model(model)
        self.budget = BUDGET if self.lm.device.type == "cpu" else BUDGET_ELSEWHERE
        self.template: str | None = None
        if self.lm.tokenizer.chat_template:
            self.template = self._try_template(model)
        elif not has_prompt:
            what = "an instruction model is needed, or prompt=FILE with all that the model reads"
            raise SettingError(f"model={model} has no chat template: {what}")
        self.depends = {"model": self.name, "identity": self.lm.identity}

    def _try_template(self, model: str) -> str:
        """The chat template. Raises MissingModelError for one that fails, or that does not show the question."""
        template = TODAY + self.lm.tokenizer.get_chat_template()
        self.template = template
        try:
            first, second, again = map(self.read, (*TRIALS, TRIALS[0]))
        except Exception as error:  # a template may raise any class
            raise MissingModelError(model, f"the chat template of this model fails: {error}") from error
        if first == second:
            raise MissingModelError(model, "the chat template of this model does not show the question")
        if first != again:
            raise MissingModelError(model, "the chat template of this model draws what it shows at random")
        return template

    def check_scale(self, low: int, high: int) -> None:
        """Raises SettingError if the greatest number has several tokens, of which only the first is read."""
        ends = self.lm.tokenizer([str(low), str(high)], add_special_tokens=False)["input_ids"]
        least, most = map(len, ends)  # pyright: ignore[reportArgumentType]
        if most > least:
            what = f"takes {high} for several tokens, of which the first is read"
            raise SettingError(f"rubric: the levels must end at 9 or less, since model={self.name} {what}")

    def read(self, question: str) -> list[int]:
        """Returns the tokens of a question, in the model's chat template if it has one."""
        if self.template is None:
            return self.lm.tokenizer(question, split_special_tokens=True, verbose=False)["input_ids"]  # pyright: ignore[reportReturnType]
        return self.lm.tokenizer.apply_chat_template(  # pyright: ignore[reportReturnType]
            [{"role": "user", "content": question}],
            add_generation_prompt=True,
            chat_template=self.template,
            sanitize_control_tokens=True,
            return_dict=False,
        )

    def ask_all(self, questions: Sequence[Question], parallel: int = 1) -> Replies:
        """The replies, by batches of similar length.

        A question that is too long, or holds a special token that cannot be read as text, has a ChatFault.
        """
        del parallel
        sources: dict[int, list[int]] = {}
        for place, question in enumerate(questions):
            try:
                sources[place] = self._read_whole(question.text)
            except ChatFault as fault:
                yield place, fault
        places = list(sources)

        def answer(rows: Sequence[int]) -> list[Reply]:
            return self._answer([sources[places[row]] for row in rows])

        for batch in batches_by_budget([*map(len, sources.values())], self.budget):
            replies = halve_when_out_of_memory(answer, batch)
            for row, reply in zip(batch, replies, strict=True):
                yield places[row], reply

    @cached_property
    def template_tokens(self) -> list[str]:
        """Tokens of the chat template that a text could forge: they are not special, and so are read as tokens."""
        added = self.lm.tokenizer.added_tokens_decoder.values()
        forged = [str(token.content) for token in added if not token.special and token.content.startswith(OPENING)]
        return [token for token in forged if token in (self.template or "")]

    def _read_whole(self, question: str) -> list[int]:
        """The tokens of a question. Raises ChatFault for one that the model cannot read."""
        for token in self.template_tokens:
            if token in question:
                raise ChatFault(f"the question holds {token}, which this model reads as a token of its own")
        try:
            source = self.read(question)
        except Exception as error:  # a template may raise any class
            raise ChatFault(f"the question cannot be read: {error}") from error
        if len(source) > self.lm.max_length:
            raise ChatFault(f"the question has {len(source)} tokens, but this model reads at most {self.lm.max_length}")
        return source

    @torch.inference_mode()
    def _answer(self, sources: Sequence[Sequence[int]]) -> list[Reply]:
        """The likeliest token after each source, with the probabilities of the likeliest ones."""
        log_p = self.lm.read(sources, ()).next_log_probabilities(None)
        best = log_p.topk(min(LIKELIEST, log_p.shape[1]))
        replies: list[Reply] = []
        for source, ids, values in zip(sources, best.indices.tolist(), best.values.tolist(), strict=True):
            names = self.lm.tokenizer.batch_decode([[token] for token in ids])
            first = ChosenToken(place=0, token=names[0], likeliest=tuple(zip(names, values, strict=True)))
            reply = Reply(
                text=decode_tokens(self.lm.tokenizer, ids[:1], keep_special=True),
                chosen=(first,),
                prompt_tokens=len(source),
                answer_tokens=1,
            )
            replies.append(reply)
        return replies


def name_model(model: str) -> str:
    """Returns what tables call a model: its name at the hub, or the name of its folder.

    >>> name_model("Qwen/Qwen2.5-1.5B-Instruct")
    'Qwen/Qwen2.5-1.5B-Instruct'
    """
    return Path(model).resolve().name if Path(model).is_dir() else model
