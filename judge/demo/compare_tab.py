"""The Compare tab: which system is better on the same inputs, by a metric and by ratings."""

from pathlib import Path

import gradio as gr

from judge.demo.judge_tab import EXAMPLES
from judge.demo.judging import read_outputs
from judge.demo.loading import DemoModels
from judge.demo.settings import DemoSettings
from judge.demo.views import answer
from judge.verbs.compare import compare

TYPES = [".jsonl", ".csv", ".tsv"]  # of files
FIRST = "word count"  # the metric that is chosen at first
COMPARED = "Says which system is better on the same inputs, by a metric and by the ratings in the file."
FILES = (
    "JSONL, CSV or TSV. One file: a line such as "
    '`{"system": "new", "group": "input 1", "text": "An output."}` for each output. Or a file for each system: outputs '
    "of one `group` belong together, or without groups those in the same position."
)


def build_compare_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Builds the tab that compares systems, whose outputs are in one file, or in one file for each system."""
    gr.Markdown(COMPARED)
    gr.Markdown(FILES)
    files = gr.File(label="one file, or one for each system", file_count="multiple", file_types=TYPES, height=140)
    gr.Examples(
        [[[str(EXAMPLES / "summaries.jsonl")]]],
        files,
        example_labels=["summaries of ten articles by two systems"],
        label="an example to click",
    )
    metric = gr.Dropdown(list(models.metrics), value=FIRST, label="metric")
    button = gr.Button("Compare", variant="primary")
    shown = gr.HTML(elem_classes="result")

    def on_compare(files: list[str] | None, metric: str) -> str:
        def show() -> str:
            outputs = read_outputs([Path(file) for file in files or ()], settings.outputs)
            return compare(outputs, {metric: models.metrics[metric]})._repr_html_()

        return answer(show)

    files.change(lambda: "", None, shown, show_progress="hidden")
    button.click(on_compare, [files, metric], shown)
