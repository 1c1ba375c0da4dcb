"""The report as one HTML page that needs nothing else: verdict, figures, histogram in ULP, and a map of each plane.

``codes.py`` gives every element one byte, ``survey.py`` finds the worst planes, ``maps.py`` draws a plane as cells, and
``pages.py`` puts it all on a page: ``page.html`` and ``page.css``, and three scripts that become one, ``values.js``
(what is known of an element), ``map.js`` (one plane) and ``page.js`` (all around it).
"""

from .pages import page as page
