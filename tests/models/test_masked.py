"""Masked models: the likeliest token at each mask against one row at a time, and training of a BERT from scratch."""

from functools import partial
from pathlib import Path

import pytest
import torch
from pytorch_lightning import Trainer
from tokenizers import Tokenizer, models, processors
from transformers import PreTrainedTokenizerFast

from core.errors import SettingError
from models.batching import NOT_LEARNED, Task
from models.loading import load_tokenizer
from models.masked import MaskedLM, most_likely_at_masks
from models.tiny import TinyBert
from models.training import LanguageModelSchedule, train_language_model

TEXTS = ["the cat sat on the mat.", "the dog ran in the park.", "a bird sang."]
PLAN = TinyBert(vocabulary=320, hidden_size=16, num_attention_heads=2, num_hidden_layers=2, intermediate_size=32)


@pytest.fixture(scope="module")
def lm() -> MaskedLM:
    built = PLAN.build(TEXTS, (), seed=1)
    built.model.eval()
    return built


def test_masks_are_filled_as_one_row_at_a_time_would_fill_them(lm: MaskedLM) -> None:
    one, two, three = (lm.tokenizer(text, add_special_tokens=False)["input_ids"] for text in TEXTS)
    mask = lm.special("mask")
    masked = [mask if i in (1, 3) else token for i, token in enumerate(one)]
    rows = [lm.framed(three, masked), lm.framed([], [mask, *two[1:]]), lm.framed([], three)]
    expected: list[list[int]] = []
    for row in rows:
        with torch.no_grad():
            logits = lm.model(input_ids=torch.tensor([row])).logits[0]
        logits[:, lm.tokenizer.all_special_ids] = -torch.inf
        expected.append([int(logits[i].argmax()) for i, token in enumerate(row) if token == mask])
    assert most_likely_at_masks(lm, rows) == expected
    assert most_likely_at_masks(lm, rows, token_budget=1) == expected
    assert [len(row) for row in expected] == [2, 1, 0]


def test_pairs_are_framed_as_the_tokenizer_frames_them() -> None:
    frame = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    backend = Tokenizer(models.WordLevel({"<s>": 0, "<mask>": 1, "</s>": 2, "a": 3, "b": 4}))
    backend.post_processor = frame
    special = {"cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **special)
    lm = MaskedLM(None, tokenizer)
    assert lm.framed([3], [4]) == tokenizer("a", "b")["input_ids"] == [0, 3, 2, 2, 4, 2]
    assert lm.framed([], [4]) == tokenizer("b")["input_ids"]


def test_a_tokenizer_without_a_mask_is_refused(lm: MaskedLM, tmp_path: Path) -> None:
    lm.save_pretrained(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    tokenizer.mask_token = None
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(SettingError, match=r"needs mask, cls and sep tokens, but .* has no \['mask'\]"):
        MaskedLM.from_pretrained(tmp_path)


def test_a_small_model_learns_what_stands_behind_a_mask(tmp_path: Path) -> None:
    lm = PLAN.build(TEXTS, (), seed=0)
    mask = lm.special("mask")
    rows = [lm.framed([], lm.tokenizer(text, add_special_tokens=False)["input_ids"]) for text in TEXTS]
    tasks = [
        Task(
            [mask if k == i else token for k, token in enumerate(row)],
            [token if k == i else NOT_LEARNED for k, token in enumerate(row)],
        )
        for row in rows
        for i in range(1, len(row) - 1)
    ]
    right = [[task.target[task.source.index(mask)]] for task in tasks]

    def share_right() -> float:
        filled = most_likely_at_masks(lm, [task.source for task in tasks])
        return sum(found == token for found, token in zip(filled, right, strict=True)) / len(tasks)

    assert share_right() < 0.2
    trainer = partial(Trainer, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False)
    schedule = LanguageModelSchedule(epochs=4, batch_size=4, learning_rate=0.02)
    train_language_model(lm, lambda seed: tasks * 10, tasks, schedule, tmp_path, trainer)
    assert share_right() > 0.5
