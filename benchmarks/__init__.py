"""Side by side with other frameworks: `make bench`, or `python -m benchmarks --help`."""
