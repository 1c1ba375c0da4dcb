"""What the shim runs, as a script: it becomes a process of its own, and then the server.

Descriptor 0 is the socket to the program. The argument holds directories of packages, one to a line.
"""

from __future__ import annotations

import contextlib
import os
import sys


def detach() -> None:
    """Nobody's child, in a session of its own, with no descriptor but our own: whatever the program does with its
    children, its terminal and its pipes, we are not there."""
    if os.fork():
        os._exit(0)
    os.write(0, bytes(16))  # the program goes on to wait for the process that has just ended
    os.setsid()
    cache = os.environ.get("POOLGRAD_CACHE_DIR")
    if cache:
        os.environ["POOLGRAD_CACHE_DIR"] = os.path.abspath(cache)
    os.chdir("/")
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):  # one was open for the list itself
                os.close(int(name))


def load_package() -> None:
    """Make ``poolgrad`` the package that this file is part of, whatever this Python has installed."""
    from importlib import util

    sys.path += [path for path in sys.argv[1].splitlines() if path not in sys.path]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = util.spec_from_file_location(
        "poolgrad", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["poolgrad"] = util.module_from_spec(spec)
    spec.loader.exec_module(module)


def main() -> None:
    detach()
    import socket

    control = socket.socket(fileno=0)
    try:
        load_package()
        from poolgrad.capi.server import Server  # type: ignore[import-not-found, unused-ignore]

        server = Server(control)
    except BaseException as error:  # noqa: BLE001 - the program is told of all that can go wrong
        text = f"the server can't start in {sys.executable}: {type(error).__name__}: {error}"
        with contextlib.suppress(OSError):  # unless it has ended
            control.send((-1).to_bytes(16, "little", signed=True) + " ".join(text.split()).encode()[:800])
        os._exit(1)
    server.run()


if __name__ == "__main__":
    main()
