"""The experiment runner: the only room that knows hydra, omegaconf and wandb."""
