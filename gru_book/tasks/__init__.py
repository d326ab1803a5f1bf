"""Data for the experiments: generated, or read from an installed package and fingerprinted. Nothing is downloaded."""
