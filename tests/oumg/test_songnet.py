"""The generator of poems: symbols stand one column ahead, caches change nothing, it keeps forms and learns; ranks."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LogitsProcessor, TopKLogitsWarper

from core.example import Example
from models.training import LanguageModelSchedule, train_language_model
from oumg.form import MARKS, Form, SlotKind
from oumg.form_scores import keeps_form
from oumg.poetry import FormConstraint, ShiftedRanks, generate_poems
from oumg.songnet import SongNet, SongNetPlan, generation_inputs, poem_nll, row_symbols, spell_poems
from tests.toy_models import QUIET

POEMS = [
    ("春词", "春花秋月何时了，往事知多少。"),
    ("夜词", "小楼昨夜东风，月明中。故国不堪回首。"),
    ("春词", "明月东楼何处少，往事知春了。"),
]
PLAN = SongNetPlan(n_embd=32, n_layer=2, n_head=2, max_length=128)
FORMS = [Form.of(poem) for _, poem in POEMS]
INPUTS = [(tune, form) for (tune, _), form in zip(POEMS, FORMS, strict=True)]


@pytest.fixture(scope="module")
def songnet() -> SongNet:
    net = PLAN.build([t + p for t, p in POEMS], seed=0)
    with torch.no_grad():
        for parameter in net.model.parameters():  # far from uniform, so that mistakes show
            parameter.mul_(4.0)
    net.model.eval()
    return net


def test_symbols_speak_of_the_next_column() -> None:
    slots = Form.of("春花，月。").slots()
    row = row_symbols(
        3,
        slots,
        padding=2,
        width=12,
    )
    kinds = [SlotKind(kind) for kind, _, _ in row]
    assert kinds[:4] == [SlotKind.NONE] * 4  # padding and all of the prompt but its last token
    assert kinds[4:10] == [slot.kind for slot in slots]
    assert kinds[10:] == [SlotKind.NONE] * 2
    assert [left for _, _, left in row[4:10]] == [2, 1, 0, 1, 0, 0]


def test_prompts_name_the_tune_and_every_phrase(songnet: SongNet) -> None:
    tokens = songnet.tokenizer.convert_ids_to_tokens(songnet.prompt("春词", FORMS[1]))
    assert tokens == ["春", "词", "<6>", "，", "<3>", "。", "<6>", "。", "<poem>"]
    with pytest.raises(ValueError, match="at most 64 phrases of at most 24"):
        songnet.prompt("春词", Form(((25, "。"),)))
    with pytest.raises(ValueError, match="reads 128 tokens, but tune and form have 15 and the poem with its end 121"):
        songnet.prompt("春词", Form(((19, "。"),) * 6))


def test_a_poem_without_a_tune_is_refused() -> None:
    with pytest.raises(ValueError, match="a poem needs the name of its tune as its prefix, but 'a' has none"):
        spell_poems([Example("a", text="春風")])


def test_padding_on_the_left_changes_nothing(songnet: SongNet) -> None:
    prompts = [songnet.prompt(*given) for given in INPUTS]
    together = logits(songnet, prompts, FORMS)
    for i, (prompt, form) in enumerate(zip(prompts, FORMS, strict=True)):
        torch.testing.assert_close(
            logits(songnet, [prompt], [form])[0],
            together[i],
            atol=1e-5,
            rtol=0,
        )


def logits(songnet: SongNet, prompts: list[list[int]], forms: list[Form]) -> torch.Tensor:
    """Of the first character of every poem."""
    inputs = generation_inputs(songnet, prompts, forms)
    positions = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    with torch.inference_mode():
        return songnet.model(**inputs, position_ids=positions).logits[:, -1]


def test_the_cache_changes_nothing(songnet: SongNet) -> None:
    again = partial(
        generate_poems,
        songnet,
        INPUTS,
        lambda: TopKLogitsWarper(5),
        seed=1,
    )
    assert again(use_cache=True) == again(use_cache=False)


@pytest.mark.parametrize("settings", [{}, {"do_sample": False, "num_beams": 3}])
def test_poems_have_the_form_asked_for(songnet: SongNet, settings: dict[str, Any]) -> None:
    poems = generate_poems(
        songnet,
        INPUTS * 2,
        lambda: TopKLogitsWarper(5),
        seed=3,
        batch_size=4,
        **settings,
    )
    assert all(keeps_form(poem, form) for poem, form in zip(poems, FORMS * 2, strict=True))


def test_marks_are_left_alone_by_what_shapes_characters(songnet: SongNet) -> None:
    class Forbid(LogitsProcessor):
        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            return torch.full_like(scores, -7.0)

    constraint = FormConstraint(
        songnet,
        [Form.of("春，花花。")] * 2,
        3,
        Forbid(),
    )
    scores = torch.zeros(2, len(songnet.tokenizer))
    assert (constraint(torch.zeros(2, 3, dtype=torch.long), scores) == -7.0).all()
    forced = constraint(torch.zeros(2, 4, dtype=torch.long), scores)
    comma = songnet.tokenizer.convert_tokens_to_ids(MARKS[0])
    assert forced.argmax(-1).tolist() == [comma, comma]
    assert forced.isfinite().sum(-1).tolist() == [1, 1]


def test_it_learns_and_is_loaded_again(tmp_path: Path) -> None:
    net = PLAN.build([t + p for t, p in POEMS], seed=0)
    tasks = [net.task(tune, poem) for tune, poem in POEMS]
    schedule = LanguageModelSchedule(
        epochs=4,
        batch_size=3,
        learning_rate=0.02,
        muon=0.02,
    )
    train_language_model(
        net,
        lambda seed: tasks * 10,
        tasks,
        schedule,
        tmp_path,
        QUIET,
        seed=0,
    )
    loaded = SongNet.from_pretrained(tmp_path)
    written = generate_poems(
        loaded,
        INPUTS[:2],
        lambda: TopKLogitsWarper(1),
        seed=0,
        do_sample=False,
    )
    assert written[1] == POEMS[1][1]  # the only poem of its tune: learned by heart
    assert loaded.tokenizer.get_vocab() == net.tokenizer.get_vocab()


def test_the_nll_of_a_poem_is_that_of_its_characters_one_by_one(songnet: SongNet) -> None:
    found = poem_nll(songnet, POEMS)
    for (tune, poem), form, nll in zip(
        POEMS,
        FORMS,
        found.tolist(),
        strict=True,
    ):
        prompt = songnet.prompt(tune, form)
        ids = [*songnet.encode(poem), songnet.vocabulary["<end>"]]
        inputs = generation_inputs(songnet, [prompt], [form])
        inputs["input_ids"] = torch.tensor([[*prompt, *ids]])
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs["symbols"] = torch.tensor(
            [
                row_symbols(
                    len(prompt),
                    form.slots(),
                    0,
                    len(prompt) + len(ids),
                )
            ]
        )
        log_probabilities = songnet.model(**inputs).logits[0].detach().log_softmax(-1)
        expected = -sum(float(log_probabilities[len(prompt) + i - 1, token]) for i, token in enumerate(ids))
        assert nll == pytest.approx(expected, rel=1e-4)


def nothing(rows: int) -> torch.Tensor:
    return torch.zeros(rows, 0, dtype=torch.long)


def test_ranks_of_ten_tokens() -> None:
    order = torch.tensor([3, 9, 0, 7, 1, 4, 8, 2, 6, 5])  # likeliest first
    scores = torch.empty(1, 10).scatter_(1, order[None], torch.linspace(5.0, -4.0, 10)[None])
    after = ShiftedRanks(2)(nothing(1), scores)
    assert sorted(after[0].isfinite().nonzero().flatten().tolist()) == [5, 6]
    # One logit apart: e / (1 + e) and 1 / (1 + e).
    torch.testing.assert_close(after[0, [6, 5]].exp(), torch.tensor([0.7310586, 0.2689414]))


def test_a_forced_token_stays() -> None:
    scores = torch.zeros(2, 10)
    scores[0] = -torch.inf
    scores[0, 3] = 0.0
    after = ShiftedRanks(2)(nothing(2), scores)
    assert torch.equal(after[0], scores[0])
    assert int(after[1].isfinite().sum()) == 2
    assert torch.equal(ShiftedRanks(99)(nothing(1), scores[:1]), scores[:1])


def test_ranks_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match=r"with k = 3 need 15 possible tokens, but a row has 10: k can be at most 2"):
        ShiftedRanks(3)(nothing(2), torch.zeros(2, 10))
    with pytest.raises(ValueError, match="k must be greater than or equal to 1, but is 0"):
        ShiftedRanks(0)
