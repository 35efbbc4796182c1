"""Training: the models that experiments train and keep."""
