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

from pegboard.ports import Expand, ExpandFor, Unresolved

MAX_FILE_BYTES: Final = 65_536
_NO_HEADERS: Final[Mapping[bytes, bytes]] = MappingProxyType({})
LONGEST_SENT: Final = 8_192
"""Bytes of a header that a caller lends: as much as most servers take of one."""
_SENDABLE: Final = re.compile(rb"[\x20-\x7e]+")

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE: Final = re.compile(rf"({_NAME})(?::-(.*))?", re.DOTALL)

_HEADER: Final = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_OF_REQUEST: Final = re.compile(rf"request:({_HEADER})(?::-(.*))?", re.DOTALL)
_DEFAULT: Final = r"(?::-(?:(?!\$\{)[^}])*)?"


def _form(*kinds: str) -> str:
    return rf"(?:\$\$\{{|\$\{{(?:{'|'.join(kinds)})\}}|\$(?!\$?\{{)|[^$])*"


_KINDS: Final = (rf"{_NAME}{_DEFAULT}", r"file:\s*[^}\s][^}]*")
FORM: Final = _form(*_KINDS)
"""Every text whose references are well formed, as a regular expression that editors understand too."""

FORM_OF_CALLERS: Final = _form(*_KINDS, rf"request:{_HEADER}{_DEFAULT}")
"""The same where a reference may stand for what a caller sends."""


@dataclass(frozen=True, slots=True)
class Literal:
    text: str


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    default: str | None = None

    def __str__(self) -> str:
        """Without the default, which may be a secret."""
        return f"${{{self.name}}}"

    @property
    def written(self) -> str:
        return str(self) if self.default is None else f"${{{self.name}:-{self.default}}}"


