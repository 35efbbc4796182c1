"""Secrets of the environment are in no file that a run leaves, and in no line that it prints."""

import json
import logging
import random
import sys
from collections.abc import Callable
from pathlib import Path
from string import ascii_letters, digits
from typing import Any

import pytest
import yaml

from experiments.runner.journal import LineFormatter
from experiments.runner.redaction import is_random, redact, referenced

TOKEN = "hf_Planted0123456789"
SHORT = "s3cr3t"
KEY = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA0123456789\nq7bDDX8xkfEpZ4mYz\n-----END KEY-----\n"
Run = Callable[..., Any]
PHRASE = "correct horse battery staple " * 5
VALUES = {
    "HF_TOKEN": TOKEN,
    "TOKEN_PROD": SHORT,
    "DATABASE_URL": "postgres://me:pass-word@db/x",
    "GITHUB_PAT": "ghp_0123456789",
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "MY_SERVER": "https://me:other-word@example.org/",
    "SSH_KEY": KEY,
    "VAULT_PASSPHRASE": PHRASE,
}
WRITTEN = [
    *(TOKEN, SHORT, "pass-word", "ghp_", "AKIA", "other-word", "q7bDDX8xkfEpZ4mYz", "MIIEow", "horse", "Planted St")
]


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)
    others = {"SHORT_KEY": "abc", "MAX_TOKENS": "512", "OPENAI_API_KEY": "none", "PLACE": "Planted Street 12"}
    for name, value in others.items():
        monkeypatch.setenv(name, value)
    referenced.clear()


def test_values_are_replaced_by_their_names() -> None:
    assert redact(f"Bearer {TOKEN}, Planted Street 12") == "Bearer <HF_TOKEN>, Planted Street 12"
    for name, value in VALUES.items():
        assert redact(f"x {value.strip()} x") == f"x <{name}> x"
    assert redact(f"({SHORT}) {SHORT}s _{SHORT}") == f"(<TOKEN_PROD>) {SHORT}s _{SHORT}"  # whole words


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        *((n, "plain words", True) for n in ("MYSQL_PWD", "OPENAI_API_KEY2", "SLACK_WEBHOOK_URL", "TOKEN_1", "COOKIE")),
        ("SERVICE", "sk-proj-a8Kq2ZtB7mWx4RfL9dYc", True),
        ("HOOK", "https://hooks.example/services/T0AB/B1CD/x9Kq2ZtB7mWx4RfL9dYc", True),
        ("PWD", "/srv/one", False),
        ("GIT_COMMIT", "2cb1bc4f0e9d8c7b6a5f4e3d2c1b0a9f8e7d6c5b", False),
        ("MODEL", "sentence-transformers/all-MiniLM-L6-v2", False),
        ("RUN_ID", "123e4567-e89b-12d3-a456-426614174000", False),
        ("STAGE", "discriminator_bert-0123456789abcdef", False),
    ],
)
def test_a_secret_is_known_by_its_name_or_by_a_random_part(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, is_secret: bool
) -> None:
    monkeypatch.setenv(name, value)
    assert redact(f"x {value} x") == (f"x <{name}> x" if is_secret else f"x {value} x")


def test_most_drawn_keys_are_random() -> None:
    rng = random.Random(0)
    drawn = {n: ["".join(rng.choices(ascii_letters + digits, k=n)) for _ in range(1000)] for n in (20, 32, 48)}
    shares = {n: sum(map(is_random, keys)) / len(keys) for n, keys in drawn.items()}
    assert (shares[20] > 0.75, shares[32] > 0.95, shares[48] > 0.99) == (True, True, True), shares


def test_a_value_is_found_as_messages_write_it() -> None:
    assert redact(repr(KEY.strip())) == "'<SSH_KEY>'"
    assert redact(json.dumps([KEY.strip()])) == '["<SSH_KEY>"]'
    assert redact(" ".join(PHRASE.split())) == "<VAULT_PASSPHRASE>"
    assert redact("https://x/?q=postgres%3A%2F%2Fme%3Apass-word%40db%2Fx") == "https://x/?q=<DATABASE_URL>"
    assert redact("one line: MIIEowIBAAKCAQEA0123456789") == "one line: <SSH_KEY>"


