"""Counts the word frequencies of your corpus, for the weights of CTRLEval (`+exp=iwf`)."""

from pathlib import Path

from core.errors import InputError
from ctrl_eval.frequency import count_frequencies
from data.files import read_examples
from data.sentences import make_splitter
from data.text_files import describe_special, read_texts
from experiments.contracts import Run, Study
from experiments.training import list_texts
from models.loading import load_tokenizer


def corpus_texts(path: str) -> list[str]:
    """Reads the texts of a .jsonl, .csv or .tsv file, or the lines of a .txt file.

    Raises InputError for a faulty file and for a file without text.
    """
    file = Path(path)
    if file.suffix != ".txt":
        return list_texts(read_examples(file))
    return read_texts(file)


def check_output(path: str) -> Path:
    """Returns the path of the table. Raises InputError for one that cannot be written, or with another ending."""
    file = Path(path)
    if special := describe_special(file):
        raise InputError([f"output must be a regular file, found {special}"])
    if file.suffix != ".json" or not file.parent.is_dir():
        raise InputError([f"output must be a .json file in an existing folder, but is {file}"])
    return file


def iwf(
    run: Run,
    texts: list[str],
    model: str,
    output: Path,
    sentence_split: str,
) -> Study:
    """Counts in how many sentences each token occurs, and writes the table of weights (CTRLEval, Eq. 7).

    `model` is a hub name or a folder with a tokenizer.
    """
    split = make_splitter(sentence_split)
    with run.timed("counting"):
        tokenizer = load_tokenizer(model)
        table = count_frequencies((sentence for text in texts for sentence in split(text)), tokenizer)
    table.save(output)
    return Study(
        signature=f"iwf|corpus={table.corpus}|tokenizer={model}",
        figures={
            "sentences": table.sentences,
            "tokens seen": int((table.iwf > 0).sum()),
            "tokens": len(table.iwf),
        },
        files=[output],
    )
