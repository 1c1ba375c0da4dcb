"""The command line: ``poolgrad COMMAND ...``. One file per command; they know the library, and nothing knows them."""

from .app import main as main
