"""Where things are kept that were made on this machine and can be made again: compiled kernels, the C library."""

from __future__ import annotations

import os
import stat
import tempfile
from functools import cache
from pathlib import Path


def cache_directory() -> Path:
    """POOLGRAD_CACHE_DIR, else the user's cache directory, else a directory of the user's among temporary files."""
    chosen = os.environ.get("POOLGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # A path that still begins with "~" means that there is no home directory.
    usual = Path(base) / "poolgrad"
    useful = not base.startswith("~") and (can_be_written(usual) or _was_filled(usual))
    return usual if useful else _among_temporary_files()


@cache
def can_be_written(directory: Path) -> bool:
    """Whether files can be made in a directory, which is made if need be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


@cache
def _was_filled(directory: Path) -> bool:
    """Whether somebody put things into a directory that is read-only now, as images of containers have them."""
    try:
        return any(directory.iterdir())
    except OSError:
        return False


@cache
def _among_temporary_files() -> Path:
    """A directory of this user alone. Everybody can make one of any name there, and what is kept is code."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    own = Path(tempfile.gettempdir()) / f"poolgrad-{user}"
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
    except OSError:
        found = None
    if found and stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022:
        return own
    return Path(tempfile.mkdtemp(prefix="poolgrad-"))  # for this process only