def test_a_traceback_is_logged_without_secrets() -> None:
    try:
        raise ValueError(f"401 for {TOKEN}")
    except ValueError as error:
        record = logging.makeLogRecord({"msg": f"asked with {TOKEN}", "exc_info": (ValueError, error, None)})
    line = LineFormatter("%(message)s").format(record)
    assert TOKEN not in line
    assert line.count("<HF_TOKEN>") == 2


def find_secrets(folder: Path) -> list[tuple[str, str]]:
    """The secrets in the files below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 8
    return [(path.name, text) for path in files for text in WRITTEN if text.encode() in path.read_bytes()]


READ = ", ".join(f"{name}: ${{oc.env:{name}}}" for name in (*VALUES, "PLACE"))
SETTINGS = (
    "+exp=toy",
    "network=true",
    "run_dir=here",
    f"+recipe.read={{{READ}}}",
    "description=${oc.env:HF_TOKEN} of ${oc.env:PLACE}",
)
SETTINGS += (f"ending='{TOKEN} {SHORT} {PHRASE}'",)


def check_printed(ended: Any, *named: str) -> None:
    """A run names the secrets' variables and no secret on the terminal."""
    printed = ended.stdout + ended.stderr
    assert all(name in printed for name in named)
    assert not [text for text in WRITTEN if text in printed]


@pytest.mark.filterwarnings("default")  # the toy's own
@pytest.mark.parametrize("logger", ["csv", "wandb"])
def test_no_file_of_a_run_holds_a_secret(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logger: str):
    monkeypatch.setattr(sys, "argv", ["experiments/run.py", *SETTINGS])
    ended = run(*SETTINGS, f"logger={logger}")
    assert ended.returncode == 0
    config = yaml.safe_load((tmp_path / "here" / "config.yaml").read_text("utf-8"))
    found = {name: text.strip() for name, text in config["recipe"]["read"].items()}
    assert found == {name: f"<{name}>" for name in (*VALUES, "PLACE")}
    results = json.loads((tmp_path / "here" / "results.json").read_text("utf-8"))
    assert results["description"] == "<HF_TOKEN> of <PLACE>"
    assert results["command"][-2] == "ending='<HF_TOKEN> <TOKEN_PROD> <VAULT_PASSPHRASE> '"
    assert find_secrets(tmp_path) == []
    check_printed(ended)


@pytest.mark.filterwarnings("default")
def test_no_file_of_a_sweep_holds_a_secret(run: Run, tmp_path: Path) -> None:
    ended = run("-m", *SETTINGS[:5], f"ending={TOKEN},{SHORT}", "logger=none")
    assert ended.returncode == 0
    assert find_secrets(tmp_path) == []
    sweep = json.loads((tmp_path / "here" / "sweep.json").read_text("utf-8"))
    assert [job["settings"]["ending"] for job in sweep["jobs"]] == ["<HF_TOKEN>", "<TOKEN_PROD>"]
    assert "ending=<HF_TOKEN>,<TOKEN_PROD>" in sweep["command"]
    check_printed(ended)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (("+exp=toy", f"seed={TOKEN}"), 2),
        (("+exp=toy", f"ending='{TOKEN}"), 2),
        (("-m", "+exp=toy", f"metric={TOKEN},{TOKEN}"), 2),
        (("+exp=score", "metric=word_count", f"data.path={TOKEN}", "output=out.jsonl"), 2),
        (("+exp=toy", f"ending={TOKEN}", "description=${oc.env:SSH_KEY}", "--cfg", "job"), 0),
    ],
    ids=str,
)
def test_no_message_holds_a_secret(run: Run, settings: tuple[str, ...], code: int) -> None:
    ended = run(*settings)
    assert ended.returncode == code
    check_printed(ended, "<HF_TOKEN>")


def test_an_output_with_a_secret_in_its_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a b"}\n' * 9, encoding="utf-8")
    files = ("data.path=in.jsonl", f"output={TOKEN}.jsonl", "run_dir=here")
    ended = run("+exp=score", "metric=word_count", "logger=csv", *files)
    assert ended.returncode == 0
    assert (tmp_path / f"{TOKEN}.jsonl").is_file()
    assert find_secrets(tmp_path) == []
    check_printed(ended, "wrote <HF_TOKEN>.jsonl")
