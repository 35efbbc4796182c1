"""Runner: configuration, execution, sweeps, tracking, the journal, and the contract of an experiment."""
