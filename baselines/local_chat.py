"""An instruction model in this process as a chat model."""

import threading

import torch

from baselines.endpoint import ChatFault, ChosenToken, Reply
from baselines.verdicts import Form
from core.errors import MissingModelError, SettingError
from models.conditional import load_conditional

# What a chat template takes for today, whatever form it asks for, so that scores are the same tomorrow.
TODAY = "{%- macro strftime_now(format) -%}26 Jul 2024{%- endmacro -%}"
TRIALS = ("Answer with 1.", "Answer with 2.")


class LocalChat:
    """An instruction model by transformers: the distribution of the first token of its answer.

    A special token in a question is read as the text that it is. A model without a chat template, such as Flan-T5,
    reads the question alone, which a prompt of the user's must fit to it.

    Raises SettingError for a model that has neither, MissingModelError for a template that fails or shows no question.
    """

    most_tokens = 1

    def __init__(self, model: str, device: str = "cpu", dtype: str = "float32", has_prompt: bool = False) -> None:
        self.lm = load_conditional(model, device, dtype)
        self.template: str | None = None
        if self.lm.tokenizer.chat_template:
            try:
                self.template = TODAY + self.lm.tokenizer.get_chat_template()
                first, second = map(self.read, TRIALS)
            except Exception as error:  # a template may raise any class
                raise MissingModelError(model, f"the chat template of this model fails: {error}") from error
            if first == second:
                raise MissingModelError(model, "the chat template of this model does not show the question")
        elif not has_prompt:
            what = "an instruction model is needed, or prompt=FILE with all that the model reads"
            raise SettingError(f"model={model} has no chat template: {what}")
        self.name, self.depends = model, {"model": model, "identity": self.lm.identity}
        self.lock, self.stopped = threading.Lock(), threading.Event()

    def check_scale(self, low: int, high: int) -> None:
        """Raises SettingError where the greatest number has more tokens than the least: the first token is read."""
        least, most = (len(self.lm.tokenizer(str(end), add_special_tokens=False)["input_ids"]) for end in (low, high))
        if most > least:
            what = f"takes {high} for several tokens, of which the first is read"
            raise SettingError(f"rubric: the levels must end at 9 or less, since model={self.name} {what}")

    def read(self, question: str) -> list[int]:
        """The tokens of a question, in the model's chat template if it has one."""
        if self.template is None:
            return self.lm.tokenizer(question, split_special_tokens=True, verbose=False)["input_ids"]  # pyright: ignore[reportReturnType]
        return self.lm.tokenizer.apply_chat_template(  # pyright: ignore[reportReturnType]
            [{"role": "user", "content": question}],
            add_generation_prompt=True,
            chat_template=self.template,
            sanitize_control_tokens=True,
            return_dict=False,
        )

    @torch.inference_mode()
    def ask(self, question: str, repeat: int = 0, form: Form = "number") -> Reply:
        """The likeliest first tokens. A repeat has the same answer.

        Raises ChatFault for a question that is too long, or holds a special token that cannot be read as text.
        """
        del repeat, form
        stopped = self.stopped
        try:
            ids = self.read(question)
        except ValueError as error:
            raise ChatFault(f"the question cannot be read: {error}") from error
        if len(ids) > self.lm.max_length:
            raise ChatFault(f"the question has {len(ids)} tokens, and the model reads {self.lm.max_length}")
        with self.lock:
            if stopped.is_set():
                raise ChatFault("the run has stopped", passes=True)
            (log_probabilities,) = self.lm.read([ids], ()).next_log_probabilities(None)
        best = log_probabilities.topk(min(200, len(log_probabilities)))
        tokens = self.lm.tokenizer.batch_decode(best.indices[:, None].tolist())
        first = tuple(zip(tokens, best.values.tolist(), strict=True))
        chosen = ChosenToken(place=0, token=tokens[0], likeliest=first)
        return Reply(text=tokens[0], chosen=(chosen,), prompt_tokens=len(ids), answer_tokens=1)

    def stop(self) -> None:
        """Ends the questions that wait for the model; the one that it reads is finished."""
        stopped, self.stopped = self.stopped, threading.Event()
        stopped.set()
