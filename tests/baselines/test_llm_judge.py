"""An LLM as judge: ratings by hand, faults of a real local server, a model behind `transformers serve`."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from baselines.chat import CachedChat
from baselines.endpoint import ChatFault, Reply
from baselines.llm_judge import LLMJudge, check_scale, rate, read_prompts
from baselines.local_chat import LocalChat
from core.example import Example
from core.faults import InputFaults, SettingFault

TEXTS = [Example("a", text="good text"), Example("b", text="bad text")]


def reply(
    text: str, alternatives: Sequence[Sequence[tuple[str, float]]] = (), prompt_tokens: int = 0, answer_tokens: int = 0
) -> Reply:
    tokens = tuple(map(tuple, alternatives))
    return Reply(text=text, alternatives=tokens, prompt_tokens=prompt_tokens, answer_tokens=answer_tokens)


@dataclass
class Scripted:
    """Answers by a function of the question."""

    answer: Callable[[str], Reply]
    name: str = "scripted"
    depends: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def ask(self, question: str) -> Reply:
        self.asked.append(question)
        return self.answer(question)


# ---- ratings ---------------------------------------------------------------------------------------------------------


def test_a_rating_is_weighted_by_probabilities() -> None:
    tokens = [(" 4", math.log(0.5)), ("4", math.log(0.1)), ("2", math.log(0.2)), ("9", math.log(0.1)), ("a", -3.0)]
    assert rate(reply("4", [tokens], 0, 0), (1, 5)) == pytest.approx((4 * 0.6 + 2 * 0.2) / 0.8)
    sure = [("4", -0.1), ("2", -9.0)]
    assert rate(reply("In 2 of 4 parts. Score: 4", [[("2", -0.1)], sure, tokens]), (1, 5)) == pytest.approx(3.5)
    assert rate(reply("Score: 4, as 4 parts fit", [tokens, sure]), (1, 5)) == pytest.approx(3.5)
    assert rate(reply("Score: 4", [[("4", -9999.0)]]), (1, 5)) == 4


def test_fields_that_the_prompts_name_are_required(tmp_path: Path) -> None:
    chat = Scripted(lambda _: reply("3", [], 0, 0))
    assert LLMJudge(chat, ("coherence",)).requires == ()
    judge = LLMJudge(chat, ("coherence", "consistency"))
    assert judge.requires == ("context",)
    scores = judge.score([*TEXTS, Example("c", text="t", context="source")])
    assert scores.reasons[:2] == ("llm_judge needs context, found none",) * 2
    assert (scores.values["coherence"][2], scores.values["consistency"][2]) == (3, 3)
    (tmp_path / "style.txt").write_text("{text} as {label}?")
    assert LLMJudge(chat, ("style",), str(tmp_path)).requires == ("label",)


def test_the_signature_changes_with_model_prompts_and_scale(tmp_path: Path) -> None:
    chat, other = (Scripted(lambda _: reply("3", [], 0, 0), depends={"weights": w}) for w in "ab")
    (tmp_path / "coherence.txt").write_text("{text}?")
    judges = [
        LLMJudge(chat, ("coherence",)),
        LLMJudge(other, ("coherence",)),
        LLMJudge(chat, ("fluency",)),
        LLMJudge(chat, ("coherence",), str(tmp_path)),
        LLMJudge(chat, ("coherence",), scale=(0, 10)),
    ]
    assert len({judge.signature for judge in judges}) == 5
    assert judges[0].signature == LLMJudge(chat, ("coherence",), parallel=3).signature


# ---- pairs -----------------------------------------------------------------------------------------------------------


def biased(share: float, seed: int = 0) -> Scripted:
    """A judge that prefers the longer text, but picks the first one without reading in this share of questions."""
    rng = random.Random(seed)

    def answer(question: str) -> Reply:
        first, second = question.split("Text A:\n")[1].split("\n\nText B:\n")
        is_longer = len(first) > len(second.split("\n\n")[0])
        return reply("A" if rng.random() < share or is_longer else "B", [], 9, 1)

    return Scripted(answer)


def make_pairs(count: int) -> list[tuple[Example, Example]]:
    return [(Example(f"a{i}", text=f"long {i} " * 9), Example(f"b{i}", text=f"short {i}")) for i in range(count)]


def test_a_pair_is_asked_in_both_orders() -> None:
    fair, first = (LLMJudge(biased(share), ("coherence",)) for share in (0, 1))
    pairs = [*make_pairs(2), (make_pairs(1)[0][1], make_pairs(1)[0][0])]
    found = fair.compare(pairs)
    assert found.first.tolist() == [[1, 0], [1, 0], [0, 1]]
    assert found.outcomes.tolist() == [1, 1, 0]
    assert found.signature.startswith("llm_judge_pairs|model=scripted|")
    assert isinstance(fair.chat, Scripted)
    assert len(fair.chat.asked) == 4  # the third pair is the first one in the other order
    assert first.compare(pairs).outcomes.tolist() == [0.5, 0.5, 0.5]


def test_pairs_without_an_answer_have_a_reason() -> None:
    judge = LLMJudge(Scripted(lambda q: reply("No idea." if "bad" in q else "B", [], 0, 0)), ("coherence",))
    (x, y), z = TEXTS, Example("c", text="good too")
    found = judge.compare([(x, y), (x, z)])
    assert found.reasons == ["the judge gave no choice of A, B or C, but 'No idea.'", None]
    assert [math.isnan(found.outcomes[0]), found.outcomes[1]] == [True, 0.5]
    assert LLMJudge(judge.chat, ("consistency",)).compare([(x, z)]).reasons == ["llm_judge needs context, found none"]
    with pytest.raises(SettingFault, match="one aspect to compare texts by"):
        LLMJudge(judge.chat, ("coherence", "fluency")).compare([(x, z)])


def test_a_reply_is_asked_for_once(tmp_path: Path) -> None:
    chat = Scripted(lambda _: reply("3", [[("3", -0.5)]], 5, 1))
    first = CachedChat(chat, tmp_path).ask("why?")
    again = CachedChat(chat, tmp_path).ask("why?")
    assert chat.asked == ["why?"]
    assert again == first == reply("3", [[("3", -0.5)]], 5, 1)
    CachedChat(Scripted(chat.answer, depends={"model": "other"}), tmp_path).ask("why?")
    assert len(list(tmp_path.glob("llm_judge-*/"))) == 2


@pytest.mark.parametrize("scale", [[5, 1], [1], [1, 2.5], [True, 5], [-1, 3]])
def test_bad_scales(scale: list[Any]) -> None:
    with pytest.raises(SettingFault, match="two whole numbers"):
        check_scale(scale)


def test_bad_prompts(tmp_path: Path) -> None:
    with pytest.raises(SettingFault, match=r"no prompt humour.txt; prompts there: coherence, consistency"):
        read_prompts(None, ["humour"])
    with pytest.raises(SettingFault, match=r"no prompt passwd.txt"):
        read_prompts(None, ["../../etc/passwd"])
    (tmp_path / "x.txt").write_bytes(b"{text} \xff")
    with pytest.raises(InputFaults, match=r"x\.txt:1: must be UTF-8"):
        read_prompts(str(tmp_path), ["x"])


# ---- models ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy_chat_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random GPT-2 whose vocabulary is a few words and the numbers 1 to 5, with a chat template."""
    folder = tmp_path_factory.mktemp("chat")
    words = ["<end>", "<unk>", "1", "2", "3", "4", "5", "good", "bad", "text", "user", "assistant", ":", "?", "."]
    raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<end>", unk_token="<unk>", pad_token="<end>")
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }} : {{ m.content }} {% endfor %}assistant :"
    tokenizer.save_pretrained(folder)
    config = GPT2Config(vocab_size=len(words), n_positions=256, n_embd=16, n_layer=1, n_head=2, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def test_a_model_in_this_process_rates_by_its_next_token(toy_chat_model: Path) -> None:
    judge = LLMJudge.from_settings(str(toy_chat_model), aspects=["coherence", "fluency"])
    scores = judge.score(TEXTS)
    assert set(scores.values) == {"coherence", "fluency"}
    for values in scores.values.values():
        known = values[~pytest.importorskip("numpy").isnan(values)]
        assert ((known >= 1) & (known <= 5)).all()
    one_by_one = [judge.score([example]).values["coherence"][0] for example in TEXTS]
    assert one_by_one == pytest.approx(list(scores.values["coherence"]), abs=1e-5, nan_ok=True)


def test_the_distribution_of_a_model_in_this_process(toy_chat_model: Path) -> None:
    reply = LocalChat(str(toy_chat_model)).ask("good text ?")
    (alternatives,) = reply.alternatives
    assert sum(math.exp(p) for _, p in alternatives) == pytest.approx(1.0, abs=1e-5)
    assert (reply.text, reply.prompt_tokens) == (alternatives[0][0], 7)
    with pytest.raises(ChatFault, match="the model reads 256"):
        LocalChat(str(toy_chat_model)).ask("good " * 300)


def test_a_model_without_a_chat_template_is_refused(toy_chat_model: Path, tmp_path: Path) -> None:
    for file in toy_chat_model.iterdir():
        if "template" not in file.name:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(SettingFault, match="has no chat template"):
        LocalChat(str(tmp_path))
