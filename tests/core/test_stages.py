"""Stages and caches: found again, resumed after a crash, shared by processes."""

import hashlib
import json
import logging
import math
import multiprocessing
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from core.configs import CONFIGS
from core.errors import SettingError
from core.source import hash_sources
from core.stages import SETTLED, Cache, Stages, check_writable, file_sha256, fingerprint


def write(folder: Path) -> None:
    (folder / "model").write_text("whole", encoding="utf-8")


def never(folder: Path) -> None:
    raise AssertionError(f"must not be built again: {folder}")


def build(action: Callable[[Path], None], folder: Path) -> None:
    """Builds a stage as a test wants it; its code is the same in each."""
    action(folder)


def test_is_found_again_by_a_new_process_with_keys_in_another_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    values: dict[str, Any] = {"a": 1, "b": [2.5, None], "c": {2: "x", 10: "y"}}  # JSON sorts "10" before "2"
    first = Stages(tmp_path).get("model", values, partial(build, write))
    again = Stages(tmp_path)
    for _ in range(3):
        assert again.get("model", dict(reversed(values.items())), partial(build, never)) == first
    assert [record.getMessage() for record in caplog.records] == [f"found {first}"] * 3
    assert (first / "model").read_text(encoding="utf-8") == "whole"
    depends = json.loads((first / "depends.json").read_text(encoding="utf-8"))
    assert depends == {**values, "c": {"2": "x", "10": "y"}, "code": hash_sources([build])}
    assert not list(tmp_path.glob("*.partial"))


def test_what_a_crash_left_is_handed_to_the_next_run_but_for_what_it_was_writing(tmp_path: Path):
    stages = Stages(tmp_path)

    def crash(folder: Path) -> None:
        (folder / "checkpoint").write_text("step 7", encoding="utf-8")
        (folder / "inner").mkdir()
        (folder / "inner" / ".progress.json.17.partial").write_text("hal", encoding="utf-8")
        raise KeyboardInterrupt

    def go_on(folder: Path) -> None:
        assert (folder / "checkpoint").read_text("utf-8") == "step 7"

    with pytest.raises(KeyboardInterrupt):
        stages.get("model", {"a": 1}, partial(build, crash))
    assert [path.name.split("-")[0] for path in tmp_path.glob("*.partial")] == ["model"]
    final = stages.get("model", {"a": 1}, partial(build, go_on))
    assert {path.name for path in final.rglob("*")} == {"inner", "checkpoint", "depends.json", "files.json"}
    assert not list(tmp_path.glob("*.partial"))


def test_equal_work_under_another_name_is_done_once_where_the_name_is_a_label(tmp_path: Path):
    stages = Stages(tmp_path)
    first = stages.get("amateur", {"a": 1}, partial(build, write))
    assert stages.get("baseline", {"a": 1}, partial(build, never), any_name=True) == first
    assert stages.get("baseline", {"a": 2}, partial(build, write), any_name=True) != first
    assert stages.get("other", {"a": 1}, partial(build, write)) != first


def build_slowly(root: Path) -> None:
    def build(folder: Path) -> None:
        with (root / "builds").open("a", encoding="utf-8") as file:
            file.write("built\n")
        time.sleep(0.5)
        write(folder)

    assert (Stages(root / "stages").get("model", {"a": 1}, build) / "model").is_file()


def run_in_processes(target: Callable[..., None], *arguments: tuple[object, ...]) -> None:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=target, args=given) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert {process.exitcode for process in processes} == {0}


def test_two_processes_at_once_build_once(tmp_path: Path):
    run_in_processes(build_slowly, (tmp_path,), (tmp_path,))
    assert (tmp_path / "builds").read_text(encoding="utf-8") == "built\n"


