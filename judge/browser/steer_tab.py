"""The Steer tab: a prompt continued with and without guidance, and the candidates of each token."""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
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
PROMPTS = ("Yesterday my sister and I", "On Friday I")  # to click
NEW_TOKENS = 30  # at first
MOST_TOKENS = 60
MOST_CANDIDATES = 64
STEERED = "{name} continues a prompt twice: with a guide that makes the tokens of a label likelier, and without it."
CLICK = "Click on a token to see its candidates. A colour says whether guidance made it likelier."


def build_steer_tab(models: DemoModels) -> None:
    """Builds the tab that continues a prompt with and without guidance.

    It opens with a text that is already written.
    """
    gr.Markdown(STEERED.format(name=models.writer))
    lm = models.generator
    if lm is None:
        gr.Markdown(NO_MODELS.format(folder=models.folder))
        return
    labels = list(models.guides)
    most = min(MOST_CANDIDATES, len(lm.tokenizer))
    at_first = Steering(k=min(Steering.k, most), new_tokens=NEW_TOKENS)
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
        k = gr.Slider(2, most, at_first.k, step=1, label="k", info="candidates for each token")
        tokens = gr.Slider(1, MOST_TOKENS, NEW_TOKENS, step=1, label="new tokens", info="at most")
    offered = [[start, name] for start, name in zip(cycle(PROMPTS), labels)]
    named = [f"{start} … ({name})" for start, name in offered]
    gr.Examples(offered, [prompt, label], example_labels=named, label="examples to click")
    with gr.Row():
        write = gr.Button("Write", variant="primary")
        stop = gr.Button("Stop")
    *_, opening = write_steps(lm, models.guides[labels[-1]], PROMPT, at_first)
    with gr.Row():
        views: dict[Side, gr.HighlightedText] = {side: view_side(opening, side) for side in SIDES}
    gr.Markdown(CLICK)
    shown = gr.HTML(elem_classes="result")
    state = gr.State(opening)

    inputs = [prompt, label, strength, k, tokens, seed]
    outputs = [*views.values(), state, shown]
    on_write = make_writer(models, lm)
    writing = gr.on(
        [write.click, prompt.submit],
        on_write,
        inputs,
        outputs,
        show_progress="hidden",
    )
    writing.failure(
        lambda: ([], [], SteeredText(""), ""),
        None,
        outputs,
        show_progress="hidden",
    )  # gradio's own fault
    stop.click(None, cancels=[writing])
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


def make_writer(models: DemoModels, lm: CausalLM) -> Callable[..., Any]:
    """Makes the function of the button Write, which yields the guided and the unguided text after each step.

    A fault yields its message.
    """

    def on_write(
        prompt: str,
        label: str,
        strength: float,
        k: int,
        tokens: int,
        seed: int,
    ) -> Iterator[tuple[Any, ...]]:
        try:
            check_length(prompt, "prompt")
            if label not in models.guides:
                raise SettingError(f"label must be one of {', '.join(models.guides)}, but is {label!r}")
            how = Steering(float(strength), k=int(k), new_tokens=int(tokens), seed=int(seed))
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
    return move_spaces([(text.prompt, None), *map(shade, tokens)])


def move_spaces(pieces: Sequence[Shaded]) -> list[Shaded]:
    """Moves the space at the beginning of each piece to the end of the previous piece.

    The page breaks lines between pieces, so a space at the beginning of a piece would indent a line.

    >>> move_spaces([("The food", None), (" was", "likelier"), (" hot", None)])
    [('The food ', None), ('was ', 'likelier'), ('hot', None)]
    """
    moved: list[Shaded] = []
    for text, shade_of_text in pieces:
        if moved and text.startswith(" "):
            before, shade_before = moved[-1]
            moved[-1] = (f"{before} ", shade_before)
            text = text[1:]
        moved.append((text, shade_of_text))
    return moved


def shade(token: WrittenToken) -> Shaded:
    """Returns the text of a token and its colour; None for a token that guidance hardly moved.

    >>> shade(WrittenToken("\\n", 0, -0.5, ()))
    ('⏎', 'less likely')
    """
    text = token.text.replace("\n", NEW_LINE)
    if abs(token.moved) < MOVED:
        return text, None
    return text, "likelier" if token.moved > 0 else "less likely"
