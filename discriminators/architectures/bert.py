"""An encoder with a head: the mean over real tokens, dropout, logits."""

from pathlib import Path

from jaxtyping import Float
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from core.errors import SettingError
from discriminators.architectures import Network
from discriminators.networks import Ids, Mask, drop_single_axis
from discriminators.vocabulary import EncoderTokens
from models.encoders import mean_pool
from models.model import get_layers


class BertClassifier(Network):
    """An encoder, the mean over real tokens (as MiniLM was trained), dropout, logits."""

    def __init__(
        self,
        encoder: PreTrainedModel,
        dropout: float = 0.1,
        outputs: int = 1,
    ):
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.config.hidden_size, outputs)
        for name, parameter in encoder.named_parameters():
            if name.startswith("pooler."):  # never read, and training in several processes refuses unused parameters
                parameter.requires_grad_(False)

    def forward(self, ids: Ids, mask: Mask) -> Float[Tensor, "batch ..."]:
        """Returns one logit per row (higher means human or good), or one per label."""
        encoded = self.encoder(input_ids=ids, attention_mask=mask.long())
        pooled = mean_pool(encoded.last_hidden_state, mask)
        return drop_single_axis(self.head(self.dropout(pooled)))

    def save(self, folder: Path) -> None:
        """Writes the encoder in the Hugging Face form, and the weights of the head."""
        self.encoder.save_pretrained(folder / EncoderTokens.folder)
        save_file(self.head.state_dict(), folder / "head.safetensors")


NETWORK = BertClassifier


def keep_lowest_layers(encoder: PreTrainedModel, layers: int) -> None:
    """Removes all but the lowest `layers` layers of an encoder. Raises SettingError if it has fewer."""
    stack = get_layers(encoder)
    if not 1 <= layers <= len(stack):
        raise SettingError(f"layers must be between 1 and the {len(stack)} layers of the encoder, but is {layers}")
    del stack[layers:]
    encoder.config.num_hidden_layers = layers


def freeze_lowest_layers(encoder: PreTrainedModel, layers: int) -> None:
    """Freezes the lowest `layers` layers of an encoder. Raises SettingError if it has fewer."""
    stack = get_layers(encoder)
    if not 0 <= layers <= len(stack):
        raise SettingError(
            f"frozen_layers must be between 0 and the {len(stack)} layers that are kept, but is {layers}"
        )
    encoder.requires_grad_(False)
    stack[layers:].requires_grad_(True)
