"""IWF: counts the tokens of a corpus for the weights of CTRLEval, with the tokenizer of any model (`+exp=iwf`)."""

from collections.abc import Callable, Iterator
from pathlib import Path

from transformers import AutoTokenizer

from ctrl_eval.frequency import count_frequencies
from data.files import read_examples
from data.sentences import make_splitter
from data.text_files import read_texts
from experiments.contracts import Outcome, Run
from models.loading import load_pretrained


def corpus_texts(path: str) -> list[str]:
    """The texts of a .jsonl, .csv or .tsv file, or the lines of a .txt file.

    Raises InputFaults for a faulty file and for a file without text.
    """
    file = Path(path)
    if file.suffix != ".txt":
        return [example.full_text for example in read_examples(file)]
    return read_texts(file)


def iwf(run: Run, texts: list[str], model: str, output: Path, sentence_split: str) -> Outcome:
    """Counts in how many sentences each token of the model occurs, and writes the table (Eq. 7)."""
    split = make_splitter(sentence_split)
    sentences = [sentence for text in texts for sentence in split(text)]
    with run.timed("counting"), run.progress("counting sentences", len(sentences)) as advance:
        table = count_frequencies(
            _advance_each(sentences, advance), load_pretrained(AutoTokenizer.from_pretrained, model)
        )
    table.save(output)
    return Outcome(
        signature=f"iwf|corpus={table.corpus}|tokenizer={model}",
        figures={"sentences": table.sentences, "tokens seen": int((table.iwf > 0).sum()), "tokens": len(table.iwf)},
        files=[output],
    )


def _advance_each(sentences: list[str], advance: Callable[[int], None]) -> Iterator[str]:
    for sentence in sentences:
        yield sentence
        advance(1)
