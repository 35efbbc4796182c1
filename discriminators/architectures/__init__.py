"""Networks of classifiers, a module each: a saved classifier names its network by the module (`kind`)."""

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from jaxtyping import Bool, Float, Int
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from core.errors import SettingError
from core.settings import check, one_of


class Guide(Protocol):
    """A model that scores every candidate after a prefix."""

    @property
    def device(self) -> Any: ...

    # the state before the first token: a named tuple of tensors with a row each
    def start(self, rows: int) -> Any: ...

    # the state after one more token; where `read` is False the row stays as it is
    def advance(
        self,
        state: Any,
        tokens: Int[Tensor, " rows"],
        read: Bool[Tensor, " rows"] | None = None,
    ) -> Any: ...

    # the logit of each row's prefix with each of its candidates, higher is better
    def candidates(self, state: Any, tokens: Int[Tensor, "rows k"]) -> Float[Tensor, "rows k"]: ...


class Network(nn.Module):
    """A network of a discriminator: `forward(ids, mask)` gives one logit per row, or one per label.

    Its arguments are `vocabulary_size`, or an encoder, then settings by name and, for several labels, `outputs`.
    """

    def as_guide(self, tokens: Any, tokenizer: PreTrainedTokenizerBase) -> Guide:
        """Makes a guide for the generator of `tokenizer`, whose tokens it reads. Raises SettingError if it cannot."""
        raise SettingError(
            f"a guide must read the tokens of its generator, but a discriminator of the kind {find_kind(self)} reads "
            "its own: train the guide on the generator's tokens"
        )

    def save(self, folder: Path) -> None:
        """Writes the weights."""
        save_file(self.state_dict(), folder / "model.safetensors")


class PrefixNetwork(Network, Guide):
    """A network that is a guide itself: `forward(ids, mask)` gives a logit at each position, of the prefix up to it."""

    def as_guide(self, tokens: Any, tokenizer: PreTrainedTokenizerBase) -> Guide:
        return self

    def know_only(self, seen: Bool[Tensor, " vocabulary"]) -> None:
        """Marks the tokens that are not in `seen`, those of the training texts, as unknown."""
        raise NotImplementedError


def find_kind(network: nn.Module) -> str:
    """Returns the kind of a network: the name of its module."""
    return type(network).__module__.rpartition(".")[2]


def build_network(kind: str, /, *arguments: Any, **settings: Any) -> Any:
    """Builds a network of a kind: `NETWORK` of the module of this name; nothing else is imported.

    Raises SettingError for a name that is no module of this package.
    """
    check(one_of([module.name for module in pkgutil.iter_modules(__path__)]), kind=kind)
    return import_module(f"{__name__}.{kind}").NETWORK(*arguments, **settings)
