"""Speed of MARS's augmentation: all jobs in lockstep, one job at a time, and one job at a time without a cache.

The model is a random GPT-2 with 4 layers of 256 dimensions, or GPT-2-large, both with the real 50,257 tokens in the
output layer. The references are endings of built-in stories, masked at 20, 40 and 60 %. All three ways must write the
same texts.
"""

from collections.abc import Callable, Sequence

import torch
from measuring import describe_machine, measure, print_header, print_row, read_arguments
from shapes import build_random

from data.builtin.stories import generate_stories
from data.documents import count_documents
from data.words import is_clitic
from mars.augmentation import SelfPlanningAugmenter
from mars.masking import Kept, make_templates
from mars.planning import TIE, plan_states
from mars.references import Augmentation, Augmented, Job, mean_kl
from mars.tagging import load_tagger
from mars.writable_tokens import WritableTokens
from models.causal import CausalLM
from models.tiny import train_tokenizer

RATIOS = (0.2, 0.4, 0.6)
SETTINGS = Augmentation()


def mask_stories(count: int) -> tuple[list[Job], list[str]]:
    """That many jobs, and the texts of their stories."""
    stories = generate_stories(-(-count // len(RATIOS)), seed=0)
    texts, tagger = [story.text for story in stories], load_tagger("builtin")
    documents, jobs = count_documents(texts, str.split), list[Job]()
    for story in stories:
        context = story.context or ""
        ending = story.text.removeprefix(context).strip()
        jobs += [Job(context, one) for one in make_templates(ending, context, RATIOS, tagger, documents)]
    return jobs[:count], texts


@torch.inference_mode()
def augment_without_cache(lm: CausalLM, jobs: Sequence[Job]) -> list[str]:
    """Algorithm 2 without a cache: the model reads the whole text again for every token and every length."""
    tokens = WritableTokens(lm.tokenizer, lm.model.config.vocab_size, lm.device)
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


def main() -> None:
    chosen = read_arguments(
        __doc__,
        model="small GPT-2",
        device="cpu",
        batch={"type": int, "default": 64, "help": "jobs in lockstep"},
        jobs={"type": int, "default": 64, "help": "augmented references in lockstep"},
        single={"type": int, "default": 6, "help": "of them one at a time"},
        plain={"type": int, "default": 3, "help": "of them without a cache"},
    )
    jobs, texts = mask_stories(chosen.jobs)
    tokenizer = train_tokenizer(texts, 4000, max_length=1024, sentinels=())  # the model has more tokens, never written
    lm = CausalLM(build_random(chosen.model).to(chosen.device), tokenizer)
    together, alone = (SelfPlanningAugmenter(lm, SETTINGS, token_budget=budget) for budget in (10**9, 1))
    together.augment(jobs[: 2 if chosen.device == "cpu" else chosen.batch])  # warm up; on a GPU with the real sizes

    def fill_in_lockstep() -> list[Augmented]:
        batches = (jobs[start : start + chosen.batch] for start in range(0, len(jobs), chosen.batch))
        return [one for batch in batches for one in together.augment(batch)]

    here = measure(fill_in_lockstep, chosen.device, parts=len(jobs))
    ours, fills = [one.text for one in here.found], [fill for one in here.found for fill in one.fills]
    tried = sum(len(fill.perplexities) for fill in fills) / len(jobs)
    print(f"{chosen.model}, {lm.parameters / 1e6:.0f} M parameters, {describe_machine(chosen.device)}")
    print(f"{len(fills) / len(jobs):.1f} blanks and {tried:.1f} tokens tried per reference")
    print_header("way", "references", "seconds each", "ratio to lockstep", "same texts")
    print_row(f"lockstep, batch {chosen.batch}", len(jobs), here.seconds, 1, "")
    ways: list[tuple[str, int, Callable[[int], list[str]]]] = [
        ("one at a time", chosen.single, lambda n: [one.text for one in alone.augment(jobs[:n])]),
        ("one at a time, no cache", chosen.plain, lambda n: augment_without_cache(lm, jobs[:n])),
    ]
    for name, count, way in ways:
        if count:
            plain = measure(lambda way=way, count=count: way(count), chosen.device, parts=count)
            same = sum(a == b for a, b in zip(plain.found, ours, strict=False))
            print_row(name, count, plain.seconds, plain.seconds / here.seconds, f"{same} of {count}")
            if name == "one at a time" and same < count:
                raise SystemExit("the texts must be the same in any batch")
    planned = sum(one.planned for one in here.found)
    print(f"{planned} tokens planned; mean KL of the planned from the plain next token: {mean_kl(here.found) or 0:.3f}")


if __name__ == "__main__":
    main()
