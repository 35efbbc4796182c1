"""An LLM as judge: ratings by hand, faults of a real local server, a model behind `transformers serve`."""

import json
import math
import random
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from baselines.chat import CachedChat, ChatFault, EndpointChat, LocalChat, Reply
from baselines.llm_judge import OF_A_PAIR, PROMPTS, LLMJudge, check_scale, fill_prompt, read_prompts, read_rating
from core.example import Example
from core.faults import SettingFault
from meta_eval.preferences import position_effect

TEXTS = [Example("a", text="good text"), Example("b", text="bad text")]


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
    assert read_rating(Reply("4", [tokens], 0, 0), (1, 5)) == pytest.approx((4 * 0.6 + 2 * 0.2) / 0.8)
    words_first = [[("Score", -0.1), ("4", -3.0)], [(":", -0.1)], tokens]
    assert read_rating(Reply("Score: 4", words_first, 0, 0), (1, 5)) == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("answer", "rating"),
    [
        ("4", 4),
        ("Score: 4.5 of 5", 4.5),
        ("9, no: 3", None),
        ("0", None),
        ("", None),
        ("four", None),
        ("12", None),
        ("5.", 5),
    ],
)
def test_without_probabilities_the_number_in_the_answer_counts(answer: str, rating: float | None) -> None:
    assert read_rating(Reply(answer, [], 0, 0), (1, 5)) == rating


def test_prompts_are_filled() -> None:
    example = Example("a", turns=("Hi {x}", "Yes"), context="C", references=("r", "s"))
    template = "{text}|{context}|{references}|{low}-{high}"
    assert fill_prompt(template, example, low=0, high=3) == "A: Hi {x}\nB: Yes|C|r\ns|0-3"


def test_a_refusal_is_nan_with_a_reason() -> None:
    judge = LLMJudge(Scripted(lambda q: Reply("I cannot judge." if "bad" in q else "4", [], 7, 1)), ("coherence",))
    scores = judge.score(TEXTS)
    assert scores.values["coherence"][0] == 4
    assert math.isnan(scores.values["coherence"][1])
    assert scores.reasons == (None, "coherence: the judge gave no number from 1 to 5, but 'I cannot judge.'")
    assert scores.explanations[0] == {"coherence": {"answer": "4", "tokens": 8}}
    assert judge.spent == {"prompt_tokens": 14, "answer_tokens": 2}


def test_fields_that_the_prompts_name_are_required(tmp_path: Path) -> None:
    chat = Scripted(lambda _: Reply("3", [], 0, 0))
    assert LLMJudge(chat, ("coherence",)).requires == ()
    judge = LLMJudge(chat, ("coherence", "consistency"))
    assert judge.requires == ("context",)
    scores = judge.score([*TEXTS, Example("c", text="t", context="source")])
    assert scores.reasons[:2] == ("llm_judge needs context, found none",) * 2
    assert (scores.values["coherence"][2], scores.values["consistency"][2]) == (3, 3)
    (tmp_path / "style.txt").write_text("{text} as {label}?")
    assert LLMJudge(chat, ("style",), str(tmp_path)).requires == ("label",)


def test_prompts_are_read_once(tmp_path: Path) -> None:
    chat = Scripted(lambda _: Reply("3", [], 0, 0))
    (tmp_path / "style.txt").write_text("{text}, old?")
    judge = LLMJudge(chat, ("style",), str(tmp_path))
    for prompt in ("{text}, new?", "{label}, new?"):
        judge.score([Example("a", text="x")])
        (tmp_path / "style.txt").write_text(prompt)
    assert chat.asked == ["x, old?", "x, old?"]


def test_the_signature_changes_with_model_prompts_and_scale(tmp_path: Path) -> None:
    chat, other = (Scripted(lambda _: Reply("3", [], 0, 0), depends={"weights": w}) for w in "ab")
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
        return Reply("A" if rng.random() < share or is_longer else "B", [], 9, 1)

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


def test_the_position_effect_of_a_judge() -> None:
    """It prefers the first text in 30 % of the questions in which the second is longer: an effect of .15."""
    verdicts = LLMJudge(biased(0.3), ("coherence",)).compare(make_pairs(300))
    effect = position_effect(verdicts.first, [str(i) for i in range(300)])
    assert effect.low < 0.15 < effect.high
    assert effect.value == pytest.approx(0.15, abs=0.03)
    assert effect.value == pytest.approx((verdicts.outcomes == 0.5).mean() / 2)


def test_pairs_without_an_answer_have_a_reason() -> None:
    judge = LLMJudge(Scripted(lambda q: Reply("No idea." if "bad" in q else "B", [], 0, 0)), ("coherence",))
    (x, y), z = TEXTS, Example("c", text="good too")
    found = judge.compare([(x, y), (x, z)])
    assert found.reasons == ["the judge answered neither A, B nor C, but 'No idea.'", None]
    assert [math.isnan(found.outcomes[0]), found.outcomes[1]] == [True, 0.5]
    assert LLMJudge(judge.chat, ("consistency",)).compare([(x, z)]).reasons == ["llm_judge needs context, found none"]
    with pytest.raises(SettingFault, match="one aspect to compare texts by"):
        LLMJudge(judge.chat, ("coherence", "fluency")).compare([(x, z)])


