"""Pairs of every family: sampling against the plain way, batches, steps and negatives."""

import json
import shutil
from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing

from cdm.discriminative import DiscriminativeCDM, find_steps
from cdm.infilling import SEPARATOR, Gaps, Pair, PairReading
from cdm.negatives import sample_negatives
from cdm.sampling import Sampling, sample_segments, warp_probabilities
from cdm.segments import Gap
from core.errors import SettingError
from core.example import Example
from models.causal import CausalLM
from models.conditional import PretrainedLM
from models.model import ConditionalLM
from models.tiny import TinyCausal, TinyT5, train_tokenizer
from tests.toy_models import toy_bart

Dialogues = list[tuple[str, ...]]
LONGEST = 60
T5 = TinyT5(vocabulary=400, d_model=16, d_ff=32, num_heads=2, num_layers=1, num_decoder_layers=1)
CAUSAL_PLAN = partial(TinyCausal, 400, 16, 2, 1, 32)
ENCODER_DECODERS = ("t5", "bart")
CAUSAL: dict[str, Literal["fill-in-the-middle", "left-to-right"]] = {
    "gpt2": "fill-in-the-middle",
    "gpt_neox": "left-to-right",
    "llama": "fill-in-the-middle",
}


def save_bart(dialogues: Dialogues, folder: Path, seed: int) -> None:
    """A random BART, whose tokenizer frames a text with `<s>` and `</s>`."""
    tokenizer = train_tokenizer(
        [turn for turns in dialogues for turn in turns],
        400,
        ("<s>", "<mask>"),
        sentinels=(),
    )
    tokenizer.mask_token = "<mask>"
    start, end = tokenizer.get_vocab()["<s>"], tokenizer.get_vocab()["</s>"]
    frame = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", start), ("</s>", end)])
    tokenizer.backend_tokenizer.post_processor = frame  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.save_pretrained(folder)
    toy_bart(
        len(tokenizer),
        start,
        end,
        0.3,
        seed,
    ).save_pretrained(folder)


def gaps(family: str) -> Gaps:
    return Gaps(LONGEST, order=CAUSAL.get(family))


def build(
    family: str,
    dialogues: Dialogues,
    folder: Path,
    seed: int,
) -> ConditionalLM:
    """A small random model as an experiment builds it."""
    texts = [turn for turns in dialogues for turn in turns]
    match family:
        case "t5":
            plan: Any = T5
        case "bart":
            save_bart(dialogues, folder, seed)
            plan = PretrainedLM(str(folder))
        case "gpt2":
            CAUSAL_PLAN(max_length=128).build(texts, (), seed).save_pretrained(folder)
            plan = PretrainedLM(str(folder))
        case _:
            plan = CAUSAL_PLAN(max_length=128, shape=family)  # pyright: ignore[reportArgumentType]
    return gaps(family).build(plan, dialogues, seed)


