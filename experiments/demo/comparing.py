"""Compare: systems on the same inputs, in one file or in a file each, with the tables of `judge compare`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.faults import InputFaults, SettingFault, fault
from core.scores import Metric
from data.scored import read_scored
from judge.comparing import SystemsCompared, check_comparable, compare
from judge.scoring import score_all
from meta_eval.scored_set import ScoredSet


def read_outputs(paths: Sequence[Path], most: int) -> ScoredSet:
    """The outputs of all systems: those of one file, or of several that have the names of their systems.

    Faults call a file by its name alone, since its folder means nothing to the person who chose it.

    Raises SettingFault without a file, InputFaults for a faulty file and for more than `most` outputs.
    """
    if not paths:
        raise SettingFault("choose a file of outputs, or one of the examples")
    systems = [f"{path.stem.replace('=', '-')}={path}" for path in paths]
    try:
        file = read_scored(paths[0]) if len(paths) == 1 else read_scored(systems=systems)
        if len(file) > most:
            rule = f"the page reads at most {most} outputs, found {len(file)}: use judge compare"
            raise InputFaults([fault(file.locate(most)[0], 0, rule)])
    except InputFaults as faults:
        folders = [f"{path.parent}/" for path in paths]
        shown = [next((each.removeprefix(f) for f in folders if each.startswith(f)), each) for each in faults.faults]
        raise InputFaults(shown) from None
    return replace(file, places=tuple((Path(path).name, line) for path, line in file.places))


def compare_by_metric(outputs: ScoredSet, name: str, metric: Metric) -> SystemsCompared:
    """Compares the systems input by input by a metric, and by the scores and ratings that the outputs have.

    Raises InputFaults unless every system has one output for every input.
    """
    check_comparable(outputs)
    scored = replace(outputs, scores={**outputs.scores, name: score_all(outputs, metric)})
    return compare(scored)
