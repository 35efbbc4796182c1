"""Builds files of public sets from their originals: each function yields the lines of a file (`public_files.toml`).

A line is a text or a JSON object.
"""

import csv
import fnmatch
import json
import pickle
import re
import tarfile
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import IO, Any, TypeAlias

from data.cells import UTTERANCE_END
from data.corpus import fold_text
from data.sets.commongen import JUDGES
from data.sets.public import NEWSROOM_ASPECTS as ASPECTS
from data.text_files import parse_json

Rows: TypeAlias = Iterator[dict[str, Any]]


KINDS = ("index", "src_alpha", "tgt")  # of the original files
LEVELS = {
    "good": ("", 1.0),
    "medium": ("_med", 0.5),
    "bad": ("_bad", 0.0),
}  # part of the file name, raw label
ANNOTATIONS = "*/weighted_alpaca_eval_gpt4_turbo/annotations.json"
PANDALM_JUDGES = {"gpt-3.5-turbo": "gpt_result", "pandalm-7b": "pandalm_result"}  # and the key of their verdicts
SIDES = {
    "0": "tie",
    "1": "a",
    "2": "b",
    "Tie": "tie",
    "tie": "tie",
}
CHINESE = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]+")
SHORTEST = 16  # characters of a poem without punctuation
LONGEST = 240
SPEAKER = re.compile("^(User|System): ", re.MULTILINE)  # of FED
MOST_WORDS = 200  # of a post of a newsgroup


def _read_lines(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")


def _read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _read_lines(path)]


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def read_part(folder: Path, start: int, stop: int) -> Iterator[str]:
    """Yields lines of `clean_valid.txt`, in which Topical-Chat comes first and PersonaChat follows."""
    yield from _read_lines(folder / "clean_valid.txt")[start:stop]


def read_topical_chat(folder: Path) -> Iterator[str]:
    """Yields the dialogues of `test_freq.json` and `test_rare.json`."""
    for name in ("test_freq.json", "test_rare.json"):
        for dialogue in _read_json(folder / name).values():
            turns = (turn["message"].strip() + UTTERANCE_END for turn in dialogue["content"])
            yield "".join(turns).replace("\n", " ")


def read_daily_dialog(folder: Path, original: str) -> Iterator[str]:
    """Yields the dialogues of a file of DailyDialog, in which utterances end with `__eou__`."""
    for line in _read_lines(folder / original):
        yield re.sub(
            r"\s*__eou__\s*",
            UTTERANCE_END,
            line,
            flags=re.ASCII,
        )


def read_deam_scores(folder: Path, original: str, column: str) -> Iterator[str]:
    """Yields the score at the end of each line of a file of predictions, with the line number from 0."""
    yield f"{column}\tdeam_score"
    for number, line in enumerate(_read_lines(folder / original)):
        yield f"{number}\t{line.split(UTTERANCE_END)[-1]}"


def read_fed(folder: Path) -> Rows:
    """Yields the system and the single ratings of each dialogue of `fed_test_coherence.txt`, from `fed_data.json`.

    Rows for single replies have a `response`, rows for dialogues have none. These have the same letters in both files.
    """
    rows = _read_json(folder / "fed_data.json")
    row_of = {_keep_letters(SPEAKER.sub("", row["context"])): row for row in rows if "response" not in row}
    for i, line in enumerate(_read_lines(folder / "fed_test_coherence.txt")):
        *turns, _ = line.split(UTTERANCE_END)
        row = row_of[_keep_letters("".join(turns))]
        yield {
            "id": f"fed-{i:03d}",
            "system": row["system"],
            "ratings": {question.lower(): given for question, given in row["annotations"].items()},
        }


def _keep_letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))


def read_concept_sets(folder: Path, part: str) -> Rows:
    """Yields every concept set of a part (train, dev) with its references."""
    files = (f"commongen.{part}.{kind}.txt" for kind in KINDS)
    columns = [(folder / name).read_text("utf-8").splitlines() for name in files]
    sets: dict[str, dict[str, Any]] = {}
    for index, concepts, sentence in zip(*columns, strict=True):
        if index not in sets:
            sets[index] = {
                "id": f"commongen-{part}-{index}",
                "concepts": concepts.split(),
                "references": [],
            }
        sets[index]["references"].append(sentence)
    yield from sets.values()


def read_trinity(folder: Path) -> Rows:
    """Yields every sentence of CommonGen-trinity with its label and the three scores of G-Eval.

    Block k of a file belongs to line k of the keys; most blocks have two sentences.
    """
    keys = (folder / "commongen_keys.txt").read_text("utf-8").splitlines()
    judges = dict(JUDGES.values())
    blocks: dict[str, list[Any]] = {}
    for level, (part, _) in LEVELS.items():
        columns = (_blocks(folder / f"commongen_test{part}{suffix}.txt") for suffix in judges.values())
        blocks[level] = [*zip(*columns, strict=True)]
    for i, concepts in enumerate(keys):
        for level, (_, label) in LEVELS.items():
            for k, rows in enumerate(zip(*blocks[level][i], strict=True)):
                scores = {judge: float(row.split("\t")[-1]) for judge, row in zip(judges, rows, strict=True)}
                yield {
                    "id": f"trinity-{i:04d}-{level}-{k}",
                    "concepts": concepts.split(", "),
                    "label_raw": label,
                    "label_binary": float(label == 1.0),
                    "sentence": rows[0].split("\t")[0],
                    **scores,
                }


