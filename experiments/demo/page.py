"""The page of `+exp=demo` in gradio: three tabs over the plain functions of this room."""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Any

import gradio as gr
from gradio import themes
from starlette.staticfiles import StaticFiles

from core.example import Example
from core.faults import InputFaults, SettingFault
from data.scored import read_scored
from experiments.demo.comparing import compare_systems, read_systems
from experiments.demo.judging import (
    Judged,
    Kind,
    check_length,
    choose_usual_metrics,
    judge,
    make_example,
    name_kind,
)
from experiments.demo.legend import describe_metric
from experiments.demo.serving import guard, refuse_unknown_function
from experiments.demo.settings import DemoModels, DemoSettings
from experiments.demo.views import (
    highlight,
    introduce,
    show_candidates,
    show_comparison,
    show_judgements,
)
from judge.steering import SHADES, SteeredText, write_steps
from judge.tables import shorten

SIDES = ("guided", "unguided")
STYLE = Path(__file__).with_name("page.css")
EXAMPLES = Path(__file__).parents[2] / "examples"
DOCS = Path(__file__).parents[2] / "build" / "docs"  # as `make docs` leaves it
DOCS_AT = "/documentation"
PROMPT, PROMPTS = "The food", ("Yesterday my sister and I", "On Friday I")  # shown at first, and to click
SOURCES: dict[Kind, str] = {"text": "texts", "dialogue": "dialogues", "text and references": "summaries"}
CLICKED, BEGINNING = 3, 24  # examples of each kind, and the characters by which they are named
COMPARED = (
    "The outputs of several systems for the same inputs, as JSONL, CSV or TSV. One file: a line such as "
    '`{"system": "new", "group": "input 1", "text": "An output."}` for each output. Or a file for each system: outputs '
    "of one `group` belong together, or without groups those in the same place."
)
NO_MODELS = (
    "There are no models for this in `{folder}`. `make models` trains a tiny one of each kind in minutes; "
    "`demo.models=RUN/models` takes those of a run."
)


@contextmanager
def show_refusals() -> Iterator[None]:
    """Shows faults of the input to the person; anything else is a failure of the program."""
    try:
        yield
    except (InputFaults, SettingFault) as fault:
        raise gr.Error(escape(str(fault)), print_exception=False) from None


def build_page(models: DemoModels, settings: DemoSettings) -> Any:
    """The page, a `gradio.Blocks` that is not served yet."""
    with gr.Blocks(title="Judging generated text", analytics_enabled=False) as page:
        gr.Markdown("# Judging generated text")
        gr.HTML(introduce(models, f"{DOCS_AT}/demo.html" if DOCS.is_dir() else None))
        for name, build_tab in (("Steer", build_steer_tab), ("Judge", build_judge_tab), ("Compare", build_compare_tab)):
            with gr.Tab(name):
                build_tab(models, settings)
    return page.queue(max_size=settings.waiting, default_concurrency_limit=settings.people)


def serve_page(page: Any, settings: DemoSettings) -> str:
    """Serves the page in threads of its own; returns its address."""
    app, address, _ = page.launch(
        server_name=settings.host,
        server_port=settings.port,
        share=False,
        prevent_thread_lock=True,
        quiet=True,
        ssr_mode=False,
        enable_monitoring=False,
        footer_links=[],
        max_file_size="5mb",
        theme=themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]).set(
            block_info_text_color="*neutral_500"  # the default is too pale on white
        ),
        css_paths=STYLE,
        app_kwargs={"exception_handlers": {KeyError: refuse_unknown_function}},
    )
    if DOCS.is_dir():
        app.mount(DOCS_AT, StaticFiles(directory=DOCS))
    app.middleware_stack = guard(app.middleware_stack, settings.trusted_hosts)  # around gradio's own, which is laxer
    return address