def test_other_processes_build_with_the_first_one_where_all_are_needed(tmp_path: Path):
    meeting = threading.Barrier(2)
    writers: list[str] = []

    def build(who: str, folder: Path) -> None:
        meeting.wait(timeout=10)  # a lock held by one of them would keep the other from coming here
        writers.append(who)
        if who == "first":
            write(folder)
        meeting.wait(timeout=10)

    other = Stages(tmp_path, first=False)
    thread = threading.Thread(target=partial(other.get, "model", {"a": 1}, partial(build, "other"), together=True))
    thread.start()
    kept = Stages(tmp_path).get("model", {"a": 1}, partial(build, "first"), together=True)
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert sorted(writers) == ["first", "other"]
    assert (kept / "model").is_file()


@pytest.mark.parametrize("value", [np.zeros(2), Path("model"), {1, 2}, b"bytes", float("nan")])
def test_a_dependency_without_a_json_form_is_an_error(tmp_path: Path, value: object):
    with pytest.raises((TypeError, ValueError), match=r"not JSON (serializable|compliant)"):
        Stages(tmp_path).get("model", {"a": value}, partial(build, never))
    assert not list(tmp_path.iterdir())


def test_fingerprint_is_the_same_everywhere():
    # a literal: a stage kept today must be found by next year's Python
    assert fingerprint({"a": 1}) == "f9d86028c6e0d64e"  # printf '{"a": 1}' | sha256sum


@dataclass(frozen=True)
class Plan:
    """Settings of a stage."""

    steps: int = 1


@dataclass(frozen=True)
class LongPlan:
    """Other settings with the same values."""

    steps: int = 1


def test_the_code_of_settings_counts(tmp_path: Path) -> None:
    stages = Stages(tmp_path)
    kept = {
        stages.get("model", {"plan": plan, "inner": [partial(function)]}, partial(build, write))
        for plan in (Plan(), LongPlan())
        for function in (never, write)
    }
    assert len(kept) == 4
    for stage in kept:
        code = json.loads((stage / "depends.json").read_text("utf-8"))["code"]
        assert code not in ({}, hash_sources([build]))


EQUATION = """
def momentum(expert, amateur):
    return expert - amateur

def build(folder):
    (folder / "momentum").write_text(str(momentum(3, 1)))
"""
PROGRAM = """
import logging, sys
from pathlib import Path
from core.stages import Stages
from my_steps.equation import build
logging.basicConfig(level=logging.INFO, format="%(message)s")
print((Stages(Path(sys.argv[1])).get("momentum", {"a": 1}, build) / "momentum").read_text())
"""


