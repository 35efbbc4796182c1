"""The demo: a page in a browser that steers, judges and compares (`+exp=demo`)."""

import logging
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.faults import SettingFault
from core.scores import Metric
from core.settings import Count, Text, checked_dataclass
from core.signature import MODEL_LIBRARIES, signature
from experiments.contracts import Outcome, Run
from experiments.demo.judging import load_metrics
from experiments.demo.legend import TINY, learned_synthetic
from experiments.demo.steering import Steerer

log = logging.getLogger(__name__)
EVERYWHERE = ("0.0.0.0", "::")


@checked_dataclass
class DemoSettings:
    """Where the page is served and what it accepts.

    Attributes:
        models: a folder of models.
        host, port: where to listen; 127.0.0.1 is this machine alone.
        hosts: further names and addresses by which other machines reach the page; no other is answered.
        characters: of a text, at most.
        new_tokens: of a continuation, at most.
        outputs: of a file, at most.
        people: requests that are answered at once; further ones wait.
        waiting: requests that wait, at most.
        device: of the models.
    """

    models: Text
    host: Text = "127.0.0.1"
    port: Count = 7860
    hosts: Sequence[Text] = ()
    characters: Count = 2000
    new_tokens: Count = 60
    outputs: Count = 2000
    people: Count = 2
    waiting: Count = 32
    device: Text = "cpu"

    def __post_init__(self) -> None:
        if self.host in EVERYWHERE and not self.hosts:
            raise ValueError(
                f"demo.hosts must name how other machines reach the page with demo.host={self.host}, as in "
                "demo.hosts=[lab.example,10.0.0.5]"
            )

    @property
    def trusted_hosts(self) -> tuple[str, ...]:
        """The names and addresses, beside those of this machine alone, by which the page may be asked."""
        return (*self.hosts, *(() if self.host in EVERYWHERE else (self.host,)))


@dataclass(frozen=True)
class DemoModels:
    """The models of the page.

    Attributes:
        folder: as the user gave it.
        steerer: None without a generator and a guide.
        metrics: by name.
        note: what a reader of their scores must know, "" for nothing.
    """

    folder: str
    steerer: Steerer | None
    metrics: Mapping[str, Metric]
    note: str = ""

    @classmethod
    def load(cls, settings: DemoSettings) -> "DemoModels":
        """The models that the folder has."""
        folder = Path(settings.models)
        steerer = Steerer.from_pretrained(folder, settings.device)
        note = TINY if learned_synthetic(folder) else ""
        return cls(settings.models, steerer, load_metrics(folder, settings.device), note)


def demo(run: Run, settings: DemoSettings) -> Outcome:
    """Serves the page until Ctrl-C.

    Raises SettingFault where gradio is not installed and where the port is taken, before a model is loaded.
    """
    check_gradio()
    check_port(settings.host, settings.port)
    with run.timed("loading"):
        models = DemoModels.load(settings)
    from experiments.demo.page import build_page, serve_page  # need gradio and its libraries
    from experiments.demo.serving import private_uploads

    with private_uploads():
        page = build_page(models, settings)
        log.info("the page is at %s; Ctrl-C ends it", serve_page(page, settings))
        page.block_thread()
    return Outcome(signature=signature(run.name, libraries=MODEL_LIBRARIES))


def check_port(host: str, port: int) -> None:
    """Raises SettingFault for an address that this machine does not have, and for a port that another program uses."""
    try:
        with socket.create_server((host, port)):
            pass
    except OSError as error:
        raise SettingFault(f"cannot listen on {host}:{port} ({error.strerror}): set demo.port or demo.host") from error


def check_gradio() -> None:
    """Imports gradio, which must not call home. Raises SettingFault where it is not installed."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read at import
    try:
        import gradio  # noqa: F401
    except ImportError as error:
        raise SettingFault("+exp=demo needs gradio: pip install 'judging-generated-text[demo]'") from error
