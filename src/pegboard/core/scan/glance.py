"""A glance at all texts of a tool at once, which is much quicker than one after the other.

Where it sees nothing there is nothing to find, and most tools are such. Where it sees something there may be nothing:
what stands in two texts is one to it.
"""

import re
from typing import Final

from pegboard.core.tool import ToolSpec

from .asking import secret_name
from .excerpt import UNSEEN
from .letters import has_styled_letters
from .places import strings
from .strangers import Strangers
from .wording import may_be_marked
from .words import shown

_BETWEEN: Final = "\nzqz\n"
"""A word that no phrase has, on a line of its own: nothing that was found in one text is broken by it, and letters that
are spelt one by one end at it."""

_OTHER_LETTERS: Final = re.compile("[\u0370-\u052f\u13a0-\u13ff]")
"""Greek, Cyrillic and Cherokee, which have letters that look like Latin ones."""
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLANKS: Final = re.compile(r"\s{40,}+")


def is_ordinary(spec: ToolSpec, strangers: Strangers) -> bool:
    """Whether no text of it can be marked, be it for itself or for what it says of strangers."""
    texts, parameters = strings(spec)
    if any(map(secret_name, parameters)):
        return False
    all_texts = _BETWEEN.join(texts)
    if _CONTROLS.search(all_texts) or _BLANKS.search(all_texts):
        return False
    if not all_texts.isascii():
        if UNSEEN.search(all_texts) or _OTHER_LETTERS.search(all_texts) or has_styled_letters(all_texts):
            return False
        all_texts = shown(all_texts)
    return not may_be_marked(all_texts) and next(strangers.mentioned(all_texts), None) is None
