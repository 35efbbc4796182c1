"""Chinese words, by jieba."""

from functools import cache
from pathlib import Path

import jieba
import pooch


@cache
def _segmenter() -> jieba.Tokenizer:
    """jieba with its cache in the user's own cache folder.

    By default jieba reads its cache from the system's temporary folder, where other users of the machine could plant
    another dictionary.
    """
    folder = Path(pooch.os_cache("judging-generated-text"))
    folder.mkdir(parents=True, exist_ok=True)
    segmenter = jieba.Tokenizer()
    segmenter.tmp_dir = str(folder)  # pyright: ignore[reportAttributeAccessIssue]; jieba's class says None
    return segmenter


def split_chinese(text: str) -> list[str]:
    """The words of a text, and what stands between them.

    >>> split_chinese("我们喜欢诗歌")
    ['我们', '喜欢', '诗歌']
    """
    return _segmenter().lcut(text)
