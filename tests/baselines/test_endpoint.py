"""An endpoint may only answer: a scripted server on this machine tries everything else."""

import gzip
import json
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from baselines.chat import Question
from baselines.endpoint import EndpointChat
from baselines.llm_judge import LLMJudge
from baselines.posting import LARGEST
from baselines.replies import LONGEST, ChatFault, ChosenToken, Reply
from baselines.verdicts import read_verdict
from core.errors import OutsideError, SettingError
from core.example import Example
from core.hosts import set_network
from judge import score
from judge.cli import main
from judge.metrics import load_metric

TEXTS = [Example("a", text="good text"), Example("b", text="bad text")]
KEY = "sk-planted-0123456789"
Answer = Callable[[BaseHTTPRequestHandler], object]
Serve = Callable[..., "Server"]
GOOD = Question("How good?")
NAN = pytest.approx(math.nan, nan_ok=True)


@dataclass
class Server:
    """A local HTTP server; `answers` are tried in turn, the last one again and again."""

    answers: list[Answer]
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""


def answer_with(status: int, body: str | bytes, **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else body.encode()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        sent = {"Content_Type": "application/json", "Content_Length": str(len(content)), "Retry_After": "0", **headers}
        for name, value in sent.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def completion(text: Any, alternatives: list[tuple[Any, Any]] | None = None, **more: Any) -> str:
    tokens = [{"token": t, "logprob": p, "bytes": None} for t, p in alternatives or ()]
    given = {"content": [{**tokens[0], "top_logprobs": tokens}], "refusal": None} if tokens else None
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": given}
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    whole = {"id": "x", "object": "chat.completion", "created": 0, "model": "toy", "choices": [choice], "usage": usage}
    return json.dumps({**whole, **more})


def complete(text: Any, alternatives: list[tuple[Any, Any]] | None = None, **more: Any) -> Answer:
    return answer_with(200, completion(text, alternatives, **more))


def complete_positions(text: str, positions: list[dict[str, Any]]) -> Answer:
    """An answer whose tokens are those of `positions`."""
    return complete("", choices=[{"message": {"content": text}, "logprobs": {"content": positions}}])


def cut_off(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


def drip(beginning: bytes) -> Answer:
    """Sends this beginning, and then a byte each tenth of a second."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(beginning)
        with suppress(OSError):  # the other side has left
            for _ in range(100):
                handler.wfile.write(b"a")
                time.sleep(0.1)

    return answer


SLOW_BODY = drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
SLOW_HEADER = drip(b"HTTP/1.1 200 OK\r\nX: ")


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    running: list[ThreadingHTTPServer] = []

    def start(*answers: Answer) -> Server:
        served = Server(list(answers))

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                served.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                served.keys.append(self.headers["Authorization"])
                answer = served.answers.pop(0) if len(served.answers) > 1 else served.answers[0]
                answer(self)

            def do_GET(self) -> None:
                served.requests.append({"path": self.path})

            def log_message(self, format: str, *args: Any) -> None:
                del format, args

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        running.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        served.url = f"http://127.0.0.1:{server.server_port}/v1"
        return served

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def chat(url: str, **settings: Any) -> EndpointChat:
    return EndpointChat("toy", url, **{"retries": 0, "timeout": 5.0, "logprobs": False, **settings})


def coherence(url: str, *, parallel: int = 1, kept: Path | None = None, **settings: Any) -> LLMJudge:
    return LLMJudge(chat(url, **settings), ("coherence",), parallel=parallel, kept=kept)


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


# ---- what is asked ---------------------------------------------------------------------------------------------------


def test_an_endpoint_is_asked_with_the_key_of_the_environment(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = serve(complete("4", [("4", -0.1), ("5", -2.5)]))
    asked = chat(server.url, logprobs=True)
    reply = asked.ask(GOOD)
    four = ChosenToken(place=0, token="4", likeliest=(("4", -0.1), ("5", -2.5)))
    assert reply == Reply(text="4", chosen=(four,), prompt_tokens=9, answer_tokens=2)
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert server.requests[1:] == [
        {
            "model": "toy",
            "messages": [{"role": "user", "content": "How good?"}],
            "temperature": 0.0,
            "max_tokens": 1024,
            "logprobs": True,
            "top_logprobs": 20,
        }
    ]
    judge = coherence(server.url)
    assert KEY not in judge.signature + repr(judge)


def test_the_key_and_the_deadline_are_settings(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server = serve(complete("4"), SLOW_BODY)
    judge = load_metric("llm_judge", model="toy", base_url=server.url, key_variable="MY_KEY", timeout=0.5)
    with pytest.raises(OutsideError, match=r"no whole answer in 0\.5 seconds"):
        judge.score(TEXTS)
    assert set(server.keys) == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"answer_tokens": 0}, "answer_tokens must be"),
        ({"temperature": math.nan}, "temperature must be"),
        ({"extra": {"messages": []}}, "extra must not have the keys messages"),
    ],
)
def test_bad_settings(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(SettingError, match=what):
        EndpointChat("toy", "http://127.0.0.1:9/v1", **settings)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "localhost:8000", "http://", "http://[", "http://a:b", "http://user:pass@host/v1"]
)
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(SettingError, match="base_url must"):
        EndpointChat("toy", url)


# ---- faults that pass, and faults that stay --------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [answer_with(429, "{}"), answer_with(500, "{}"), cut_off])
def test_a_fault_that_passes_is_tried_again(serve: Serve, fault: Answer) -> None:
    server = serve(fault, complete("4"))
    assert chat(server.url, retries=1).ask(GOOD).text == "4"
    assert len(server.requests) == 2


HOSTILE: dict[str, tuple[Answer, str]] = {
    "slow down": (answer_with(429, '{"error": {"message": "slow down"}}'), "status 429: .*slow down"),
    "a cut": (cut_off, "RemoteProtocolError|ReadError"),
    "no JSON": (answer_with(200, "not JSON"), "cannot be read"),
    "an empty object": (answer_with(200, "{}"), "choices.* is required"),
    "negative usage": (complete("4", usage={"prompt_tokens": -5}), "usage.prompt_tokens"),
    "usage of 400 digits": (
        answer_with(200, completion("4", usage={"prompt_tokens": 0}).replace(": 0}", f": {'9' * 400}}}")),
        "usage.prompt_tokens",
    ),
    "usage of 5,000 digits": (
        answer_with(200, completion("4", usage={"prompt_tokens": 0}).replace(": 0}", f": {'9' * 5000}}}")),
        "cannot be read",
    ),
    "content as a list": (complete(["4"]), "content"),
    "half a character": (complete("4 \ud800"), "cannot be read"),
    "an infinite logprob": (answer_with(200, completion("4", [("4", 777.5)]).replace("777.5", "1e999")), "logprob"),
    "a positive logprob": (complete("4", [("4", 5000)]), "logprob"),
    "an integer token": (complete("4", [(4, -0.1)]), "token"),
    "brackets": (answer_with(200, "[" * 200_000), "cannot be read"),
    "a large answer": (answer_with(200, b" " * (LARGEST + 1)), f"sent more than {LARGEST} bytes"),
    "a compressed answer": (answer_with(200, gzip.compress(b"4" * 10**7), Content_Encoding="gzip"), "compressed"),
    "a short answer": (answer_with(200, b"{}", Content_Length="900"), "RemoteProtocolError"),
    "no status": (lambda handler: handler.wfile.write(b"hello\r\n\r\n"), "RemoteProtocolError"),
    "many headers": (
        lambda handler: handler.wfile.write(b"HTTP/1.0 200 OK\r\n" + b"a: b\r\n" * 10_000),
        "RemoteProtocolError",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_fault_that_stays_is_a_reason(name: str, serve: Serve) -> None:
    answer, reason = HOSTILE[name]
    server = serve(answer)
    started = time.perf_counter()
    with pytest.raises(ChatFault, match=reason):
        chat(server.url).ask(GOOD)
    server = serve(answer, complete("4"))
    scores = coherence(server.url).score(TEXTS)
    assert scores.values["coherence"].tolist() == [NAN, 4]
    assert scores.reasons[0] is not None
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("alternatives", [None, [("4", -9999.0)], [("4", 1e-9)]])
def test_what_real_endpoints_send_is_read(alternatives: list[tuple[Any, Any]] | None, serve: Serve) -> None:
    server = serve(complete("4", alternatives))
    assert coherence(server.url).score(TEXTS).values["coherence"].tolist() == [4, 4]


def test_an_answer_of_a_thousand_tokens_with_their_alternatives_is_read(serve: Serve) -> None:
    likeliest = [{"token": f"token {i}", "logprob": -1.0 - i, "bytes": [*b"token 00"]} for i in range(20)]
    spelled = [*["word "] * 1000, "4"]
    positions = [{"token": each, "logprob": 0.0, "top_logprobs": likeliest} for each in spelled]
    reply = chat(serve(complete_positions("".join(spelled), positions)).url).ask(GOOD)
    assert [each.token for each in reply.chosen] == ["4"]


@pytest.mark.parametrize("spelled", [["4"], ["It", " is", "…", "</think>", "\n", "Rating", ":", " 4", "<end>"]])
def test_tokens_are_found_in_the_text(spelled: list[str], serve: Serve) -> None:
    """An endpoint may take reasoning out of the text, but not out of the tokens."""
    text = "4" if len(spelled) == 1 else "Rating: 4"
    positions = [{"token": each, "top_logprobs": [{"token": each, "logprob": 0.0}]} for each in spelled]
    (found,) = chat(serve(complete_positions(text, positions)).url).ask(GOOD).chosen
    assert (found.place, found.token.strip()) == (text.index("4") - len(found.token) + 1, "4")


def test_a_token_may_be_part_of_a_character(serve: Serve) -> None:
    parts = [("\\xe8\\xaf", [0xE8, 0xAF]), ("\\x84", [0x84]), ("分：", None), ("4", [0x34])]
    positions = [
        {"token": token, "bytes": spelled, "top_logprobs": [{"token": token, "logprob": 0.0}]}
        for token, spelled in parts
    ]
    reply = chat(serve(complete_positions("评分：4", positions)).url).ask(GOOD)
    assert [each.place for each in reply.chosen] == [3]


def test_the_beginning_of_a_long_answer_is_left_out(serve: Serve) -> None:
    """So the line that is first then is not the one that the answer begins with."""
    text = "x" * 10 + "\n2\n" + "y" * (LONGEST - 2)
    reply = chat(serve(complete(text)).url).ask(GOOD)
    assert reply.text == "…2\n" + "y" * (LONGEST - 2)
    assert read_verdict(reply.text, "number", (1, 5)) == "no"


@pytest.mark.parametrize("is_given", [True, False])
def test_the_signature_says_whether_probabilities_come(serve: Serve, is_given: bool) -> None:
    """An endpoint that takes the setting without a word, and heeds it or not."""
    server = serve(complete("4", [("4", -0.1), ("3", -2.0)] if is_given else None))
    judge = coherence(server.url, logprobs=True)
    assert f"|logprobs={str(is_given).lower()}|" in judge.signature
    judge.score(TEXTS)
    assert ["logprobs" in each for each in server.requests] == [True, is_given, is_given]


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy"])
def test_this_machine_is_asked_without_a_proxy(name: str, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(complete("4"))
    proxy = serve(complete("1"))
    monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
    for host in ("127.0.0.1", "localhost"):
        assert chat(server.url.replace("127.0.0.1", host)).ask(GOOD).text == "4"
    assert proxy.requests == []
    set_network(True)
    if name != "all_proxy":  # urllib reads those of the scheme alone
        assert chat("http://endpoint.invalid/v1").ask(GOOD).text == "1"


def test_an_endpoint_of_a_reasoning_model(serve: Serve) -> None:
    """One run: logprobs refused, reasoning in the text, an answer cut in it."""
    cut = {"message": {"content": "<think>Rating: 5, if"}, "finish_reason": "length"}
    answers = [
        answer_with(400, '{"error": {"message": "logprobs are not supported with reasoning models"}}'),
        complete("<think>It has 2 faults, so 3? No.</think>\n\n**Rating: 4**"),
        complete("", choices=[cut]),
    ]
    server = serve(*answers)
    scores = coherence(server.url, logprobs=True).score(TEXTS)
    assert scores.values["coherence"].tolist() == [4, NAN]
    assert scores.reasons[1] == "coherence: the judge's answer was cut after 2 tokens, before a number from 1 to 5"
    assert ["logprobs" in request for request in server.requests] == [True, False, False]
    assert "|logprobs=false|" in scores.signature


@pytest.mark.parametrize("slow", [SLOW_BODY, SLOW_HEADER])
def test_a_slow_answer_has_a_deadline(serve: Serve, slow: Answer) -> None:
    server = serve(slow)
    started = time.perf_counter()
    with pytest.raises(ChatFault, match=r"no whole answer in 0\.5 seconds") as fault:
        chat(server.url, timeout=0.5, retries=3).ask(GOOD)
    assert fault.value.passes
    assert len(server.requests) == 1
    assert time.perf_counter() - started < 5


def test_a_redirect_takes_no_question_along(serve: Serve) -> None:
    other = serve(complete("5"))
    for status in (301, 302, 303, 307, 308):
        server = serve(answer_with(status, "", Location=f"{other.url}/chat/completions"))
        with pytest.raises(ChatFault, match="elsewhere"):
            chat(server.url).ask(GOOD)
        assert other.requests == []


@pytest.mark.parametrize(("status", "message"), [(401, "refuses the key in OPENAI_API_KEY"), (404, "has no model toy")])
def test_a_wrong_key_or_model_ends_the_run(serve: Serve, status: int, message: str) -> None:
    server = serve(answer_with(status, '{"error": {"message": "no"}}'))
    with pytest.raises(SettingError, match=message):
        chat(server.url, retries=2).ask(GOOD)
    assert len(server.requests) == 2


# ---- pauses, and answers that are lost ------------------------------------------------------------------------------


class Limit:
    """Answers `most` questions a second, and asks the others to come back after a second."""

    def __init__(self, most: int) -> None:
        self.most, self.times, self.lock = most, list[float](), threading.Lock()

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        now = time.monotonic()
        with self.lock:
            is_free = sum(now - each < 1 for each in self.times) < self.most
            self.times += [now] if is_free else []
        answer = complete("4") if is_free else answer_with(429, "{}", Retry_After="1")
        answer(handler)


def test_questions_wait_as_long_as_the_endpoint_asks_for(serve: Serve) -> None:
    texts = [Example(str(i), text=f"text {i}") for i in range(10)]
    scores = LLMJudge(chat(serve(Limit(5)).url, retries=5, timeout=30.0), ("coherence",), parallel=10).score(texts)
    assert scores.reasons == (None,) * 10


def test_a_pause_of_an_hour_ends_a_question(serve: Serve) -> None:
    server = serve(complete("4"), answer_with(429, "{}", Retry_After="3600"))
    asked = chat(server.url, retries=5)
    assert asked.ask(Question("first")).text == "4"
    with pytest.raises(ChatFault, match="status 429") as fault:
        asked.ask(Question("second"))
    assert fault.value.passes
    assert len(server.requests) == 2


@pytest.mark.parametrize("number", ["²", "-1"])
def test_a_header_that_is_no_number_is_as_none(serve: Serve, number: str) -> None:
    sent = number.encode().decode("latin-1")
    answers = answer_with(503, "{}", Retry_After=sent), answer_with(200, completion("4"), X_Length=sent)
    assert chat(serve(*answers).url, retries=1).ask(GOOD).text == "4"


def test_lost_answers_are_asked_for_by_the_next_run(serve: Serve, tmp_path: Path) -> None:
    """The first run loses one of five answers, and the second one asks for it alone."""
    good, busy = complete("4"), answer_with(429, '{"error": "slow down"}')
    server = serve(good, good, busy, good, good, complete("2"))
    texts = tmp_path / "in.jsonl"
    texts.write_text("".join(f'{{"text": "text {i}"}}\n' for i in range(5)))
    ratings = list[list[float]]()
    for _ in range(3):
        judge = coherence(server.url, parallel=1, kept=tmp_path / "kept")
        found = score(texts, judge, output=tmp_path / "out.jsonl", chunk=2, stages=tmp_path / "kept")
        ratings.append(found.found.values["coherence"].tolist())
        if len(ratings) == 1:
            lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
            assert "slow down" in lines[2]["reason"]
            assert lines[2]["reason"].endswith("the answer is lost, and the next run asks again")
    assert ratings[0] == pytest.approx([4, 4, math.nan, 4, 4], nan_ok=True)
    assert ratings[1:] == [[4, 4, 2, 4, 4]] * 2
    assert len(server.requests) == 6


def test_a_run_that_loses_more_than_a_few_answers_fails(serve: Serve, tmp_path: Path) -> None:
    good, busy = complete("4"), answer_with(503, "{}")
    server = serve(*[good, busy] * 4, good)
    texts = [Example(str(i), text=f"text {i}") for i in range(8)]
    with pytest.raises(OutsideError, match=r"4 of 8 answers are lost, .* status 503: \{\}: run again"):
        coherence(server.url, parallel=1, kept=tmp_path).score(texts)
    again = coherence(server.url, parallel=1, kept=tmp_path).score(texts)
    assert again.values["coherence"].tolist() == [4] * 8
    assert len(server.requests) == 12


REFUSED = {
    "a refusal": ({"message": {"content": None, "refusal": "I cannot rate this."}}, "refused: I cannot rate this"),
    "a filter": ({"message": {"content": ""}, "finish_reason": "content_filter"}, "filter withheld the answer"),
    "nothing": ({"message": {"content": None}}, "the judge gave no number from 1 to 5"),
    "a filter's cut": (
        {"message": {"content": "Of 2 parts.\n4"}, "finish_reason": "content_filter"},
        "the judge's answer was cut",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_without_content_says_why(serve: Serve, name: str) -> None:
    choice, reason = REFUSED[name]
    server = serve(complete("", choices=[choice]), complete("4"))
    scores = coherence(server.url).score(TEXTS)
    assert reason in str(scores.reasons[0])
    assert scores.values["coherence"].tolist() == [NAN, 4]


def test_an_error_in_place_of_an_answer_has_the_words_of_the_endpoint(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = json.dumps({"error": {"message": f"upstream {KEY} is overloaded", "code": 503}})
    with pytest.raises(ChatFault, match="upstream <OPENAI_API_KEY> is overloaded") as fault:
        chat(serve(answer_with(200, said)).url).ask(GOOD)
    assert fault.value.passes


# ---- runs that stop --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("logprobs", [True, False])
def test_a_dead_port_is_told_at_once(logprobs: bool) -> None:
    found = chat(f"http://127.0.0.1:{closed_port()}/v1", retries=5, timeout=60.0, logprobs=logprobs)
    started = time.perf_counter()
    with pytest.raises(OutsideError, match=r"127\.0\.0\.1:\d+/v1 cannot be reached: .*refused"):
        LLMJudge(found, ("coherence",), parallel=4).score([Example(str(i), text="x") for i in range(200)])
    assert time.perf_counter() - started < 5


NO_ANSWERS = {
    "HTML": answer_with(200, "<html>\n<body>Welcome</body>\n</html>"),
    "a page of an error": answer_with(400, "<html>\n<body>Bad\n request</body>\n</html>"),
}


@pytest.mark.parametrize("name", [*NO_ANSWERS, "nobody"])
def test_an_endpoint_without_answers_ends_the_command_in_one_line(
    serve: Serve,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text('{"text": "a b"}\n', encoding="utf-8")
    url = serve(NO_ANSWERS[name]).url if name in NO_ANSWERS else f"http://127.0.0.1:{closed_port()}/v1"
    is_tried = str(name in ("HTML", "nobody")).lower()
    asked = {"model": "m", "base_url": url, "timeout": "1", "logprobs": is_tried}
    flags = [word for setting, value in asked.items() for word in (f"--metric.{setting}", value)]
    assert main(["score", "in.jsonl", "--metric", "llm_judge", *flags, "--stages", "none"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert url.split("/")[2] in lines[0] or "none of 1 questions got an answer" in lines[0]


def test_the_first_questions_that_fail_alike_end_the_run(serve: Serve) -> None:
    texts = [Example(str(i), text=f"text {i}") for i in range(100)]
    server = serve(answer_with(400, "no such setting"))
    with pytest.raises(OutsideError, match=r"answered none of 20 questions: .*no such setting"):
        coherence(server.url, parallel=2).score(texts)
    assert len(server.requests) < 30
    fault = answer_with(400, "no such setting")
    server = serve(*[fault] * 19, complete("4"), *[fault] * 30, complete("4"))
    scores = coherence(server.url).score(texts)
    assert sum(reason is None for reason in scores.reasons) == 51


# ---- the key ---------------------------------------------------------------------------------------------------------


def test_the_key_is_kept_nowhere(serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = 'sk-"planted"/0123456789'
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    said = f"Bearer {secret} {json.dumps(secret)} sk-%22planted%22%2F0123456789\n4"
    server = serve(complete(said, [("4", -0.1)]), answer_with(400, said))
    judge = coherence(server.url, kept=tmp_path)
    scores = judge.score(TEXTS)
    kept = "".join(path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file())
    assert "planted" not in kept + repr(scores) + judge.signature
    assert scores.explanations[0]["coherence"]["answer"].count("<OPENAI_API_KEY>") == 3
    assert scores.values["coherence"][0] == 4


def test_a_key_in_parts_is_not_kept(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "471147114711")
    parts = [{"token": part, "top_logprobs": [{"token": part, "logprob": -0.1}]} for part in ("4711471147", "11", "4")]
    server = serve(complete_positions("471147114711\n4", parts))
    assert chat(server.url).ask(GOOD) == Reply(text="<OPENAI_API_KEY>\n4", prompt_tokens=9, answer_tokens=2)


def test_a_dummy_key_is_no_secret(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    server = serve(complete("The greatest test. Rating: 4"))
    assert chat(server.url).ask(GOOD).text == "The greatest test. Rating: 4"


def test_ctrl_c_ends_a_run_that_pauses_at_once(serve: Serve) -> None:
    served = serve(answer_with(429, "busy", Retry_After="5"))
    chat = EndpointChat("toy", served.url, logprobs=False)
    judge = LLMJudge(chat, ("coherence",))
    threading.Timer(1, os.kill, [os.getpid(), signal.SIGINT]).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        judge.score(TEXTS)
    assert time.monotonic() - started < 4
    served.answers[:] = [complete("4")]
    assert judge.score(TEXTS).values["coherence"].tolist() == [4, 4]


@pytest.mark.parametrize("status", [401, 403, 404])
@pytest.mark.parametrize("logprobs", [True, False])
def test_a_text_that_an_endpoint_refuses_ends_no_run(serve: Serve, status: int, logprobs: bool) -> None:
    """Not the first one either, unless the endpoint refuses the test question too."""
    flagged, good = answer_with(status, "input was flagged"), complete("4")

    def answer(handler: BaseHTTPRequestHandler) -> None:
        said = server.requests[-1]["messages"][0]["content"]
        (flagged if "good" in said else good)(handler)

    server = serve(answer)
    found = coherence(server.url, logprobs=logprobs).score([*TEXTS, Example("c", text="good too")])
    assert found.values["coherence"].tolist() == [NAN, 4, NAN]
    assert found.reasons[0] == f"coherence: the endpoint failed with status {status}: input was flagged"


@pytest.mark.parametrize("alternatives", [[("4", -0.1), ("3", -2.5)], None])
def test_kept_replies_need_no_endpoint(
    serve: Serve, tmp_path: Path, alternatives: list[tuple[Any, Any]] | None
) -> None:
    server = serve(complete("4", alternatives))
    first, again, more = (
        load_metric("llm_judge", model="toy", base_url=server.url, cache=str(tmp_path)) for _ in range(3)
    )
    found = first.score(TEXTS)
    assert len(server.requests) == 3
    same = again.score(TEXTS)
    assert len(server.requests) == 3
    assert (same.signature, same.values["coherence"].tolist()) == (found.signature, found.values["coherence"].tolist())
    more.score([*TEXTS, Example("c", text="fair text")])
    assert ["logprobs" in request for request in server.requests] == [True, *[alternatives is not None] * 3]
