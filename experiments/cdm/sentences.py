"""Writes the sentences of dialogues for an AMR parser; `amr-multi` needs their graphs (CDM, section 4.1.1)."""

from cdm.infilling import get_turns
from core.errors import SettingError
from data.corpus import Corpus
from data.sentences import split_english
from data.text_files import open_atomically
from experiments.contracts import Run, Study

FILE = "sentences.txt"  # in the run folder


def cdm_sentences(run: Run, data: Corpus) -> Study:
    """Writes every different sentence of the training dialogues, one per line, in their order, into `FILE`.

    Raises SettingError for data without training dialogues.
    """
    if not data.train:
        raise SettingError(f"sentences come from training dialogues, but {data.name} has none: choose other data")
    turns = [turn for dialogue in get_turns(data.train) for turn in dialogue]
    with run.timed("splitting"):
        sentences = list(dict.fromkeys(sentence for turn in turns for sentence in split_english(turn)))
    path = run.folder / FILE
    with open_atomically(path) as file:
        file.writelines(f"{sentence}\n" for sentence in sentences)
    return Study(
        signature=f"cdm_sentences|data={data.name}",
        figures={"dialogues": len(data.train), "turns": len(turns), "sentences": len(sentences)},
        files=[path],
        synthetic=data.synthetic,
    )
