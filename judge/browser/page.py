"""The page of `judge demo` in gradio: two tabs, which call the plain functions of this folder."""

from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
from gradio import themes

from judge.browser.judge_tab import build_judge_tab
from judge.browser.judging import DemoModels
from judge.browser.serving import HOST, KEPT_FOR, LARGEST_FILE, MIDDLEWARE, SWEPT_EVERY, refuse_unknown_function
from judge.browser.steer_tab import build_steer_tab

STYLE = Path(__file__).with_name("page.css")
PEOPLE = 2  # requests that are answered at once; further ones wait
WAITING = 32  # requests that wait, at most
INTRODUCTION = (
    "Four papers on judging generated text (CDM, CTRLEval, MARS, OUMG) and the usual metrics, to try by hand."
)
TABS = {"Steer": build_steer_tab, "Judge": build_judge_tab}


def build_page(models: DemoModels) -> Any:
    """Builds the page, a `gradio.Blocks` that is not served yet."""
    kept = SWEPT_EVERY, KEPT_FOR
    with gr.Blocks(title="Judging generated text", analytics_enabled=False, delete_cache=kept) as page:
        gr.Markdown("# Judging generated text")
        warning = f" Each model here is a <strong>{escape('; '.join(models.notes))}</strong>." if models.notes else ""
        gr.HTML(f"<p>{INTRODUCTION}{warning}</p>")
        for name, build_tab in TABS.items():
            with gr.Tab(name):
                build_tab(models)
    return page.queue(max_size=WAITING, default_concurrency_limit=PEOPLE)


def serve_page(page: Any, port: int) -> str:
    """Serves the page in separate threads; returns its address."""
    _, address, _ = page.launch(
        server_name=HOST,
        server_port=port,
        share=False,
        prevent_thread_lock=True,
        quiet=True,
        ssr_mode=False,
        enable_monitoring=False,
        footer_links=[],
        max_file_size=LARGEST_FILE,
        theme=themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]).set(
            block_info_text_color="*neutral_500"  # the default is too pale on white
        ),
        css_paths=STYLE,
        app_kwargs={
            "exception_handlers": {KeyError: refuse_unknown_function},
            "middleware": MIDDLEWARE,
        },
    )
    return address
