"""Guides of generators that experiments train and keep as stages (OUMG, section 3.2)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from core.faults import InputFaults
from core.settings import Count, checked_dataclass
from core.stages import fingerprint
from discriminators.causal_guide import SETTINGS as GUIDE
from discriminators.causal_guide import CausalGuide, GuideShape, train_causal_guide
from discriminators.data_module import LabelledText
from discriminators.discriminator import SETTINGS as DISCRIMINATOR
from discriminators.discriminator import Discriminator, new_token_bilstm
from discriminators.prefixes import prefix_texts
from discriminators.training import TrainingSettings, train_discriminator
from experiments.contracts import Run
from experiments.training.trained import Trained, find_or_train
from models.model import plain_token_ids
from models.tokens import decode_tokens

VERSION = 2  # of trained guides; raise it whenever the same plan and texts would give other weights


@checked_dataclass
class CausalGuidePlan:
    """A causal guide: its size, its training, and the maximum number of training texts of both classes together."""

    shape: GuideShape
    training: TrainingSettings
    texts: Count

    def train(
        self, run: Run, texts: Sequence[LabelledText], tokenizer: PreTrainedTokenizerBase, folder: Path, name: str
    ) -> None:
        """Trains on all prefixes of whole texts."""
        train_causal_guide(
            texts, tokenizer, folder, run.trainer, self.training, self.shape, run.loggers(name), run.seed
        )


@checked_dataclass
class BiLSTMGuidePlan:
    """The exact Bi-LSTM guide, which reads each prefix from its beginning.

    Attributes:
        embedding_dim, hidden_dim: its size.
        training: how to train it.
        texts: the most texts of both classes together.
        prefixes: the most prefixes of a text, drawn at random; None for all, as in the paper.
    """

    embedding_dim: Count
    hidden_dim: Count
    training: TrainingSettings
    texts: Count
    prefixes: Count | None

    def train(
        self, run: Run, texts: Sequence[LabelledText], tokenizer: PreTrainedTokenizerBase, folder: Path, name: str
    ) -> None:
        """Trains on prefixes of whole texts."""
        beginnings = prefix_texts(
            texts,
            lambda text: plain_token_ids(tokenizer, [text])[0],
            partial(decode_tokens, tokenizer),
            self.prefixes,
            run.seed,
        )
        build = partial(
            new_token_bilstm, tokenizer=tokenizer, embedding_dim=self.embedding_dim, hidden_dim=self.hidden_dim
        )
        train_discriminator(build, beginnings, folder, run.trainer, self.training, run.loggers(name), run.seed)


GuidePlan = CausalGuidePlan | BiLSTMGuidePlan


def find_or_train_guide(
    run: Run, name: str, plan: GuidePlan, texts: Sequence[LabelledText], tokenizer: PreTrainedTokenizerBase
) -> Trained:
    """Trains a guide on prefixes of all of `texts` in the tokens of a generator, or finds its stage."""
    depends = {
        "plan": plan,
        "tokens": fingerprint(tokenizer.get_vocab()),
        "texts": fingerprint(texts),
        "seed": run.seed,
    }
    return find_or_train(run, name, depends, lambda folder: plan.train(run, texts, tokenizer, folder, name), VERSION)


def prefix_notes(plan: GuidePlan) -> list[str]:
    """A note on a guide that learns only a part of the prefixes."""
    if isinstance(plan, CausalGuidePlan) or plan.prefixes is None:
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
