"""The C interface: CANN's headers and libraries, with this package behind them.

A program is linked with a small shim (shim.cpp), which starts a Python process (start.py, server.py), shares the
device's memory with it and sends it every call. Headers, the shim's functions and the server's table are all made from
prototypes.py. Everything is built with the user's own compiler when it is first asked for (build.py).
"""
