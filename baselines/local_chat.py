"""An instruction model in this process as a chat model."""

import threading

import torch

from baselines.endpoint import ChatFault, ChosenToken, Reply
from baselines.verdicts import Form
from core.faults import MissingModel, SettingFault
from models.causal import CausalLM

# What a chat template takes for today, whatever form it asks for, so that scores are the same tomorrow.
TODAY = "{%- macro strftime_now(format) -%}26 Jul 2024{%- endmacro -%}"
TRIALS = ("Answer with 1.", "Answer with 2.")


class LocalChat:
    """An instruction model by transformers: the distribution of the first token of its answer.

    A special token in a question is read as the text that it is. Raises SettingFault for a model without a chat
    template, MissingModel for a template that fails or does not show the question.
    """

    most_tokens = 1

    def __init__(self, model: str, device: str = "cpu", dtype: str = "float32") -> None:
        self.lm = CausalLM.from_pretrained(model, device, dtype)
        if not self.lm.tokenizer.chat_template:
            raise SettingFault(f"model={model} has no chat template: an instruction model is needed")
        try:
            self.template = TODAY + self.lm.tokenizer.get_chat_template()
            first, second = map(self.read, TRIALS)
        except Exception as error:  # a template may raise any class
            raise MissingModel(model, f"the chat template of this model fails: {error}") from error
        if first == second:
            raise MissingModel(model, "the chat template of this model does not show the question")
        self.name, self.depends = model, {"model": model, "identity": self.lm.identity}
        self.lock = threading.Lock()

    def read(self, question: str) -> list[int]:
        """The tokens of a question in the model's chat template."""
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
        try:
            ids = self.read(question)
        except ValueError as error:
            raise ChatFault(f"the question cannot be read: {error}") from error
        if len(ids) > self.lm.max_length:
            raise ChatFault(f"the question has {len(ids)} tokens, and the model reads {self.lm.max_length}")
        with self.lock:
            logits = self.lm.model(torch.tensor([ids], device=self.lm.device)).logits[0, -1].float()
        best = torch.log_softmax(logits, -1).topk(min(200, len(logits)))
        tokens = self.lm.tokenizer.batch_decode(best.indices[:, None].tolist())
        first = tuple(zip(tokens, best.values.tolist(), strict=True))
        chosen = ChosenToken(place=0, token=tokens[0], likeliest=first)
        return Reply(text=tokens[0], chosen=(chosen,), prompt_tokens=len(ids), answer_tokens=1)