def _blocks(path: Path) -> list[list[str]]:
    return [block.splitlines() for block in path.read_text("utf-8").strip().split("\n\n")]


def read_rt_polarity(folder: Path) -> Rows:
    """Yields the distinct sentences of `rt-polarity.pos` and `.neg` that are not in `sentiment_sst2_dev.jsonl`.

    Without this rule the two sets would overlap, because they come from the same reviews.
    """
    seen = {_remove_blanks(row["text"]) for row in _read_rows(folder / "sentiment_sst2_dev.jsonl")}
    for label in ("positive", "negative"):
        for i, line in enumerate(_read_lines(folder / f"rt-polarity.{label[:3]}")):
            words = _remove_blanks(line)
            if words and words not in seen:
                seen.add(words)
                yield {
                    "id": f"rt-{label[:3]}-{i:04d}",
                    "text": line.strip(),
                    "label": label,
                }


def _remove_blanks(text: str) -> str:
    return "".join(text.split()).casefold()


def read_sst2(folder: Path) -> Rows:
    """Yields the sentences of `test.tsv`, which is the development set of SST-2."""
    _, *lines = (folder / "test.tsv").read_text("utf-8").splitlines()
    for i, line in enumerate(lines):
        text, number = line.rsplit("\t", 1)
        label = ("negative", "positive")[int(number)]
        yield {
            "id": f"sst2-{i:04d}",
            "text": text.strip(),
            "label": label,
        }


def read_newsgroups(folder: Path, labels: Mapping[str, str]) -> Rows:
    """Yields the first 200 words of each post of `newsgroups.tar.gz`.

    Headers, quotations, signatures and addresses are removed first.

    `labels` maps the beginning of a group's name to its label.
    """
    for path, file in _read_archive(folder / "newsgroups.tar.gz", "*/mini_newsgroups/*"):
        group = path.parent.name
        label = next((label for start, label in labels.items() if group.startswith(start)), None)
        words = _list_words(TextIOWrapper(file, encoding="latin-1").read())[:MOST_WORDS]
        if label is not None and len(words) >= 20:
            yield {
                "id": f"ng-{group}-{path.name}",
                "text": " ".join(words),
                "label": label,
                "group": group,
            }


def _read_archive(path: Path, pattern: str) -> Iterator[tuple[PurePosixPath, IO[bytes]]]:
    """The files of an archive whose names fit a pattern, in the order of their names."""
    with tarfile.open(path) as archive:
        names = [member.name for member in archive.getmembers() if member.isfile()]
        for name in sorted(fnmatch.filter(names, pattern)):
            file = archive.extractfile(name)
            if file is not None:
                yield PurePosixPath(name), file


def _list_words(post: str) -> list[str]:
    """The words of a post without headers, quotations, signature and addresses."""
    _, _, after_headers = post.partition("\n\n")
    body, _, _ = after_headers.partition("\n-- \n")
    lines = [line for line in body.splitlines() if not re.match(r"\s*[>|:]", line)]
    return [re.sub(r"\S+@\S+", "<email>", word) for line in lines for word in line.split()]


def read_rated(folder: Path) -> Rows:
    """Yields every continuation of `mans_roc.json` with its ratings."""
    for key, story in _read_json(folder / "mans_roc.json").items():
        for system, continuation in story["gen"].items():
            yield {
                "id": f"mans-roc-{key}-{system}",
                "prompt": story["prompt"],
                "reference": story["gold_response"],
                "system": system,
                "text": continuation["text"],
                "ratings": continuation["score"],
                "mean_rating": fmean(continuation["score"]),
            }


def read_plain(folder: Path) -> Iterator[str]:
    """Yields the distinct stories of `reference.txt` that are not references in `mans_roc.jsonl`, the rated set."""
    rated = {fold_text(f"{row['prompt']} {row['reference']}") for row in _read_rows(folder / "mans_roc.jsonl")}
    stories = dict.fromkeys(line.strip() for line in _read_lines(folder / "reference.txt"))
    return (story for story in stories if story and fold_text(story) not in rated)


class PlainUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, texts and numbers; refuses everything else, because a pickle may run code."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Raises UnpicklingError for any class or function."""
        raise pickle.UnpicklingError(
            f"the pickle names {module_name}.{global_name}, but may hold dictionaries, lists, texts and numbers alone"
        )


