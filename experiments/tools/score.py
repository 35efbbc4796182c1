"""Score: one metric, or several, on a user's file (`judge score`)."""

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

from data.text_files import STANDARD
from experiments.contracts import Outcome, Run
from judge.engines import Engine
from judge.streaming import ScorableFile
from judge.verbs.score import score_file, write_meta
from meta_eval.scored_set import ScoredSet

ROWS = "scores.jsonl"  # of the run folder


def score(run: Run, file: ScorableFile, output: Path, engine: Engine) -> Outcome:
    """Scores a file and writes `output` and `output.meta.json`, as `judge.verbs.score.score_file` says.

    If `output` is `-`, the rows go to standard output as JSONL, and the signature stands only in results.json.
    """
    printed = run.folder / ROWS if output == STANDARD else None
    with redirect_stdout(sys.stderr) if printed else nullcontext():  # libraries print
        with run.timed("loading"):
            signatures = engine.prepare(file)
        with run.timed("scoring"):
            found = score_file(file, engine, signatures, printed or output, run.stages, run.progress)
    if not printed:
        write_meta(found, output)
    figures: dict[str, float] = {"examples": len(found), "unscored": found.unscored, "truncated": found.truncated}
    return Outcome(
        found.signature,
        tables=found.tables,
        figures=figures | {f"mean {row['aspect']}": row["mean"] for row in found.tables[1].rows},
        shown=[ScoredSet(file.source.path.name, found.examples, found.first)],
        notes=(*file.source.notes, *found.notes),
        files=[] if printed else [output],
        printed=printed,
    )
