"""The sizes of the published checkpoints of papers and baselines, known without loading them."""

from collections.abc import Mapping
from typing import NamedTuple


class Published(NamedTuple):
    """The size of a checkpoint on the hub."""

    parameters: int
    # bytes of the weights that transformers fetches, to three digits; vocabulary and settings are a few MB more
    download: float


PUBLISHED: Mapping[str, Published] = {
    "google-t5/t5-small": Published(60_506_624, 242e6),
    "google-t5/t5-base": Published(222_903_552, 892e6),
    "google-t5/t5-large": Published(737_668_096, 2.95e9),
    "google-t5/t5-3b": Published(2_851_598_336, 11.4e9),
    "google-t5/t5-11b": Published(11_307_321_344, 45.2e9),
    "google/pegasus-large": Published(570_797_056, 2.28e9),
    "facebook/bart-large": Published(406_291_456, 1.02e9),  # half precision
    "facebook/bart-large-cnn": Published(406_290_432, 1.63e9),
    "allenai/led-base-16384": Published(161_844_480, 648e6),
    "openai-community/gpt2": Published(124_439_808, 548e6),
    "gpt2": Published(124_439_808, 548e6),
    "openai-community/gpt2-medium": Published(354_823_168, 1.52e9),
    "openai-community/gpt2-large": Published(774_030_080, 3.25e9),
    "FacebookAI/roberta-base": Published(124_697_433, 499e6),
    "FacebookAI/roberta-large": Published(355_412_057, 1.42e9),
    "roberta-large": Published(355_412_057, 1.42e9),
    "sentence-transformers/nli-roberta-large": Published(355_359_744, 1.42e9),
    "google-bert/bert-base-uncased": Published(109_514_298, 440e6),
    "google-bert/bert-base-chinese": Published(102_290_312, 412e6),
    "EleutherAI/pythia-70m": Published(70_426_624, 166e6),  # half precision, with masks
    "EleutherAI/pythia-160m": Published(162_322_944, 375e6),
    "Elron/bleurt-base-128": Published(109_483_009, 438e6),
    "MingZhong/unieval-dialog": Published(737_668_096, 2.95e9),
}
