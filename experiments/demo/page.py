"""The page of `+exp=demo` in gradio: three tabs over the plain functions of this room."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from core.example import Example
from core.faults import InputFaults, SettingFault
from core.scores import Metric
from core.settings import Count, Text, checked_dataclass
from experiments.demo.comparing import compare_files
from experiments.demo.judging import judge, load_metrics
from experiments.demo.steering import SideBySide, Steerer, SteeringRequest, write_side_by_side
from experiments.demo.views import highlight, show_candidates, show_comparison, show_judgements
from experiments.steering.tables import SHADES

STYLE = Path(__file__).with_name("page.css")
EVERYWHERE = ("0.0.0.0", "::")
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


@checked_dataclass
class DemoSettings:
    """Where the page is served and what it accepts.

    Attributes:
        models: a folder of models.
        host, port: where to listen; 127.0.0.1 is this machine alone.
        hosts: further names and addresses by which other machines reach the page; no other is answered.
        characters: of a text, at most.
        new_tokens: of a continuation, at most.
        outputs: of a file, at most.
        people: requests that are answered at once; further ones wait.
        waiting: requests that wait, at most.
        device: of the models.
    """

    models: Text
    host: Text = "127.0.0.1"
    port: Count = 7860
    hosts: Sequence[Text] = ()
    characters: Count = 2000
    new_tokens: Count = 60
    outputs: Count = 2000
    people: Count = 2
    waiting: Count = 32
    device: Text = "cpu"

    def __post_init__(self) -> None:
        if self.host in EVERYWHERE and not self.hosts:
            raise ValueError(
                f"demo.hosts must name how other machines reach the page with demo.host={self.host}, as in "
                "demo.hosts=[lab.example,10.0.0.5]"
            )

    @property
    def trusted_hosts(self) -> tuple[str, ...]:
        """The names and addresses, beside those of this machine alone, by which the page may be asked."""
        return (*self.hosts, *(() if self.host in EVERYWHERE else (self.host,)))


@dataclass(frozen=True)
class DemoModels:
    """The models of the page.

    Attributes:
        folder: as the user gave it.
        steerer: None without a generator and a guide.
        metrics: by name.
    """

    folder: str
    steerer: Steerer | None
    metrics: Mapping[str, Metric]

    @classmethod
    def load(cls, settings: DemoSettings) -> "DemoModels":
        """The models that the folder has."""
        folder = Path(settings.models)
        steerer = Steerer.from_pretrained(folder, settings.device)
        return cls(settings.models, steerer, load_metrics(folder, settings.device))


def import_gradio() -> Any:
    """gradio, which must not call home. Raises SettingFault where it is not installed."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read at import
    try:
        import gradio
    except ImportError as error:
        raise SettingFault("+exp=demo needs gradio: pip install 'judging-generated-text[demo]'") from error
    return gradio


def build_page(models: DemoModels, settings: DemoSettings) -> Any:
    """The page, a `gradio.Blocks` that is not served yet."""
    gr = import_gradio()

    @contextmanager
    def refusals() -> Iterator[None]:
        """Shows faults of the input to the person; anything else is a failure of the program."""
        try:
            yield
        except (InputFaults, SettingFault) as fault:
            raise gr.Error(escape(str(fault)), print_exception=False) from None

    with gr.Blocks(title="Judging generated text", analytics_enabled=False) as page:
        gr.Markdown("# Judging generated text")
        with gr.Tab("Steer"):
            _steer_tab(gr, models, settings, refusals)
        with gr.Tab("Judge"):
            _judge_tab(gr, models, settings, refusals)
        with gr.Tab("Compare"):
            _compare_tab(gr, models, settings, refusals)
    return page.queue(max_size=settings.waiting, default_concurrency_limit=settings.people)


def serve_page(page: Any, settings: DemoSettings) -> str:
    """Serves the page in threads of its own; returns its address."""
    gr = import_gradio()
    from experiments.demo.serving import guard, refuse_unknown_function

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
        theme=gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
        css_paths=STYLE,
        app_kwargs={"exception_handlers": {KeyError: refuse_unknown_function}},
    )
    app.middleware_stack = guard(app.middleware_stack, settings.trusted_hosts)  # around gradio's own, which is laxer
    return address


