"""The built documentation: no dead link, and no other host is asked."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).resolve().parents[2]
LOADED = r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?(https?://[^\s\">]+)"
pytest.importorskip("mkdocs")


def test_the_pages_are_built_without_a_warning_and_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert not [address for page in tmp_path.rglob("*.html") for address in re.findall(LOADED, page.read_text())]
    assert (tmp_path / "api" / "guidance.html").is_file()
