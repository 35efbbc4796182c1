"""Steering: the models of guided decoding, each from labelled texts of its own, and how texts are drawn from them.

A causal language model writes; a guide for each label says at every step which candidates lead to it; judges, which
share neither texts nor seed with the guides, say what became of it.
"""

import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from transformers import LogitsProcessorList

from core.example import Example
from core.faults import InputFaults, SettingFault
from core.settings import check_count, counts, is_number, is_text, listed, seeds
from data.sets.attributes import LabelledData
from data.splits import share, split_by
from discriminators.data_module import LabelledText
from discriminators.discriminator import Discriminator
from experiments.runner.contracts import Run
from experiments.training.discriminators import DiscriminatorPlan, trained_discriminator
from experiments.training.guides import GuidePlan, trained_guide
from experiments.training.language_models import LanguageModelPlan, Pretrained, trained_language_model
from experiments.training.trained import Trained
from language_models.causal import CausalLM
from oumg.guidance import Guidance, GuidanceRule
from oumg.pieces import normalise_text, split_pieces
from oumg.tokens import encode_texts

FEWEST = 10  # different texts of a label for its guide, and for its judge
LONGEST_NAME = 40  # characters of a label in a folder's name


@dataclass(frozen=True)
class Steering:
    """What is varied.

    Attributes:
        rule: `normalised` (Eq. 5, the strength is alpha) or `fudge` (the strength is lambda).
        strengths: the first is 0, the generator alone under its top-k; with it the others are compared.
        ks: how many candidates are judged and left.
        labels: to steer to; all of the data where it is None.
    """

    rule: GuidanceRule
    strengths: Sequence[float]
    ks: Sequence[int]
    labels: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.rule not in get_args(GuidanceRule):
            raise SettingFault(f"rule must be one of {', '.join(get_args(GuidanceRule))}, but is {self.rule!r}")
        listed("strengths", self.strengths, "finite numbers from 0 on", lambda each: is_number(each) and each >= 0)
        if self.strengths[0] != 0:
            raise SettingFault(f"strengths must begin with 0, the generator alone, but is {list(self.strengths)}")
        counts(self.ks, "ks")
        if self.labels is not None:
            listed("labels", self.labels, "labels, in quotation marks where they are numbers", is_text)


@dataclass(frozen=True)
class Sampling:
    """How texts are drawn.

    Attributes:
        prompts: what they begin with; where it is None, the prefixes of the data, or how its held-out texts begin.
        inputs: how many prompts, at most.
        samples: texts of each prompt, seed, label, strength and k.
        new_tokens: of a text, at most; it may end before.
        batch_size: texts written at once.
        seeds: of the draws.
        prompt_words: how many words of a held-out text are a prompt, where the data has no prefixes.
    """

    inputs: int
    samples: int
    new_tokens: int
    batch_size: int
    seeds: Sequence[int]
    prompts: Sequence[str] | None = None
    prompt_words: int = 3

    def __post_init__(self) -> None:
        for name in ("inputs", "samples", "new_tokens", "batch_size", "prompt_words"):
            check_count(f"sampling.{name}", getattr(self, name))
        seeds(self.seeds, "sampling.seeds")
        if self.prompts is not None:
            listed("sampling.prompts", self.prompts, "texts to continue, none blank", is_text)


@dataclass(frozen=True)
class Parts:
    """The training texts by what learns them; no text is in two parts."""

    generator: tuple[Example, ...]
    guide: tuple[Example, ...]
    judge: tuple[Example, ...]


def parts(data: LabelledData, generator_share: float, seed: int) -> Parts:
    """A share of the training texts for the generator; the others half for guides and half for judges.

    Raises InputFaults where there are none, and where guides or judges would get fewer than ten different texts of a
    label.
    """
    if not data.train:
        raise InputFaults([f"guides and judges learn labelled texts, but {data.name} has none: choose other data"])

    def text(example: Example) -> str:
        return example.full_text

    rest, generator = split_by(data.train, text, share(data.train, text, generator_share), seed)
    guide, judge = split_by(rest, text, share(rest, text, 0.5), seed + 1)
    found = Parts(generator, guide, judge)
    if faults := [fault for label in data.labels if (fault := _too_few(data, found, label))]:
        raise InputFaults(faults)
    return found


def _too_few(data: LabelledData, found: Parts, label: str) -> str | None:
    """What to say of a label that guides or judges would get too few texts of."""
    whole, generator, guide, judge = (
        len({e.full_text for e in part if e.label == label})
        for part in (data.train, found.generator, found.guide, found.judge)
    )
    if min(guide, judge) >= FEWEST:
        return None
    return (
        f"guides and judges each need at least {FEWEST} different texts of a label, but of the {whole} of {label!r} to "
        f"train on {guide} are for guides, {judge} for judges and {generator} for the generator: give more texts of "
        "it, leave the label out of the file, or lower model.share"
    )


