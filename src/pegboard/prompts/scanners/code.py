"""The engine of code mode: blocks of Python between fences of Markdown, or between <code> tags on lines of their own.

A fence begins and ends a line. Inside a string over several lines it belongs to the string. Blocks in other languages
are text, and a block in no language counts only if it looks like Python.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from textwrap import dedent
from typing import Final

from pegboard.prompts.events import Arguments
from pegboard.prompts.repair import odd_backslashes
from pegboard.prompts.scanner import CUT_MESSAGE, MarkerSyntax, Scanner
from pegboard.prompts.tool_shape import ToolShape

PYTHON: Final = "python_execution"
LANGUAGES: Final = frozenset(("python", "py", "python3", "tool_code"))
TAG, END_TAG = "<code>", "</code>"
_MAX_INFO_LENGTH: Final = 128
"""Characters behind a fence that may name a language; a longer line is prose."""
_MAX_CLOSING_LENGTH: Final = 128
_INFO: Final = re.compile(r"[ \t]*\{?\.?([\w+#.\-]*)[^`]*\Z")
_TOKEN: Final = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?|#[^\n]*', re.DOTALL)
_TRIPLE: Final = ('"""', "'''")
_PYTHON_LINE: Final = re.compile(
    r"^(?:import \w|from \w[\w.]* import |(?:async )?def \w+\(|class \w+[(:]|print\(|for \w.* in .*:|while .*:|with .*:"
    r"|try:|if .*:|@\w|return\b|[A-Za-z_]\w* = .*\()",
    re.MULTILINE,
)


@lru_cache(maxsize=64)
def _closing_pattern(fence: str) -> re.Pattern[str]:
    """A line that closes a block: as many of the same character, or more, and nothing else."""
    word = END_TAG if fence == TAG else f"{re.escape(fence)}{re.escape(fence[0])}*"
    return re.compile(rf"^[ \t]*{word}[ \t\r]*(?:\n|\Z)", re.MULTILINE)


def _end_of_string(text: str, quotes: str, place: int) -> int:
    """Where a string in triple quotes ends, negative if it goes on."""
    at = text.find(quotes, place)
    while at >= 0 and odd_backslashes(text, place, at):
        place = at + 1
        at = text.find(quotes, place)
    return at + 3 if at >= 0 else -1


class CodeScanner(Scanner):
    def __init__(self, signs: MarkerSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.fence = ""
        self.language = ""
        """Of the block that is open: "python", "" where none was named, or another."""
        self.is_python = False
        self.parts: list[str] = []
        self._line_start = 0
        """Which of the parts began the line that is not yet whole."""
        self._quote = ""
        self._closing_pattern = _closing_pattern("```")

    def open(self, word: str) -> bool:
        self.fence = word
        self.state = self.in_fence_info
        if not self.line_is_blank:
            self.treat_as_text()
        return False

    def in_fence_info(self, text: str, place: int, end: int) -> int:
        """The rest of the line of an opening fence."""
        at = text.find("\n", place, place + _MAX_INFO_LENGTH)
        if at < 0:
            if end - place < _MAX_INFO_LENGTH and not self.is_final:
                return ~place
            self.treat_as_text()
            return place
        info = text[place:at]
        longer = len(info) - len(info.lstrip(self.fence[0])) if self.fence != TAG else 0
        found = _INFO.match(info, longer)
        if found is None or (self.fence == TAG and info.strip()):
            self.treat_as_text()
            return place
        self.fence += self.fence[0] * longer
        said = found.group(1).lower()
        self.language = "python" if said in LANGUAGES or self.fence == TAG else said
        self.source.append(text[place : at + 1])
        self.parts, self._quote = [], ""
        self.is_python = self.language == "python"
        self._closing_pattern = _closing_pattern(self.fence)
        if self.language == "python":
            self.start_call(PYTHON)
        elif self.language:
            self.emit_text(self.take_source())
        self.state = self.at_line
        return at + 1

    def at_line(self, text: str, place: int, end: int) -> int:
        behind = end if self.is_final else text.rfind("\n", place) + 1
        if behind > place:
            return self._read_lines(text, place, behind)
        line = text[place:]
        if len(line) < _MAX_CLOSING_LENGTH and self._may_close(line):
            return ~place
        self._line_start = len(self.parts)
        self._append(line)
        self.state = self.in_line
        return end

    def _read_lines(self, text: str, place: int, end: int) -> int:
        """Whole lines up to one that closes the block, or all there are."""
        found = self._closing_pattern.search(text, place, end)
        lines = text[place : found.start() if found else end]
        if lines:
            self._append(lines)
            self._track_strings(lines)
        if found is None:
            return end
        if self._quote:
            self._append(found.group())
            self._track_strings(found.group())
        else:
            self._close(found.group())
        return found.end()

    def in_line(self, text: str, place: int, end: int) -> int:
        """A line that closes nothing, of which more is to come."""
        at = text.find("\n", place)
        if at < 0 and self.is_python:
            # What `_take` does, without the way there: most chunks of a long program end here.
            more = text[place:] if place else text
            self.source.append(more)
            self.parts.append(more)
            self.events.append(Arguments(self.index, more))
            return end
        more = text[place:] if at < 0 else text[place : at + 1]
        self._append(more)
        if at >= 0:
            self._track_strings("".join(self.parts[self._line_start :]))
            self.state = self.at_line
        return place + len(more)

    # -- closing -----------------------------------------------------------------------------------------------------

    def _may_close(self, line: str) -> bool:
        said = line.strip()
        return not said or END_TAG.startswith(said) if self.fence == TAG else not said.strip(self.fence[0])

    def _close(self, line: str) -> None:
        self.state = self.in_text
        body = "".join(self.parts)
        if self.language not in ("", "python") or (not self.language and not self._looks_like_python(body)):
            self.source.append(line)
            self.treat_as_text()
            return
        if not self.language:
            self.start_call(PYTHON)
            self.emit_arguments(body)
        self.source.append(line)
        self.complete_call({"code": dedent(body).removesuffix("\n")}, body, typed=True)
        self.line_is_blank = True

    def _looks_like_python(self, body: str) -> bool:
        return _PYTHON_LINE.search(body) is not None or any(f"{name}(" in body for name in self.names.tools)

    # -- what stands inside ------------------------------------------------------------------------------------------

    def _append(self, text: str) -> None:
        if self.language not in ("", "python"):
            self.emit_text(text)
            return
        self.source.append(text)
        self.parts.append(text)
        if self.is_python:
            self.events.append(Arguments(self.index, text))

    def _track_strings(self, line: str) -> None:
        """Whether a string goes on behind the line."""
        if self.language not in ("", "python"):
            return
        if not self._quote and '"""' not in line and "'''" not in line:
            return
        place = 0
        while True:
            if self._quote:
                place = _end_of_string(line, self._quote, place)
                if place < 0:
                    return
                self._quote = ""
            token = _TOKEN.search(line, place)
            if token is None:
                return
            place = token.end()
            if token.group() in _TRIPLE:
                self._quote = token.group()

    def at_end(self) -> None:
        if not self.source:
            return
        if self.language == "python" and self.state in (self.at_line, self.in_line):
            why = "A string in the code does not end." if self._quote else CUT_MESSAGE
            self.break_call(
                f"{why} Close the block with {END_TAG if self.fence == TAG else self.fence} on a line of its own."
            )
        else:
            self.treat_as_text()
