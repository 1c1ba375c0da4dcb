"""poolgrad against torch, and against what memory allows. ``python -m benchmarks --help``."""
