"""The Judge tab: the scores of one text by the metrics that the user chooses, and their explanations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from core.errors import SettingError
from core.example import Example
from data.scored import read_scored
from judge.browser.judging import CHARACTERS, DemoModels, judge_by, list_fitting, make_example
from judge.browser.views import NO_MODELS, answer, show_judgements

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "texts.jsonl"  # of which the page shows the first
WITHOUT_MODELS = 3  # metrics that need no model
FIELDS = {  # lines of a field, and what belongs there
    "text": (6, "one turn on each line for a dialogue"),
    "prefix": (1, "how the text had to begin"),
    "label": (1, "positive or negative, for CTRLEval"),
    "references": (3, "one on each line"),
    "context": (3, "what it sums up or answers"),
}
JUDGED = (
    "Scores one text by the papers' metrics and the usual ones, and shows which of its parts raise or lower the score."
)


def build_judge_tab(models: DemoModels) -> None:
    """Builds the tab that scores one text by the chosen metrics; a metric that lacks a field says so."""
    gr.Markdown(JUDGED)
    first = read_scored(EXAMPLES).examples[0]
    text, is_dialogue, *others = list_fields(first)
    fields = [make_box("text", text), gr.Checkbox(bool(is_dialogue), label="a dialogue")]
    for names, values in ((("prefix", "label"), others[:2]), (("references", "context"), others[2:])):
        with gr.Row():
            fields += map(make_box, names, values)
    chosen = gr.CheckboxGroup(list(models.metrics), value=list_fitting(models.metrics, first), label="metrics")
    if len(models.metrics) <= WITHOUT_MODELS:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
    score = gr.Button("Score", variant="primary")
    shown = gr.HTML(elem_classes="result")

    score.click(make_scorer(models), [*fields, chosen], shown)


def make_box(name: str, value: str | bool) -> gr.Textbox:
    """Adds a field of the form."""
    lines, info = FIELDS[name]
    return gr.Textbox(
        str(value),
        label=name,
        lines=lines,
        max_length=CHARACTERS,
        info=info,
    )


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
