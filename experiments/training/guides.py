"""Guides of generators that experiments train and keep as stages (OUMG, section 3.2)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from core.faults import InputFaults
from core.settings import Count, checked_dataclass
from core.stages import fingerprint
from discriminators.discriminator import SETTINGS as DISCRIMINATOR
from discriminators.discriminator import Discriminator
from discriminators.guides import SETTINGS as GUIDE
from discriminators.guides import CausalGuide, new_causal_guide
from discriminators.texts import LabelledText, prefix_texts
from discriminators.training import VERSION, train_classifier
from experiments.contracts import Run
from experiments.training.discriminators import DiscriminatorPlan, choose_groups
from experiments.training.trained import Trained, find_or_train
from models.model import plain_token_ids
from models.tokens import decode_tokens


@checked_dataclass
class GuidePlan(DiscriminatorPlan):
    """A guide to train, on prefixes of whole texts in the tokens of a generator.

    Attributes:
        build: what to build, a partial of `new_causal_guide` or, for the exact guide, of `new_token_bilstm`.
        prefixes: maximum number of prefixes of a text for the exact guide, drawn at random; None for all, as in the
            paper. The causal guide learns all in one pass.
    """

    prefixes: Count | None = None

    @property
    def is_causal(self) -> bool:
        """Whether it learns all prefixes of a text in one pass."""
        return self.build.func is new_causal_guide


def find_or_train_guide(
    run: Run, name: str, plan: GuidePlan, texts: Sequence[LabelledText], tokenizer: PreTrainedTokenizerBase
) -> Trained:
    """Trains a guide on prefixes of `texts`, at most `plan.texts` of them, or finds its stage.

    The prefixes end where tokens of the generator of `tokenizer` do.
    """
    texts = choose_groups(texts, plan.texts, run.seed)

    def build(folder: Path) -> None:
        learned = texts if plan.is_causal else cut_prefixes(texts, tokenizer, plan.prefixes, run.seed)
        new = partial(plan.build, tokenizer=tokenizer)
        train_classifier(new, learned, folder, run.trainer, plan.training, run.loggers(name), run.seed)

    depends = {
        "build": plan.build,
        "training": plan.training,
        "prefixes": plan.prefixes,
        "seed": run.seed,
        "texts": fingerprint(texts),
        "tokens": fingerprint(tokenizer.get_vocab()),
    }
    return find_or_train(run, name, depends, build, VERSION)


def cut_prefixes(
    texts: Sequence[LabelledText], tokenizer: PreTrainedTokenizerBase, most: int | None, seed: int
) -> list[LabelledText]:
    """The prefixes of texts in the tokens of a generator, at most `most` of each (see `prefix_texts`)."""

    def encode(text: str) -> list[int]:
        return plain_token_ids(tokenizer, [text])[0]

    return prefix_texts(texts, encode, partial(decode_tokens, tokenizer), most, seed)


def prefix_notes(plan: GuidePlan) -> list[str]:
    """A note on a guide that learns only a part of the prefixes."""
    if plan.prefixes is None:
        return []
    return [
        f"the guide learned at most {plan.prefixes} prefixes of each text, drawn at random; the paper's guide learns "
        "all (model.guides.bilstm.prefixes=null)"
    ]


def check_guide(folder: Path | str) -> None:
    """Raises InputFaults for a folder without a trained guide of either kind."""
    if not any((Path(folder) / file).is_file() for file in (GUIDE, DISCRIMINATOR)):
        raise InputFaults([f"{folder}: must be the folder of a trained guide, with {GUIDE} or {DISCRIMINATOR}"])


def load_guide(folder: Path | str, device: str) -> CausalGuide | Discriminator:
    """A trained guide of either kind. Raises FileNotFoundError for a folder without one."""
    if (Path(folder) / GUIDE).is_file():
        return CausalGuide.from_pretrained(folder, device)
    return Discriminator.from_pretrained(folder, device)
