"""Random config folders: whatever they say, no code of theirs runs, nothing is asked or written elsewhere.

`FUZZ_CONFIGS=100000` draws so many trees; `FUZZ_SEED` chooses others.
"""

import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from core.errors import SettingError
from experiments.run import main
from experiments.runner.trust import ALONE, check_content, check_places, check_trusted, leaves, own_targets

SEED = int(os.environ.get("FUZZ_SEED", "0"))
TREES = int(os.environ.get("FUZZ_CONFIGS", "3000"))
PLANTED = "planted_package"
FOREIGN = ["os.system", "pydoc.pipepager", f"{PLANTED}.f", "builtins.eval", "experiments.runner.execution.os.system"]
OWN = [f"baselines.{name}" for name in ("word_count.WordCount", "sacrebleu_metrics.Bleu", "sacrebleu_metrics.Ter")]
OWN += ["judge.metrics.FunctionMetric", "judge.metrics.FunctionMetric.from_name", "judge.engines.RayEngine"]
OWN += ["baselines.llm_judge.LLMJudge.from_settings", "experiments.runner.tracking.WandbTracking"]
OWN += ["pytorch_lightning.Trainer"]
KEYS = ["a", "b", "seed", "tokens", "order", "model", "prompts", "path", "name", "settings", "cues", "scale", "chunk"]
KEYS += ["metric", "data", "experiment", "logger", "trainer", "engine", "recipe", "sweep", "hydra", "hydra.launcher"]
KEYS += ["_target_", "_args_", "_partial_", "_recursive_", "_convert_", "mode", "entity", "outputs", "default_root_dir"]
KEYS += ["sweeper", "params", "launcher", "callbacks", "env_set", "metric.base_url", "+metric@network", "defaults"]
TEXTS = ["a", "auto", "x y", "outside", "../../outside", "/tmp/outside-planted", "touch outside"]
TEXTS += ["http://127.0.0.1:9/v1"]
TEXTS += ["https://judge.example", "${seed}", "${metric}", "${oc.env:HOME}", "${oc.${a}:HOME}"]
TEXTS += ["${oc.create:{_target_: os.system}}", "${oc.decode:'${oc.env:HOME}'}", "\\${a}", "${", "???", "${stages_dir}"]
TEXTS += ["[{_target_: os.system}]", "true,false", "online", "file://outside", "in.jsonl", "mine"]
OTHERS = [True, False, None, 0, 1, -1, 1e999, 2**70]


def draw_tree(rng: random.Random, depth: int = 0) -> Any:
    """A value of a configuration, with what is refused somewhere in it or not."""
    kind = rng.random()
    if depth > 3 or kind < 0.45:
        return rng.choice(rng.choice([TEXTS, TEXTS, OTHERS]))
    if kind < 0.55:
        return [draw_tree(rng, depth + 1) for _ in range(rng.randrange(3))]
    return draw_mapping(rng, depth)


def draw_mapping(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """Settings, half of them of an object."""
    tree = {
        rng.choice(rng.choice([KEYS, sorted(ALONE)])): draw_tree(rng, depth + 1) for _ in range(rng.randrange(1, 4))
    }
    if rng.random() < 0.5:
        tree["_target_"] = rng.choice([*FOREIGN, *OWN, *OWN])
    return tree


def draw_mild(rng: random.Random) -> dict[str, Any]:
    """Settings of which most are accepted."""
    mild = {key: rng.choice(["a", 1, True, None, "${seed}", [1, "b"], {"c": "d"}]) for key in rng.sample(KEYS[:9], 2)}
    return {**mild, **(draw_mapping(rng) if rng.random() < 0.5 else {})}


watched: list[list[str]] = []  # what is done within `watching`
HARMLESS = ("/dev/", "/proc/")


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not watched:
        return
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
        watched[-1].append(f"{event} {arguments!r}")
    elif event == "import" and str(arguments[0]).startswith(PLANTED):
        watched[-1].append(f"{event} {arguments[0]}")
    elif event == "open" and isinstance(arguments[0], str) and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR):
        if not arguments[0].startswith(HARMLESS):
            watched[-1].append(f"write {Path(arguments[0]).absolute()}")
    elif event in ("os.mkdir", "os.rename", "os.remove") and arguments[-1] == -1:  # else relative to an open folder
        path = Path(os.fspath(arguments[0])).absolute()
        watched[-1] += [f"write {path}"] if event != "os.mkdir" or not path.is_dir() else []


@contextmanager
def watching() -> Iterator[list[str]]:
    """Lists the connections, programs, planted imports and written paths of the block."""
    if not hasattr(sys, "_watches_configs"):
        sys.addaudithook(_watch)  # for as long as the process lives
        sys._watches_configs = True  # type: ignore[attr-defined]
    watched.append([])
    try:
        yield watched[-1]
    finally:
        watched.pop()


def check_tree(tree: Any) -> None:
    """All checks of a file's content at the root of the configuration, as the runner makes them."""
    check_content(tree, "theirs.yaml")
    check_places(tree, ())
    resolved = OmegaConf.create(tree)
    OmegaConf.resolve(resolved)
    check_trusted(OmegaConf.to_container(resolved))


