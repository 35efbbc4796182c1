"""Puts sequences with common prefixes into one row of a causal model, so that each prefix is read once.

A row is a tree of tokens. A token attends to the tokens between the root and itself, and its position is its depth. Its
hidden state is therefore the same as if its sequence were read alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# types of models that place tokens by `position_ids` and take a mask of which token sees which
BRANCHING = {"gemma", "gemma3_text", "gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "starcoder2"}
SHARED = 8  # tokens: sequences that have fewer in common are read apart, without a mask
LARGEST_TREE = 1024  # tokens of a tree with branches, whose attention grows with their square


@dataclass
class Tree:
    """Sequences in one row, as a tree of their common prefixes."""

    ids: list[int]
    # the depth of each token
    positions: list[int]
    # for each sequence, by its index, where its tokens are in the row
    paths: dict[int, list[int]]
    # whether the row is not one sequence
    branches: bool = False

    def add(self, index: int, sequence: Sequence[int], path: Sequence[int]) -> None:
        """Adds a sequence whose first tokens are those of a path of the tree."""
        self.branches |= len(path) < len(self.ids)
        first = len(self.ids)
        self.ids += sequence[len(path) :]
        self.positions += range(len(path), len(sequence))
        self.paths[index] = [*path, *range(first, len(self.ids))]

    def mask(self, width: int) -> Tensor:
        """Returns the attention mask between the tokens of the row, shape (width, width).

        A padding token attends to itself.
        """
        sees = torch.eye(width, dtype=torch.bool)
        for path in self.paths.values():
            at = torch.tensor(path)
            sees[at[:, None], at] = torch.ones(len(path), len(path), dtype=torch.bool).tril()
        return sees


def plant_trees(sequences: Sequence[Sequence[int]], room: int, branching: bool) -> list[Tree]:
    """Packs all sequences into trees. A tree with branches has at most `room` tokens.

    Without `branching`, each tree contains one sequence and those that are prefixes of it.

    >>> [tree.ids for tree in plant_trees([[1, 2, 3], [7], [1, 2]], room=9, branching=False)]
    [[1, 2, 3], [7]]
    """
    trees: list[Tree] = []
    last: Sequence[int] = ()
    for index in sorted(range(len(sequences)), key=lambda i: tuple(sequences[i])):
        sequence = sequences[index]
        common = count_common(last, sequence)
        goes_on = common == len(last) > 0
        if trees and not (goes_on and not trees[-1].branches):
            grown = len(trees[-1].ids) + len(sequence) - common
            if not (branching and common >= SHARED and grown <= room):
                common = 0
        if not common:
            trees.append(Tree([], [], {}))
        path = list(trees[-1].paths.values())[-1][:common] if common else []
        trees[-1].add(index, sequence, path)
        last = sequence
    return trees


def count_common(first: Sequence[int], second: Sequence[int]) -> int:
    """Returns the length of the common prefix of two sequences.

    >>> count_common([1, 2, 3], [1, 2, 4, 5])
    2
    """
    for i, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return i
    return min(len(first), len(second))


def tree_inputs(trees: Sequence[Tree], dtype: torch.dtype, device: torch.device) -> dict[str, Tensor]:
    """Makes the arguments of a model for reading trees, one row each, padded on the right."""
    width = max(len(tree.ids) for tree in trees)
    padded = [[*tree.ids, *[0] * (width - len(tree.ids))] for tree in trees]
    ids = torch.tensor(padded, device=device)
    if not any(tree.branches for tree in trees):
        read = torch.tensor([[1] * len(tree.ids) + [0] * (width - len(tree.ids)) for tree in trees], device=device)
        return {"input_ids": ids, "attention_mask": read}
    places = [[*tree.positions, *[0] * (width - len(tree.ids))] for tree in trees]
    sees = torch.stack([tree.mask(width) for tree in trees])[:, None].to(device)
    hidden = torch.zeros(sees.shape, dtype=dtype, device=device).masked_fill_(~sees, torch.finfo(dtype).min)
    return {"input_ids": ids, "attention_mask": hidden, "position_ids": torch.tensor(places, device=device)}


def can_branch(config: Any, longest: int) -> bool:
    """Whether a model can read trees with branches whose longest sequence has `longest` tokens.

    A layer with a sliding window sees all previous tokens as long as they fit into the window.
    """
    window = getattr(config, "sliding_window", None)
    if window is not None and getattr(config, "use_sliding_window", True) and longest > window:
        return False
    return config.model_type in BRANCHING
