"""References in texts: `${NAME}`, `${NAME:-default}` and `${file:path}`; `$${` stands for a plain `${`.

Where callers have a say, `${request:Header}` stands for a header of their own.

A value keeps its references as they were written, wherever it goes, until the moment it is used.
"""

import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

from pegboard.ports.providers import Expand, ExpandForCaller, UnresolvedReference

MAX_FILE_BYTES: Final = 65_536
_NO_HEADERS: Final[Mapping[bytes, bytes]] = MappingProxyType({})
MAX_SENT_HEADER_BYTES: Final = 8_192
"""Bytes of a header that a caller lends: as much as most servers take of one."""
_SENDABLE: Final = re.compile(rb"[\x20-\x7e]+")

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE: Final = re.compile(rf"({_NAME})(?::-(.*))?", re.DOTALL)

_HEADER: Final = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_REQUEST_HEADER: Final = re.compile(rf"request:({_HEADER})(?::-(.*))?", re.DOTALL)
_DEFAULT: Final = r"(?::-(?:(?!\$\{)[^}])*)?"


def _pattern_of(*kinds: str) -> str:
    return rf"(?:\$\$\{{|\$\{{(?:{'|'.join(kinds)})\}}|\$(?!\$?\{{)|[^$])*"


_KINDS: Final = (rf"{_NAME}{_DEFAULT}", r"file:\s*[^}\s][^}]*")
REFERENCE_PATTERN: Final = _pattern_of(*_KINDS)
"""Every text whose references are well formed, as a regular expression that editors understand too."""

CALLER_REFERENCE_PATTERN: Final = _pattern_of(*_KINDS, rf"request:{_HEADER}{_DEFAULT}")
"""The same where a reference may stand for what a caller sends."""


@dataclass(frozen=True, slots=True)
class Literal:
    text: str


@dataclass(frozen=True, slots=True)
class VariableReference:
    name: str
    default: str | None = None

    def __str__(self) -> str:
        """Without the default, which may be a secret."""
        return f"${{{self.name}}}"

    @property
    def source(self) -> str:
        return str(self) if self.default is None else f"${{{self.name}:-{self.default}}}"


