"""Speed of MARS's augmentation: all jobs in lockstep, one job at a time, and one job at a time without a cache.

The model is a random GPT-2 with 4 layers of 256 dimensions (`--size small`) or the shape of GPT-2 large (`--size
large`), both with the real 50257 tokens in the output layer. The stories are random words, 60 of context and 30 of
reference, masked at 20, 40 and 60 %. All three ways must write the same texts.
"""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from data.words import is_clitic
from mars.augmentation import SelfPlanningAugmenter
from mars.judging import TIE
from mars.masking import Blank, Kept
from mars.planning import plan_states
from mars.references import Augmentation, Augmented, Job, mean_kl
from mars.writable_tokens import WritableTokens
from models.causal import CausalLM
from models.tiny import train_tokenizer

SIZES: dict[str, dict[str, Any]] = {
    "small": {"n_embd": 256, "n_head": 4, "n_layer": 4},
    "large": {"n_embd": 1280, "n_head": 20, "n_layer": 36},
}
VOCABULARY = 50257
RATIOS = (0.2, 0.4, 0.6)
SETTINGS = Augmentation()


def made_up_words(count: int, rng: random.Random) -> list[str]:
    """Draws words of one to three syllables; earlier words of the list are more frequent."""
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "an", "er")]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(count)]
    return rng.choices(words, weights=[1 / (i + 1) for i in range(count)], k=20_000)


def made_up_jobs(references: int, seed: int = 0) -> tuple[list[Job], str]:
    """One job per reference and masking ratio, and the text that they come from."""
    rng = random.Random(seed)
    words = made_up_words(2000, rng)
    jobs: list[Job] = []
    for _ in range(references):
        start = rng.randrange(len(words) - 90)
        context, reference = words[start : start + 60], words[start + 60 : start + 90]
        for ratio in RATIOS:
            masked = [rng.random() < ratio for _ in reference]
            template: list[Blank | Kept] = []
            for word, is_masked in zip(reference, masked, strict=True):
                last = template[-1] if template else None
                if is_masked and isinstance(last, Blank):
                    template[-1] = Blank(last.count + 1)
                elif not is_masked and isinstance(last, Kept):
                    template[-1] = Kept(f"{last.text} {word}")
                else:
                    template.append(Blank(1) if is_masked else Kept(f" {word}"))
            jobs.append(Job(" ".join(context), tuple(template)))
    return jobs, " ".join(words)


def random_gpt2(size: str, text: str, device: str) -> CausalLM:
    """A GPT-2 whose tokenizer is trained on the text; it never writes the rest of its vocabulary."""
    tokenizer = train_tokenizer([text], 4000, max_length=1024, sentinels=())
    config = GPT2Config(vocab_size=VOCABULARY, bos_token_id=1, eos_token_id=1, **SIZES[size])
    torch.manual_seed(0)
    model: Any = GPT2LMHeadModel(config)
    return CausalLM(model.to(device).eval(), tokenizer)


@torch.inference_mode()
def without_cache(lm: CausalLM, jobs: Sequence[Job]) -> list[str]:
    """Algorithm 2 without a cache: the model reads the whole text again for every token and every length."""
    tokens = WritableTokens(lm.tokenizer, VOCABULARY, lm.device)
    embeddings = lm.model.get_output_embeddings().weight

    def encode(text: str) -> list[int]:
        return lm.tokenizer(text, add_special_tokens=False)["input_ids"]

    def read(ids: list[int]) -> torch.Tensor:
        return lm.model.transformer(torch.tensor([ids], device=lm.device)).last_hidden_state[0]

    found: list[str] = []
    for job in jobs:
        s, text = [lm.start, *encode(job.context)], ""
        for i, part in enumerate(job.template):
            if isinstance(part, Kept):
                s, text = s + encode(part.text), text + part.text
                continue
            following = job.template[i + 1] if i + 1 < len(job.template) else Kept("")
            after = encode(following.text) if isinstance(following, Kept) else []
            words = torch.tensor([after], dtype=torch.long, device=lm.device)
            fill: list[int] = []
            pending, judged = b"", list[tuple[float, int]]()
            most = part.count + SETTINGS.max_guess
            for m in range(1, most + 1):
                logits = plan_states(read(s + fill)[-1:], embeddings, words).logits[0]
                after_word = tokens.ends_in_word(s) if not fill else not pending and is_clitic(tokens.text(fill))
                logits = logits.masked_fill(~tokens.allowed(pending, most - m, after_word), -torch.inf)
                fill.append(int((logits >= logits.max() - TIE).nonzero()[0]))
                pending = tokens.pending(pending, fill[-1])
                if not pending:
                    new = torch.tensor(fill + after, device=lm.device)
                    scores = (read(s + fill + after)[len(s) - 1 : -1] @ embeddings.T).log_softmax(-1)
                    judged.append((-scores.gather(-1, new[:, None]).mean().item(), m))
            lowest = min(judged)[0]
            kept = next(m for value, m in judged if value <= lowest + TIE)
            s, text = s + fill[:kept], text + tokens.text(fill[:kept])
        found.append(text if isinstance(job.template[0], Kept) else text.lstrip())
    return found


