"""Agreement of metrics with people: correlations with intervals, tests, audits and planning; numpy and scipy only."""
