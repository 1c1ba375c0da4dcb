"""Two tensors compared by a named precision standard; docs/compare.md tells what each standard says.

``errors.py`` measures a block of elements, ``tally.py`` adds blocks up, ``judges.py`` and ``cross.py`` hold one class
per standard with its rule, ``ttk.py`` where TTK's code decides otherwise, ``limits.py`` the numbers of all of them.
``comparing.py`` leads the tensors through, and ``comparison.py`` is the answer.
"""

from .comparing import NotComparable as NotComparable
from .comparing import compare as compare
from .comparison import Comparison as Comparison
from .comparison import Position as Position
from .limits import STANDARDS as STANDARDS
