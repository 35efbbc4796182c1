"""Plans of CDM's stages: what they refuse."""

import pytest

from cdm.sampling import Sampling
from core.faults import InputFaults, SettingFault
from experiments.cdm.stages import NegativesPlan


def test_amr_multi_needs_a_file_of_graphs_and_no_other_strategy_reads_one() -> None:
    with pytest.raises(SettingFault, match=r"a parser such as amrlib .* the strategy is amr-multi and graphs is None"):
        NegativesPlan("amr-multi", Sampling(), 10)
    with pytest.raises(SettingFault, match=r"the strategy is mixed-multi and graphs is graphs\.amr"):
        NegativesPlan("mixed-multi", Sampling(), 10, graphs="graphs.amr")
    with pytest.raises(InputFaults, match=r"missing: model\.negatives.graphs must name a file, but there is none"):
        NegativesPlan("amr-multi", Sampling(), 10, graphs="missing").read_graphs()
