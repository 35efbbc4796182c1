"""Serves the demo: a page in a browser that steers, judges and compares (`judge demo`)."""

import logging
import os
import socket
from typing import Any

from core.errors import SettingError
from judge.browser.settings import HOST, DemoSettings

log = logging.getLogger(__name__)


def demo(**settings: Any) -> None:
    """The work of `judge.demo`, which says what it takes and raises."""
    given = DemoSettings(**settings)
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read at import: gradio must not call home
    import gradio  # noqa: F401, before a model is loaded

    check_port(given.port)
    from judge.browser.loading import DemoModels  # needs torch
    from judge.browser.page import build_page, serve_page  # need gradio and its libraries
    from judge.browser.serving import private_uploads

    models = DemoModels.load(given)
    with private_uploads():
        page = build_page(models, given)
        log.info("the page is at %s; Ctrl-C ends it", serve_page(page, given))
        page.block_thread()


def check_port(port: int) -> None:
    """Raises SettingError for a port that another program uses, or that this user may not use."""
    try:
        with socket.create_server((HOST, port)):
            pass
    except OSError as error:
        raise SettingError(f"cannot listen on {HOST}:{port} ({error.strerror}): set port") from error
