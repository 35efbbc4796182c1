"""The notebooks run from top to bottom wherever they are started, and are kept with outputs and without noise."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("default")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NEEDS_MODELS = [path for path in NOTEBOOKS if "tiny/models" in path.read_text(encoding="utf-8")]
NAMES = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@NAMES
def test_a_notebook_is_kept_with_outputs_and_without_noise(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert len(outputs) >= len(cells) - 2  # the imports and a definition show nothing
    assert not [output for output in outputs if output.get("name") == "stderr" or output["output_type"] == "error"]
    assert str(ROOT) not in path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository by links, in which outputs/ is another."""
    folder = tmp_path_factory.mktemp("repository")
    for path in ROOT.iterdir():
        if path.name not in ("outputs", "notebooks") and not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    (folder / "outputs").mkdir()
    (folder / "notebooks").mkdir()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("started", [".", "notebooks"])
@NAMES
def test_a_notebook_runs(
    path: Path, started: str, repository: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if path in NEEDS_MODELS and not (repository / "outputs" / "tiny").exists():
        (repository / "outputs" / "tiny").symlink_to(request.getfixturevalue("tiny_run"))
    monkeypatch.setenv("PYTHONPATH", str(repository))
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(repository / started)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=where).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert "steer" not in path.stem or any("guided: The food" in str(cell.outputs) for cell in code)
    assert not any(output.get("name") == "stderr" for cell in code for output in cell.outputs)