@dataclass(frozen=True, slots=True)
class FileReference:
    path: str

    def __str__(self) -> str:
        return f"${{file:{self.path}}}"

    @property
    def source(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class HeaderReference:
    """A header of the caller's own request: every caller has its own."""

    header: str
    default: str | None = None

    def __str__(self) -> str:
        return f"${{request:{self.header}}}"

    @property
    def source(self) -> str:
        return str(self) if self.default is None else f"${{request:{self.header}:-{self.default}}}"


TextPart: TypeAlias = Literal | VariableReference | FileReference | HeaderReference


@dataclass(frozen=True, slots=True)
class MalformedText:
    why: str


def parse_references(text: str) -> tuple[TextPart, ...] | MalformedText:
    """The text taken apart. An empty literal is no part."""
    found: list[TextPart] = []
    place = 0
    while (start := text.find("${", place)) >= 0:
        if start > place and text[start - 1] == "$":
            found.append(Literal(text[place : start - 1] + "${"))
            place = start + 2
            continue
        if start > place:
            found.append(Literal(text[place:start]))
        end = text.find("}", start)
        part = None if end < 0 else _parse_reference(text[start + 2 : end])
        if part is None:
            return MalformedText(_malformed_message(text[start + 2 :]))
        found.append(part)
        place = end + 1
    if place < len(text):
        found.append(Literal(text[place:]))
    return tuple(found)


def _parse_reference(inside: str) -> VariableReference | FileReference | HeaderReference | None:
    if (asked := _REQUEST_HEADER.fullmatch(inside)) is not None and "${" not in inside:
        return HeaderReference(asked.group(1), asked.group(2))
    if inside.startswith("file:"):
        path = inside.removeprefix("file:").strip()
        return FileReference(path) if path else None
    named = _VARIABLE.fullmatch(inside)
    if named is None or "${" in inside:
        return None
    return VariableReference(named.group(1), named.group(2))


def has_reference(text: str) -> bool:
    split = parse_references(text)
    return isinstance(split, tuple) and any(not isinstance(part, Literal) for part in split)


def is_only_references(text: str) -> bool:
    """Nothing of it is written out, so that showing it shows no secret. A default is written out."""
    split = parse_references(text)
    return isinstance(split, tuple) and all(
        (isinstance(part, VariableReference | HeaderReference) and not part.default) or isinstance(part, FileReference)
        for part in split
    )


def header_references(text: str) -> tuple[HeaderReference, ...]:
    """What of a text each caller must send itself."""
    split = parse_references(text)
    return tuple(part for part in split if isinstance(part, HeaderReference)) if isinstance(split, tuple) else ()


def header_reference_problem(asked: HeaderReference) -> str:
    return (
        f"{asked} stands for a header of each caller's own request, and this is shared by all callers. "
        "Use it under headers of a server with a url, or write ${NAME} for one value for all."
    )


def escape_literal(text: str) -> str:
    """The text that reads back as exactly this one."""
    return text.replace("${", "$${")


def expander(environ: Mapping[str, str], folder: Path, headers: Mapping[bytes, bytes] = _NO_HEADERS) -> Expand:
    """Paths are taken from `folder`, the one of the file that holds the references; `headers` are a caller's own."""

    def expand(text: str) -> str | UnresolvedReference:
        split = parse_references(text)
        if isinstance(split, MalformedText):
            return UnresolvedReference(split.why)
        values = [
            _header_value(part, headers) if isinstance(part, HeaderReference) else _resolve_part(part, environ, folder)
            for part in split
        ]
        missing = [value.why for value in values if isinstance(value, UnresolvedReference)]
        return UnresolvedReference(" ".join(missing)) if missing else "".join(str(value) for value in values)

    return expand


def expander_for_callers(environ: Mapping[str, str], folder: Path) -> ExpandForCaller:
    """The same in the name of a caller, by the headers that it sends."""

    def expand_for(headers: Mapping[bytes, bytes]) -> Expand:
        return expander(environ, folder, headers)

    return expand_for


def _header_value(part: HeaderReference, headers: Mapping[bytes, bytes]) -> str | UnresolvedReference:
    """Never empty: a server would take an empty credential for none, and may let in whoever has none."""
    value = headers.get(part.header.lower().encode(), b"").strip(b" \t")
    if not value:
        if part.default:
            return part.default
        return UnresolvedReference(f"it needs a header of your own: send {part.header} with your request.")
    if len(value) > MAX_SENT_HEADER_BYTES:
        return UnresolvedReference(
            f"your header {part.header} has {len(value)} bytes, and {MAX_SENT_HEADER_BYTES} are the most. Send a "
            "shorter value."
        )
    if _SENDABLE.fullmatch(value) is None:
        return UnresolvedReference(
            f"your header {part.header} holds what cannot be passed on. Send one line of printable ASCII characters."
        )
    return value.decode("ascii")


def unresolved_references(text: str, environ: Mapping[str, str], folder: Path) -> Iterator[UnresolvedReference]:
    """Each reference of a well formed text that stands for nothing now. What callers send is known when they do."""
    split = parse_references(text)
    for part in () if isinstance(split, MalformedText) else split:
        if not isinstance(part, HeaderReference) and isinstance(
            value := _resolve_part(part, environ, folder), UnresolvedReference
        ):
            yield value


def _resolve_part(
    part: Literal | VariableReference | FileReference, environ: Mapping[str, str], folder: Path
) -> str | UnresolvedReference:
    match part:
        case Literal(text):
            return text
        case VariableReference(name, default):
            value = environ.get(name)
            if default is not None:
                return value or default
            if value is None:
                return UnresolvedReference(
                    f"{part} stands for nothing: the environment variable {name} is not set. "
                    f"Set it before the gateway starts, or write ${{{name}:-a default}}."
                )
            return value
        case FileReference(path):
            return _read_file(part, expand_home(path, environ), folder)
        case _:
            assert_never(part)


def expand_home(path: str, environ: Mapping[str, str]) -> str:
    """`~` and `~/…` as a shell understands them, by the environment that was handed in."""
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if home and (path == "~" or path.startswith(("~/", "~\\"))):
        return home + path[1:]
    return path


def _read_file(part: FileReference, path: str, folder: Path) -> str | UnresolvedReference:
    def no(why: str) -> UnresolvedReference:
        return UnresolvedReference(f"{part} stands for nothing: {why}")

    place = folder / path
    try:
        mode = place.stat().st_mode
        if not stat.S_ISREG(mode):
            return no(f"{place} is {'a folder' if stat.S_ISDIR(mode) else 'no regular file'}. Name a file.")
        with place.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except ValueError:
        return no("no file can have this name.")
    except FileNotFoundError:
        return no(f"there is no file {place}. Create it, or correct the path.")
    except PermissionError:
        return no(f"{place} may not be read by this user. Change its permissions.")
    except OSError as error:
        return no(f"{place} cannot be read: {error.strerror or error}.")
    if len(content) > MAX_FILE_BYTES:
        return no(f"{place} is larger than {MAX_FILE_BYTES // 1024} KiB. Name a file that holds one value.")
    try:
        text = content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        return no(f"{place} is not UTF-8 text.")
    return no(f"{place} holds a NUL character, so it is no text.") if "\0" in text else text


_FORMS_HINT: Final = "Write ${NAME}, ${NAME:-default} or ${file:path}; for a plain ${ write $${."


def _malformed_message(text: str) -> str:
    """Names the reference, but quotes nothing after it: the rest of the text may be a secret."""
    inside, closing, _ = text.partition("}")
    if not closing:
        return f"a reference is opened by ${{ and never closed. {_FORMS_HINT}"
    scheme, colon, name = inside.partition(":")
    if colon and "${" in inside:
        return f"a default cannot hold another reference. {_FORMS_HINT}"
    if colon and scheme == "env" and re.fullmatch(_NAME, name):
        return f"${{env:{name}}} is how some editors write it. Write ${{{name}}}."
    if colon and scheme == "request":
        return "a header of the caller's request is written ${request:X-Name}, with letters, digits, '-' and '_'."
    if colon and scheme == "input":
        return f"there is nobody here to ask for an input. Set a variable and refer to it. {_FORMS_HINT}"
    named = re.match(_NAME, inside)
    what = f"the reference to {named.group()} is not well formed" if named else "this reference names nothing"
    return f"{what}. {_FORMS_HINT}"
