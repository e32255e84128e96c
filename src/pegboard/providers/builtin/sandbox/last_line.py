"""The value of a program's last line, under a name by which a worker can be asked about it once the program is over."""

import ast
from dataclasses import replace
from threading import current_thread, main_thread
from typing import Final

from pegboard.core.python_text import parse_module

from .prelude import WorkerProgram

RESULT_NAME: Final = "pegboard_last"
RESULT_AS_JSON_CODE: Final = f"import json\njson.dumps({RESULT_NAME})\nNone"
"""Fails in a worker for what only the worker has. What is JSON, and what was a text there, it writes down."""
_MAX_PROGRAM_CHARS: Final = 8_000
"""Characters of a program that is read here: nobody else gets on meanwhile."""


def name_last_line(program: WorkerProgram) -> WorkerProgram | None:
    """The same program, and on the same lines; `None` where its last line is no expression, where only a newer Python
    than ours can read it, and for a long one."""
    text = program.text
    # A parser keeps to the stack of a main thread whatever it reads, and overruns a smaller one. With a lone return it
    # is not so clear what a line is.
    if len(text) > _MAX_PROGRAM_CHARS or current_thread() is not main_thread() or "\r" in text.replace("\r\n", "\n"):
        return None
    try:
        body = parse_module(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not body or not isinstance(last := body[-1], ast.Expr):
        return None
    lines = text.encode().split(b"\n")
    line, at = lines[last.lineno - 1], last.col_offset
    lines[last.lineno - 1] = line[:at] + f"{RESULT_NAME} = ".encode() + line[at:]
    return replace(program, text=b"\n".join((*lines, RESULT_NAME.encode())).decode())
