"""Augmentation: against one job at a time without any cache, in any batch and order, on odd text; exact cases."""

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import BertTokenizer, PreTrainedTokenizerFast

from core.errors import SettingError
from data.words import ends_in_word, is_clitic, split_words
from mars.augmentation import PAPER, SelfPlanningAugmenter
from mars.masking import Blank, Kept, Template
from mars.naive import NaiveAugmenter
from mars.planning import TIE, plan_states
from mars.references import Augmentation, Augmented, Job
from mars.writable_tokens import WritableTokens
from models.causal import CausalLM
from models.masked import MaskedLM, most_likely_at_masks
from models.tiny import TinyBert
from tests.toy_models import refuse_large_batches

WORDS = [
    *["the", "dog", "ran", "after", "a", "red", "ball", "and", "he", "threw"],
    *["it", "over", "wall", "so", "happy", "that", "Tom", "Ann", "ate"],
]
PLAIN = Augmentation(planning_steps=0)


def augment(
    lm: CausalLM, jobs: Sequence[Job], settings: Augmentation = PAPER, token_budget: int = 16_384
) -> list[Augmented]:
    found = SelfPlanningAugmenter(lm, settings, token_budget).augment(jobs)
    assert all(isinstance(one, Augmented) for one in found)
    return cast(list[Augmented], found)


def random_template(rng: random.Random, parts: int) -> Template:
    """Blanks and kept text in turn, beginning with either."""
    blank = rng.random() < 0.5
    template: list[Blank | Kept] = []
    for _ in range(parts):
        kept = "".join(f" {rng.choice(WORDS)}" for _ in range(rng.randint(1, 4)))
        template.append(Blank(rng.randint(1, 3)) if blank else Kept(kept))
        blank = not blank
    return tuple(template)