@dataclass(frozen=True, slots=True)
class FileText:
    path: str

    def __str__(self) -> str:
        return f"${{file:{self.path}}}"

    @property
    def written(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class OfRequest:
    """A header of the caller's own request: every caller has its own."""

    header: str
    default: str | None = None

    def __str__(self) -> str:
        return f"${{request:{self.header}}}"

    @property
    def written(self) -> str:
        return str(self) if self.default is None else f"${{request:{self.header}:-{self.default}}}"


Part: TypeAlias = Literal | Variable | FileText | OfRequest


@dataclass(frozen=True, slots=True)
class Malformed:
    why: str


def parts(text: str) -> tuple[Part, ...] | Malformed:
    """The text taken apart. An empty literal is no part."""
    found: list[Part] = []
    place = 0
    while (start := text.find("${", place)) >= 0:
        if start > place and text[start - 1] == "$":
            found.append(Literal(text[place : start - 1] + "${"))
            place = start + 2
            continue
        if start > place:
            found.append(Literal(text[place:start]))
        end = text.find("}", start)
        part = None if end < 0 else _reference(text[start + 2 : end])
        if part is None:
            return Malformed(_why_not(text[start + 2 :]))
        found.append(part)
        place = end + 1
    if place < len(text):
        found.append(Literal(text[place:]))
    return tuple(found)


def _reference(inside: str) -> Variable | FileText | OfRequest | None:
    if (asked := _OF_REQUEST.fullmatch(inside)) is not None and "${" not in inside:
        return OfRequest(asked.group(1), asked.group(2))
    if inside.startswith("file:"):
        path = inside.removeprefix("file:").strip()
        return FileText(path) if path else None
    named = _VARIABLE.fullmatch(inside)
    if named is None or "${" in inside:
        return None
    return Variable(named.group(1), named.group(2))


def has_reference(text: str) -> bool:
    split = parts(text)
    return isinstance(split, tuple) and any(not isinstance(part, Literal) for part in split)


def is_only_references(text: str) -> bool:
    """Nothing of it is written out, so that showing it shows no secret. A default is written out."""
    split = parts(text)
    return isinstance(split, tuple) and all(
        (isinstance(part, Variable | OfRequest) and not part.default) or isinstance(part, FileText) for part in split
    )


def asked_of_callers(text: str) -> tuple[OfRequest, ...]:
    """What of a text each caller must send itself."""
    split = parts(text)
    return tuple(part for part in split if isinstance(part, OfRequest)) if isinstance(split, tuple) else ()


def not_here(asked: OfRequest) -> str:
    return (
        f"{asked} stands for a header of each caller's own request, and this is shared by all callers. "
        "Use it under headers of a server with a url, or write ${NAME} for one value for all."
    )


def literal(text: str) -> str:
    """The text that reads back as exactly this one."""
    return text.replace("${", "$${")


def expander(environ: Mapping[str, str], folder: Path, headers: Mapping[bytes, bytes] = _NO_HEADERS) -> Expand:
    """Paths are taken from `folder`, the one of the file that holds the references; `headers` are a caller's own."""

    def expand(text: str) -> str | Unresolved:
        split = parts(text)
        if isinstance(split, Malformed):
            return Unresolved(split.why)
        values = [
            _sent(part, headers) if isinstance(part, OfRequest) else _resolved(part, environ, folder) for part in split
        ]
        missing = [value.why for value in values if isinstance(value, Unresolved)]
        return Unresolved(" ".join(missing)) if missing else "".join(str(value) for value in values)

    return expand


def expander_for_callers(environ: Mapping[str, str], folder: Path) -> ExpandFor:
    """The same in the name of a caller, by the headers that it sends."""

    def expand_for(headers: Mapping[bytes, bytes]) -> Expand:
        return expander(environ, folder, headers)

    return expand_for


def _sent(part: OfRequest, headers: Mapping[bytes, bytes]) -> str | Unresolved:
    """Never empty: a server would take an empty credential for none, and may let in whoever has none."""
    value = headers.get(part.header.lower().encode(), b"").strip(b" \t")
    if not value:
        if part.default:
            return part.default
        return Unresolved(f"it needs a header of your own: send {part.header} with your request.")
    if len(value) > LONGEST_SENT:
        return Unresolved(
            f"your header {part.header} has {len(value)} bytes, and {LONGEST_SENT} are the most. Send a shorter value."
        )
    if _SENDABLE.fullmatch(value) is None:
        return Unresolved(
            f"your header {part.header} holds what cannot be passed on. Send one line of printable ASCII characters."
        )
    return value.decode("ascii")


def unresolved(text: str, environ: Mapping[str, str], folder: Path) -> Iterator[Unresolved]:
    """Each reference of a well formed text that stands for nothing now. What callers send is known when they do."""
    split = parts(text)
    for part in () if isinstance(split, Malformed) else split:
        if not isinstance(part, OfRequest) and isinstance(value := _resolved(part, environ, folder), Unresolved):
            yield value


def _resolved(part: Literal | Variable | FileText, environ: Mapping[str, str], folder: Path) -> str | Unresolved:
    match part:
        case Literal(text):
            return text
        case Variable(name, default):
            value = environ.get(name)
            if default is not None:
                return value or default
            if value is None:
                return Unresolved(
                    f"{part} stands for nothing: the environment variable {name} is not set. "
                    f"Set it before the gateway starts, or write ${{{name}:-a default}}."
                )
            return value
        case FileText(path):
            return _content(part, under_home(path, environ), folder)
        case _:
            assert_never(part)


def under_home(path: str, environ: Mapping[str, str]) -> str:
    """`~` and `~/…` as a shell understands them, by the environment that was handed in."""
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if home and (path == "~" or path.startswith(("~/", "~\\"))):
        return home + path[1:]
    return path


def _content(part: FileText, path: str, folder: Path) -> str | Unresolved:
    def no(why: str) -> Unresolved:
        return Unresolved(f"{part} stands for nothing: {why}")

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


_FORMS: Final = "Write ${NAME}, ${NAME:-default} or ${file:path}; for a plain ${ write $${."


def _why_not(text: str) -> str:
    """Names the reference, but quotes nothing after it: the rest of the text may be a secret."""
    inside, closing, _ = text.partition("}")
    if not closing:
        return f"a reference is opened by ${{ and never closed. {_FORMS}"
    scheme, colon, name = inside.partition(":")
    if colon and "${" in inside:
        return f"a default cannot hold another reference. {_FORMS}"
    if colon and scheme == "env" and re.fullmatch(_NAME, name):
        return f"${{env:{name}}} is how some editors write it. Write ${{{name}}}."
    if colon and scheme == "request":
        return "a header of the caller's request is written ${request:X-Name}, with letters, digits, '-' and '_'."
    if colon and scheme == "input":
        return f"there is nobody here to ask for an input. Set a variable and refer to it. {_FORMS}"
    named = re.match(_NAME, inside)
    what = f"the reference to {named.group()} is not well formed" if named else "this reference names nothing"
    return f"{what}. {_FORMS}"
