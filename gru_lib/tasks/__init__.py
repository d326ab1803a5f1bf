"""Data for the experiments, drawn from a generator: nothing is downloaded."""
