"""Settings and fixtures of all tests: no network, no display, few threads, checked shapes, real data, a BERT."""

import gc
import inspect
import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

# Set before any library is imported, because they read these once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["WANDB_MODE"] = "offline"
os.environ["WANDB_SILENT"] = "true"
os.environ["MPLBACKEND"] = "Agg"
os.environ["OMP_NUM_THREADS"] = str(min(2, int(os.environ.get("OMP_NUM_THREADS", "2"))))  # torch reads it

import pytest
from beartype import beartype
from jaxtyping import AbstractArray, jaxtyped

ROOT = Path(__file__).resolve().parents[1]


class ShapeChecks:
    """Imports this repository's modules with their array shapes checked at every call, arguments and results.

    jaxtyping's own import hook would also compile every library anew that these modules import.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not (ROOT / name.partition(".")[0]).is_dir():
            return None
        specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_check(module: ModuleType) -> None:
                run(module)
                check_shapes(module)

            spec.loader.exec_module = run_and_check
        return spec


def check_shapes(module: ModuleType) -> None:
    """Replaces the module's functions and methods that name an array's shape by checked ones."""
    own = [each for each in vars(module).values() if getattr(each, "__module__", None) == module.__name__]
    for owner in (module, *filter(inspect.isclass, own)):
        for name, function in [pair for pair in vars(owner).items() if inspect.isfunction(pair[1])]:
            is_own = function.__module__ == module.__name__
            if is_own and any(map(names_a_shape, function.__annotations__.values())):
                setattr(owner, name, jaxtyped(function, typechecker=check_shape_annotations))


def check_shape_annotations(function: Callable[..., Any]) -> Callable[..., Any]:
    """beartype, without the annotations that name no shape: pyright checks those, and tests break some on purpose."""
    function.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if names_a_shape(hint)}
    return beartype(function)


def names_a_shape(hint: object) -> bool:
    return (isinstance(hint, type) and issubclass(hint, AbstractArray)) or any(map(names_a_shape, get_args(hint)))


sys.meta_path.insert(0, ShapeChecks())  # before any module of this repository is imported

from core.hosts import set_network  # noqa: E402


class Network:
    """Refuses connections to other machines from Python, and remembers them: libraries may hide the refusal."""

    def __init__(self) -> None:
        self.is_allowed = False
        self.refused: list[str] = []
        self.here = {"localhost", "::1", "", socket.gethostname()}

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook (`sys.addaudithook`)."""
        if self.is_allowed or event not in ("socket.connect", "socket.getaddrinfo"):
            return
        if event == "socket.connect" and arguments[0].type != socket.SOCK_STREAM:
            return  # connecting a datagram socket sends nothing
        address = arguments[1] if event == "socket.connect" else arguments[0]
        host = address[0] if isinstance(address, tuple) else address if event == "socket.getaddrinfo" else None
        if isinstance(host, str) and host not in self.here and not host.startswith("127."):
            self.refused.append(host)
            raise ConnectionRefusedError(f"a test needs the mark `network` to ask for {host}")


NETWORK = Network()
sys.addaudithook(NETWORK.hear)


def pytest_collection_finish() -> None:
    """Spares the collector of garbage the objects of all libraries and tests, which stay to the end."""
    gc.freeze()


@pytest.fixture(scope="session")
def network() -> Network:
    """What refuses connections."""
    return NETWORK


@pytest.fixture(autouse=True)
def _no_connection_to_other_machines(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test without the mark `network` fails if it asks for another machine, by name or address."""
    NETWORK.is_allowed = request.node.get_closest_marker("network") is not None
    set_network(False)
    yield
    refused, NETWORK.refused = NETWORK.refused, []
    assert not refused, f"a test without the mark `network` asked for {', '.join(refused)}"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data: `$SHARED_DATA`, else `../shared/data` beside the repository; skips where there is none.

    Fails, rather than skip, where `SHARED_DATA` names no folder, and in CI where `../shared` is there without its data.
    """
    named = os.environ.get("SHARED_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"SHARED_DATA must name a folder, but {named} is none")
    if os.environ.get("CI") and folder.parent.exists():
        pytest.fail(f"CI must test with the real data, but {folder} is missing")
    pytest.skip(f"no real data: {folder} is missing and SHARED_DATA is not set")


@pytest.fixture(scope="session")
def vocabularies(shared_data: Path) -> Path:
    """The folder of real tokenizers beside the real data; skips where there is none."""
    return beside(shared_data, "tokenizers")


@pytest.fixture(scope="session")
def formats(shared_data: Path) -> Path:
    """The folder of files of other tools beside the real data; skips where there is none."""
    return beside(shared_data, "formats")


@pytest.fixture(scope="session")
def cases(shared_data: Path) -> Path:
    """The folder of users' files with right answers beside the real data; skips where there is none."""
    return beside(shared_data, "cases")


@pytest.fixture(scope="session")
def released_ctrleval(shared_data: Path) -> Path:
    """The folder of scores by the released program of CTRLEval beside the real data; skips where there is none."""
    return beside(shared_data, "golden/ctrl_eval")


def beside(shared_data: Path, name: str) -> Path:
    """A folder beside the real data."""
    folder = shared_data.parent / name
    if not folder.is_dir():
        pytest.skip(f"no {name} beside the real data")
    return folder


@pytest.fixture(scope="session")
def saved_bert(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a random BERT with two heads and a word-piece tokenizer over `pieces`; returns its folder."""
    from transformers import BertConfig, BertModel, BertTokenizer  # here, for the rooms that need no model

    from models.tiny import initialise_model

    def save(
        pieces: Sequence[str], dimension: int, layers: int, max_length: int, seed: int = 0, deviation: float = 0.02
    ) -> Path:
        folder = tmp_path_factory.mktemp("bert")
        vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]
        (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
        BertTokenizer(str(folder / "vocab.txt"), model_max_length=max_length).save_pretrained(folder)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=dimension,
            num_hidden_layers=layers,
            num_attention_heads=2,
            intermediate_size=2 * dimension,
            max_position_embeddings=max_length,
            initializer_range=deviation,
        )
        initialise_model(BertModel, config, seed).save_pretrained(folder)
        return folder

    return save
