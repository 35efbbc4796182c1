"""`judge demo`."""

import logging
import os

from core.settings import Count, Text
from judge.options import verb

log = logging.getLogger(__name__)


@verb
def demo(
    *,
    models: Text = "outputs/tiny/models",
    port: Count = 7860,
    device: str = "cpu",
    generator: str | None = None,
    dtype: str = "float32",
) -> None:
    """Serves a page in a browser that steers and judges, until Ctrl-C.

    Args:
        models: those of `make models`, or RUN/models of any run.
        port: where to listen, on this machine alone.
        device: of the models.
        generator: the model that guides steer, by folder or hub name; by default `generator` in the folder of models.
        dtype: of the generator's weights.

    Raises SettingError for a wrong setting, if gradio is not installed, and if the port is taken.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read at import: gradio must not call home
    import gradio  # noqa: F401, before a model is loaded

    from judge.browser.serving import check_port, private_uploads

    check_port(port)
    from judge.browser.judging import DemoModels  # needs torch
    from judge.browser.page import build_page, serve_page

    loaded = DemoModels.load(models, generator, device, dtype)
    with private_uploads():
        page = build_page(loaded)
        log.info("the page is at %s; Ctrl-C ends it", serve_page(page, port))
        page.block_thread()