def is_harmless(tree: Any) -> bool:
    """A slow second opinion on an accepted tree, from its values alone."""
    for place, value in leaves(tree):
        parts = place.replace("[", ".").replace("]", "").split(".")
        empty = ["???", "${stages_dir}", "${network}", *([] if place in ("name", "outputs") else [None, False])]
        empty += [[]] if parts[-1] == "hosts" else []
        if ({*parts} & {*ALONE, "_args_"} or parts[0] in ("name", "outputs", "hydra")) and value not in empty:
            return False
        if parts[-1] == "_target_" and value not in own_targets():
            return False
        if isinstance(value, str) and any(word in value for word in ("://", "oc.env", "oc.create", "oc.decode")):
            return False
    return True


def try_trees(n: int) -> Counter[str]:
    """Draws trees and checks them; the counts of both answers."""
    rng, answers = random.Random(SEED), Counter[str]()
    with watching() as done:
        for _ in range(n):
            tree = draw_mild(rng)
            try:
                check_tree(tree)
            except (SettingError, OmegaConfBaseException) as refused:
                answers["refused"] += bool(str(refused).strip())
            else:
                answers["accepted"] += 1
                assert is_harmless(tree), tree
    assert not done
    return answers


def test_accepted_trees_are_harmless() -> None:
    answers = try_trees(TREES)
    print(f"seed {SEED}: {dict(answers)}")
    assert min(answers.values()) > TREES / 10


def draw_files(rng: random.Random) -> dict[str, str]:
    """The files of a folder: a metric, and often settings of any place, data or an experiment."""
    metric = {"_target_": "baselines.word_count.WordCount", **({"tokens": "auto"} if rng.random() < 0.5 else {})}
    if rng.random() < 0.3:
        metric |= draw_mapping(rng)
    header = rng.choice(["", "", "", "# @package network\n", "# @package _global_\n", "# @package hydra.launcher\n"])
    files = {"metric/theirs.yaml": (header if rng.random() < 0.2 else "") + yaml.safe_dump(metric)}
    settings = draw_mild(rng)
    if rng.random() < 0.3:
        choice = rng.choice(["override /hydra/launcher", "/metric@network", "/metric@_here_", "/metric@a", "/data@b"])
        settings["defaults"] = [{choice: rng.choice(["joblib", "theirs", "bleu", "../../outside", "//etc/passwd"])}]
    if rng.random() < 0.3:
        place, value = rng.choice([*KEYS, *ALONE]), rng.choice(["1,2", *TEXTS])
        settings["hydra"] = {"sweeper": {"params": {rng.choice(["", "+", "++"]) + place: value}}}
    files["sweep/theirs.yaml"] = "# @package _global_\n" + yaml.safe_dump(settings)
    if rng.random() < 0.1:
        files[rng.choice(["hydra/launcher/basic.yaml", "scale/tiny.yaml", "engine/local.yaml", "exp/score.yaml"])] = (
            yaml.safe_dump(draw_mapping(rng))
        )
    return files


def run_folders(n: int, place: Path) -> Counter[int]:
    """Runs so many random folders; returns the counts of exit codes."""
    rng, codes = random.Random(SEED), Counter[int]()
    (place / "outside.yaml").write_text("network: true\n", encoding="utf-8")
    given = ["+exp=score", "data.path=in.jsonl", "logger=none", "output=outputs/out.jsonl"]
    assert main([*given, "metric=word_count"]) == 0  # libraries fill their caches
    tempfile.gettempdir()  # tries to write there once
    for number in range(n):
        folder = place / "folders" / str(number)
        for name, text in draw_files(rng).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        (folder / PLANTED).mkdir()
        (folder / PLANTED / "__init__.py").write_text("def f(*_, **__): ...\n", encoding="utf-8")
        sweep = ["+sweep=theirs"] if rng.random() < 0.6 else []
        many = ["-m"] if rng.random() < 0.1 else []
        sys.path.insert(0, str(folder))
        with watching() as done:
            codes[main(["--config-dir", str(folder), *many, *given, "metric=theirs", *sweep])] += 1
        sys.path.remove(str(folder))
        elsewhere = [each for each in done if not each.startswith(f"write {place / 'outputs'}")]
        assert not elsewhere, (number, elsewhere)
    assert {path.name for path in place.iterdir()} == {"in.jsonl", "outside.yaml", "folders", "outputs"}
    assert f"{PLANTED}" not in sys.modules
    return codes


@pytest.mark.parametrize("n", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_random_folder_runs_no_code_and_writes_nothing_elsewhere(here: Path, n: int) -> None:
    (here / "outputs").mkdir()
    began = time.monotonic()
    codes = run_folders(n, here)
    print(f"seed {SEED}: {n} folders, exit codes {dict(codes)}, {time.monotonic() - began:.0f} s")
    assert min(codes[0], codes[2]) > n / 20
