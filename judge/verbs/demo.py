"""The demo: a page in a browser that steers, judges and compares (`judge demo`)."""

import logging
import os
import socket

from core.errors import SettingError
from judge.demo.settings import DemoModels, DemoSettings

log = logging.getLogger(__name__)


def demo(settings: DemoSettings) -> None:
    """Serves the page until Ctrl-C.

    Raises SettingError where gradio is not installed and where the port is taken, before a model is loaded.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read at import: gradio must not call home
    import gradio  # noqa: F401, before a model is loaded

    check_port(settings.host, settings.port)
    models = DemoModels.load(settings)
    from judge.demo.page import build_page, serve_page  # need gradio and its libraries
    from judge.demo.serving import private_uploads

    with private_uploads():
        page = build_page(models, settings)
        log.info("the page is at %s; Ctrl-C ends it", serve_page(page, settings))
        page.block_thread()


def check_port(host: str, port: int) -> None:
    """Raises SettingError for an address that this machine does not have, and for a port that another program uses."""
    try:
        with socket.create_server((host, port)):
            pass
    except OSError as error:
        raise SettingError(f"cannot listen on {host}:{port} ({error.strerror}): set port or host") from error
