"""Labs: the exercises in order, as notebooks to work in and as pages to read.

A lab is one Markdown file in each language: prose, the places of its exercises, and further cells
of code, the same in both. `page` makes the site's page of it, solved; `notebook` the notebook,
which starts from the exercises' skeletons.
"""

from .copy import copy_lab, open_lab
from .lab import LABS, Lab, read_lab
from .notebook import notebook

__all__ = ["LABS", "Lab", "copy_lab", "notebook", "open_lab", "read_lab"]
