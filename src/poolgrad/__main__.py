"""``python -m poolgrad`` is the command ``poolgrad``."""

from .cli import main

main()