def record_rows(lm: CausalLM, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The rows of every call of the model from now on."""
    read: list[list[int]] = []
    forward = lm.model.forward

    def recorded(*args: object, input_ids: torch.Tensor, **kwargs: object) -> object:
        read.extend(input_ids.tolist())
        return forward(*args, input_ids=input_ids, **kwargs)

    monkeypatch.setattr(lm.model, "forward", recorded)
    return read


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    rng = random.Random(1)
    contexts = ["", "Tom had a red ball.", "Ann baked a cake for her brother, and it was so good.", "He threw it"]
    return [Job(rng.choice(contexts), random_template(rng, rng.randint(1, 4))) for _ in range(5)]


@torch.no_grad()
def one_at_a_time(lm: CausalLM, job: Job, settings: Augmentation) -> str:
    """Algorithm 2 as it reads, a whole text for every token and every length; no cache, no batch."""
    writable = WritableTokens(lm.tokenizer, lm.model.config.vocab_size)
    embeddings = lm.model.transformer.wte.weight

    def encode(text: str) -> list[int]:
        return lm.tokenizer(text, add_special_tokens=False)["input_ids"]

    s = [lm.start, *encode(job.context)]
    text = ""
    for i, part in enumerate(job.template):
        if isinstance(part, Kept):
            s += encode(part.text)
            text += part.text
            continue
        following = job.template[i + 1] if i + 1 < len(job.template) else Kept("")
        assert isinstance(following, Kept)
        after = encode(following.text)
        fill: list[int] = []
        judged: list[tuple[float, int]] = []
        most = part.count + settings.max_guess
        for m in range(1, most + 1):
            hidden = lm.model.transformer(input_ids=torch.tensor([s + fill])).last_hidden_state[:, -1]
            sought = [token for token in after if str(lm.tokenizer.decode([token])).strip() not in ["", *".,;:!?"]]
            words = torch.tensor([sought], dtype=torch.long)
            logits = (hidden @ embeddings.T)[0]
            if settings.planning_steps:
                logits = plan_states(embeddings, words, logits[None], settings.planning_steps)[0][0]
            pending = b""
            for token in fill:
                pending = writable.pending(pending, token)
            is_begun = not fill or (not pending and is_clitic(writable.text(fill)))
            before = str(lm.tokenizer.decode(s[1:] + fill)) if is_begun else ""
            may = writable.allowed(pending, most - m, after_word=ends_in_word(before))
            top = max(x for x, ok in zip(logits.tolist(), may.tolist(), strict=True) if ok)
            fill.append(next(j for j, x in enumerate(logits.tolist()) if may[j] and x >= top - TIE))
            try:
                writable.text(fill)
            except UnicodeDecodeError:
                continue
            whole = s + fill + after
            scores = lm.model(input_ids=torch.tensor([whole])).logits[0].log_softmax(-1)
            chosen = [scores[j - 1, whole[j]].item() for j in range(len(s), len(whole))]
            judged.append((-sum(chosen) / len(chosen), m))
        lowest = min(judged)[0]
        kept = next(m for value, m in judged if value <= lowest + TIE)
        text += writable.text(fill[:kept])
        s += fill[:kept]
    return text if isinstance(job.template[0], Kept) else text.lstrip()


@pytest.mark.parametrize("settings", [Augmentation(), PLAIN], ids=["planned", "plain"])
def test_lockstep_equals_one_job_at_a_time(lm: CausalLM, jobs: list[Job], settings: Augmentation) -> None:
    expected = [one_at_a_time(lm, job, settings) for job in jobs]
    assert len(set(expected)) > len(jobs) // 2
    for token_budget in (1, 200, 100_000):
        assert [found.text for found in augment(lm, jobs, settings, token_budget)] == expected


def texts(found: Sequence[Augmented]) -> list[str]:
    return [augmented.text for augmented in found]


@contextmanager
def changed_weight(weight: torch.Tensor) -> Iterator[torch.Tensor]:
    """A weight to change, which is put back."""
    before = weight.detach().clone()
    with torch.no_grad():
        try:
            yield weight
        finally:
            weight.copy_(before)


@pytest.mark.parametrize("number", [10, pytest.param(250, marks=pytest.mark.slow)])
def test_no_fill_depends_on_the_batch(lm: CausalLM, number: int) -> None:
    """Two fills a job, alone and in batches: no choice lies within rounding errors of `TIE`."""
    rng = random.Random(7)
    jobs = [Job("", random_template(rng, 4)) for _ in range(number)]
    together = [fill.tokens for found in augment(lm, jobs) for fill in found.fills]
    alone = [fill.tokens for job in jobs for fill in augment(lm, [job])[0].fills]
    assert len(alone) == 2 * number
    assert sum(one != other for one, other in zip(together, alone, strict=True)) == 0


def test_planning_seeks_no_lone_mark(lm: CausalLM) -> None:
    """It would write the mark itself, and the text would have it twice."""
    templates: list[Template] = [(Kept("the dog"), Blank(2), Kept(after)) for after in (".", " .", "!", ". he ran")]
    planned, alone = (augment(lm, [Job("", t) for t in templates], Augmentation(kl=kl)) for kl in (1.0, 1e-6))
    assert [one.planned > 0 for one in planned] == [False, False, False, True]
    assert texts(planned[:3]) == texts(alone[:3])


@pytest.mark.parametrize("context", ["", "Tom had a car", "He threw it."])
def test_a_fill_never_joins_the_word_before_it(lm: CausalLM, context: str) -> None:
    """What follows "car" is a word of its own, not "carpet"; the same after a context without a mark at its end."""
    kept = ["car", " the dog's", " well-", " (so", " 7", " ran,", " it"]
    templates: list[Template] = [(Kept(text), Blank(n), Kept(" ball"), Blank(1)) for text in kept for n in (1, 2, 3)]
    templates.append((Blank(2), Kept(" ball")))
    settings = [Augmentation(max_guess=0), Augmentation(planning_steps=0), Augmentation(kl=1.0)]
    found = [one for each in settings for one in augment(lm, [Job(context, t) for t in templates], each)]
    starts = [f"{context.rstrip()} {t[0].text.strip()}" if isinstance(t[0], Kept) else context for t in templates]
    for before, augmented in zip(starts * len(settings), found, strict=True):
        words = [word.text for word in split_words(before)]
        after = [word.text for word in split_words(before + augmented.fills[0].text)]
        assert after[: len(words)] == words
    assert any(not one.fills[0].text.startswith(" ") for one in found)  # after a mark, a fill may begin as it likes


def test_planning_writes_toward_the_kept_text(counting: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ! the plain chain says # at .9: no divergence of .1 nats changes that, and one of 2 nats writes %."""
    monkeypatch.setattr(WritableTokens, "is_mark", lambda self, token: False)
    template = (Kept("!"), Blank(1), Kept("%"))
    [far] = augment(counting, [Job("", template)], Augmentation(kl=2.0, max_guess=0))
    [near] = augment(counting, [Job("", template)], Augmentation(kl=0.1, max_guess=0))
    assert (far.text, near.text) == ("!%%", "!#%")
    assert far.kl == pytest.approx(2.0, rel=1e-4)
    assert (far.planned, near.planned) == (1, 0)


@pytest.mark.parametrize(
    "template",
    [
        (Blank(1),),
        (Kept("🐈"), Blank(2), Kept(" 👩‍👩‍👧 end"), Blank(1)),
        (Kept("שלום"), Blank(1), Kept(" עולם"), Blank(1)),
        (Kept("猫が"), Blank(2), Kept("座った。")),
        (Blank(2), Kept("\n\nNew paragraph"), Blank(1), Kept("  two spaces ")),
    ],
)
@pytest.mark.parametrize("max_guess", [0, 3])
@pytest.mark.parametrize("context", ["", "  ", "Tom 🐈 had\na ball.\n"])
def test_odd_text(lm: CausalLM, template: Template, max_guess: int, context: str) -> None:
    [found] = augment(lm, [Job(context, template)], Augmentation(max_guess=max_guess))
    assert found.text.encode("utf-8").decode("utf-8") == found.text
    assert "\ufffd" not in found.text
    if isinstance(template[0], Kept):
        assert found.text.startswith(template[0].text)  # whatever precedes it
    rest = found.text
    for part in template:
        if isinstance(part, Kept):
            assert part.text.lstrip() in rest
            rest = rest.partition(part.text)[2]
    for fill, blank in zip(found.fills, (p for p in template if isinstance(p, Blank)), strict=True):
        assert 1 <= len(fill.tokens) <= blank.count + max_guess == len(fill.perplexities)
        assert len(fill.text.splitlines()) <= 1
        assert math.isfinite(fill.perplexities[len(fill.tokens) - 1])


def test_text_that_spells_a_special_token_is_plain_text(lm: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    special = str(lm.tokenizer.eos_token)
    job = Job(f"A cat {special} sat", (Kept(f"He {special} saw"), Blank(1), Kept(f" {special} there")))
    read = record_rows(lm, monkeypatch)
    [found] = augment(lm, [job])
    assert found.text.count(special) == 2
    assert read
    assert not {token for row in read for token in row[1:]} & set(lm.tokenizer.all_special_ids)


def test_characters_are_never_cut(lm: CausalLM) -> None:
    """A model that would always write bytes of an emoji: whole characters come out."""
    cat = lm.tokenizer.convert_tokens_to_ids(["ð", "Ł", "Ĳ"])
    with changed_weight(lm.model.transformer.wte.weight) as weight:
        weight[cat] *= 20
        found = augment(lm, [Job("", (Kept("He saw"), Blank(n), Kept(" there"), Blank(n))) for n in range(1, 6)])
    assert any(not augmented.text.isascii() for augmented in found)
    assert any(math.isinf(value) for augmented in found for fill in augmented.fills for value in fill.perplexities)
    assert all("\ufffd" not in augmented.text for augmented in found)


def test_a_context_longer_than_the_model_loses_its_end(lm: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    words = " ".join(WORDS * 8)
    ids = lm.tokenizer(words, add_special_tokens=False)["input_ids"]
    template = (Kept(" He"), Blank(2), Kept(" ran."))
    kept = lm.tokenizer(" He ran.", add_special_tokens=False)["input_ids"]
    room = 96 - 1 - (2 + 3) - len(kept)
    [found] = augment(lm, [Job(words, template)])
    assert found.dropped_context == len(ids) - room > 0
    [cut] = augment(lm, [Job(str(lm.tokenizer.decode(ids[:room])), template)])
    assert (cut.text, cut.dropped_context) == (found.text, 0)
    monkeypatch.setattr("mars.augmentation.MOST_CONTEXT", 10)
    [few] = augment(lm, [Job(words, template)])
    assert few.dropped_context == len(ids) - 10


def test_references_longer_than_the_model_are_all_named(lm: CausalLM) -> None:
    long = Job("", (Blank(1), Kept(" ball" * 300)))
    found = SelfPlanningAugmenter(lm).augment([Job("", (Blank(1),)), long, Job("", (Blank(1),)), long])
    assert [isinstance(one, str) for one in found] == [False, True, False, True]
    assert found[0] == found[2]
    assert "the model reads 96 tokens at once, but the reference alone has" in str(found[1])


def test_a_batch_that_does_not_fit_is_halved(lm: CausalLM, jobs: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = texts(augment(lm, jobs))
    monkeypatch.setattr(lm.model, "forward", refuse_large_batches(lm.model.forward, rows=3))
    assert texts(augment(lm, jobs)) == expected


def test_damaged_weights_are_named(lm: CausalLM) -> None:
    with changed_weight(lm.model.transformer.ln_f.weight) as weight:
        weight.fill_(torch.nan)
        with pytest.raises(ValueError, match="weights are damaged"):
            augment(lm, [Job("", (Blank(1),))])


@pytest.fixture(scope="module")
def writable(lm: CausalLM) -> WritableTokens:
    return WritableTokens(lm.tokenizer, lm.model.config.vocab_size)


def test_special_tokens_and_line_breaks_are_banned(lm: CausalLM, writable: WritableTokens) -> None:
    may = writable.allowed(b"", 9)
    banned = [*lm.tokenizer.all_special_ids, lm.tokenizer.convert_tokens_to_ids("<title>")]
    banned += lm.tokenizer("\n\r\t\x0b\x00", add_special_tokens=False)["input_ids"]
    assert not may[banned].any()
    assert may[lm.tokenizer(" The cat", add_special_tokens=False)["input_ids"]].all()


@pytest.mark.parametrize("seed", range(20))
def test_any_way_through_the_allowed_tokens_is_a_text(writable: WritableTokens, seed: int) -> None:
    """Byte tokens are preferred, so that characters are begun all the time."""
    rng = random.Random(seed)
    length = rng.randint(1, 7)
    tokens: list[int] = []
    pending = b""
    for m in range(length):
        may = writable.allowed(pending, length - m - 1).nonzero().flatten().tolist()
        high = [token for token in may if writable.bytes[token][0] >= 0x80]
        tokens.append(rng.choice(high or may))
        pending = writable.pending(pending, tokens[-1])
        if not pending:
            assert writable.text(tokens).isprintable() or not writable.text(tokens).isascii()
    assert pending == b""
    assert len(writable.text(tokens).splitlines()) == 1


def test_without_all_bytes_no_character_is_begun(counting: CausalLM) -> None:
    writable = WritableTokens(counting.tokenizer, 5)
    assert writable.most == 0
    assert writable.allowed(b"", 3).tolist() == [False, True, True, True, True]  # 0 is the end of a text


def test_a_larger_output_layer_is_banned_beyond_the_tokenizer(counting: CausalLM) -> None:
    assert WritableTokens(counting.tokenizer, 8).allowed(b"", 3).tolist() == [False] + [True] * 4 + [False] * 3


def test_other_tokenizers_are_refused() -> None:
    words = BertTokenizer({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "猫": 5})
    with pytest.raises(ValueError, match="needs a byte-level BPE"):
        WritableTokens(words, 6)
    for signs, message in (
        ("!", "none of the 1 tokens of '' may be written"),
        ("!ab", "a token that begins a new word"),
    ):
        tokenizer = Tokenizer(models.BPE({sign: i for i, sign in enumerate(signs)}, []))
        with pytest.raises(SettingError, match=message):
            WritableTokens(PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="!"), len(signs))


LEARNED = ["the cat sat on the mat.", "the dog ran in the park."]


@pytest.fixture(scope="module")
def masked() -> MaskedLM:
    built = TinyBert(300, 16, 2, 1, 32, max_length=24).build(LEARNED, (), seed=2)
    built.model.eval()
    return built


def test_masks_stand_where_words_stood(masked: MaskedLM) -> None:
    job = Job("A dog.", (Kept("the"), Blank(2), Kept(" sat.")))
    found: Any
    (found,) = NaiveAugmenter(masked).augment([job])
    ids = {text: masked.tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("A dog.", "the", " sat.")}
    mask = masked.special("mask")
    row = masked.framed(ids["A dog."], [*ids["the"], mask, mask, *ids[" sat."]])
    (expected,) = most_likely_at_masks(masked, [row])
    assert list(found.fills[0].tokens) == expected
    assert found.text == f"the {str(masked.tokenizer.decode(expected)).strip()} sat."
    assert found.fills[0].perplexities == ()
    assert found.kl == 0


def test_context_counts_only_where_it_is_used_and_its_end_is_cut(masked: MaskedLM) -> None:
    jobs = [Job("the dog ran in the park. " * 3, (Blank(1), Kept(" sat."))), Job("", (Blank(1), Kept(" sat.")))]
    with_context: Any
    without: Any
    with_context, without = (NaiveAugmenter(masked, use_context=used).augment(jobs) for used in (True, False))
    assert without[0] == without[1]
    assert without[0].dropped_context == 0
    assert with_context[0].dropped_context > 0
    assert with_context[1].text == without[1].text
    assert NaiveAugmenter(masked).depends != NaiveAugmenter(masked, use_context=False).depends


def test_all_references_that_are_too_long_are_named(masked: MaskedLM) -> None:
    long = Job("", (Blank(1), Kept(" the cat sat on the mat." * 4)))
    found = NaiveAugmenter(masked).augment([long, Job("", (Blank(1),)), long])
    assert ["reads 24 tokens at once" in str(one) for one in found] == [True, False, True]
