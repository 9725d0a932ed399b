"""What the pages print: one module a chapter, named as its page, with its tables, figures, words.

Shared by chapters: `table`, `figure`, `words`, `holding` (who is in which chunk) and `runs`
(trainings that several pages show). A chapter imports no other chapter.
"""

from zerolit.press import result, rounding

__all__ = ["result", "rounding"]
