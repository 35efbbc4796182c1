"""The page of `judge demo` in gradio: three tabs over the plain functions of this room."""

from collections.abc import Callable, Iterator
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Any

import gradio as gr
from gradio import themes
from starlette.middleware import Middleware

from core.errors import InputError, SettingError
from core.example import Example
from data.scored import read_scored
from discriminators.discriminator import Discriminator
from discriminators.guides import CausalGuide
from judge.demo.judging import check_length, judge_by, list_fitting, make_example, read_outputs
from judge.demo.serving import KEPT_FOR, LARGEST_FILE, SWEPT_EVERY, LimitedBodies, refuse_unknown_function
from judge.demo.settings import HOST, DemoModels, DemoSettings
from judge.demo.views import show_candidates, show_judgements
from judge.tables import shorten
from judge.verbs.compare import compare
from judge.verbs.steer import SteeredText, Steering, write_steps
from models.causal import CausalLM
from oumg.generation import WrittenToken

SIDES = ("guided", "unguided")
STYLE = Path(__file__).with_name("page.css")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SHADES = {"likelier": "#58a8e0", "less likely": "#f28a3c"}  # colour-blind people tell them apart
WAITING = 32  # requests that wait, at most
MOVED = 0.1  # nats, from which a token is coloured
STRENGTH, SEED, OPENING = 4.0, 0, 30  # alpha, seed and new tokens of the text on which the page opens
PROMPT, PROMPTS = "The food", ("Yesterday my sister and I", "On Friday I")  # shown at first, and to click
SOURCES = ("texts", "dialogues", "summaries")
CLICKED, BEGINNING = 3, 24  # examples of each file, and the characters by which they are named
INTRODUCTION = (
    "Four papers on judging generated text (CDM, CTRLEval, MARS, OUMG) and the usual metrics, to try by hand."
)
STEERED = "Continues a prompt twice: with a guide that makes the tokens of a label likelier, and without it."
JUDGED = "Scores one text by the papers' metrics and the usual ones, and shows which of its parts speak for it."
COMPARED = "Says which system is better on the same inputs, by a metric and by the ratings in the file."
FILES = (
    "JSONL, CSV or TSV. One file: a line such as "
    '`{"system": "new", "group": "input 1", "text": "An output."}` for each output. Or a file for each system: outputs '
    "of one `group` belong together, or without groups those in the same position."
)
NO_MODELS = (
    "There are no models for this in `{folder}`. `make models` trains a tiny one of each kind in minutes; "
    "`--models RUN/models` takes those of a run."
)


def show_fault(fault: Exception) -> str:
    """A fault of the input, which takes the place of an older result."""
    return f'<p class="fault" role="alert">{escape(str(fault))}</p>'


def answer(show: Callable[[], str]) -> str:
    """What is shown, or the fault of the input."""
    try:
        return show()
    except (InputError, SettingError) as fault:
        return show_fault(fault)


def build_page(models: DemoModels, settings: DemoSettings) -> Any:
    """The page, a `gradio.Blocks` that is not served yet."""
    kept = SWEPT_EVERY, KEPT_FOR
    with gr.Blocks(title="Judging generated text", analytics_enabled=False, delete_cache=kept) as page:
        gr.Markdown("# Judging generated text")
        warning = f" Each model here is a <strong>{escape('; '.join(models.notes))}</strong>." if models.notes else ""
        gr.HTML(f"<p>{INTRODUCTION}{warning}</p>")
        for name, build_tab in (("Steer", build_steer_tab), ("Judge", build_judge_tab), ("Compare", build_compare_tab)):
            with gr.Tab(name):
                build_tab(models, settings)
    return page.queue(max_size=WAITING, default_concurrency_limit=settings.people)


def serve_page(page: Any, settings: DemoSettings) -> str:
    """Serves the page in threads of its own; returns its address."""
    _, address, _ = page.launch(
        server_name=HOST,
        server_port=settings.port,
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
            "middleware": [Middleware(LimitedBodies)],
        },
    )
    return address


