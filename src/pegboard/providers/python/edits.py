"""What is said of a list of tools that is not what the files say, because their author is at work on them."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pegboard.core.catalogue import ListingProblem

_SUBJECT: Final = "the list"


def broken_edit_notice(why: str) -> tuple[ListingProblem, ...]:
    told = f"is from before the last edit, because the files as they are now cannot be used: {why}"
    return (ListingProblem(_SUBJECT, told, "Mend the file; it is read again by itself."),)


def ignored_keys_notice(keys: Sequence[str], folder: Path) -> tuple[ListingProblem, ...]:
    """`keys` are those of the manifest that say something else than when it was imported; none, and all is well."""
    if not keys:
        return ()
    told = f"is without what the manifest says now under {', '.join(keys)}, which counts when it is imported again"
    return (ListingProblem(_SUBJECT, told, f"pegboard toolset import {shlex.quote(str(folder))} --link"),)
