"""The page of `+exp=demo` in gradio: three tabs over the plain functions of this room."""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
from gradio import themes

from core.faults import InputFaults, SettingFault
from experiments.demo.comparing import compare_files
from experiments.demo.demo import DemoModels, DemoSettings
from experiments.demo.judging import check_length, choose_usual_metrics, judge, make_example
from experiments.demo.serving import guard, refuse_unknown_function
from experiments.demo.steering import SideBySide, SteeringRequest, write_side_by_side
from experiments.demo.views import highlight, show_candidates, show_judgements
from experiments.steering.tables import SHADES
from judge.tables import to_html

SIDES = ("guided", "unguided")
STYLE = Path(__file__).with_name("page.css")
STARTS = {  # what the Judge tab shows at first for each kind of input; like the texts that the tiny models learned
    "text": "In Prague my father and I ordered the Selby jacket for the first time. At first sight I found that "
    "the hood fits perfectly. Besides, the sleeves allow every movement, which is lovely. Do not miss the Selby!",
    "dialogue": "which sport do you like, my friend?\nmy sport is hockey, and what do you like?\n"
    "i have a lesson in art at school.",
    "text and references": "The library closes on Friday. A van brings books to the school.",
}
START_PREFIX, START_LABEL = "In Prague my father and I", "positive"
START_REFERENCES = "The village library closes on Friday. A van with books will stop at the school every week."
COMPARED = (
    "Two files of outputs for the same inputs: JSONL, CSV or TSV, one output on each line, such as "
    '`{"group": "input 1", "text": "An output.", "references": ["A reference."]}`. Outputs of the same group belong '
    "together; without groups, those in the same place."
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
        theme=themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
        css_paths=STYLE,
        app_kwargs={"exception_handlers": {KeyError: refuse_unknown_function}},
    )
    app.middleware_stack = guard(app.middleware_stack, settings.trusted_hosts)  # around gradio's own, which is laxer
    return address


def build_steer_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Continues a prompt with and without guidance."""
    steerer = models.steerer
    if steerer is None:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
        return
    labels = list(steerer.guides)
    most = min(64, len(steerer.lm.tokenizer))
    prompt = gr.Textbox("The food", label="prompt", max_length=settings.characters, lines=2)
    with gr.Row():
        label = gr.Dropdown(labels, value=labels[-1], label="label to steer to")
        seed = gr.Number(0, label="seed", precision=0, minimum=0, maximum=2**31)
    with gr.Row():
        strength = gr.Slider(0, 10, 4, step=0.5, label="strength (alpha)")
        k = gr.Slider(2, most, min(32, most), step=1, label="k, candidates")
        tokens = gr.Slider(1, settings.new_tokens, min(30, settings.new_tokens), step=1, label="new tokens")
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
    state = gr.State(SideBySide())

    def on_write(prompt: str, label: str, strength: float, k: int, tokens: int, seed: int) -> Iterator[tuple[Any, ...]]:
        with show_refusals():
            check_length(prompt, settings.characters, "prompt")
            request = SteeringRequest(prompt, label, float(strength), int(k), int(tokens), int(seed))
            for found in write_side_by_side(steerer, request):
                sides = (highlight(prompt.strip(), getattr(found, side)) for side in SIDES)
                yield (*sides, found, "")

    def on_select(side: str) -> Any:  # gradio passes the event by its annotation, which a partial would hide
        def show(found: SideBySide, label: str, event: gr.SelectData) -> str:
            return show_candidates(found, side, event.index, label)

        return show

    inputs, outputs = [prompt, label, strength, k, tokens, seed], [*views, state, shown]
    writing = gr.on([write.click, prompt.submit], on_write, inputs, outputs, show_progress="hidden")
    stop.click(None, cancels=[writing])
    for view, side in zip(views, SIDES, strict=True):
        view.select(on_select(side), [state, label], shown, show_progress="hidden")


def build_judge_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Scores one text by the chosen metrics."""
    kind = gr.Radio(list(STARTS), value="text", label="what to judge")
    text = gr.Textbox(
        STARTS["text"],
        label="text",
        lines=6,
        max_length=settings.characters,
        info="one turn on each line for a dialogue",
    )
    with gr.Row():
        prefix = gr.Textbox(
            START_PREFIX, label="prefix", max_length=settings.characters, info="how the text had to begin"
        )
        label = gr.Textbox(START_LABEL, label="label", max_length=100, info="positive or negative, for CTRLEval")
    references = gr.Textbox(
        START_REFERENCES,
        label="references",
        lines=3,
        max_length=settings.characters,
        visible=False,
        info="one on each line",
    )
    context = gr.Textbox("", label="context", lines=3, max_length=settings.characters, visible=False)
    chosen = gr.CheckboxGroup(list(models.metrics), value=choose_usual_metrics(models.metrics, "text"), label="metrics")
    if len(models.metrics) <= 3:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
    with gr.Row():
        score = gr.Button("Score", variant="primary")
        live = gr.Checkbox(label="score again while I type")
    shown, before = gr.HTML(), gr.State({})

    def on_kind(kind: str, text: str) -> tuple[Any, ...]:
        compares = kind == "text and references"
        plain = gr.update(visible=kind == "text")
        return (
            STARTS[kind] if text in STARTS.values() else gr.skip(),  # what a person typed stays
            plain,
            plain,
            gr.update(visible=compares),
            gr.update(visible=compares),
            gr.update(value=choose_usual_metrics(models.metrics, kind)),
        )

    def on_score(
        kind: str, text: str, prefix: str, label: str, references: str, context: str, chosen: list[str], before: Any
    ) -> tuple[str, dict[str, float]]:
        with show_refusals():
            example = make_example(kind, text, prefix, label, references, context, settings.characters)
            if not chosen:
                raise SettingFault("choose at least one metric")
            found = judge({name: models.metrics[name] for name in chosen}, example)
        scores = {each.metric: each.score for each in found if each.score is not None}
        return show_judgements(found, before), {**before, **scores}

    def on_input(live: bool, kind: str, text: str, *others: Any) -> Any:
        return on_score(kind, text, *others) if live and text.strip() else (gr.skip(), gr.skip())

    kind.change(on_kind, [kind, text], [text, prefix, label, references, context, chosen], show_progress="hidden")
    fields = [kind, text, prefix, label, references, context, chosen, before]
    score.click(on_score, fields, [shown, before])
    text.input(on_input, [live, *fields], [shown, before], show_progress="hidden", trigger_mode="always_last")


def build_compare_tab(models: DemoModels, settings: DemoSettings) -> None:
    """Compares two files of outputs."""
    gr.Markdown(COMPARED)
    with gr.Row():
        first, second = (
            gr.File(label=name, file_types=[".jsonl", ".csv", ".tsv"], height=120)
            for name in ("first system", "second system")
        )
    metric = gr.Dropdown(list(models.metrics), value=next(iter(models.metrics)), label="metric")
    button = gr.Button("Compare", variant="primary")
    shown = gr.HTML()

    def on_compare(first: str | None, second: str | None, metric: str) -> str:
        with show_refusals():
            if first is None or second is None:
                raise SettingFault("a comparison needs two files")
            found = compare_files(Path(first), Path(second), models.metrics[metric], settings.outputs)
            return to_html(found.tables, found.notes)

    button.click(on_compare, [first, second, metric], shown)