def read_articles(folder: Path) -> Rows:
    """Yields every article of `data.pkl` with the summaries of all systems."""
    with (folder / "data.pkl").open("rb") as file:
        articles: dict[str, Any] = PlainUnpickler(file).load()
    for key, article in articles.items():
        systems: dict[str, Any] = {}
        for name, summary in article["sys_summs"].items():
            ratings = {aspect: summary["scores"][aspect] for aspect in ASPECTS}
            systems[name] = {
                "text": summary["sys_summ"],
                **ratings,
                "mean": sum(ratings.values()) / len(ASPECTS),
            }
        yield {
            "id": f"newsroom-{key}",
            "source": article["src"],
            "reference": article["ref_summ"],
            "systems": systems,
        }


def read_answers(
    folder: Path,
    name: str,
    table: str,
    system: str | None = None,
    score: str = "scores",
) -> Rows:
    """Yields every row of the original table of a set.

    For semeval_mhpg, the passage with this question and answer is added.

    If several passages have them, the passage of the previous row is taken, because rows of a passage are adjacent.
    """
    passages = _read_passages(folder) if name == "semeval_mhpg" else {}
    context: str | None = None
    with (folder / table).open(encoding="utf-8", newline="") as file:
        for i, row in enumerate(csv.DictReader(file)):
            columns = [column for column in row if column.startswith("reference") and column != score]
            answer = row[columns[0]]
            contexts = passages.get((row["question"].lower(), answer.lower()), [None])
            if context not in contexts:
                context = contexts[0]
            yield {
                "id": f"{name}-{i:04d}",
                "system": system,
                "context": context,
                "question": row["question"],
                "candidate": row["answer"],
                "references": list(dict.fromkeys(row[column] for column in columns if row[column].strip())),
                "score": float(row[score]),
            }


def _read_passages(folder: Path) -> dict[tuple[str, str], list[str | None]]:
    """The passages of MCScript by question and correct answer, in lower case."""
    correct = {row["id"]: row["references"] for row in _read_rows(folder / "mcscript_dev_answers.jsonl")}
    passages: dict[tuple[str, str], list[str | None]] = {}
    for row in _read_rows(folder / "mcscript_dev_questions.jsonl"):
        for answer in correct.get(row["id"], ()):
            key = (row["question"].lower(), answer.lower())
            passages.setdefault(key, []).append(row["context"])
    return passages


def read_pandalm(folder: Path) -> Rows:
    """Yields the pairs of `testset-v1.json`, with the choices of three people and the verdicts of two judges."""
    verdicts: dict[str, dict[int, str | None]] = {}
    for judge, key in PANDALM_JUDGES.items():
        rows = _read_json(folder / f"{judge}-testset-v1.json")
        verdicts[judge] = {row["idx"]: SIDES.get(str(row[key])) for row in rows}
    for row in _read_json(folder / "testset-v1.json"):
        number = row["idx"]
        system_a, system_b = row["cmp_key"].split("_")
        yield {
            "id": str(number),
            "instruction": row["instruction"],
            "input": row["input"] if isinstance(row["input"], str) else "",  # NaN
            "system_a": system_a,
            "system_b": system_b,
            "text_a": row["response1"],
            "text_b": row["response2"],
            "people": [SIDES[str(row[f"annotator{person}"])] for person in (1, 2, 3)],
            "judges": {judge: by_number[number] for judge, by_number in verdicts.items()},
        }


def read_verdicts(folder: Path) -> Iterator[str]:
    """Yields the lines of `verdicts.csv` from the archive of the repository, with a number for each instruction."""
    yield "instruction,model,baseline,judge_prefers_model,model_length,baseline_length"
    numbers: dict[str, int] = {}
    for path, file in _read_archive(folder / "alpaca_eval.tar.gz", ANNOTATIONS):
        for row in parse_json(Path(path), file.read()):
            if row["preference"] is None:
                continue
            number = numbers.setdefault(row["instruction"], len(numbers))
            share = round(row["preference"] - 1, 6)
            lengths = f"{len(row['output_2'])},{len(row['output_1'])}"
            yield f"{number},{row['generator_2']},{row['generator_1']},{share},{lengths}"


def read_poems(folder: Path) -> Rows:
    """Yields the distinct complete poems of `ci.song.*.json`; tunes that `cipai.txt` lists are named as there."""
    known = set((folder / "cipai.txt").read_text("utf-8").split())
    seen: set[str] = set()
    paths = sorted(folder.glob("ci.song.*.json"), key=lambda path: int(path.name.split(".")[2]))
    poems = [poem for path in paths for poem in _read_json(path)]
    for number, poem in enumerate(poems):
        text = "".join(poem["paragraphs"])
        tune = poem["rhythmic"]
        bare = re.sub("[，。、]", "", text)
        is_whole = SHORTEST <= len(bare) <= LONGEST and text.endswith("。") and tune.strip()
        if is_whole and bare not in seen and CHINESE.fullmatch(bare):
            seen.add(bare)
            names = tune.split("・")
            yield {
                "id": f"ci-{number:05d}",
                "author": poem["author"],
                "rhythmic": tune,
                "cipai": next((name for name in names if name in known), names[0]),
                "lines": poem["paragraphs"],
            }
