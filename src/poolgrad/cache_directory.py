"""Where things are kept that were made on this machine and can be made again: compiled kernels, the C library."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_directory() -> Path:
    """POOLGRAD_CACHE_DIR, else the user's cache directory."""
    chosen = os.environ.get("POOLGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # A path that still begins with "~" means that there is no home directory.
    return Path(tempfile.gettempdir() if base.startswith("~") else base) / "poolgrad"
