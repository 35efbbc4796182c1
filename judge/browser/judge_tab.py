"""The Judge tab: the scores of one text by the metrics that the user chooses, and their explanations."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from core.errors import SettingError
from core.example import Example
from data.scored import read_scored
from judge.browser.judging import CHARACTERS, judge_by, list_fitting, make_example
from judge.browser.loading import DemoModels
from judge.browser.views import NO_MODELS, answer, show_judgements
from report.wording import shorten

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SOURCES = ("texts", "dialogues", "summaries")  # files of examples
CLICKED = 3  # examples of each file
BEGINNING = 24  # characters by which they are named
WITHOUT_MODELS = 3  # metrics that need no model
JUDGED = (
    "Scores one text by the papers' metrics and the usual ones, and shows which of its parts raise or lower the score."
)


def build_judge_tab(models: DemoModels) -> None:
    """Builds the tab that scores one text by the chosen metrics; a metric that lacks a field says so."""
    gr.Markdown(JUDGED)
    examples = list(list_examples())
    first = examples[0][1]
    text = gr.Textbox(
        first.full_text, label="text", lines=6, max_length=CHARACTERS, info="one turn on each line for a dialogue"
    )
    is_dialogue = gr.Checkbox(label="a dialogue")
    with gr.Row():
        prefix = gr.Textbox(first.prefix, label="prefix", max_length=CHARACTERS, info="how the text had to begin")
        label = gr.Textbox(first.label, label="label", max_length=100, info="positive or negative, for CTRLEval")
    with gr.Row():
        references = gr.Textbox("", label="references", max_length=CHARACTERS, lines=3, info="one on each line")
        context = gr.Textbox("", label="context", max_length=CHARACTERS, lines=3, info="what it sums up or answers")
    fitting = list_fitting(models.metrics, first)
    chosen = gr.CheckboxGroup(list(models.metrics), value=fitting, label="metrics", render=False)
    fields = [text, is_dialogue, prefix, label, references, context]
    gr.Examples(
        [[*list_fields(example), list_fitting(models.metrics, example)] for _, example in examples],
        [*fields, chosen],
        example_labels=[name_example(source, example) for source, example in examples],
        label="examples to click",
    )
    chosen.render()
    if len(models.metrics) <= WITHOUT_MODELS:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
    score = gr.Button("Score", variant="primary")
    shown = gr.HTML(elem_classes="result")

    score.click(make_scorer(models), [*fields, chosen], shown)


def make_scorer(models: DemoModels) -> Callable[..., str]:
    """Makes the function of the button Score: the fields of the form and the chosen metrics become HTML."""

    def on_score(*typed: Any) -> str:
        *fields, chosen = typed

        def show() -> str:
            example = make_example(*fields)
            if not chosen:
                raise SettingError("choose at least one metric")
            return show_judgements([judge_by(name, models.metrics[name], example) for name in chosen])

        return answer(show)

    return on_score


def list_examples() -> Iterator[tuple[str, Example]]:
    """Yields the first examples of each file, with the name of the file."""
    for source in SOURCES:
        for example in read_scored(EXAMPLES / f"{source}.jsonl").examples[:CLICKED]:
            yield source, example


def list_fields(example: Example) -> list[str | bool]:
    """Lists the values of the form's fields for an example, in order."""
    return [
        example.full_text,
        bool(example.turns),
        example.prefix or "",
        example.label or "",
        "\n".join(example.references or ()),
        example.context or "",
    ]


def name_example(source: str, example: Example) -> str:
    """Writes the label of an example's button; the id distinguishes examples that begin alike."""
    words = " ".join(example.full_text.split())
    return f"{source} {example.id}: {shorten(words, BEGINNING)}"
