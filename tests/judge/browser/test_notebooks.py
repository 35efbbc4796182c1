"""Notebooks run from top to bottom wherever they are started."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("default")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NEEDS_MODELS, NEEDS_SETS = (
    [path for path in NOTEBOOKS if needed in path.read_text(encoding="utf-8")] for needed in ("tiny/models", "SETS")
)
NAMES = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository by links, in which outputs/ is another."""
    folder = tmp_path_factory.mktemp("repository")
    for path in ROOT.iterdir():
        if path.name not in ("outputs", "docs") and not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    (folder / "outputs").mkdir()
    (folder / "docs" / "notebooks").mkdir(parents=True)
    (folder / "docs" / "examples").symlink_to(ROOT / "docs" / "examples")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("started", [".", "docs/notebooks"])
@NAMES
def test_a_notebook_runs(
    path: Path, started: str, repository: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if path in NEEDS_MODELS and not (repository / "outputs" / "tiny").exists():
        (repository / "outputs" / "tiny").symlink_to(request.getfixturevalue("tiny_run"))
    if path in NEEDS_SETS:
        monkeypatch.setenv("SETS", str(request.getfixturevalue("shared_data")))
    monkeypatch.setenv("PYTHONPATH", str(repository))
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(repository / started)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=where).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert "steer" not in path.stem or any("guided: The food" in str(cell.outputs) for cell in code)
    assert not any(output.get("name") == "stderr" for cell in code for output in cell.outputs)


@NAMES
def test_what_a_notebook_imports_exists(path: Path) -> None:
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    lines = [line for cell in cells for line in cell.splitlines() if line.startswith("from ")]
    assert lines
    exec("\n".join(lines), {})
