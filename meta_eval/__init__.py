"""Agreement with people: correlations with bootstrap intervals. numpy and scipy only."""
