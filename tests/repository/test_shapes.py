"""The tests check array shapes: of functions, methods and dataclasses, in arguments and in results."""

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError
from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from ctrl_eval.frequency import WordFrequencies
from discriminators.architectures.bilstm import AttentionBiLSTM
from models.encoders import mean_pool


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(TypeCheckError, match="parameter 'mask'"):
        mean_pool(torch.zeros(2, 3, 4), torch.ones(2, 5, dtype=torch.bool))
    with pytest.raises(TypeCheckError, match="parameter 'ids'"):
        AttentionBiLSTM(5).hidden(torch.zeros(3, dtype=torch.long), torch.ones(1, 3, dtype=torch.bool))
    with pytest.raises(TypeCheckError, match="parameter 'iwf'"):
        WordFrequencies(np.zeros((2, 2)), PreTrainedTokenizerFast(tokenizer_object=Tokenizer(BPE())), "corpus")
