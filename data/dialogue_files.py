"""Files of dialogues: text files whose utterances end with `</UTT>`, and the formats of `data.files` with `turns`."""

from collections.abc import Sequence
from pathlib import Path

from core.example import Example
from core.faults import fault, format_value
from data.cells import UTTERANCE_END
from data.files import iterate_examples
from data.numeric import parse_finite
from data.records import check_example, require_none
from data.text_files import form_of, iterate_lines

FORMS = (".jsonl", ".csv", ".tsv", ".txt")


def located_dialogues(path: Path, rated: bool) -> Sequence[tuple[int, Example]]:
    """The dialogues of a .jsonl, .csv, .tsv or .txt file with their line numbers.

    Raises InputFaults with all faults of the file. Each dialogue needs two turns and, with `rated`, a rating.
    """
    if form_of(path, FORMS) == ".txt":
        return read_utt_lines(path, scored=rated)
    return tuple(iterate_examples(path, ("turns", "ratings") if rated else ("turns",)))


def read_utt_lines(
    path: Path | str, scored: bool, aspect: str = "rating", drop_empty: bool = False
) -> list[tuple[int, Example]]:
    """The dialogues of a file of `</UTT>` lines, with the ids `<stem>-<line>`, each with the number of its line.

    With `scored`, the human score of the dialogue follows the last `</UTT>`. Empty utterances are faults, or left out
    with `drop_empty`.

    Raises InputFaults with all faults of the file: a dialogue of one turn, an empty utterance, a score that is no
    number or missing, a last utterance without `</UTT>`, bytes that are not UTF-8.
    """
    path = Path(path)
    faults: list[str] = []
    examples: list[tuple[int, Example]] = []
    for line, content in iterate_lines(path, faults):
        *utterances, end = content.split(UTTERANCE_END)
        turns = [utterance for utterance in utterances if utterance.strip() or not drop_empty]
        score, after = parse_finite(end), f"after the last {UTTERANCE_END}, found {format_value(end)}"
        values, problems = check_example({"id": f"{path.stem}-{line}", "turns": turns}, ("turns",))
        if scored and score is None:
            problems.append(f"a finite score is needed {after}")
        elif not scored and end.strip():
            problems.append(f"an unrated dialogue must have nothing {after}")
        faults += [fault(path, line, problem) for problem in problems]
        if not problems:
            examples.append((line, Example.of_checked(values | ({"ratings": {aspect: score}} if scored else {}))))
    return list(require_none(examples, faults))
