"""An instruction model in this process as a chat model."""

import threading

import torch

from baselines.endpoint import ChatFault, ChosenToken, Reply
from baselines.verdicts import Form
from core.faults import SettingFault
from models.causal import CausalLM


class LocalChat:
    """An instruction model by transformers: the distribution of the first token of its answer.

    Raises SettingFault for a model without a chat template.
    """

    most_tokens = 1

    def __init__(self, model: str, device: str = "cpu", dtype: str = "float32") -> None:
        self.lm = CausalLM.from_pretrained(model, device, dtype)
        if not self.lm.tokenizer.chat_template:
            raise SettingFault(f"model={model} has no chat template: an instruction model is needed")
        self.name, self.depends = model, {"model": model, "identity": self.lm.identity}
        self.lock = threading.Lock()

    @torch.inference_mode()
    def ask(self, question: str, repeat: int = 0, form: Form = "number") -> Reply:
        """The likeliest first tokens; a question that is too long raises ChatFault. A repeat has the same answer."""
        del repeat, form
        messages = [{"role": "user", "content": question}]
        text = self.lm.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        ids = self.lm.tokenizer(str(text), add_special_tokens=False)["input_ids"]
        if len(ids) > self.lm.max_length:
            raise ChatFault(f"the question has {len(ids)} tokens, and the model reads {self.lm.max_length}")
        with self.lock:
            logits = self.lm.model(torch.tensor([ids], device=self.lm.device)).logits[0, -1].float()
        best = torch.log_softmax(logits, -1).topk(min(200, len(logits)))
        tokens = self.lm.tokenizer.batch_decode(best.indices[:, None].tolist())
        first = tuple(zip(tokens, best.values.tolist(), strict=True))
        chosen = ChosenToken(place=0, token=tokens[0], likeliest=first)
        return Reply(text=tokens[0], chosen=(chosen,), prompt_tokens=len(ids), answer_tokens=1)
