"""Agreement with people: correlations with bootstrap intervals, tests of two metrics; numpy and scipy only."""
