"""What a model is told of a call that failed: the error's own words, without places on this machine and secrets."""

import json
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pegboard.tools.parameters import BadArgumentsError
from pegboard.tools.results import BadResultError

_MIB: Final = 1024 * 1024
_MAX_MESSAGE_CHARS: Final = 4_000
_MAX_ERRORS: Final = 5
_PACKAGE_FOLDER: Final = os.path.join(Path(__file__).parents[3], "")


class ToolErrorFormatter:
    """How the errors of one toolset are told."""

    def __init__(self, memory: int, places: Mapping[str, str], secrets: Sequence[str]) -> None:
        """`places` are folders and what stands for each in a message."""
        self._memory = memory
        self._folder_names = places
        self._secrets = secrets

    def format_error_result(self, error: BaseException) -> bytes:
        return error_result(self.format_error(error))

    def format_error(self, error: BaseException) -> str:
        """Raises nothing, whatever the error does when it is asked for its words."""
        match error:
            case BadArgumentsError():
                listed = "\n".join(f"- {problem}" for problem in error.problems)
                return f"The arguments do not fit:\n{listed}\nCorrect them and call again."
            case MemoryError():
                return f"The tool ran out of the memory it may use ({self._memory // _MIB} MB)."
            case BadResultError():
                return str(error)
            case SystemExit():
                return f"The tool ended itself (sys.exit with {_short_repr(error.code)})."
            case RecursionError():
                return "The tool called itself too often (RecursionError)."
            case _:
                return self.redact("\n".join(_error_lines(error)))

    def redact(self, text: str) -> str:
        """Without places on this machine, and without secrets."""
        from pegboard.children.erasing import SecretFilter

        erased = SecretFilter(self._secrets)(text[: 4 * _MAX_MESSAGE_CHARS])
        for place, name in self._folder_names.items():
            erased = erased.replace(place, name)
        return _absolute_path_pattern().sub(r"…/\1", erased)[:_MAX_MESSAGE_CHARS]


def error_result(text: str) -> bytes:
    # Escaped, because a text with half a character in it is no UTF-8.
    return json.dumps({"content": [{"type": "text", "text": text}], "isError": True}).encode()


def write_traceback(error: BaseException) -> None:
    """To the log, beginning with the tool's own lines."""
    began = error.__traceback__
    while began is not None and began.tb_frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        began = began.tb_next
    traceback.print_exception(type(error), error, began)
    sys.stderr.flush()


def _error_lines(error: BaseException) -> Iterator[str]:
    """Of a group of errors, those that are in it: that there is a group tells nobody anything."""
    leaves = [*_leaves(error)]
    for leaf in leaves[:_MAX_ERRORS]:
        yield f"{type(leaf).__name__}: {words}" if (words := _error_text(leaf)) else type(leaf).__name__
        yield from (str(note) for note in getattr(leaf, "__notes__", ()))
    if len(leaves) > _MAX_ERRORS:
        yield f"and {len(leaves) - _MAX_ERRORS} more errors"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _error_text(error: BaseException) -> str:
    try:
        # A key error's own text is the key as Python writes it, which is right for keys and wrong for sentences.
        if isinstance(error, KeyError) and error.args and isinstance(text := error.args[0], str) and " " in text:
            return text
        return str(error).strip()
    except Exception:  # noqa: BLE001 - an author's own class of errors, and one error at a time is enough
        return ""


def _short_repr(value: object) -> str:
    return repr(value)[:100]


def _absolute_path_pattern() -> re.Pattern[str]:
    """Any absolute path that begins with a folder which this machine has; of it, the last part is told.

    What only looks like a path, such as that of a web address, stays.
    """
    try:
        roots = [re.escape(name) for name in os.listdir(os.sep)]
    except OSError:
        roots = []
    return re.compile(rf"(?<![\w.:/~])/(?:{'|'.join(roots) or '(?!)'})(?:/[^/\s'\"<>|:]+)*/([^/\s'\"<>|:]+)/?")