def build_steer_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Continues a prompt with and without guidance; the page opens on one that is already written."""
    gr.Markdown(STEERED)
    lm = models.generator
    if lm is None:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
        return
    labels = list(models.guides)
    most, longest = min(64, len(lm.tokenizer)), settings.new_tokens
    prompt = gr.Textbox(PROMPT, label="prompt", max_length=settings.characters, lines=2)
    with gr.Row():
        label = gr.Dropdown(labels, value=labels[-1], label="label to steer to")
        seed = gr.Number(SEED, label="seed", precision=0, minimum=0, maximum=2**31)
    with gr.Row():
        strength = gr.Slider(0, 10, STRENGTH, step=0.5, label="strength (alpha)", info="0 is no guidance")
        k = gr.Slider(2, most, min(32, most), step=1, label="k", info="candidates for each token")
        tokens = gr.Slider(1, longest, min(OPENING, longest), step=1, label="new tokens", info="at most")
    examples = [[start, side] for start, side in zip(cycle(PROMPTS), labels)]
    named = [f"{start} … ({side})" for start, side in examples]
    gr.Examples(examples, [prompt, label], example_labels=named, label="examples to click")
    with gr.Row():
        write, stop = gr.Button("Write", variant="primary"), gr.Button("Stop")
    opening = write_opening(lm, models.guides[labels[-1]], min(OPENING, longest), min(32, most))
    with gr.Row():
        views = [
            gr.HighlightedText(
                shade_side(opening, side),
                label=side,
                color_map=SHADES,
                show_legend=side == "guided",
                show_inline_category=False,
            )
            for side in SIDES
        ]
    gr.Markdown("Click on a token to see its candidates. A colour says whether guidance made it likelier.")
    shown, state = gr.HTML(elem_classes="result"), gr.State(opening)

    def on_write(prompt: str, label: str, strength: float, k: int, tokens: int, seed: int) -> Iterator[tuple[Any, ...]]:
        try:
            check_length(prompt, settings.characters, "prompt")
            if label not in models.guides:
                raise SettingError(f"label must be one of {', '.join(labels)}, but is {label!r}")
            how = Steering(float(strength), k=int(k), new_tokens=int(tokens), seed=int(seed))
            for found in write_steps(lm, models.guides[label], prompt, how):
                yield (*(shade_side(found, side) for side in SIDES), found, "")
        except (InputError, SettingError) as fault:
            yield [], [], SteeredText(""), show_fault(fault)

    def on_select(side: str) -> Any:  # gradio passes the event by its annotation, which a partial would hide
        def show(found: SteeredText, event: gr.SelectData) -> str:
            return show_candidates(found, side, event.index)

        return show

    inputs, outputs = [prompt, label, strength, k, tokens, seed], [*views, state, shown]
    writing = gr.on([write.click, prompt.submit], on_write, inputs, outputs, show_progress="hidden")
    writing.failure(lambda: ([], [], SteeredText(""), ""), None, outputs, show_progress="hidden")  # gradio's own fault
    stop.click(None, cancels=[writing])
    for view, side in zip(views, SIDES, strict=True):
        view.select(on_select(side), state, shown, show_progress="hidden")


def write_opening(lm: CausalLM, guide: CausalGuide | Discriminator, tokens: int, k: int) -> SteeredText:
    """What the page shows before anybody clicks: the first prompt, continued with the settings of the page."""
    *_, written = write_steps(lm, guide, PROMPT, Steering(STRENGTH, k=k, new_tokens=tokens, seed=SEED))
    return written


def shade_side(text: SteeredText, side: str) -> list[tuple[str, str | float | None]]:
    """The prompt and the tokens of the `guided` or `unguided` text with their shades."""
    return [(text.prompt, None), *map(shade, getattr(text, side))]


def shade(token: WrittenToken) -> tuple[str, str | None]:
    """The text of a token and its shade; None for a token that guidance hardly moved."""
    return token.text, None if abs(token.moved) < MOVED else "likelier" if token.moved > 0 else "less likely"


def build_judge_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Scores one text by the chosen metrics; one that lacks something says so."""
    gr.Markdown(JUDGED)
    examples = [(name, e) for name in SOURCES for e in read_scored(EXAMPLES / f"{name}.jsonl").examples[:CLICKED]]
    first, most = examples[0][1], settings.characters
    info = "one turn on each line for a dialogue"
    text = gr.Textbox(first.full_text, label="text", lines=6, max_length=most, info=info)
    is_dialogue = gr.Checkbox(label="a dialogue")
    with gr.Row():
        prefix = gr.Textbox(first.prefix, label="prefix", max_length=most, info="how the text had to begin")
        label = gr.Textbox(first.label, label="label", max_length=100, info="positive or negative, for CTRLEval")
    with gr.Row():
        references = gr.Textbox("", label="references", max_length=most, lines=3, info="one on each line")
        context = gr.Textbox("", label="context", max_length=most, lines=3, info="what the text sums up or answers")
    chosen = gr.CheckboxGroup(
        list(models.metrics), value=list_fitting(models.metrics, first), label="metrics", render=False
    )
    fields = [text, is_dialogue, prefix, label, references, context]
    clicked = [[*list_fields(example), list_fitting(models.metrics, example)] for _, example in examples]
    named = [name_example(name, example) for name, example in examples]
    gr.Examples(clicked, [*fields, chosen], example_labels=named, label="examples to click")
    chosen.render()
    if len(models.metrics) <= 3:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
    score = gr.Button("Score", variant="primary")
    shown = gr.HTML(elem_classes="result")

    def on_score(
        text: str, is_dialogue: bool, prefix: str, label: str, references: str, context: str, chosen: list[str]
    ) -> str:
        def show() -> str:
            example = make_example(text, is_dialogue, prefix, label, references, context, most)
            if not chosen:
                raise SettingError("choose at least one metric")
            return show_judgements([judge_by(name, models.metrics[name], example) for name in chosen])

        return answer(show)

    score.click(on_score, [*fields, chosen], shown)


def list_fields(example: Example) -> list[str | bool]:
    """What the fields of the form hold for an example, in their order."""
    references = "\n".join(example.references or ())
    return [
        example.full_text,
        bool(example.turns),
        example.prefix or "",
        example.label or "",
        references,
        example.context or "",
    ]


def name_example(source: str, example: Example) -> str:
    """The button of an example; its id tells it from one that begins alike."""
    return f"{source} {example.id}: {shorten(' '.join(example.full_text.split()), BEGINNING)}"


def build_compare_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Compares the systems of one file, or of a file for each."""
    gr.Markdown(COMPARED)
    gr.Markdown(FILES)
    types = [".jsonl", ".csv", ".tsv"]
    files = gr.File(label="one file, or one for each system", file_count="multiple", file_types=types, height=140)
    named = ["summaries of ten articles by two systems"]
    gr.Examples([[[str(EXAMPLES / "summaries.jsonl")]]], files, example_labels=named, label="an example to click")
    metric = gr.Dropdown(list(models.metrics), value="word count", label="metric")
    button = gr.Button("Compare", variant="primary")
    shown = gr.HTML(elem_classes="result")

    def on_compare(files: list[str] | None, metric: str) -> str:
        def show() -> str:
            outputs = read_outputs([Path(file) for file in files or ()], settings.outputs)
            return compare(outputs, {metric: models.metrics[metric]})._repr_html_()

        return answer(show)

    files.change(lambda: "", None, shown, show_progress="hidden")
    button.click(on_compare, [files, metric], shown)
