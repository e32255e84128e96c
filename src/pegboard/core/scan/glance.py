"""A glance at all texts of a tool at once, which is much quicker than one after the other.

Where it sees nothing there is nothing to find, and most tools are such. Where it sees something there may be nothing:
what stands in two texts is one to it.
"""

import re
from typing import Final

from pegboard.core.tool import ToolSpec

from .asking import is_secret_name
from .excerpt import INVISIBLE
from .letters import has_styled_letters
from .places import spec_strings
from .wording import may_be_marked
from .words import normalize_text

_BETWEEN: Final = "\nzqz\n"
"""A word that no phrase has, on a line of its own: nothing that was found in one text is broken by it, and letters that
are spelt one by one end at it."""

_OTHER_LETTERS: Final = re.compile("[\u0370-\u052f\u13a0-\u13ff]")
"""Greek, Cyrillic and Cherokee, which have letters that look like Latin ones."""
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLANKS: Final = re.compile(r"\s{40,}+")


class QuickScan:
    """All texts of a tool as one, and whether none of them can be marked for itself."""

    def __init__(self, spec: ToolSpec) -> None:
        texts, parameters = spec_strings(spec)
        self.text: Final = _BETWEEN.join(texts)
        self.is_ordinary: Final = not any(map(is_secret_name, parameters)) and _is_ordinary(self.text)


def _is_ordinary(text: str) -> bool:
    if _CONTROLS.search(text) or _BLANKS.search(text):
        return False
    if not text.isascii():
        if INVISIBLE.search(text) or _OTHER_LETTERS.search(text) or has_styled_letters(text):
            return False
        text = normalize_text(text)
    return not may_be_marked(text)
