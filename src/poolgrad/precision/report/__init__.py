"""The report as one HTML page that needs nothing else: verdict, figures, histogram in ULP, and a map of each plane.

``codes.py`` gives every element one byte, ``survey.py`` finds the worst planes, ``maps.py`` draws a plane as cells, and
``pages.py`` puts it all on a page, together with ``page.html``, ``page.css`` and ``page.js``.
"""

from .pages import page as page
