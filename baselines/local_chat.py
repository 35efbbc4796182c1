"""An instruction model in this process as a chat model, which reads its questions in batches."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from baselines.chat import Question, Replies
from baselines.replies import ChatFault, ChosenToken, Reply, is_verdict
from baselines.verdicts import Form
from core.errors import MissingModelError, SettingError
from models.batching import batches_by_budget, halve_when_out_of_memory
from models.conditional import load_conditional
from models.devices import choose_dtype, count_weights
from models.model import ConditionalLM, Reader, decode_tokens, native_output_layer, output_layer_given

log = logging.getLogger(__name__)

# What a chat template takes for today, whatever form it asks for, so that scores are the same tomorrow.
TODAY = "{%- macro strftime_now(format) -%}26 Jul 2024{%- endmacro -%}"
OPENING = ("<", "[")  # of tokens that mark a part of a conversation
TRIALS = ("Answer with 1.", "Answer with 2.")
LIKELIEST = 200  # tokens whose probabilities are kept where a verdict stands
# Padded tokens of a batch: on a CPU few, which its caches hold and after which progress is shown, elsewhere many.
# For answers of many tokens more too: each of these reads all weights, for however many questions.
BUDGET = 1024
BUDGET_OF_LONG_ANSWERS = 4096
BUDGET_ELSEWHERE = 16_384


class LocalChat:
    """An instruction model by transformers: the likeliest answer, and the probabilities where a verdict stands.

    With `answer_tokens` 1 the answer is its first token. A special token in a question is read as the text that it is.
    A model without a chat template, such as Flan-T5, reads the question alone, which a prompt of the user's must fit to
    it.

    Raises SettingError for a model with neither a template nor a prompt, MissingModelError for a faulty template.
    """

    def __init__(
        self,
        model: str,
        device: str = "cpu",
        dtype: str = "float32",
        has_prompt: bool = False,
        answer_tokens: int = 1,
    ) -> None:
        announce_memory(model, device, dtype)
        self.lm = load_conditional(model, device, dtype)
        self.name = name_model(model)
        self.answer_tokens = answer_tokens
        self.budget = BUDGET if answer_tokens == 1 else BUDGET_OF_LONG_ANSWERS
        if self.lm.device.type != "cpu":
            self.budget = BUDGET_ELSEWHERE
        self.template: str | None = None
        if self.lm.tokenizer.chat_template:
            self.template = self._try_template(model)
        elif not has_prompt:
            what = "an instruction model is needed, or prompt=FILE with all that the model reads"
            raise SettingError(f"model={model} has no chat template: {what}")
        self.depends = {"model": self.name, "identity": self.lm.identity, "answer_tokens": answer_tokens}

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

    @property
    def most_tokens(self) -> int:
        return self.answer_tokens

    def check_scale(self, low: int, high: int) -> None:
        """Raises SettingError if the greatest number has more tokens than the least: only the first token is read."""
        least, most = (len(self.lm.tokenizer(str(end), add_special_tokens=False)["input_ids"]) for end in (low, high))
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
        """The replies, by batches of similar length. A repeat has the same answer.

        A question that is too long, or holds a special token that cannot be read as text, has a ChatFault.
        """
        del parallel
        places: list[int] = []
        sources: list[list[int]] = []
        forms: list[Form] = []
        for place, question in enumerate(questions):
            try:
                source = self._read_whole(question.text)
            except ChatFault as fault:
                yield place, fault
                continue
            places.append(place)
            sources.append(source)
            forms.append(question.form)

        def answer(rows: Sequence[int]) -> list[Reply]:
            return self._answer([sources[row] for row in rows], [forms[row] for row in rows])

        costs = [len(source) + self.answer_tokens - 1 for source in sources]
        for batch in batches_by_budget(costs, self.budget):
            replies = halve_when_out_of_memory(answer, batch)
            for row, reply in zip(batch, replies, strict=True):
                yield places[row], reply

    def ask(
        self,
        question: str,
        repeat: int = 0,
        form: Form = "number",
    ) -> Reply:
        """Returns the reply to one question. Raises the ChatFault that `ask_all` would yield."""
        ((_, reply),) = self.ask_all([Question(question, form, repeat)])
        if isinstance(reply, ChatFault):
            raise reply
        return reply

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
        room = self.lm.max_length
        if len(source) > room:
            raise ChatFault(f"the question has {len(source)} tokens, but the model reads at most {room}")
        return source

    @torch.inference_mode()
    def _answer(self, sources: Sequence[Sequence[int]], forms: Sequence[Form]) -> list[Reply]:
        """The likeliest tokens of each source, one after the other, up to one that ends an answer."""
        ends = list_ends(self.lm)
        answers: list[Written] = []
        for source, form in zip(sources, forms, strict=True):
            room = self.lm.max_length + 1 - len(source)
            answers.append(Written(self.lm, ends, form, len(source), most=min(self.answer_tokens, room)))
        reader = self.lm.read(sources, ())
        log_probabilities = reader.next_log_probabilities(None)
        chosen = log_probabilities.argmax(-1)
        for row, answer in enumerate(answers):
            answer.choose(chosen[row], log_probabilities[row])
        going = answers
        while True:
            kept = [row for row, answer in enumerate(going) if answer.goes_on]
            if not kept:
                break
            if len(kept) < len(going):
                rows = torch.tensor(kept, device=self.lm.device)
                reader.keep(rows)
                chosen = chosen[rows]
                going = [going[row] for row in kept]
            chosen = self._go_on(reader, chosen, going)
        return [answer.as_reply() for answer in answers]

    def _go_on(self, reader: Reader, chosen: Tensor, going: Sequence["Written"]) -> Tensor:
        """The next token of each answer, which is added to it; probabilities in float32 where a verdict may stand."""
        model = self.lm.model
        with native_output_layer(model), output_layer_given(model, lambda hidden: hidden) as seen:
            following = reader.next_log_probabilities(chosen).argmax(-1)
        (hidden,) = seen
        verdicts = [row for row, answer in enumerate(going) if answer.may_be_verdict(following[row])]
        exact: dict[int, Tensor] = {}
        if verdicts:
            logits = self.lm.project(hidden[verdicts, -1])
            exact = dict(zip(verdicts, logits.log_softmax(-1), strict=True))
        for row, answer in enumerate(going):
            answer.choose(following[row], exact.get(row))
        return following


@dataclass
class Written:
    """An answer that is being written, token by token."""

    lm: ConditionalLM
    ends: frozenset[int]
    # of the verdict that it should have
    form: Form
    prompt_tokens: int
    # tokens, at most
    most: int
    ids: list[int] = field(default_factory=list)
    chosen: list[ChosenToken] = field(default_factory=list)
    has_ended: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether the answer needs another token."""
        return not self.has_ended and len(self.ids) < self.most

    def may_be_verdict(self, token: Tensor) -> bool:
        """Whether a token may be the verdict."""
        return is_verdict(self._spell([int(token)]), self.form)

    def choose(self, token: Tensor, log_probabilities: Tensor | None) -> None:
        """Adds a token, with the likeliest tokens at its position if the log-probabilities of all tokens are given."""
        chosen = int(token)
        self.has_ended = chosen in self.ends
        if self.has_ended and self.ids:
            return
        if log_probabilities is not None:
            best = log_probabilities.topk(min(LIKELIEST, len(log_probabilities)))
            names = self.lm.tokenizer.batch_decode(best.indices[:, None].tolist())
            likeliest = tuple(zip(names, best.values.tolist(), strict=True))
            name = str(self.lm.tokenizer.decode([chosen]))
            self.chosen.append(ChosenToken(place=len(self._spell(self.ids)), token=name, likeliest=likeliest))
        self.ids.append(chosen)

    def as_reply(self) -> Reply:
        """Returns the answer as a Reply. If only the first token is wanted, one token is a complete answer."""
        return Reply(
            text=self._spell(self.ids),
            chosen=tuple(self.chosen),
            prompt_tokens=self.prompt_tokens,
            answer_tokens=len(self.ids),
            is_cut=self.most > 1 and not self.has_ended,
        )

    def _spell(self, ids: Sequence[int]) -> str:
        return decode_tokens(self.lm.tokenizer, ids, keep_special=True)


def list_ends(lm: ConditionalLM) -> frozenset[int]:
    """Lists the tokens that end an answer."""
    stated: Any = lm.model.generation_config.eos_token_id if lm.model.generation_config is not None else None
    several = stated if isinstance(stated, list) else [stated]
    of_tokenizer: Any = lm.tokenizer.eos_token_id
    return frozenset(token for token in (*several, of_tokenizer) if token is not None)


def name_model(model: str) -> str:
    """Returns what tables call a model: its name at the hub, or the name of its folder.

    >>> name_model("Qwen/Qwen2.5-1.5B-Instruct")
    'Qwen/Qwen2.5-1.5B-Instruct'
    """
    return Path(model).resolve().name if Path(model).is_dir() else model


def announce_memory(
    model: str,
    device: str,
    dtype: str,
) -> None:
    """Logs how much memory the weights of a model take, if its files say so."""
    number = count_weights(model)
    if number is None:
        return
    precision = choose_dtype(device, dtype)
    size = number * getattr(torch, precision).itemsize / 1e9
    log.info("llm_judge: %s takes %.1f GB of memory for its weights in %s", name_model(model), size, precision)
