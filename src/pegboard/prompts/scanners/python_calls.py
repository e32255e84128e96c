"""Calls as Python writes them: `[f(a=1), g(b='x')]`, wrapped in markers or bare, or one to a line.

Quotes and brackets are followed to the end of a call, each character once; only then is it read, as literals.
Nothing runs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pegboard.core.json.values import Json
from pegboard.prompts.events import Arguments, MarkerSet, Matcher, is_cut_off, marker_set, matcher
from pegboard.prompts.python_literals import AFTER_STRING, UNCLEAR_END, LiteralError, odd_backslashes, parse_keywords
from pegboard.prompts.repair import INNER_QUOTES
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, SPACE
from pegboard.prompts.scanners.json_calls import FENCE as FENCE
from pegboard.prompts.scanners.json_calls import FENCE_LEFT_OUT, MAX_LANGUAGE_LENGTH, JsonFallbackScanner, match_fence
from pegboard.prompts.scanners.json_value import ValueSyntax
from pegboard.prompts.tool_shape import ToolShape
from pegboard.prompts.values import parameter_schema, schema_types

CORRECTION: Final = "Write it as tool_name(argument=value, …) with plain values"
LANGUAGES: Final = frozenset(("", "python", "py", "python3", "tool_code", "tool_call", "tool_calls"))

_match_name: Final = re.compile(r"(\w[\w.\-]*)[ \t]*\(").match
_match_begun_name: Final = re.compile(r"\w[\w.\-]*[ \t]*\Z").match
PARENTHESIS_ADDED: Final = "the missing ) of the call was added"
EXTRA_LISTS_LEFT_OUT: Final = "brackets around the list of calls were left out"
MAX_LISTS: Final = 3
LEFTOVER_MESSAGE: Final = (
    "The call was not made: text stands behind it, so a string in it may have quotes that are not escaped. "
    "Write \\ before each of them."
)


@dataclass(frozen=True)
class PythonSyntax(ValueSyntax):
    opener_is_fence: bool = False
    """The opener is the fence of a block of code, whose first line may name a language."""
    allows_lines: bool = False
    """A call of a known tool counts at the beginning of any line, without marker or list."""

    @cached_property
    def match_argument_text(self) -> Matcher:
        """Everything in arguments that is no quote, no bracket and begins no end marker."""
        return matcher("[^'\"()\\[\\]{}" + re.escape(self.end_markers.first_characters) + "]*")

    @cached_property
    def line_ends(self) -> MarkerSet:
        return marker_set((*self.end_markers.words, "\n"))


class PythonScanner(JsonFallbackScanner):
    syntax: PythonSyntax

    def __init__(self, signs: PythonSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.open_lists = 0
        """Lists that are open around the calls: one, unless the model wrote more."""
        self.began_with_list = False
        """Whether the calls began with a list, which may be closed by now."""
        self.is_doubtful = False
        """Whether a call is withheld up to the end of all calls, because a string in it may end elsewhere."""
        self.is_bare = False
        self.wrapper = ""
        """The code fence that was opened between the marker and the calls."""
        self.in_fence = False
        """Inside a block of code that holds no calls: the next fence closes it."""
        self.searched_text = ""
        self.searched_from = 0
        self.next_marker: re.Match[str] | None = None
        self.name = ""
        self.written_arguments: list[str] = []
        self.open_brackets = 0
        self.quotes = ""
        self.is_escaped = False

    # -- where a call may begin --------------------------------------------------------------------------------------

    def in_text(self, text: str, place: int, end: int) -> int:
        if not self.syntax.allows_lines:
            return super().in_text(text, place, end)
        if (
            self.searched_text is not text
            or place < self.searched_from
            or (self.next_marker and self.next_marker.start() < place)
        ):
            # Once a buffer, not once a call: it may hold thousands of them and no marker.
            self.searched_text, self.searched_from, self.next_marker = text, place, self.syntax.find(text, place)
        marked = self.next_marker
        sure = marked.start() if marked else end if self.is_final else self.syntax.markers.safe_end(text, place, end)
        at = place
        while at < sure:
            if not self.line_is_blank:
                stop = min(text.find("\n", at) + 1 or sure, sure)
                self.emit_text(text[at:stop])
                at = stop
                continue
            word = SPACE(text, at).end()
            if word > at:
                self.emit_text(text[at : min(word, sure)])
                at = min(word, sure)
                continue
            found = _match_name(text, at)
            if found and found.end() - at <= MAX_HEADER_LENGTH and self.is_tool_name(found.group(1)):
                self.open_bare("")
                return at
            if (
                not found
                and not self.is_final
                and sure == end
                and end - at < MAX_HEADER_LENGTH
                and _match_begun_name(text, at)
            ):
                return ~at
            stop = min(text.find("\n", at) + 1 or sure, sure)
            self.emit_text(text[at:stop])
            at = stop
        if marked:
            return super().in_text(text, sure, end)
        return end if sure == end else ~sure

    def open(self, word: str) -> bool:
        self.open_lists, self.began_with_list, self.wrapper = 0, False, ""
        self.is_bare = self.syntax.opener_is_fence and word == FENCE
        if not self.is_bare:
            self.state = self.after_opener
        elif self.in_fence:
            self.in_fence = False
            self.treat_as_text()
        else:
            self.state = self.at_language
        return False

    def open_bare(self, character: str) -> None:
        self.open_lists, self.began_with_list, self.wrapper, self.is_bare = 0, False, "", True
        self.state = self.after_opener
        if not self.has_tools and not self.line_is_blank:
            self.treat_as_text()  # Inside a line any bracket of prose would do, were no tools known.

    def is_tool_name(self, name: str) -> bool:
        """Whether a name without any marker can be that of a tool."""
        if self.has_tools or not (self.syntax.allows_lines or self.syntax.opener_is_fence):
            return self.is_known_tool(name)
        # Were no tools known, any function of any code would do; a toolset in the name tells them apart.
        return "__" in name.strip("_")

    def at_language(self, text: str, place: int, end: int) -> int:
        stop = text.find("\n", place, place + MAX_LANGUAGE_LENGTH)
        if stop < 0 and end - place < MAX_LANGUAGE_LENGTH and not self.is_final:
            return ~place
        if stop < 0 or text[place:stop].strip() not in LANGUAGES:
            self.in_fence = True
            self.treat_as_text()
            return place
        self.source.append(text[place : stop + 1])
        self.state = self.after_opener
        return stop + 1

    def after_opener(self, text: str, place: int, end: int) -> int:
        """Behind an opener or between calls: white space, a list, or a name."""
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        if text[place] == "[" and self.open_lists < (1 if self.is_bare else MAX_LISTS):
            self.open_lists += 1
            self.began_with_list = True
            self.source.append("[")
            return place + 1
        if text[place] == "`" and not self.is_bare and not self.wrapper:
            return self.at_wrapper(text, place, end)
        if text[place] == "{" and not self.is_bare:
            self.release_all()
            self.begin_value(streams=False)
            return place
        found = _match_name(text, place)
        if found is None and not self.is_final and end - place < MAX_HEADER_LENGTH and _match_begun_name(text, place):
            return ~place
        if found is None or found.end() - place > MAX_HEADER_LENGTH:
            return self.on_missing_name(text, place, end)
        name = found.group(1)
        if self.is_bare and not self.is_tool_name(name):
            if self.is_withholding and (self.open_lists or self.is_doubtful):
                return self.refuse_leftover(place)
            self.in_fence = self.syntax.opener_is_fence
            self.release_all()
            self.treat_as_text()
            return place
        if not self.is_doubtful:
            self.release()
        self.source.append(found.group())
        self.name, self.written_arguments, self.open_brackets, self.is_escaped = name, [], 1, False
        self.start_call(name)
        self.state = self.in_arguments
        return found.end()

    def at_wrapper(self, text: str, place: int, end: int) -> int:
        """A code fence behind the marker: what is in it are the calls."""
        found = match_fence(text, place, place + MAX_LANGUAGE_LENGTH)
        if found is None and not self.is_final and end - place < MAX_LANGUAGE_LENGTH and "\n" not in text[place:end]:
            return ~place
        if found is None:
            return self.on_missing_name(text, place, end)
        self.source.append(found.group())
        self.wrapper = FENCE
        return found.end()

    def on_missing_name(self, text: str, place: int, end: int) -> int:
        word = "" if self.is_bare else self.syntax.end_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if word:
            self.source.append(word)
            self.release_all()
            self.break_call(f"The call is empty. {CORRECTION}.")
            return place + len(word)
        if self.is_withholding and (self.open_lists or self.is_doubtful):
            return self.refuse_leftover(place)
        self.release_all()
        self.in_fence = self.syntax.opener_is_fence and self.is_bare
        self.treat_as_text()
        return place

    # -- arguments ---------------------------------------------------------------------------------------------------

    def write_arguments(self, said: str) -> None:
        self.source.append(said)
        self.written_arguments.append(said)
        # What `argue` does, without the way there: this runs once for each chunk of an argument.
        self.events.append(Arguments(self.index, said))

    def in_arguments(self, text: str, place: int, end: int) -> int:
        start, depth, plain = place, self.open_brackets, self.syntax.match_argument_text
        while True:
            at = plain(text, place).end()
            if at == end:
                self.open_brackets = depth
                self.write_arguments(text[start:] if start else text)
                return end
            found = text[at]
            place = at + 1
            if found == "'" or found == '"':
                self.open_brackets = depth
                if place < end and text[place] != found:
                    self.write_arguments(text[start:place])
                    self.quotes, self.is_escaped = found, False
                    self.state = self.in_quotes
                    return place
                if at > start:
                    self.write_arguments(text[start:at])
                self.state = self.at_quotes
                return at
            if found in "([{":
                depth += 1
                continue
            if found not in ")]}":
                word = self.syntax.end_markers.match_at(text, at, end, self.is_final)
                if word == "":
                    continue
                self.open_brackets = depth
                if at > start:
                    self.write_arguments(text[start:at])
                if word is None:
                    return ~at
                self.end_call("" if depth == 1 else word)
                return at
            depth -= 1
            if not depth:
                if at > start:
                    self.write_arguments(text[start:at])
                self.source.append(found)
                self.end_call(found)
                return place

    def at_quotes(self, text: str, place: int, end: int) -> int:
        quote = text[place]
        if not self.is_final and end - place < 3 and text[place:end] == quote * (end - place):
            return ~place  # One quote, an empty string, or the first of three.
        self.quotes = quote * 3 if text.startswith(quote * 3, place) else quote
        self.write_arguments(self.quotes)
        self.is_escaped = False
        self.state = self.in_quotes
        return place + len(self.quotes)

    def in_quotes(self, text: str, place: int, end: int) -> int:
        scan, quotes = place, self.quotes
        if self.is_escaped:
            scan, self.is_escaped = place + 1, False
        at = text.find(quotes, scan)
        while at >= 0 and odd_backslashes(text, scan, at):
            scan = at + 1
            at = text.find(quotes, scan)
        if at < 0:
            return self.in_open_quotes(text, place, scan, end)
        if len(quotes) == 3:
            # Of more than three quotes the last three close.
            run = at + 3
            while run < end and text[run] == quotes[0]:
                run += 1
            if run == end and not self.is_final:
                if at > place:
                    self.write_arguments(text[place:at])
                return ~at
            at = run - 3
        behind = at + len(quotes)
        self.write_arguments(text[place:behind])
        is_closed = len(quotes) == 3 or (behind < end and text[behind] in AFTER_STRING)
        self.state = self.in_arguments if is_closed else self.behind_quotes
        return behind

    def in_open_quotes(self, text: str, place: int, scan: int, end: int) -> int:
        sure = end
        if len(self.quotes) == 3 and not self.is_final:
            while sure > scan and end - sure < 2 and text[sure - 1] == self.quotes[0]:
                sure -= 1
        self.is_escaped = odd_backslashes(text, scan, sure)
        if self.is_escaped and sure < end:
            self.is_escaped, sure = False, sure + 1
        if sure > place:
            self.write_arguments(text[place:sure] if place or sure < end else text)
        return end if sure == end else ~sure

    def behind_quotes(self, text: str, place: int, end: int) -> int:
        """A quote ends the string only if something structural follows; the reader of literals has the same rule."""
        behind = SPACE(text, place).end()
        if behind > place:
            self.write_arguments(text[place:behind])
            return behind
        word = "" if text[place] in AFTER_STRING else self.syntax.end_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        self.state = self.in_arguments if word or text[place] in AFTER_STRING else self.in_quotes
        return place

    # -- the end of a call -------------------------------------------------------------------------------------------

    def end_call(self, closed_by: str) -> None:
        """`closed_by` is the parenthesis, or "" where an end marker stands in its place."""
        raw = "".join(self.written_arguments)
        forgotten = closed_by == "" or (closed_by == "]" and self.open_lists > 0)
        try:
            if closed_by != ")" and not forgotten:
                raise LiteralError(f"its parenthesis is closed by {closed_by!r}")
            # Without list and marker nothing behind the call would show that a string goes on.
            named, positional, repairs = parse_keywords(
                raw, has_type=self.has_type, is_enclosed=self.open_lists > 0 or not self.is_bare
            )
            if forgotten and INNER_QUOTES in repairs:
                raise LiteralError(UNCLEAR_END)
            if positional:
                named = self.assign_positional(named, positional)
        except LiteralError as error:
            self.revoke()
            self.is_doubtful = False
            self.break_call(f"The call of {self.name!r} was not made: {error}. {CORRECTION}.")
        else:
            for repair in (*((PARENTHESIS_ADDED,) if forgotten else ()), *self.surrounding_repairs(), *repairs):
                self.add_repair(repair)
            self.complete_call(named, raw)
            self.withhold()
            self.is_doubtful = self.is_doubtful or forgotten or INNER_QUOTES in repairs
        if closed_by == "]" and self.open_lists:
            self.open_lists -= 1
        self.state = self.behind_call

    def has_type(self, key: str) -> bool:
        """Whether the tool's schema gives the argument a type."""
        return bool(schema_types(parameter_schema(self.tool, key)))

    def surrounding_repairs(self) -> tuple[str, ...]:
        """What stands around the calls and should not."""
        return ((FENCE_LEFT_OUT,) if self.wrapper else ()) + ((EXTRA_LISTS_LEFT_OUT,) if self.open_lists > 1 else ())

    def json_repairs(self) -> tuple[str, ...]:
        return self.surrounding_repairs()

    def assign_positional(self, named: dict[str, Json], positional: Sequence[Json]) -> dict[str, Json]:
        """An argument without a name, where it can be one alone: the only parameter, or an object of all arguments."""
        tool = self.tool
        properties = tool.properties if tool else {}
        required = tool.parameters.get("required") if tool else None
        only = list(properties) if len(properties) == 1 else required if isinstance(required, list) else []
        first = positional[0]
        if len(positional) == 1 and not named:
            if isinstance(first, dict) and first and first.keys() <= properties.keys():
                self.add_repair("the arguments were given as one object")
                return first
            if len(only) == 1 and isinstance(only[0], str):
                self.add_repair(f"the argument without a name was read as {only[0]!r}")
                return {only[0]: first}
        raise LiteralError("an argument has no name")

    def behind_call(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.emit_markup(text[place:behind])
            if "\n" in text[place:behind] and (self.syntax.allows_lines or (self.is_bare and not self.open_lists)):
                self.release_all()
                if self.syntax.allows_lines:
                    self.line_is_blank = True
                    self.state = self.in_text
            return behind
        found = text[place]
        if self.open_lists and found == "]":
            self.open_lists -= 1
        elif (self.open_lists and found == ",") or found == ";":
            pass
        elif found == "`" and self.wrapper:
            return self.at_wrapper_end(text, place, end)
        elif (found == "_" or found.isalnum()) and (self.open_lists or not self.is_bare or self.syntax.opener_is_fence):
            self.state = self.after_opener
            return place
        else:
            return self.behind_all(text, place, end)
        self.emit_markup(found)
        if not self.is_doubtful:
            self.release()
        return place + 1

    def behind_all(self, text: str, place: int, end: int) -> int:
        """Where no further call stands: an end marker, text, or the rest of a string that was read as ended."""
        word = self.syntax.end_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if not word and self.is_withholding and self.is_leftover(text[place]):
            return self.refuse_leftover(place)
        self.release_all()
        self.state = self.after_call
        return place

    def is_leftover(self, character: str) -> bool:
        """Whether what follows a call shows that a string in it goes on."""
        if character in "\"'" or self.open_lists:
            return True
        return self.is_doubtful and (not self.is_bare or not self.began_with_list or character in ")]},")

    def refuse_leftover(self, place: int) -> int:
        self.revoke()
        self.is_doubtful = False
        self.state = self.in_leftover
        return place

    def in_leftover(self, text: str, place: int, end: int) -> int:
        """What belongs to a string that was read as ended, up to the end marker or, without one, of the line."""
        stops = self.syntax.line_ends if self.is_bare else self.syntax.end_markers
        found = stops.search(text, place)
        sure = found.start() if found else end if self.is_final else stops.safe_end(text, place, end)
        if sure > place:
            self.source.append(text[place:sure])
        if found:
            self.break_call(LEFTOVER_MESSAGE)
            return sure
        return end if sure == end else ~sure

    def release_all(self) -> None:
        """Nothing more is to come that may show the calls misread."""
        self.release()
        self.is_doubtful = False

    def at_wrapper_end(self, text: str, place: int, end: int) -> int:
        if not self.is_final and is_cut_off(FENCE, text, place, end):
            return ~place
        if not text.startswith(FENCE, place):
            return self.behind_all(text, place, end)
        self.wrapper = ""
        self.emit_markup(FENCE)
        return place + len(FENCE)

    def at_end(self) -> None:
        if self.state == self.in_leftover:
            self.break_call(LEFTOVER_MESSAGE)
            return
        if self.is_doubtful and "".join(self.source).strip():
            self.revoke()
            self.break_call(LEFTOVER_MESSAGE)
            return
        self.release(recovered=self.is_doubtful and (self.open_lists > 0 or not self.is_bare))
        if self.source and self.is_bare and self.state in (self.after_opener, self.at_language):
            self.treat_as_text()
        else:
            super().at_end()

    # -- JSON where Python should be ----------------------------------------------------------------------------------

    expected_syntax = "Python"
    correction = CORRECTION

    def after_json(self, text: str, place: int, end: int) -> int:
        found = text[place]
        if self.open_lists and found == "]":
            self.open_lists -= 1
        elif self.open_lists and found == "{":
            self.state = self.after_opener
            return place
        elif found == "`" and self.wrapper:
            return self.at_wrapper_end(text, place, end)
        elif not ((self.open_lists or self.wrapper) and (found == "," or found.isspace())):
            self.state = self.after_call
            return place
        self.emit_markup(found)
        return place + 1

    def on_no_json(self, place: int) -> int:
        self.break_call(f"The call was not made: it is neither Python nor JSON. {CORRECTION}.")
        return place