def build_momentum(folder: Path, equation: str) -> tuple[str, str]:
    """What a new process finds for this source, and what it logs."""
    (folder / "my_steps").mkdir(exist_ok=True)
    (folder / "my_steps" / "equation.py").write_text(equation, "utf-8")
    (folder / "run.py").write_text(PROGRAM, "utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{CONFIGS.parent}{os.pathsep}{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(folder / "run.py"), str(folder / "stages")]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return ended.stdout.strip(), ended.stderr.strip()


def test_a_changed_equation_builds_a_stage_again_and_a_changed_comment_finds_it(tmp_path: Path) -> None:
    assert build_momentum(tmp_path, EQUATION) == ("2", "")
    (first,) = (tmp_path / "stages").glob("momentum-*[0-9a-f]")
    commented = EQUATION.replace("return expert", '"""Eq. 4."""\n    return expert').replace(
        "amateur\n", "amateur  # nats\n"
    )
    assert build_momentum(tmp_path, commented) == ("2", f"found {first}")
    changed = build_momentum(tmp_path, EQUATION.replace("expert - amateur", "max(expert - amateur, 7)"))
    files = "These files differ: my_steps/equation.py"
    assert changed == ("7", f"{first} was made by other code, so it is made again. {files}")
    assert build_momentum(tmp_path, EQUATION) == ("2", f"found {first}")


def test_a_stage_in_the_place_of_another_one_is_built_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def name(text: str, folder: Path) -> None:
        (folder / "name").write_text(text, "utf-8")

    def find(a: int) -> Path:
        return Stages(tmp_path).get("model", {"a": a}, partial(name, str(a)))

    one, two = find(1), find(2)
    one.rename(tmp_path / "aside")
    two.rename(one)
    (tmp_path / "aside").rename(two)
    assert [(find(a) / "name").read_text("utf-8") for a in (1, 2)] == ["1", "2"]
    assert caplog.text.count(" is damaged or of another stage") == 2


def test_a_lock_does_not_shut_out_other_users_of_a_shared_folder(tmp_path: Path) -> None:
    Stages(tmp_path).get("model", {"a": 1}, partial(build, write))
    open_cache(tmp_path).add({"a": 1})
    assert [stat.S_IMODE(lock.stat().st_mode) for lock in tmp_path.glob("*.lock")] == [0o666, 0o666]


def test_a_folder_that_cannot_be_written_is_a_wrong_setting(tmp_path: Path) -> None:
    check_writable("stages_dir", tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())
    with pytest.raises(SettingError, match="stages_dir must be a folder that can be written, but /sys/stages cannot"):
        check_writable("stages_dir", Path("/sys/stages"))


# ---- caches ----------------------------------------------------------------------------------------------------------


def open_cache(root: Path, depends: str = "model") -> Cache:
    return Stages(root).open_cache("replies", {"model": depends}, code=[fail])


def list_values(cache: Cache) -> dict[str, Any]:
    return {key: cache[key] for key in ("a", "b", *(f"{name} {i}" for name in "ab" for i in range(50))) if key in cache}


def fail() -> Any:
    raise AssertionError("must not be made again")


def test_a_value_is_made_once_and_found_by_the_next_process(tmp_path: Path) -> None:
    root = tmp_path / "new" / "stages"
    value = {"text": "a\tb\n\u2028\ud83d", "numbers": [1.5, -math.inf, None], "none": None}
    assert open_cache(root).get("a", lambda: value) == value
    again = open_cache(root)
    assert again.get("a", fail) == value
    assert math.isnan(again.get("b", lambda: math.nan))
    assert math.isnan(open_cache(root).get("b", fail))
    assert open_cache(root).get("none", lambda: None) is open_cache(root).get("none", fail) is None
    assert list_values(open_cache(root, "other")) == {}


FIRST, SECOND = "first " * 50, "second"


@pytest.mark.parametrize(
    ("damage", "kept", "is_said"),
    [
        (lambda content: content[: len(content) // 2], {}, True),
        (lambda content: content[:-1], {"a": FIRST, "b": SECOND}, False),
        (lambda content: content.replace(b"first", b"fir5t"), {"b": SECOND}, True),
        (lambda content: bytes(len(content)), {}, True),
        (lambda content: b"", {}, False),
    ],
    ids=["truncated", "last line unfinished", "changed", "zeroed", "empty"],
)
def test_damaged_values_are_made_again_and_whole_ones_stay(
    tmp_path: Path,
    damage: Callable[[bytes], bytes],
    kept: dict[str, str],
    is_said: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache = open_cache(tmp_path)
    cache.add({"a": FIRST, "b": SECOND})
    cache.file.write_bytes(damage(cache.file.read_bytes()))
    again = open_cache(tmp_path)
    assert list_values(again) == kept
    assert ("1 damaged values are made again" in caplog.text) == is_said
    assert again.get("a", lambda: FIRST) == FIRST
    assert again.get("b", lambda: SECOND) == SECOND
    assert list_values(open_cache(tmp_path)) == {"a": FIRST, "b": SECOND}


def test_a_cache_in_the_place_of_another_one_is_not_read(tmp_path: Path) -> None:
    one, two = open_cache(tmp_path, "one"), open_cache(tmp_path, "two")
    one.add({"a": 1})
    two.add({"a": 2})
    one.file.rename(two.file)
    again = open_cache(tmp_path, "two")
    assert "a" not in again
    again.add({"a": 3})
    assert list_values(open_cache(tmp_path, "two")) == {"a": 3}


def test_a_cache_of_other_code_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    open_cache(tmp_path).add({"a": 1})
    other = Stages(tmp_path).open_cache("replies", {"model": "model"}, code=[build])
    assert "a" not in other
    assert "was made by other code, so it is made again. These files differ: " in caplog.text
    assert "test_stages.py" in caplog.text


def add_many(root: Path, name: str) -> None:
    cache = open_cache(root)
    for i in range(50):
        cache.add({f"{name} {i}": [name] * i})


def test_several_processes_extend_a_cache_at_once(tmp_path: Path) -> None:
    run_in_processes(add_many, (tmp_path, "a"), (tmp_path, "b"))
    assert list_values(open_cache(tmp_path)) == {f"{name} {i}": [name] * i for name in "ab" for i in range(50)}


def test_an_unfinished_stage_that_is_or_holds_a_link_is_put_aside_and_not_written_through(tmp_path: Path):
    stages, mine = Stages(tmp_path / "stages"), tmp_path / "mine"
    name = stages.get("model", {"a": 1}, partial(build, write)).name
    mine.mkdir()
    (mine / "model").write_text("my own", encoding="utf-8")
    unfinished = stages.root / f"{name}.partial"

    def link_all() -> None:
        unfinished.symlink_to(mine)

    def link_a_file() -> None:
        unfinished.mkdir()
        (unfinished / "model").symlink_to(mine / "model")

    for plant in (link_all, link_a_file):
        shutil.rmtree(stages.root / name)
        plant()
        stages.get("model", {"a": 1}, partial(build, write))
        assert [path.name for path in mine.iterdir()] == ["model"]
        assert (mine / "model").read_text(encoding="utf-8") == "my own"
        assert not list(stages.root.glob("*.partial"))


def test_a_link_in_the_place_of_a_lock_is_removed_by_a_run_and_refused_by_filelock(tmp_path: Path) -> None:
    stages, mine = Stages(tmp_path / "stages"), tmp_path / "mine"
    mine.write_text("my own", encoding="utf-8")
    name = stages.get("model", {"a": 1}, partial(build, write)).name
    lock = stages.root / f"{name}.lock"
    shutil.rmtree(stages.root)
    stages.root.mkdir()
    lock.symlink_to(mine)
    with pytest.raises(OSError, match="symbolic links"), FileLock(lock):
        pass
    stages.get("model", {"a": 1}, partial(build, write))
    assert mine.read_text(encoding="utf-8") == "my own"


@pytest.mark.parametrize("end", [".partial", ".lock", "/files.json"])
def test_what_stands_in_the_place_of_a_part_of_a_stage_is_put_aside(end: str, tmp_path: Path) -> None:
    """A file for a folder, a folder for a lock, and a list of files that is nested too deeply to be read."""
    stages = Stages(tmp_path)
    place = stages.get("model", {"a": 1}, partial(build, write))
    planted = Path(f"{place}{end}")
    if end == "/files.json":
        planted.write_text("[" * 100_000)
    else:
        shutil.rmtree(place)
        planted.unlink(missing_ok=True)
    if end == ".partial":
        planted.write_text("a file")
    if end == ".lock":
        planted.mkdir()
    again = Stages(tmp_path).get("model", {"a": 1}, partial(build, write))
    assert (again, (again / "model").is_file()) == (place, True)


def test_a_link_in_the_place_of_a_cache_is_not_written_through(tmp_path: Path) -> None:
    cache, mine = open_cache(tmp_path / "stages"), tmp_path / "mine"
    mine.write_text("my own")
    cache.file.parent.mkdir(parents=True)
    cache.file.symlink_to(mine)
    cache.add({"a": 1})
    assert list_values(open_cache(tmp_path / "stages")) == {"a": 1}
    assert mine.read_text() == "my own"


# ---- hashes of files -------------------------------------------------------------------------------------------------


def test_a_changed_file_of_the_same_size_and_time_is_read_again(tmp_path: Path):
    path = tmp_path / "weights"
    path.write_bytes(b"whole")
    then = time.time() - 10 * SETTLED
    os.utime(path, (then, then))
    before, state = file_sha256(path), path.stat()
    path.write_bytes(b"whale")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # the time of the inode's change cannot be put back
    assert file_sha256(path) == hashlib.sha256(b"whale").hexdigest() != before