def build_steer_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Continues a prompt with and without guidance."""
    lm = models.generator
    if lm is None:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
        return
    labels = list(models.guides)
    most = min(64, len(lm.tokenizer))
    prompt = gr.Textbox(PROMPT, label="prompt", max_length=settings.characters, lines=2)
    with gr.Row():
        label = gr.Dropdown(labels, value=labels[-1], label="label to steer to")
        seed = gr.Number(0, label="seed", precision=0, minimum=0, maximum=2**31)
    with gr.Row():
        strength = gr.Slider(0, 10, 4, step=0.5, label="strength (alpha)", info="0 is no guidance")
        k = gr.Slider(2, most, min(32, most), step=1, label="k", info="candidates for each token")
        longest = settings.new_tokens
        tokens = gr.Slider(1, longest, min(30, longest), step=1, label="new tokens", info="at most")
    examples = [[start, side] for start, side in zip(cycle(PROMPTS), labels)]
    named = [f"{start} … ({side})" for start, side in examples]
    gr.Examples(examples, [prompt, label], example_labels=named, label="examples to click")
    with gr.Row():
        write, stop = gr.Button("Write", variant="primary"), gr.Button("Stop")
    with gr.Row():
        views = [
            gr.HighlightedText(
                label=side, color_map=dict(SHADES), show_legend=side == "guided", show_inline_category=False
            )
            for side in SIDES
        ]
    gr.Markdown("Click on a token to see its candidates. A colour says how far guidance moved the token.")
    shown = gr.HTML()
    state = gr.State(SteeredText(""))

    def on_write(prompt: str, label: str, strength: float, k: int, tokens: int, seed: int) -> Iterator[tuple[Any, ...]]:
        with show_refusals():
            check_length(prompt, settings.characters, "prompt")
            if label not in models.guides:
                raise SettingFault(f"label must be one of {', '.join(labels)}, but is {label!r}")
            asked = (lm, models.guides[label], prompt, float(strength), int(k), int(tokens), int(seed))
            for found in write_steps(*asked):
                sides = (highlight(found.prompt, getattr(found, side)) for side in SIDES)
                yield (*sides, found, "")

    def on_select(side: str) -> Any:  # gradio passes the event by its annotation, which a partial would hide
        def show(found: SteeredText, label: str, event: gr.SelectData) -> str:
            return show_candidates(found, side, event.index, label)

        return show

    inputs, outputs = [prompt, label, strength, k, tokens, seed], [*views, state, shown]
    writing = gr.on([write.click, prompt.submit], on_write, inputs, outputs, show_progress="hidden")
    stop.click(None, cancels=[writing])
    for view, side in zip(views, SIDES, strict=True):
        view.select(on_select(side), [state, label], shown, show_progress="hidden")


def name_example(kind: str, example: Example) -> str:
    """The kind, the rating and the beginning of an example.

    >>> name_example("text", Example("a", text="The soup was cold.", ratings={"quality": 2}))
    'text, rated 2: The soup was cold.'
    """
    rated = "".join(f", rated {value:g}" for value in list(example.ratings.values())[:1])
    return f"{kind}{rated}: {shorten(' '.join(example.full_text.split()), BEGINNING)}"


def build_judge_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Scores one text by the chosen metrics."""
    examples = {kind: read_scored(EXAMPLES / f"{name}.jsonl").examples[:CLICKED] for kind, name in SOURCES.items()}
    starts = {kind: found[0].full_text for kind, found in examples.items()}
    written, summed = examples["text"][0], examples["text and references"][0]
    kind = gr.Radio(list(examples), value="text", label="what to judge")
    text = gr.Textbox(
        starts["text"],
        label="text",
        lines=6,
        max_length=settings.characters,
        info="one turn on each line for a dialogue",
    )
    with gr.Row():
        prefix = gr.Textbox(
            written.prefix, label="prefix", max_length=settings.characters, info="how the text had to begin"
        )
        label = gr.Textbox(written.label, label="label", max_length=100, info="positive or negative, for CTRLEval")
    hidden: dict[str, Any] = {"lines": 3, "max_length": settings.characters, "visible": False}
    references = gr.Textbox("\n".join(summed.references), label="references", info="one on each line", **hidden)
    context = gr.Textbox(summed.context, label="context", info="what the text sums up or answers", **hidden)
    fields = [kind, text, prefix, label, references, context]
    to_click = {
        name_example(kind, example): [
            kind,
            example.full_text,
            example.prefix or written.prefix,
            example.label or written.label,
            "\n".join(example.references or summed.references),
            example.context or summed.context,
        ]
        for kind, found in examples.items()
        for example in found
    }
    gr.Examples(list(to_click.values()), fields, example_labels=list(to_click), label="examples to click, then to edit")
    chosen = gr.CheckboxGroup(list(models.metrics), value=choose_usual_metrics(models.metrics, "text"), label="metrics")
    if len(models.metrics) <= 3:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
    with gr.Row():
        score = gr.Button("Score", variant="primary")
        live = gr.Checkbox(label="score again while I type")
    shown, before = gr.HTML(), gr.State(Judged())

    def on_kind(kind: Kind, text: str) -> tuple[Any, ...]:
        plain, compares = (gr.update(visible=kind == name) for name in ("text", "text and references"))
        start = starts[kind] if text in starts.values() else gr.skip()  # what a person typed stays
        return start, plain, plain, compares, compares, gr.update(value=choose_usual_metrics(models.metrics, kind))

    def on_score(
        kind: Kind,
        text: str,
        prefix: str,
        label: str,
        references: str,
        context: str,
        chosen: list[str],
        before: Judged,
    ) -> tuple[str, Judged]:
        with show_refusals():
            example = make_example(kind, text, prefix, label, references, context, settings.characters)
            if not chosen:
                raise SettingFault("choose at least one metric")
            found = judge({name: models.metrics[name] for name in chosen}, example)
        scores = {each.metric: each.score for each in found if each.score is not None}
        return show_judgements(found, example, before), Judged(example, scores)

    def on_input(live: bool, kind: Kind, text: str, *others: Any) -> Any:
        return on_score(kind, text, *others)[0] if live and text.strip() else gr.skip()

    kind.change(on_kind, [kind, text], [text, prefix, label, references, context, chosen], show_progress="hidden")
    asked = [*fields, chosen, before]
    score.click(on_score, asked, [shown, before])
    text.input(on_input, [live, *asked], shown, show_progress="hidden", trigger_mode="always_last")