def label_texts(examples: Sequence[Example], label: str, most: int | None, seed: int) -> list[LabelledText]:
    """Different texts of the label (1) and as many of the others (0), drawn at random, `most` together; None for all.

    Each group pairs one of each class, so that every split has both classes, however few texts there are.
    """
    drawn = [examples[i] for i in np.random.default_rng(seed).permutation(len(examples))]
    sides = [list({e.full_text: e for e in drawn if (e.label == label) == wanted}.values()) for wanted in (True, False)]
    count = min(len(examples) if most is None else most // 2, *map(len, sides))
    return [
        LabelledText((e.full_text,), int(e.label == label), f"{label} {number}")
        for side in sides
        for number, e in enumerate(side[:count])
    ]


@dataclass(frozen=True)
class Generator:
    """What writes: where it comes from, and the loaded model."""

    trained: Trained
    lm: CausalLM


def trained_generator(
    run: Run, plan: LanguageModelPlan | Pretrained, data: LabelledData, learned: Sequence[Example], device: str
) -> Generator:
    """A pretrained generator, or one that learned these texts without their labels."""
    texts, held_out = [e.full_text for e in learned], [e.full_text for e in data.held_out]
    trained = trained_language_model(run, "generator", plan, texts, held_out)
    return Generator(trained, CausalLM.from_pretrained(trained.source, device))


def generator_plan(plan: LanguageModelPlan | Pretrained, name: str | None) -> LanguageModelPlan | Pretrained:
    """The plan, or in its place a causal language model by its hub name or folder."""
    return plan if name is None else Pretrained(name)


def generator_share(plan: LanguageModelPlan | Pretrained, asked: float) -> float:
    """The share of the texts that the generator learns: none where others trained it."""
    return 0.0 if isinstance(plan, Pretrained) else asked


def label_guide(run: Run, plan: GuidePlan, generator: Generator, label: str, learned: Sequence[Example]) -> Trained:
    """The guide to a label, label against the others.

    It learns whole texts and is to read the prompt too: then each prefix that it judges begins as those that it
    learned, whatever the prompt, and no text has to be cut where a prompt would end.
    """
    texts = label_texts(learned, label, plan.texts, run.seed)
    return trained_guide(run, f"guide_{file_name(label)}", plan, texts, generator.lm.tokenizer)


def label_judges(
    run: Run, plan: DiscriminatorPlan, labels: Sequence[str], learned: Sequence[Example]
) -> dict[str, Trained]:
    """By label its judge, label against the others; with two labels only the second gets one, which decides for both.

    Their seed is another than the guides'.
    """
    seed = run.seed + 1
    return {
        label: trained_discriminator(
            run, f"judge_{file_name(label)}", plan, label_texts(learned, label, plan.texts, seed), seed
        )
        for label in (labels[1:] if len(labels) == 2 else labels)
    }


def judged_labels(judges: Mapping[str, Discriminator], labels: Sequence[str], texts: Sequence[str]) -> list[str]:
    """The label of each text: that of the highest logit, or of two labels the one on its side of 0."""
    logits = {label: judge.logits([(text,) for text in texts])[0] for label, judge in judges.items()}
    if len(labels) == 2:
        return [labels[1] if logit > 0 else labels[0] for logit in logits[labels[1]]]
    return [labels[int(i)] for i in np.stack([logits[label] for label in labels]).argmax(axis=0)]


def prompts_of(data: LabelledData, sampling: Sampling) -> list[str]:
    """The prompts asked for; or different prefixes of the data, of rated texts, else of held-out ones; or beginnings.

    Held-out texts are taken from all over the data, which may be sorted by label.

    Raises InputFaults where there are none.
    """
    if sampling.prompts is not None:
        return [prompt.strip() for prompt in sampling.prompts][: sampling.inputs]
    if found := _prefixes([example for each in data.rated for example in each.examples]):
        return found[: sampling.inputs]
    if found := _prefixes(data.held_out) or beginnings(data.held_out, sampling.prompt_words):
        number = min(sampling.inputs, len(found))
        return [found[i * len(found) // number] for i in range(number)]
    raise InputFaults([f"{data.name} has no held-out texts to begin as: set sampling.prompts to a list of texts"])


def prompts_are_beginnings(data: LabelledData, sampling: Sampling) -> bool:
    """Whether `prompts_of` takes the beginnings of held-out texts."""
    rated = [example for each in data.rated for example in each.examples]
    return sampling.prompts is None and not _prefixes(rated) and not _prefixes(data.held_out)


def _prefixes(examples: Sequence[Example]) -> list[str]:
    return list(dict.fromkeys(e.prefix.strip() for e in examples if e.prefix and e.prefix.strip()))


def beginnings(examples: Sequence[Example], words: int) -> list[str]:
    """The different first words of texts that have more of them; a CJK character is a word.

    >>> beginnings([Example("a", text="The food was cold."), Example("b", text="Cold food")], words=2)
    ['The food']
    """
    rows = [split_pieces(normalise_text(example.full_text), "words") for example in examples]
    return list(dict.fromkeys("".join(row[:words]).strip() for row in rows if len(row) > words))


def prompt_ids(lm: CausalLM, prompts: Sequence[str], new_tokens: int) -> list[list[int]]:
    """The start token and the tokens of each prompt.

    Raises InputFaults for prompts that leave the model no room for the new tokens.
    """
    rows = [[lm.start, *ids] for ids in encode_texts(lm.tokenizer, prompts)]
    faults = [
        f"the generator reads {lm.longest} tokens, but this prompt has {len(row)} and {new_tokens} are to follow: "
        f"{prompt!r}"
        for prompt, row in zip(prompts, rows, strict=True)
        if len(row) + new_tokens > lm.longest
    ]
    if faults:
        raise InputFaults(faults)
    return rows


def check_candidates(ks: Sequence[int], vocabulary: int) -> None:
    """Raises InputFaults for a k above the vocabulary of the generator."""
    if max(ks) > vocabulary:
        raise InputFaults([f"k must be at most the {vocabulary} tokens of the generator, but is {max(ks)}"])


def continuations(
    lm: CausalLM,
    prompts: Sequence[Sequence[int]],
    samples: int,
    new_tokens: int,
    batch_size: int,
    seed: int,
    k: int,
    guidance: Callable[[], Guidance] | None = None,
) -> list[list[int]]:
    """The tokens that follow each prompt, `samples` draws of each in turn, up to the end token and with it.

    Without guidance they are drawn by the generator's top-k. The same seed gives the same draws, and with a strength
    of 0 those of top-k token for token.
    """
    found: list[list[int]] = []
    size = max(1, batch_size // samples)
    for start in range(0, len(prompts), size):
        with torch.random.fork_rng(devices=[lm.device] if lm.device.type == "cuda" else []):
            torch.manual_seed(int(np.random.default_rng((seed, start)).integers(2**62)))
            rows = _generate(lm, prompts[start : start + size], k, guidance, samples, max_new_tokens=new_tokens)
        found += [_ended(row, lm.tokenizer.eos_token_id) for row in rows.tolist()]
    return found


def overhead(
    lm: CausalLM,
    prompts: Sequence[Sequence[int]],
    new_tokens: int,
    k: int,
    guidance: Callable[[], Guidance],
    repeats: int = 3,
) -> float:
    """Seconds of guided `generate()` over unguided, same prompts, k and number of tokens; 1 costs nothing.

    Both are run in turn; the fastest of either counts, which is disturbed least by what else the machine does.
    """
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for guided in [False, True] * (repeats + 1):  # the first of each warms up
        begun = time.perf_counter()
        chosen = guidance if guided else None
        _generate(lm, prompts, k, chosen, 1, max_new_tokens=new_tokens, min_new_tokens=new_tokens).cpu()
        seconds[guided].append(time.perf_counter() - begun)
    return min(seconds[True][1:]) / min(seconds[False][1:])


@torch.no_grad()
def _generate(
    lm: CausalLM,
    prompts: Sequence[Sequence[int]],
    k: int,
    guidance: Callable[[], Guidance] | None,
    samples: int,
    **length: int,
) -> Int[Tensor, "rows time"]:
    """What follows the prompts, padded on the right."""
    end = lm.tokenizer.eos_token_id
    padding = lm.tokenizer.pad_token_id if lm.tokenizer.pad_token_id is not None else lm.start
    width = max(map(len, prompts))
    ids = torch.tensor([[padding] * (width - len(row)) + list(row) for row in prompts], device=lm.device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in prompts], device=lm.device)
    written_ids = lm.model.generate(
        input_ids=ids,
        attention_mask=mask,
        logits_processor=LogitsProcessorList([] if guidance is None else [guidance()]),
        do_sample=True,
        top_k=k if guidance is None else 0,  # guidance has left k tokens already
        top_p=1.0,
        temperature=1.0,
        repetition_penalty=1.0,
        num_return_sequences=samples,
        pad_token_id=padding,
        eos_token_id=end,
        **length,
    )
    return written_ids[:, width:]


def _ended(row: list[int], end: object) -> list[int]:
    return next((row[: i + 1] for i, token in enumerate(row) if token == end), row)


def file_name(label: str) -> str:
    """A label as a part of a folder's name: where it had to be changed, with a hash that tells it from others.

    Letters beyond a to z are changed too: settings and W&B would not take such a name as it stands.

    >>> file_name("positive"), file_name("sci/tech"), file_name("sci tech"), file_name("体育")
    ('positive', 'sci_tech-428caa', 'sci_tech-42947f', '__-ef7be5')
    """
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", label)[:LONGEST_NAME]
    return safe if safe == label else f"{safe}-{hashlib.sha256(label.encode()).hexdigest()[:6]}"