def _steer_tab(gr: Any, models: DemoModels, settings: DemoSettings, refusals: Any) -> None:
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
    views: list[Any] = []
    with gr.Row():
        for name in ("guided", "unguided"):
            views.append(
                gr.HighlightedText(
                    label=name, color_map=SHADES, show_legend=name == "guided", show_inline_category=False
                )
            )
    gr.Markdown("Click on a token to see its candidates. A colour says how far guidance moved the token.")
    shown = gr.HTML()
    state = gr.State(SideBySide())

    def on_write(prompt: str, label: str, strength: float, k: int, tokens: int, seed: int) -> Iterator[tuple[Any, ...]]:
        with refusals():
            check_length(prompt, settings.characters, "prompt")
            request = SteeringRequest(prompt, label, float(strength), int(k), int(tokens), int(seed))
            for found in write_side_by_side(steerer, request):
                sides = (highlight(prompt.strip(), side) for side in (found.guided, found.unguided))
                yield (*sides, found, "")

    def on_select(side: str) -> Any:
        def show(found: SideBySide, label: str, event: gr.SelectData) -> str:  # pyright: ignore[reportInvalidTypeForm]
            return show_candidates(found, side, event.index, label)

        return show

    inputs, outputs = [prompt, label, strength, k, tokens, seed], [*views, state, shown]
    writing = gr.on([write.click, prompt.submit], on_write, inputs, outputs, show_progress="hidden")
    stop.click(None, cancels=[writing])
    for view, side in zip(views, ("guided", "unguided"), strict=True):
        view.select(on_select(side), [state, label], shown, show_progress="hidden")


def _judge_tab(gr: Any, models: DemoModels, settings: DemoSettings, refusals: Any) -> None:
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
    chosen = gr.CheckboxGroup(list(models.metrics), value=list(usual_metrics(models, "text")), label="metrics")
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
            gr.update(value=list(usual_metrics(models, kind))),
        )

    def on_score(
        kind: str, text: str, prefix: str, label: str, references: str, context: str, chosen: list[str], before: Any
    ) -> tuple[str, dict[str, float]]:
        with refusals():
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


def _compare_tab(gr: Any, models: DemoModels, settings: DemoSettings, refusals: Any) -> None:
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
        with refusals():
            if first is None or second is None:
                raise SettingFault("a comparison needs two files")
            return show_comparison(compare_files(Path(first), Path(second), models.metrics[metric], settings.outputs))

    button.click(on_compare, [first, second, metric], shown)


def usual_metrics(models: DemoModels, kind: str) -> Iterator[str]:
    """The metrics that are chosen at first for a kind of input."""
    beginnings = {"text": ("CTRLEval", "judge"), "dialogue": ("CDM",), "text and references": ("MARS", "ROUGE", "BLEU")}
    return (name for name in models.metrics if name.startswith(beginnings[kind]) or name == "word count")


def make_example(
    kind: str, text: str, prefix: str, label: str, references: str, context: str, characters: int
) -> Example:
    """The example that a person typed. Raises SettingFault for a blank text, and for one that is too long."""
    for name, value in (("text", text), ("prefix", prefix), ("references", references), ("context", context)):
        check_length(value, characters, name)
    if not text.strip():
        raise SettingFault("text must not be blank")
    match kind:
        case "dialogue":
            return Example("page", turns=tuple(line.strip() for line in text.splitlines() if line.strip()))
        case "text":
            return Example("page", text=text.strip(), prefix=prefix.strip() or None, label=label.strip() or None)
        case _:
            lines = tuple(line.strip() for line in references.splitlines() if line.strip())
            return Example("page", text=text.strip(), references=lines, context=context.strip() or None)


def check_length(text: str, characters: int, name: str) -> None:
    """Raises SettingFault for a text of more characters."""
    if len(text) > characters:
        raise SettingFault(f"{name} must have at most {characters} characters, but has {len(text)}")
