"""Runner: configuration, execution, sweeps, tracking, the journal, and what an experiment is given and returns."""
