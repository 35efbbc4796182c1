"""An instruction model in this process as a chat model, which reads its questions in batches."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from baselines.chat import Question, Replies
from baselines.replies import ChatFault, ChosenToken, Reply, is_verdict
from baselines.verdicts import Form
from core.errors import MissingModelError, SettingError
from models.batching import batches_by_budget, halve_when_out_of_memory, pad_with_mask
from models.conditional import load_conditional
from models.model import ConditionalLM, decode_tokens

Likeliest: TypeAlias = tuple[tuple[str, float], ...]  # tokens with their log-probabilities

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
        self.lm = load_conditional(model, device, dtype)
        set_plain_generation(self.lm)
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
        self.depends = {
            "model": self.name,
            "identity": self.lm.identity,
            "answer_tokens": answer_tokens,
        }

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
        """Raises SettingError if the greatest number has several tokens, of which only the first is read."""
        ends = self.lm.tokenizer([str(low), str(high)], add_special_tokens=False)["input_ids"]
        least, most = map(len, ends)  # pyright: ignore[reportArgumentType]
        if self.answer_tokens == 1 and most > least:
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
        sources: dict[int, list[int]] = {}
        for place, question in enumerate(questions):
            try:
                sources[place] = self._read_whole(question.text)
            except ChatFault as fault:
                yield place, fault
        places = list(sources)

        def answer(rows: Sequence[int]) -> list[Reply]:
            batch = [places[row] for row in rows]
            forms: list[Form] = [questions[place].form for place in batch]
            return self._answer([sources[place] for place in batch], forms)

        costs = [len(source) + self.answer_tokens - 1 for source in sources.values()]
        for batch in batches_by_budget(costs, self.budget):
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
        room = self.lm.max_length + 1 - self.answer_tokens
        if len(source) > room:
            raise ChatFault(f"the question has {len(source)} tokens, but this model reads at most {room}")
        return source

    @torch.inference_mode()
    def _answer(self, sources: Sequence[Sequence[int]], forms: Sequence[Form]) -> list[Reply]:
        """The likeliest tokens of each source, one after the other, up to one that ends an answer."""
        model = self.lm.model
        padded = pad_with_mask(sources, 0, self.lm.device)
        if not model.config.is_encoder_decoder:  # padded on the left
            turned = [source[::-1] for source in sources]
            padded = pad_with_mask(turned, 0, self.lm.device)
            padded = {name: tensor.flip(1) for name, tensor in padded.items()}
        watch = Watch(self.lm.tokenizer, forms)
        ids = model.generate(**padded, max_new_tokens=self.answer_tokens, logits_processor=LogitsProcessorList([watch]))
        first = ids.shape[1] - watch.steps
        written: list[list[int]] = ids[:, first:].tolist()
        rows = zip(
            sources,
            written,
            watch.likeliest,
            strict=True,
        )
        return [self._to_reply(*of_row) for of_row in rows]

    def _to_reply(
        self,
        source: Sequence[int],
        written: list[int],
        likeliest: dict[int, Likeliest],
    ) -> Reply:
        """The reply of one row. An end token that is the first token stays, as it is all that the model says."""
        ends: list[int] = self.lm.model.generation_config.eos_token_id
        end = next((step for step, token in enumerate(written) if token in ends), len(written))
        ids = written[: max(end, 1)]
        chosen: list[ChosenToken] = []
        for step, of_step in likeliest.items():
            if step < len(ids):
                place = len(self._spell(ids[:step]))
                name = self.lm.tokenizer.decode([ids[step]])
                chosen.append(ChosenToken(place=place, token=str(name), likeliest=of_step))
        return Reply(
            text=self._spell(ids),
            chosen=tuple(chosen),
            prompt_tokens=len(source),
            answer_tokens=len(ids),
            is_cut=self.answer_tokens > 1 and end == len(written),  # one token is a complete answer if one is wanted
        )

    def _spell(self, ids: Sequence[int]) -> str:
        return decode_tokens(self.lm.tokenizer, ids, keep_special=True)


class Watch(LogitsProcessor):
    """Notes the likeliest tokens where the greedy one may be the verdict of its row, and at the first; changes none."""

    def __init__(self, tokenizer: Any, forms: Sequence[Form]) -> None:
        self.tokenizer = tokenizer
        self.forms = forms
        self.steps = 0
        self.likeliest: list[dict[int, Likeliest]] = [{} for _ in forms]  # by row and step

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        tokens = scores.argmax(-1)[:, None].tolist()
        for row, (token, form) in enumerate(zip(tokens, self.forms, strict=True)):
            if self.steps == 0 or is_verdict(decode_tokens(self.tokenizer, token, keep_special=True), form):
                best = scores[row].float().log_softmax(-1).topk(min(LIKELIEST, scores.shape[1]))
                names = self.tokenizer.batch_decode(best.indices[:, None].tolist())
                self.likeliest[row][self.steps] = tuple(zip(names, best.values.tolist(), strict=True))
        self.steps += 1
        return scores


def set_plain_generation(lm: ConditionalLM) -> None:
    """Leaves of a model's settings of `generate` only its ends: others change answers, such as penalties."""
    given = lm.model.generation_config
    stated: Any = None if given is None else given.eos_token_id
    several: list[Any] = [*stated] if isinstance(stated, list) else [stated]
    several.append(lm.tokenizer.eos_token_id)
    ends = {token for token in several if token is not None}
    lm.model.generation_config = GenerationConfig(
        eos_token_id=sorted(ends),
        pad_token_id=0,
        decoder_start_token_id=getattr(lm.model.config, "decoder_start_token_id", None),
    )


def name_model(model: str) -> str:
    """Returns what tables call a model: its name at the hub, or the name of its folder.

    >>> name_model("Qwen/Qwen2.5-1.5B-Instruct")
    'Qwen/Qwen2.5-1.5B-Instruct'
    """
    return Path(model).resolve().name if Path(model).is_dir() else model
