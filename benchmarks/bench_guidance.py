"""Overhead of guidance: guided and unguided generate() in one run, with the same k and tokens.

The model is a GPT-2 of 124 M parameters (or of 1 B) with random weights. The causal guide is timed in normal use. The
exact Bi-LSTM guide reads the prefix again for every candidate and would take hours at the larger sizes. Its cost grows
linearly with the prefix, so its overhead is measured by one step at half the length, relative to an unguided token.
"""

import itertools
import statistics
from collections.abc import Callable
from typing import Any

import torch
from measuring import describe_machine, measure, print_header, print_row, read_arguments
from shapes import build_random
from tokenizers import Tokenizer, models
from transformers import LogitsProcessorList, PreTrainedTokenizerFast

from discriminators.discriminator import new_token_bilstm
from discriminators.guides import CausalGuide
from discriminators.networks import CausalLSTM
from oumg.guidance import Guidance

VOCABULARY = 50_257
PROMPT = 16
GOAL = {32: 1.10, 200: 1.15}  # maximum overhead of the causal guide by k, for batches of 8 and more
ALPHA = 4.0


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer with as many tokens as GPT-2's; their text does not matter here."""
    tokens = {"<pad>": 0, **{f"t{i}": i for i in range(1, VOCABULARY)}}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(tokens, "<pad>")), pad_token="<pad>")


def main() -> None:
    chosen = read_arguments(
        __doc__,
        device="cpu",
        model="GPT-2",
        dtype={"default": "float32", "help": "of the generator; guides are float32"},
        repeats={"type": int, "default": 3, "help": "of each pair; the median ratio is shown"},
        full={"action": "store_true", "help": "batches of 1, 8 and 32, up to 256 tokens: hours on a CPU"},
    )
    device = chosen.device
    lm = build_random(chosen.model).to(device, getattr(torch, chosen.dtype))
    lm.generation_config.update(bos_token_id=None, eos_token_id=None, pad_token_id=0)  # every text has its full length
    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    causal = CausalGuide(CausalLSTM(VOCABULARY).to(device).eval(), tokenizer, {})
    bilstm = new_token_bilstm([], tokenizer)
    bilstm.network.to(device).eval()

    def generate(batch: int, new: int, **settings: Any) -> Callable[[], torch.Tensor]:
        prompts = torch.randint(1, VOCABULARY, (batch, PROMPT), device=device)
        given = {"attention_mask": torch.ones_like(prompts), "max_new_tokens": new, "do_sample": True, **settings}
        return lambda: lm.generate(prompts, **given)

    def guided(k: int) -> dict[str, Any]:
        return {"top_k": 0, "logits_processor": LogitsProcessorList([Guidance(causal, tokenizer, ALPHA, k)])}

    def time_bilstm_step(k: int, batch: int, length: int) -> float:
        """Seconds of one step after a prefix of `length` tokens."""
        guidance = Guidance(bilstm, tokenizer, ALPHA, k, reads="text")
        ids = torch.randint(1, VOCABULARY, (batch, length + 1), device=device)
        scores = torch.randn(batch, VOCABULARY, device=device)
        guidance(ids[:, :-1], scores)
        return measure(lambda: guidance(ids, scores), device).seconds

    generate(2, 4, **guided(32))()
    generate(2, 4, top_k=32)()
    print(f"{chosen.model}, {lm.num_parameters() / 1e6:.0f} M parameters, {chosen.dtype}, {describe_machine(device)}")
    print(f"overhead = guided / unguided, alpha {ALPHA}")
    print_header("k", "batch", "length", "unguided ms a token", "causal overhead", "goal", "Bi-LSTM overhead")
    batches, lengths = ((1, 8, 32), (64, 256)) if chosen.full else ((8,), (24,))
    missed = []
    for k, batch, length in itertools.product(GOAL, batches, lengths):
        pairs = []
        for turn in range(chosen.repeats):
            ways = {"plain": generate(batch, length, top_k=k), "guided": generate(batch, length, **guided(k))}
            order = list(ways) if turn % 2 else list(reversed(ways))
            taken = {name: measure(ways[name], device).seconds for name in order}
            pairs.append((taken["plain"], taken["guided"]))
        overhead = statistics.median(with_guide / plain for plain, with_guide in pairs)
        token = statistics.median(plain for plain, _ in pairs) / length
        exact = 1 + time_bilstm_step(k, batch, length // 2) / token
        goal = f"{GOAL[k]:.2f}" if batch > 1 else "-"
        print_row(k, batch, length, 1000 * token, f"{overhead:.3f}", goal, exact)
        if batch > 1 and overhead > GOAL[k]:
            missed.append(f"k {k}, batch {batch}, length {length}: {overhead:.3f}")
    if missed:
        print("above the goal: " + "; ".join(missed))


if __name__ == "__main__":
    main()
