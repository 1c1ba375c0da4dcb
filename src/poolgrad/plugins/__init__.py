"""poolgrad as the golden side of other people's test tools; docs/plugins.md shows each in use.

``ttk.py`` is a TestSpec file of TTK, ``atk.py`` registers executors with ATK, ``msopst.py`` has msOpST's functions for
expected results. What they share is in ``calls.py``.
"""
