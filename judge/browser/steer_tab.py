"""The Steer tab: a prompt continued with and without guidance, and the candidates of each token."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import gradio as gr

from core.errors import InputError, SettingError
from judge.browser.judging import CHARACTERS, DemoModels, check_length
from judge.browser.views import NO_MODELS, show_candidates, show_fault
from judge.steering import SteeredText, Steering, write_steps
from models.causal import CausalLM
from oumg.generation import WrittenToken

Side = Literal["guided", "unguided"]
Shaded = tuple[str, str | float | None]  # a piece of text and its shade
SIDES: tuple[Side, Side] = ("guided", "unguided")
SHADES = {"likelier": "#58a8e0", "less likely": "#f28a3c"}  # colour-blind people tell them apart
MOVED = 0.1  # nats, from which a token is coloured
NEW_LINE = "⏎"  # stands for a line break: a coloured break would be a bar without text
PROMPT = "The food"  # of the text on which the page opens
NEW_TOKENS = 30  # at first
MOST_TOKENS = 60
STEERED = (
    "A language model continues a prompt twice: with a guide that makes the tokens of a label likelier, and without it."
)
CLICK = "Click on a token to see its candidates. A colour says whether guidance made it likelier."


def build_steer_tab(models: DemoModels) -> None:
    """Builds the tab that continues a prompt with and without guidance.

    It opens with a text that is already written.
    """
    gr.Markdown(STEERED)
    lm = models.generator
    if lm is None:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
        return
    labels = list(models.guides)
    at_first = Steering(k=min(Steering.k, len(lm.tokenizer)), new_tokens=NEW_TOKENS)
    prompt = gr.Textbox(PROMPT, label="prompt", max_length=CHARACTERS, lines=2)
    with gr.Row():
        label = gr.Dropdown(labels, value=labels[-1], label="label to steer to")
        seed = gr.Number(at_first.seed, label="seed", precision=0, minimum=0, maximum=2**31)
    with gr.Row():
        strength = gr.Slider(
            0,
            10,
            at_first.strength,
            step=0.5,
            label="strength (alpha)",
            info="0 is no guidance",
        )
        tokens = gr.Slider(1, MOST_TOKENS, NEW_TOKENS, step=1, label="new tokens", info="at most")
    write = gr.Button("Write", variant="primary")
    *_, opening = write_steps(lm, models.guides[labels[-1]], PROMPT, at_first)
    with gr.Row():
        views: dict[Side, gr.HighlightedText] = {side: view_side(opening, side) for side in SIDES}
    gr.Markdown(CLICK)
    shown = gr.HTML(elem_classes="result")
    state = gr.State(opening)

    gr.on(
        [write.click, prompt.submit],
        make_writer(models, lm, at_first.k),
        [prompt, label, strength, tokens, seed],
        [*views.values(), state, shown],
        show_progress="hidden",
    )
    for side, view in views.items():
        view.select(make_selector(side), state, shown, show_progress="hidden")


def view_side(text: SteeredText, side: Side) -> gr.HighlightedText:
    """Adds the coloured text of one side, guided or unguided; only one of the two has a legend."""
    return gr.HighlightedText(
        shade_side(text, side),
        label=side,
        color_map=SHADES,
        show_legend=side == "guided",
        show_inline_category=False,
    )


def make_writer(models: DemoModels, lm: CausalLM, k: int) -> Callable[..., Any]:
    """Makes the function of the button Write, which yields the guided and the unguided text after each step.

    A fault yields its message.
    """

    def on_write(
        prompt: str,
        label: str,
        strength: float,
        tokens: int,
        seed: int,
    ) -> Iterator[tuple[Any, ...]]:
        try:
            check_length(prompt, "prompt")
            if label not in models.guides:
                raise SettingError(f"label must be one of {', '.join(models.guides)}, but is {label!r}")
            how = Steering(float(strength), k=k, new_tokens=int(tokens), seed=int(seed))
            steps = write_steps(lm, models.guides[label], prompt, how)
            for written in steps:
                yield (*(shade_side(written, side) for side in SIDES), written, "")
        except (InputError, SettingError) as fault:
            yield [], [], SteeredText(""), show_fault(fault)

    return on_write


def make_selector(side: Side) -> Callable[..., str]:
    """Makes the function that shows the candidates of a clicked token in the text of this side (guided or unguided)."""

    def show(text: SteeredText, event: gr.SelectData) -> str:  # gradio passes the event by its annotation
        return show_candidates(text, side, event.index)

    return show


def shade_side(text: SteeredText, side: Side) -> list[Shaded]:
    """Lists the prompt and the tokens of one side (guided or unguided) with their colours."""
    tokens = text.guided if side == "guided" else text.unguided
    return [(text.prompt, None), *map(shade, tokens)]


def shade(token: WrittenToken) -> Shaded:
    """Returns the text of a token and its colour; None for a token that guidance hardly moved.

    >>> shade(WrittenToken("\\n", 0, -0.5, ()))
    ('⏎', 'less likely')
    """
    text = token.text.replace("\n", NEW_LINE)
    if abs(token.moved) < MOVED:
        return text, None
    return text, "likelier" if token.moved > 0 else "less likely"
