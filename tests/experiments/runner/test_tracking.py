"""What arrives in an offline Weights & Biases run, read back from its file."""

import json
import math
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from wandb.errors import CommError, UsageError
from wandb.proto.wandb_internal_pb2 import Record  # pyright: ignore[reportAttributeAccessIssue]

from core.errors import SettingError
from experiments.contracts import Study
from experiments.runner.tracking import WandbTracking
from meta_eval.agreement import NO_QUESTION, Agreement
from meta_eval.estimates import Estimate
from report.agreement_tables import tabulate_agreement

pytestmark = pytest.mark.filterwarnings("default")

BLOCK, HEADER = 32768, 7
FULL, FIRST, LAST = 1, 2, 4


def records(path: Path) -> Iterator[Record]:
    """The records of a .wandb file: LevelDB's log format (blocks, parts with checksum, length and kind)."""
    data = path.read_bytes()
    assert data[:4] == b":W&B"
    at, parts = HEADER, b""
    while at + HEADER <= len(data):
        if BLOCK - at % BLOCK < HEADER:
            at += BLOCK - at % BLOCK
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + HEADER])
        if not kind:
            return  # space that is yet to be written
        part = data[at + HEADER : at + HEADER + length]
        at += HEADER + length
        parts = part if kind in (FULL, FIRST) else parts + part
        if kind in (FULL, LAST):
            record = Record()
            record.ParseFromString(parts)
            yield record


def whole(path: Path) -> list[Record]:
    """All records, once the last one is there: W&B's own process writes the file and may still be at it."""
    deadline = time.monotonic() + 20
    while True:
        found = list(records(path))
        if any(record.HasField("exit") for record in found):
            return found
        assert time.monotonic() < deadline, f"{path} has no exit record, but {len(found)} others"
        time.sleep(0.1)


def test_names_metrics_config_table_and_plots_arrive(run_here: Callable[..., int], tmp_path: Path) -> None:
    """Of a job of a sweep, which is one of a group and named by what varies."""
    assert run_here("-m", "+exp=toy", "logger=wandb", "hydra.sweep.dir=here", "seed=choice(4)") == 0
    folder = tmp_path / "here" / "0"
    file = find_file(folder)
    assert {path.name for path in tmp_path.iterdir()} == {"here", "outputs"}

    history: list[dict[str, Any]] = []
    config: dict[str, Any] = {}
    names: set[tuple[str, str]] = set()
    for record in whole(file):
        if record.HasField("run"):
            names.add((record.run.display_name, record.run.run_group))
        if record.HasField("history"):
            history.append({"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in record.history.item})
        for item in (*record.config.update, *record.run.config.update):
            config[item.key or ".".join(item.nested_key)] = json.loads(item.value_json)

    assert names == {("toy/seed=4", "toy/here")}
    losses = [line["expert/loss"] for line in history if "expert/loss" in line]
    assert losses[:2] == [4.0, pytest.approx(2.56)]
    assert [line["trainer/global_step"] for line in history[:8]] == list(range(8))
    assert config["seed"] == 4
    assert config["gamma"] == 0.5
    last = history[-1]
    assert (last["tables/agreement/_type"], last["tables/agreement/nrows"]) == ("table-file", 3)
    table = json.loads((file.parent / "files" / last["tables/agreement/path"]).read_text())
    first = dict(zip(table["columns"], table["data"][0], strict=True))
    assert (first["metric"], first["spearman"]) == ("count", 1.0)
    assert math.isnan(first["spearman_low"])  # twelve examples have no interval
    assert last["plots/rating/_type"] == "image-file"
    picture = (file.parent / "files" / last["plots/rating/path"]).read_bytes()
    assert picture == (folder / "plots" / "rating.png").read_bytes()


def find_file(folder: Path) -> Path:
    """The file of the only W&B run in a folder."""
    (file,) = (folder / "wandb").glob("offline-run-*/run-*.wandb")
    return file


def track(folder: Path, mode: Any = "offline", **about: Any) -> WandbTracking:
    """Begins a W&B run."""
    where: dict[str, Any] = {"project": "test", "entity": None, "mode": mode, "tags": []}
    return WandbTracking(folder=folder, name="test", config={}, **where, **about)


def test_every_agreement_is_a_number_of_the_summary_with_its_interval_ends(tmp_path: Path) -> None:
    estimates: dict[str, Any] = {"pearson": Estimate(0.5, 0.25, 0.75), "spearman": Estimate(0.6, 0.4, 0.8)}
    estimates |= {"kendall": Estimate.undefined("too few", 0.1), "beyond_cues": Estimate.undefined("no cues")}
    about: dict[str, Any] = {"n": 60, "unscored": 0, "truncated": 0, "synthetic": False, "systems": 3}
    row = Agreement(metric="bert", set="fed", aspect="coherence", **about, **estimates)
    alone = replace(row, metric="system_alone", **dict.fromkeys([*estimates, "within_systems"], NO_QUESTION))
    tracking = track(tmp_path)
    tracking.publish(Study(tables=[tabulate_agreement([row, alone])], figures={"loss": 2.5}))
    tracking.close(0)
    items = [item for record in whole(find_file(tmp_path)) for item in record.summary.update]
    summary = {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in items}
    place = "agreement/fed/coherence/bert"
    counts = {"n": 60, "systems": 3, "unscored": 0, "truncated": 0}
    numbers = {"pearson": 0.5, "pearson_low": 0.25, "pearson_high": 0.75, "kendall": 0.1, **counts}
    numbers |= {"spearman": 0.6, "spearman_low": 0.4, "spearman_high": 0.8}
    assert {name: value for name, value in summary.items() if name.startswith(("agreement/", "figures/"))} == {
        **{f"{place}/{name}": value for name, value in numbers.items()},
        **{f"agreement/fed/coherence/system_alone/{name}": count for name, count in counts.items()},
        "figures/loss": 2.5,
    }


def test_a_model_that_was_found_as_a_stage_has_its_curve(tmp_path: Path) -> None:
    curve = ({"step": 7, "train/loss": 3.0}, {"step": 7, "val/loss": 2.5})
    tracking = track(tmp_path)
    tracking.loggers("expert")  # Lightning sends this curve
    tracking.publish(Study(curves={"amateur": curve, "expert": curve}))
    tracking.close(0)
    lines = [record.history.item for record in whole(find_file(tmp_path)) if record.HasField("history")]
    found = [{"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items} for items in lines]
    points = [{name: value for name, value in line.items() if not name.startswith("_")} for line in found]
    assert points[:2] == [
        {"amateur/train/loss": 3.0, "trainer/global_step": 7},
        {"amateur/val/loss": 2.5, "trainer/global_step": 7},
    ]
    assert not any("expert/val/loss" in point for point in points)


def test_a_wrong_mode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"logger\.mode must be 'offline', 'online' or 'disabled', but is 'on'"):
        track(tmp_path, "on")


@pytest.mark.parametrize("error", [CommError("Timed out"), UsageError("No API key")])
def test_online_without_a_network_or_a_key_names_the_offline_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(**settings: Any) -> None:
        raise error

    monkeypatch.setattr("wandb.init", fail)
    with pytest.raises(SettingError, match=rf"logger\.mode=online .* says: {error}\nlogger\.mode=offline keeps"):
        track(tmp_path, "online")


def test_the_second_process_of_a_run_sends_nothing(tmp_path: Path) -> None:
    tracking = track(tmp_path, first=False)
    tracking.publish(Study())
    tracking.close(0)
    assert list(tmp_path.iterdir()) == []
