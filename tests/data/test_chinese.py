"""Chinese words: a dictionary that another user of the machine planted is not read."""

import marshal
import tempfile
from pathlib import Path

import pytest

import data.chinese


def test_a_cache_in_the_temporary_folder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "jieba.cache").write_bytes(marshal.dumps(({"我": 1, "们喜": 10**9, "欢诗": 10**9, "歌": 1}, 2 * 10**9)))
    data.chinese._segmenter.cache_clear()
    assert data.chinese.split_chinese("我们喜欢诗歌") == ["我们", "喜欢", "诗歌"]