@pytest.fixture(scope="module", params=[*ENCODER_DECODERS, *CAUSAL])
def pair(request: pytest.FixtureRequest, dialogues: Dialogues, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    amateur, expert = (
        build(
            request.param,
            dialogues,
            tmp_path_factory.mktemp("lm"),
            seed,
        )
        for seed in (1, 2)
    )
    return Pair(amateur, expert, gaps(request.param))


@pytest.fixture(scope="module")
def sources(pair: Pair, dialogues: Dialogues) -> list[list[int]]:
    return [list(task.source) for task in pair.tokenise(dialogues[:3]).tasks(seed=4)]


@torch.inference_mode()
def next_log_probabilities(lm: ConditionalLM, source: list[int], target: list[int]) -> torch.Tensor:
    """One row, no cache, everything read again."""
    if isinstance(lm, CausalLM):
        logits = lm.model(input_ids=torch.tensor([[*source, *target]])).logits
    else:
        given = torch.tensor([[lm.model.config.decoder_start_token_id, *target]])
        logits = lm.model(input_ids=torch.tensor([source]), decoder_input_ids=given).logits
    return logits[:, -1].log_softmax(-1)


def sample_plainly(
    pair: Pair,
    source: list[int],
    sampling: Sampling,
    uniforms: np.ndarray,
) -> list[int]:
    """One row, one token at a time, by Eq. 4 as it is written."""
    segment: list[int] = []
    for step in range(len(uniforms)):
        target = [*pair.infilling.opening, *segment]
        amateur, expert = (next_log_probabilities(lm, source, target) for lm in (pair.amateur, pair.expert))
        log_p = (amateur - sampling.gamma * (expert - amateur)).log_softmax(-1)
        log_p[:, pair.never_drawn] = -torch.inf
        if step == 0:
            log_p[:, list(pair.ends)] = -torch.inf
        p = warp_probabilities(log_p, sampling)[0].double()
        token = int((p.cumsum(0) <= uniforms[step] * p.sum()).sum())
        if token in pair.ends:
            return [*segment, *pair.ends[token]]
        segment.append(token)
    return segment


@pytest.mark.parametrize("gamma", [0.0, -1.0, 0.8])
def test_sampling_equals_the_plain_way_token_for_token(pair: Pair, sources: list[list[int]], gamma: float) -> None:
    sampling = Sampling(gamma=gamma, temperature=0.7, top_p=0.95)
    uniforms = np.random.default_rng(1).random((len(sources), 6))
    found = sample_segments(
        pair,
        sources,
        sampling,
        uniforms,
    )
    assert found == [
        sample_plainly(
            pair,
            source,
            sampling,
            u,
        )
        for source, u in zip(sources, uniforms, strict=True)
    ]


def test_positives_and_negatives_are_plain_text_that_is_written_alike(pair: Pair, dialogues: Dialogues) -> None:
    found = sample_negatives(
        pair,
        dialogues[:3],
        "content-multi",
        Sampling(gamma=0.5, longest=5),
        seed=0,
    )
    assert found.positives == tuple(pair.decode(pair.tokenise(dialogues[:3]).dialogues))
    assert len(found.negatives) == 3
    for text in (turn for turns in (*found.positives, *found.negatives) for turn in turns):
        assert not any(mark in text for mark in ("##", "[SEP]", "[MASK]", "</", "<fim", "Ġ"))


def test_steps_are_the_log_probabilities_of_each_turn_and_its_end(pair: Pair, dialogues: Dialogues) -> None:
    tokenised = pair.tokenise([dialogues[0][:2]])
    (turns,) = tokenised.dialogues
    expected: list[float] = []
    for t, turn in enumerate(turns):
        source = list(tokenised.task(turns, Gap(t, 0, len(turn))).source)
        before = list(pair.infilling.opening)
        for i, token in enumerate([*turn, *pair.infilling.closing]):
            expected.append(float(next_log_probabilities(pair.expert, source, [*before, *turn[:i]])[0, token]))
    (found,) = find_steps(pair, tokenised)
    np.testing.assert_allclose(found.expert, expected, atol=1e-5)
    assert found.turn.tolist() == [t for t, turn in enumerate(turns) for _ in range(len(turn) + 1)]
    assert found.dropped == 0


@pytest.fixture(scope="module")
def make(dialogues: Dialogues, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ConditionalLM]:
    """The amateur of a family."""
    return cache(
        lambda family: build(
            family,
            dialogues,
            tmp_path_factory.mktemp("lm"),
            1,
        )
    )


@pytest.fixture(scope="module")
def bart(make: Callable[[str], ConditionalLM]) -> Pair:
    return Pair(make("bart"), make("bart"), gaps("bart"))


def test_turns_that_a_model_has_no_positions_for_are_refused(bart: Pair) -> None:
    bart.tokenise([("a " * 125,)])  # 126 tokens and the two that frame the segment
    with pytest.raises(
        SettingError, match="128 positions, but reads sources of 60 tokens and writes turns of up to 129"
    ):
        bart.tokenise([("a " * 126,)])
    with pytest.raises(SettingError, match="128 positions, but reads sources of 129"):
        Pair(bart.amateur, bart.expert, PairReading(129)).tokenise([("a",)])


def test_an_epoch_reads_every_token_of_every_dialogue(pair: Pair, dialogues: Dialogues) -> None:
    long = [tuple(turn for turns in dialogues[i : i + 3] for turn in turns) for i in range(0, 12, 3)]
    tokenised = pair.tokenise(long)
    length = sum(len(turn) for turns in tokenised.dialogues for turn in turns)
    sizes: list[list[int]] = []
    for seed in (0, 1):
        tasks = tokenised.tasks(seed)
        assert max(len(task.source) for task in tasks) <= LONGEST
        sizes.append([task.read + len(task.segment) for task in tasks])
        assert sum(sizes[-1]) == length
        assert len(tasks) > 3 * len(long)
    assert sizes[0] != sizes[1]  # other parts in another epoch


def test_an_amateur_that_stops_early_learns_the_first_gaps_of_the_expert(bart: Pair, dialogues: Dialogues) -> None:
    few, many, all_ = (Gaps(LONGEST, most=most).tasks(bart.amateur, dialogues)(7) for most in (5, 20, None))
    assert (len(few), len(many)) == (5, 20)
    assert len(all_) >= len(dialogues)
    assert few == many[:5]
    assert all(task in all_ for task in many)


def test_how_causal_models_read_a_gap(make: Callable[[str], ConditionalLM]) -> None:
    middle, left_to_right = make("llama"), make("gpt_neox")
    turns, gap = [[300], [301, 302, 303], [304]], Gap(1, 1, 2)
    ids = middle.tokenizer.get_vocab()
    begin, suffix, end = (ids[f"<fim_{name}>"] for name in ("prefix", "suffix", "middle"))
    filled = gaps("llama").tokenise(middle, []).task(turns, gap)
    separator, close = ids[SEPARATOR], ids["</s>"]
    assert filled.source == (begin, 300, separator, 301, suffix, 303, separator, 304, end)
    assert gaps("llama").find_infilling(middle).target(filled.segment) == [302, close]
    tokenised = gaps("gpt_neox").tokenise(left_to_right, [])
    continued = tokenised.task(turns, Gap(1, 1, 3))
    separator, close = (left_to_right.tokenizer.get_vocab()[token] for token in (SEPARATOR, "</s>"))
    assert (continued.source, continued.dropped) == ((close, 300, separator, 301), 0)
    assert tokenised.infilling.target(continued.segment) == [302, 303, separator]
    windowed = (
        PairReading(4, order="left-to-right").tokenise(left_to_right, []).task([[300] * 5, [301] * 9], Gap(1, 6, 9))
    )
    assert (windowed.source, windowed.dropped) == ((close, 301, 301, 301), 3 + 6)


def test_left_to_right_the_gap_is_the_last_turn_with_text(make: Callable[[str], ConditionalLM]) -> None:
    tokenised = gaps("gpt_neox").tokenise(make("gpt_neox"), [("i am", "it is", "")])
    (first, last, _), (task,) = tokenised.dialogues[0], tokenised.tasks(seed=0)
    assert (list(task.source[1:]), list(task.segment)) == ([*first, *tokenised.separator], list(last))


def test_logits_beyond_the_tokenizer_change_nothing(make: Callable[..., Any], dialogues: Dialogues, tmp_path: Path):
    """Pythia pads its vocabulary to 50304 logits, its larger sizes to 50432."""
    middle, expert = make("llama"), build("llama", dialogues, tmp_path, seed=2)
    padded = deepcopy(expert.model)
    padded.resize_token_embeddings(expert.model.config.vocab_size + 30)
    wide = CausalLM(padded, expert.tokenizer)
    uniforms = np.random.default_rng(1).random((5, 9))

    def draw(amateur: ConditionalLM, other: ConditionalLM, gamma: float) -> list[list[int]]:
        pair = Pair(amateur, other, gaps("llama"))
        sources = [list(task.source) for task in pair.tokenise(dialogues[:5]).tasks(seed=4)[:5]]
        return sample_segments(pair, sources, Sampling(gamma=gamma), uniforms)

    for gamma in (0.5, -1.0):
        assert draw(middle, wide, gamma) == draw(middle, expert, gamma)
        assert draw(wide, middle, gamma) == draw(expert, middle, gamma)


def test_what_does_not_go_together_is_refused(make: Callable[..., Any], dialogues: Dialogues) -> None:
    middle = make("llama")
    with pytest.raises(SettingError, match="must have the same tokenizer"):
        Pair(middle, make("gpt_neox"), gaps("llama"))
    with pytest.raises(SettingError, match=r"order must be .* null for others, but is None for a LlamaForCausalLM"):
        Gaps(LONGEST).build(CAUSAL_PLAN(shape="llama"), dialogues, 0)
    with pytest.raises(SettingError, match="left-to-right for a T5"):
        Gaps(LONGEST, order="left-to-right").build(T5, dialogues, 0)
    texts = [turn for turns in dialogues for turn in turns]
    encoder_decoder = T5.build(texts, (SEPARATOR,), 0)
    with pytest.raises(
        SettingError, match="must fill gaps in the same way, but are T5ForConditionalGeneration and GPTNeoX"
    ):
        Pair(encoder_decoder, CausalLM(make("gpt_neox").model, encoder_decoder.tokenizer), PairReading(60))
    unmarked = T5.build(texts, (), 0)
    with pytest.raises(SettingError, match=rf"the pair's tokenizer needs the token {SEPARATOR} between turns"):
        Pair(unmarked, unmarked, PairReading(60))


PRETRAINED_TEXT = "<|endoftext|>"


@pytest.fixture(scope="module")
def pretrained(dialogues: Dialogues, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two folders of models with the tokens of Qwen2.5-Coder, which never learned gaps of dialogues."""
    texts = [turn for turns in dialogues for turn in turns]
    marks = ("<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
    folders: list[str] = []
    for seed, layers in ((1, 1), (2, 2)):
        plan = TinyCausal(
            400,
            16,
            2,
            layers,
            32,
            max_length=512,
            shape="llama",
        )
        lm = plan.build(texts, marks, seed)
        lm.tokenizer.eos_token = lm.tokenizer.bos_token = PRETRAINED_TEXT
        folders.append(str(tmp_path_factory.mktemp("pretrained")))
        lm.save_pretrained(Path(folders[-1]))
    return folders[0], folders[1]


def test_a_pretrained_pair_needs_no_training(pretrained: tuple[str, str]) -> None:
    """The marks are those of its own family, the separator is text, and the end of a text ends a segment."""
    pair = Pair.from_pretrained(*pretrained, untrained=PairReading(100, separator="\n"))
    ids = pair.amateur.tokenizer.get_vocab()
    turns, gap = [[300], [301, 302, 303], [304]], Gap(1, 1, 2)
    (line_break,) = pair.amateur.tokenizer("\n")["input_ids"]
    begin, suffix, middle = (ids[f"<|fim_{name}|>"] for name in ("prefix", "suffix", "middle"))
    task = pair.tokenise([]).task(turns, gap)
    assert task.source == (begin, 300, line_break, 301, suffix, 303, line_break, 304, middle)
    assert pair.infilling.target(task.segment) == [302, ids[PRETRAINED_TEXT]]
    assert pair.infilling.family.name == "qwen"
    assert {begin, suffix, middle} <= set(pair.never_drawn)
    assert pair.ends == {ids[PRETRAINED_TEXT]: (), line_break: ()}


@pytest.mark.parametrize(("order", "closing"), [(None, PRETRAINED_TEXT), ("left-to-right", "Ċ")])
def test_a_drawn_segment_ends_where_a_token_holds_the_separator(
    pretrained: tuple[str, str],
    order: Any,
    closing: str,
    tmp_path: Path,
) -> None:
    """A token such as a full stop with a line break writes the full stop and ends the turn, in both orders."""
    folder = tmp_path / "model"
    shutil.copytree(pretrained[0], folder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    stop, last = vocabulary["model"]["vocab"]["."], max(vocabulary["model"]["vocab"].values())
    replaced = next(piece for piece, token in vocabulary["model"]["vocab"].items() if token == last)
    vocabulary["model"]["merges"] = [pair for pair in vocabulary["model"]["merges"] if "".join(pair) != replaced]
    del vocabulary["model"]["vocab"][replaced]
    vocabulary["model"]["vocab"][".ĊĊ"] = last
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary), "utf-8")
    pair = Pair.from_pretrained(folder, folder, untrained=PairReading(100, order=order, separator="\n"))
    ids = pair.amateur.tokenizer.get_vocab()
    assert pair.ends == {ids[closing]: (), ids["Ċ"]: (), ids[".ĊĊ"]: (stop,)}
    head = pair.amateur.model.get_output_embeddings()
    states = iter([300, 301, ids[".ĊĊ"]])

    def say_next(_module: Any, _given: Any, logits: torch.Tensor) -> torch.Tensor:
        return torch.full_like(logits, -1e4).index_fill(-1, torch.tensor([next(states)]), 0.0)

    hook = head.register_forward_hook(say_next)
    try:
        drawn = sample_segments(
            pair,
            [[300]],
            Sampling(gamma=0.0),
            np.full((1, 5), 0.5),
        )
    finally:
        hook.remove()
    assert drawn == [[300, 301, stop]]


def test_a_pretrained_pair_reads_left_to_right_where_it_is_asked_to(
    pretrained: tuple[str, str], dialogues: Dialogues
) -> None:
    amateur, expert = pretrained
    examples = [Example(str(i), text="", turns=turns) for i, turns in enumerate(dialogues[:3])]
    metric = DiscriminativeCDM.from_pretrained(
        amateur=amateur,
        expert=expert,
        order="left-to-right",
        max_length=400,
    )
    assert "|infilling=left_to_right|" in metric.signature
    middle = DiscriminativeCDM.from_pretrained(amateur=amateur, expert=expert, max_length=400)
    assert "|infilling=qwen|" in middle.signature
    assert not np.allclose(middle.score(examples).values["quality"], metric.score(examples).values["quality"])


def test_settings_of_pretrained_pairs_are_refused_where_they_say_nothing(
    pretrained: tuple[str, str], make: Callable[[str], ConditionalLM], tmp_path: Path
) -> None:
    for part in ("amateur", "expert"):
        make("llama").save_pretrained(tmp_path / part)
    load = partial(DiscriminativeCDM.from_pretrained, models=tmp_path)
    with pytest.raises(SettingError, match="cannot be set for"):
        load(max_length=400)
    learned = Pair.from_pretrained(tmp_path / "amateur", tmp_path / "expert").reading
    assert load().pair.reading == learned
    named = DiscriminativeCDM.from_pretrained(amateur=tmp_path / "amateur", expert=tmp_path / "expert")
    assert named.pair.reading == learned
    with pytest.raises(SettingError, match="must be one token, but ' </UTT> ' has"):
        Pair.from_pretrained(*pretrained, untrained=PairReading(60, order="left-to-right", separator=" </UTT> "))
    with pytest.raises(SettingError, match="either models, the folder of a trained pair, or amateur and expert"):
        DiscriminativeCDM.from_pretrained(amateur=pretrained[0])
    with pytest.raises(SettingError, match="classifier pooling needs the pooler of a trained pair"):
        DiscriminativeCDM.from_pretrained(amateur=pretrained[0], expert=pretrained[1], pooling="classifier")