def test_every_aspect_has_a_prompt_for_pairs() -> None:
    aspects = sorted(path.stem for path in PROMPTS.glob("*.txt"))
    prompts = read_prompts(None, aspects, "pairs", OF_A_PAIR)
    assert all(prompt.count("{first}") == prompt.count("{second}") == 1 for prompt in prompts.values())


def test_a_reply_is_asked_for_once(tmp_path: Path) -> None:
    chat = Scripted(lambda _: Reply("3", [[("3", -0.5)]], 5, 1))
    first = CachedChat(chat, tmp_path).ask("why?")
    again = CachedChat(chat, tmp_path).ask("why?")
    assert chat.asked == ["why?"]
    assert read_rating(again, (1, 5)) == read_rating(first, (1, 5)) == 3
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
    (tmp_path / "x.txt").write_text("{text} {secret}")
    with pytest.raises(SettingFault, match=r"may name .* in braces, but has \['secret'\]"):
        read_prompts(str(tmp_path), ["x"])


# ---- a real server ---------------------------------------------------------------------------------------------------


@dataclass
class Server:
    """A local HTTP server; `answers` are tried in turn, the last one again and again."""

    answers: list[Callable[[BaseHTTPRequestHandler], None]]
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""


def answer_with(status: int, body: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body.encode())))
        handler.send_header("Retry-After", "0")
        handler.end_headers()
        handler.wfile.write(body.encode())

    return answer


def completion(text: str, alternatives: list[tuple[str, float]] | None = None) -> str:
    tokens = [{"token": t, "logprob": p, "bytes": None} for t, p in alternatives or ()]
    given = {"content": [{**tokens[0], "top_logprobs": tokens}], "refusal": None} if tokens else None
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": given}
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 0, "model": "toy", "choices": [choice], "usage": usage}
    )


def cut_off(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    running: list[ThreadingHTTPServer] = []

    def start(*answers: Callable[[BaseHTTPRequestHandler], None]) -> Server:
        served = Server(list(answers))

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                served.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                served.keys.append(self.headers["Authorization"])
                answer = served.answers.pop(0) if len(served.answers) > 1 else served.answers[0]
                answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                del format, args

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        running.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        served.url = f"http://127.0.0.1:{server.server_port}/v1"
        return served

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def ask(url: str, retries: int = 2) -> Reply:
    pytest.importorskip("openai")
    return EndpointChat("toy", url, retries=retries, timeout=5.0).ask("How good?")


def test_an_endpoint_is_asked_with_the_key_of_the_environment(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    server = serve(answer_with(200, completion("4", [("4", -0.1), ("5", -2.5)])))
    reply = ask(server.url)
    assert reply == Reply("4", [[("4", -0.1), ("5", -2.5)]], 9, 2)
    assert server.keys == ["Bearer secret-key"]
    assert server.requests[0]["messages"] == [{"role": "user", "content": "How good?"}]
    judge = LLMJudge(EndpointChat("toy", server.url), ("coherence",))
    assert "secret-key" not in judge.signature + repr(judge)


def test_a_password_in_the_address_stays_out_of_the_signature() -> None:
    pytest.importorskip("openai")
    chat = EndpointChat("toy", "http://user:password@127.0.0.1:9/v1")
    assert chat.depends == {"model": "toy", "endpoint": "127.0.0.1:9/v1"}


@pytest.mark.parametrize("fault", [answer_with(429, "{}"), answer_with(500, "{}"), cut_off])
def test_a_fault_that_passes_is_tried_again(serve: Callable[..., Server], fault: Any) -> None:
    server = serve(fault, fault, answer_with(200, completion("4")))
    assert ask(server.url).text == "4"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answer_with(429, '{"error": {"message": "slow down"}}'), "RateLimitError"),
        (answer_with(500, "oops"), "InternalServerError"),
        (answer_with(400, '{"error": {"message": "too long"}}'), "BadRequestError"),
        (cut_off, "APIConnectionError"),
        (answer_with(200, "not JSON"), "endpoint"),
        (answer_with(200, "{}"), "no choices"),
    ],
)
def test_a_fault_that_stays_is_a_reason(serve: Callable[..., Server], answer: Any, reason: str) -> None:
    server = serve(answer)
    with pytest.raises(ChatFault, match=reason):
        ask(server.url, retries=0)
    pytest.importorskip("openai")
    scores = LLMJudge(EndpointChat("toy", server.url, retries=0), ("coherence",), parallel=2).score(TEXTS)
    assert all(reason in str(why) for why in scores.reasons)


@pytest.mark.parametrize(("status", "message"), [(401, "refuses the key in OPENAI_API_KEY"), (404, "has no model toy")])
def test_a_wrong_key_or_model_ends_the_run(serve: Callable[..., Server], status: int, message: str) -> None:
    server = serve(answer_with(status, '{"error": {"message": "no"}}'))
    with pytest.raises(SettingFault, match=message):
        ask(server.url)
    assert len(server.requests) == 1


def test_without_the_client_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(SettingFault, match=r"pip install 'judging-generated-text\[judge\]'"):
        EndpointChat("toy", "http://127.0.0.1:9/v1")


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