def build_compare_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Compares the systems of one file, or of a file for each."""
    gr.Markdown(COMPARED)
    files = gr.File(
        label="one file, or one for each system",
        file_count="multiple",
        file_types=[".jsonl", ".csv", ".tsv"],
        height=140,
    )
    gr.Examples(
        [[[str(EXAMPLES / "summaries.jsonl")]]],
        files,
        example_labels=["summaries of ten articles by two systems"],
        label="an example to click",
    )
    metric = gr.Dropdown(
        list(models.metrics), value="word count", label="metric", info="a file chooses one of its kind; change it here"
    )
    button = gr.Button("Compare", variant="primary")
    shown = gr.HTML()

    def on_files(files: list[str] | None) -> Any:
        if not files:
            return gr.skip()
        with show_refusals():
            outputs = read_systems([Path(file) for file in files], settings.outputs)
        return choose_usual_metrics(models.metrics, name_kind(outputs.examples))[0]

    def on_compare(files: list[str] | None, metric: str) -> str:
        with show_refusals():
            outputs = read_systems([Path(file) for file in files or ()], settings.outputs)
            found = compare_systems(outputs, metric, models.metrics[metric])
        return show_comparison(found, {metric: describe_metric(models.metrics[metric])})

    files.change(on_files, files, metric, show_progress="hidden")
    button.click(on_compare, [files, metric], shown)
