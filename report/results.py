"""Results: writes the files of a run folder from a Study.

A run clears its folder first. `results.json` comes last, so a folder with it is complete.
"""

import json
import math
import os
import platform
import re
import shutil
import sys
from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from core.errors import SettingError
from core.notes import TINY, write_note
from core.objects import leaves
from core.stages import FILES, check_place, fingerprint
from data.text_files import open_atomically
from meta_eval.scored_set import ScoredSet
from report.study import Study
from report.tables import Table

LIBRARIES = ("torch", "pytorch-lightning", "transformers", "tokenizers", "numpy", "scipy", "hydra-core", "wandb")
LONGEST_NAME = 200  # bytes
ENDINGS = ("png", "svg", "pdf")  # of plots
MARK = ".run"  # marks the folder of a run or a sweep; who writes into the folder holds a lock on this file
WRITTEN = ("results.json", "scores.jsonl", "report.html", "config.yaml", "plots", "tables", "models")
WRITTEN += ("answers.jsonl",)


def to_json(value: Any) -> Any:
    """Converts `value` for JSON: NaN and infinities to None, numpy numbers to Python numbers, tuples to lists."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def encode_json(value: Any, indent: int | None = None) -> str:
    """Writes the value as strict JSON (`to_json`), with a line break at its end."""
    text = json.dumps(
        to_json(value),
        indent=indent,
        ensure_ascii=False,
        allow_nan=False,
    )
    return f"{text}\n"


def results(outcome: Study, run: Mapping[str, Any]) -> dict[str, Any]:
    """Makes the content of results.json: facts about the run (its command, its times), then its outcome."""
    return {
        **run,
        "timings": {step: round(seconds, 3) for step, seconds in run["timings"].items()},
        "seconds": round(run["seconds"], 3),
        "signature": outcome.signature,
        "synthetic": outcome.synthetic or any(scored.synthetic for scored in outcome.scored),
        "notes": outcome.said,
        "table": [row for table in outcome.tables for row in table.to_json()],
        "figures": dict(outcome.figures),
        "files": [str(file) for file in outcome.files],
        "versions": {"judging-generated-text": version("judging-generated-text"), **library_versions()},
        "machine": name_machine(),
    }


def library_versions() -> dict[str, str]:
    """Lists the versions of the installed libraries that can change results."""
    versions: dict[str, str] = {}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):  # a light installation has no torch
            versions[name] = version(name)
    return versions


def name_machine() -> str:
    """Names the processor and, if torch was used, its threads, its instructions and the GPUs that were used.

    All of them change trained models.
    """
    info = Path("/proc/cpuinfo")
    content = info.read_text("utf-8") if info.is_file() else ""
    model = re.search(r"^model name\s*: (.+)$", content, re.MULTILINE)
    processor = model[1] if model else platform.processor() or platform.machine()
    named = [f"{processor} ({os.cpu_count()} cores)"]
    if torch := sys.modules.get("torch"):
        named += [f"{torch.get_num_threads()} threads", torch.backends.cpu.get_cpu_capability()]
        gpus = range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0)
        named += [torch.cuda.get_device_name(i) for i in gpus if torch.cuda.max_memory_allocated(i)]
    return ", ".join(named)


def score_line(scored: ScoredSet, number: int) -> dict[str, Any]:
    """Makes the record of one example of a set: ratings, scores by metric and aspect, and reasons for null scores.

    The hash of the text tells whether two runs scored the same texts.
    """
    example = scored.examples[number]
    values: dict[str, Any] = {}
    found: dict[str, dict[str, Any]] = {"dropped_tokens": {}, "reasons": {}, "explanations": {}}
    for name, scores in scored.scores.items():
        values[name] = {aspect: column[number] for aspect, column in scores.values.items()}
        if scores.dropped_tokens[number]:
            found["dropped_tokens"][name] = scores.dropped_tokens[number]
        if scores.reasons[number] is not None:
            found["reasons"][name] = scores.reasons[number]
        if scores.explanations:
            found["explanations"][name] = scores.explanations[number]
    return {
        "set": scored.name,
        "id": example.id,
        "system": example.system,
        "group": example.group,
        "text_hash": fingerprint(example.full_text),
        "ratings": dict(example.ratings),
        "scores": values,
        **found,
    }


def check_run_folder(folder: Path, setting: str = "hydra.run.dir", beside: Collection[str] = ()) -> None:
    """Raises SettingError for a folder with other content than an earlier run or sweep.

    A new folder is allowed, and so is a folder that has only the names `beside`.
    """
    check_place(setting, folder)
    if not os.path.lexists(folder):
        return
    mark = folder / MARK
    is_marked = mark.is_file() and not mark.is_symlink()
    is_free = folder.is_dir() and all(path.name in beside for path in folder.iterdir())
    if not is_marked and not is_free:
        rule = f"{setting} must be a new or empty folder, or the folder of an earlier run (with the file {MARK})"
        raise SettingError(f"{rule}, but is {folder}")


@contextmanager
def claim_folder(folder: Path, setting: str = "hydra.run.dir", beside: Collection[str] = ()) -> Iterator[None]:
    """Creates the folder of a run or a sweep, or takes over that of an earlier one; locks it during the block.

    Raises SettingError for a folder that is not a run's (`check_run_folder`), that another run writes into, or that
    cannot be written to.
    """
    check_run_folder(folder, setting, beside)
    lock = FileLock(folder / MARK)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as error:
        fault = f"another run writes into {setting}={folder}"
        raise SettingError(f"{fault}: wait until it ends, or name another folder") from error
    except OSError as error:
        raise SettingError(f"cannot write to {setting}: {error}") from error
    try:
        yield
    finally:
        lock.release()


def clear_folder(folder: Path) -> None:
    """Deletes the outputs of an earlier run from its folder. Its log and kept stages stay."""
    for name in WRITTEN:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def refuse_cleared(settings: Mapping[str, Any], folder: Path, setting: str) -> None:
    """Raises SettingError for a value, or what follows its `=`, that names what a run in `folder` would delete."""
    for key, value in leaves(settings):
        text = str(value).replace("\0", "") if isinstance(value, str | Path) else ""
        for name in filter(None, (text, text.partition("=")[2])):
            path = Path(os.path.realpath(name))  # Path.resolve fails where links form a loop
            if any(path.is_relative_to(folder / written) for written in WRITTEN):
                raise SettingError(f"{key}={value} is in {folder}, which is cleared: choose another {setting}")


def write_models(outcome: Study, folder: Path) -> None:
    """Copies the model folders into `models/`, as hard links if the file system supports them.

    A model that learned synthetic text gets a note, which is shown with all its scores (`core.notes`).
    """
    for name, model in outcome.models.items():
        copy = folder / "models" / name
        shutil.copytree(
            model.folder,
            copy,
            copy_function=_link,
            ignore=shutil.ignore_patterns(FILES),
        )
        if outcome.synthetic:
            write_note(copy, TINY)


def name_files(names: Iterable[str]) -> dict[str, str]:
    """Finds safe file names, for LaTeX and every system, for plots or tables that may be named after the user's data.

    >>> name_files(["human coherence", "human_coherence", "Difference?"])
    {'human coherence': 'human_coherence', 'human_coherence': 'human_coherence_2', 'Difference?': 'Difference'}
    """
    files: dict[str, str] = {}
    for name in names:
        safe = re.sub(r"[^\w+-]+", "_", name).strip("_")
        if not safe or len(safe.encode()) > LONGEST_NAME:
            safe = f"{safe[: LONGEST_NAME // 8]}-{fingerprint(name)}"
        taken = {file.lower() for file in files.values()}  # some systems do not distinguish upper and lower case
        numbered = (f"{safe}_{number}" for number in count(2))
        candidates = chain([safe], numbered)
        files[name] = next(file for file in candidates if file.lower() not in taken)
    return files


def write_plots(outcome: Study, folder: Path, endings: Sequence[str] = ("png",)) -> None:
    """Draws each plot into `plots/` (see `name_files`) as a file of each ending."""
    if not outcome.plots:
        return
    from report.plots import save_figure

    (folder / "plots").mkdir(exist_ok=True)
    for name, file in name_files(outcome.plots).items():
        for ending in endings:
            save_figure(outcome.plots[name], folder / "plots" / f"{file}.{ending}")


def write_tables(tables: Iterable[Table], folder: Path) -> None:
    """Writes each table that has rows as `NAME.csv`, `.md` and `.tex`."""
    by_name = {table.name.lower(): table for table in tables if table.rows}
    for name, file in name_files(by_name).items():
        folder.mkdir(exist_ok=True)
        with (folder / f"{file}.csv").open("w", encoding="utf-8", newline="") as csv:
            by_name[name].write_csv(csv)
        (folder / f"{file}.md").write_text(by_name[name].to_markdown(), encoding="utf-8")
        (folder / f"{file}.tex").write_text(by_name[name].to_latex(), encoding="utf-8")


def write_scores(outcome: Study, folder: Path) -> None:
    """Writes scores.jsonl if a set was scored."""
    if not outcome.scored:
        return
    with open_atomically(folder / "scores.jsonl") as file:
        for scored in outcome.scored:
            file.writelines(encode_json(score_line(scored, number)) for number in range(len(scored)))


def write_json(content: Any, path: Path) -> None:
    """Writes strict JSON."""
    with open_atomically(path) as file:
        file.write(encode_json(content, indent=2))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(source, target)