def timed(lm: CausalLM, work: Callable[[], list[str]]) -> tuple[list[str], float]:
    start = time.perf_counter()
    found = work()
    if lm.device.type == "cuda":
        torch.cuda.synchronize()
    return found, time.perf_counter() - start


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--size", choices=SIZES, default="small")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--batch", type=int, default=64, help="jobs in lockstep")
    arguments.add_argument("--jobs", type=int, default=64, help="augmented references in lockstep")
    arguments.add_argument("--single", type=int, default=6, help="of them one at a time")
    arguments.add_argument("--plain", type=int, default=3, help="of them without a cache")
    chosen = arguments.parse_args()
    jobs, text = made_up_jobs(-(-chosen.jobs // len(RATIOS)))
    jobs = jobs[: chosen.jobs]
    lm = random_gpt2(chosen.size, text, chosen.device)
    on_cpu = chosen.device == "cpu"
    together = SelfPlanningAugmenter(lm, SETTINGS, token_budget=10**9)
    alone = SelfPlanningAugmenter(lm, SETTINGS, token_budget=1)
    together.augment(jobs[: 2 if on_cpu else chosen.batch])  # warm up; on a GPU with the real sizes
    augmented: list[Augmented] = []

    def lockstep() -> list[str]:
        for start in range(0, len(jobs), chosen.batch):
            augmented.extend(together.augment(jobs[start : start + chosen.batch]))
        return [one.text for one in augmented]

    ours, here = timed(lm, lockstep)
    here /= len(jobs)
    blanks = sum(len(one.fills) for one in augmented) / len(jobs)
    tokens = sum(len(fill.perplexities) for one in augmented for fill in one.fills) / len(jobs)
    print(f"GPT-2 {chosen.size}, {lm.parameters / 1e6:.0f} million parameters, {chosen.device}, ", end="")
    print(f"{torch.get_num_threads()} threads; {blanks:.1f} blanks and {tokens:.1f} tokens tried per reference")
    print(f"{'way':28}{'references':>12}{'seconds each':>14}{'ratio':>8}{'same texts':>12}")
    print(f"{f'lockstep, batch {chosen.batch}':28}{len(jobs):12}{here:14.4f}{1:8.1f}")
    ways: list[tuple[str, int, Callable[[], list[str]]]] = [
        ("one at a time", chosen.single, lambda: [a.text for a in alone.augment(jobs[: chosen.single])]),
        ("one at a time, no cache", chosen.plain, lambda: without_cache(lm, jobs[: chosen.plain])),
    ]
    for name, count, way in ways:
        if count:
            theirs, there = timed(lm, way)
            same = sum(a == b for a, b in zip(theirs, ours, strict=False))
            print(f"{name:28}{count:12}{there / count:14.4f}{there / count / here:8.1f}{same:9}/{count}")
            if name == "one at a time" and same < count:
                raise SystemExit("the texts must be the same in any batch")
    print(f"mean KL of the planned from the plain next token: {mean_kl(augmented) or 0:.3f} nats")


if __name__ == "__main__":
    main()
