"""Poems of one generator with two decoders under discriminators: G1 against G2 (OUMG, Table 1)."""

from core.settings import Count, check
from experiments.contracts import Outcome, Run, Table
from experiments.oumg import tables
from experiments.oumg.poems import check_candidates, choose_poems, find_characters, shifted_ranks, top_k
from experiments.oumg.study import PoemStudy
from oumg.comparison import FEWEST_INPUTS


def oumg_poetry(run: Run, study: PoemStudy, g1_k: int = 32, g2_k: int = 32) -> Outcome:
    """G1 samples from the k likeliest characters, G2 from the ranks 4k to 5k - 1; G1 is also compared with itself.

    Each has a k of its own; the paper's 32 for both. Raises SettingFault where the generator has too few characters for
    one of them, or there are too few poems.
    """
    check(Count, g1_k=g1_k, g2_k=g2_k)
    known = find_characters(study.data, study.generator)
    human, notes = choose_poems(study.data, study.generator, study.human, known, FEWEST_INPUTS)
    check_candidates(g1_k, known, f"g1_k = {g1_k}")
    check_candidates(5 * g2_k, known, f"g2_k = {g2_k}: G2 chooses from the ranks 4k to 5k")
    poet = study.train_poet(run)
    g1 = poet.generate("G1", human, top_k(g1_k))
    g2 = poet.generate("G2", human, shifted_ranks(g2_k))
    again = poet.generate("G1 again", human, top_k(g1_k), draws=1)
    found = study.find(run, poet.generator, {"human": human, "G1": g1, "G2": g2}, ("G1", "G2"))
    control = study.compare(run, {"human": human, "G1": g1, "G1 again": again}, ("G1", "G1 again"))
    rows = [*tables.relative_rows(found.compared), *tables.relative_rows(control)]
    notes += tables.comparison_notes(found.compared) + tables.comparison_notes(control, "G1 against itself: ")
    table = Table("G1 against G2, and against itself", tables.CAPTION, rows)
    return study.present(run, found, table, notes, {"g1_k": g1_k, "g2_k": g2_k})
