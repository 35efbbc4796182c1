"""Stages: found again, rebuilt under another dependency, resumed after a crash, built once by several processes."""

import json
import multiprocessing
import shutil
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from core.faults import InputFaults
from core.stages import Stages, fingerprint


def write(folder: Path) -> None:
    (folder / "model").write_text("whole", encoding="utf-8")


def never(folder: Path) -> None:
    raise AssertionError(f"must not be built again: {folder}")


def test_is_found_again_by_a_new_process_with_keys_in_another_order(tmp_path: Path):
    first = Stages(tmp_path).get("model", {"a": 1, "b": [2.5, None]}, write, version=1)
    again = Stages(tmp_path).get("model", {"b": [2.5, None], "a": 1}, never, version=1)
    assert again == first
    assert (first / "model").read_text(encoding="utf-8") == "whole"
    assert json.loads((first / "depends.json").read_text(encoding="utf-8")) == {
        "a": 1,
        "b": [2.5, None],
        "version": 1,
    }
    assert not list(tmp_path.glob("*.partial"))


def test_a_changed_dependency_or_name_is_another_stage(tmp_path: Path):
    stages = Stages(tmp_path)
    kept = {
        stages.get("model", {"gamma": 0.5}, write, version=1),
        stages.get("model", {"gamma": 0.25}, write, version=1),
    }
    kept.add(stages.get("negatives", {"gamma": 0.5}, write, version=1))
    assert len(kept) == 3


def test_what_a_killed_run_was_writing_is_removed(tmp_path: Path):
    stages = Stages(tmp_path)

    def crash(folder: Path) -> None:
        (folder / "inner").mkdir()
        (folder / "inner" / ".progress.json.17.partial").write_text("hal", encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stages.get("model", {"a": 1}, crash, version=1)
    final = stages.get("model", {"a": 1}, write, version=1)
    assert {path.name for path in final.rglob("*")} == {"inner", "model", "depends.json", "files.json"}


def test_what_a_crash_left_is_handed_to_the_next_run(tmp_path: Path):
    stages = Stages(tmp_path)

    def crash(folder: Path) -> None:
        (folder / "checkpoint").write_text("step 7", encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stages.get("model", {"a": 1}, crash, version=1)
    assert [path.name.split("-")[0] for path in tmp_path.glob("*.partial")] == ["model"]

    seen: list[str] = []
    final = stages.get(
        "model", {"a": 1}, lambda folder: seen.append((folder / "checkpoint").read_text("utf-8")), version=1
    )
    assert seen == ["step 7"]
    assert (final / "checkpoint").is_file()
    assert not list(tmp_path.glob("*.partial"))


def build_slowly(root: Path) -> None:
    def build(folder: Path) -> None:
        with (root / "builds").open("a", encoding="utf-8") as file:
            file.write("built\n")
        time.sleep(0.5)
        write(folder)

    assert (Stages(root / "stages").get("model", {"a": 1}, build, version=1) / "model").is_file()


def test_two_processes_at_once_build_once(tmp_path: Path):
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=build_slowly, args=(tmp_path,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert (tmp_path / "builds").read_text(encoding="utf-8") == "built\n"


def test_other_processes_wait_for_what_the_first_one_builds(tmp_path: Path):
    waiting = threading.Thread(
        target=lambda: found.append(Stages(tmp_path, first=False).get("model", {"a": 1}, never, version=1))
    )
    found: list[Path] = []
    waiting.start()
    first = Stages(tmp_path).get("model", {"a": 1}, write, version=1)
    waiting.join(timeout=10)
    assert found == [first]


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
    thread = threading.Thread(
        target=partial(other.get, "model", {"a": 1}, partial(build, "other"), together=True, version=1)
    )
    thread.start()
    kept = Stages(tmp_path).get("model", {"a": 1}, partial(build, "first"), together=True, version=1)
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert sorted(writers) == ["first", "other"]
    assert (kept / "model").is_file()


def test_a_process_that_waits_in_vain_says_so(tmp_path: Path):
    with pytest.raises(TimeoutError, match="the first process should have built"):
        Stages(tmp_path, first=False, patience=0.3).get("model", {"a": 1}, never, version=1)


@pytest.mark.parametrize("value", [np.zeros(2), Path("model"), {1, 2}, b"bytes"])
def test_a_dependency_without_a_json_form_is_an_error(tmp_path: Path, value: object):
    with pytest.raises(TypeError, match="not JSON serializable"):
        Stages(tmp_path).get("model", {"a": value}, never, version=1)
    assert not list(tmp_path.iterdir())


def test_nan_is_no_dependency():
    with pytest.raises(ValueError, match="not JSON compliant"):
        fingerprint({"a": float("nan")})


@pytest.mark.parametrize(
    "other", [{"a": 2}, {"a": 1.5}, {"a": "1"}, {"a": None}, {"b": 1}, {"a": 1, "b": 1}, {"a": [1]}]
)
def test_fingerprints_differ(other: object):
    assert fingerprint(other) != fingerprint({"a": 1})


def test_fingerprint_is_the_same_everywhere():
    # a literal: a stage kept today must be found by next year's Python
    assert fingerprint({"a": 1}) == "f9d86028c6e0d64e"  # printf '{"a": 1}' | sha256sum


def test_a_stage_of_older_code_is_not_found_again(tmp_path: Path) -> None:
    older = Stages(tmp_path).get("model", {"a": 1}, write, version=1)
    newer = Stages(tmp_path).get("model", {"a": 1}, write, version=2)
    assert older != newer
    assert json.loads((newer / "depends.json").read_text("utf-8"))["version"] == 2
    assert Stages(tmp_path).get("model", {"a": 1}, never, version=2) == newer


def test_a_partial_of_a_partial_counts_by_both() -> None:
    class Deferred(partial):  # functools flattens partials, but not subclasses of them
        pass

    inner = Deferred(int, base=10)
    assert fingerprint(partial(inner, 1)) != fingerprint(partial(Deferred(int, base=8), 1))
    assert fingerprint(partial(inner, 1)) != fingerprint(partial(inner, 2))


def test_a_link_in_the_place_of_an_unfinished_stage_is_not_written_through(tmp_path: Path):
    stages, mine = Stages(tmp_path / "stages"), tmp_path / "mine"
    name = stages.get("model", {"a": 1}, write, version=1).name
    shutil.rmtree(stages.root / name)
    mine.mkdir()
    (mine / "model").write_text("my own", encoding="utf-8")
    unfinished = stages.root / f"{name}.partial"
    unfinished.symlink_to(mine)
    with pytest.raises(InputFaults, match=r"\.partial:0: .* must not be or hold a link"):
        stages.get("model", {"a": 1}, write, version=1)
    unfinished.unlink()
    unfinished.mkdir()
    (unfinished / "model").symlink_to(mine / "model")
    with pytest.raises(InputFaults, match=r"\.partial/model:0: "):
        stages.get("model", {"a": 1}, write, version=1)
    assert [path.name for path in mine.iterdir()] == ["model"]
    assert (mine / "model").read_text(encoding="utf-8") == "my own"
