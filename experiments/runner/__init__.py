"""The runner: configuration, execution, sweeps, tracking and logs of experiments."""
