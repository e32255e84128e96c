"""The parts of a multipart body. Two bodies are the same when their parts are, whatever divides them."""

import re
from dataclasses import dataclass

_BOUNDARY = re.compile(r'boundary=(?:"([^"]+)"|([^\s;]+))', re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, in the order of the names: the order they came in means nothing."""
    content: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def name(self) -> str | None:
        found = re.search(r'(?:^|;)\s*name="([^"]*)"', self.header("content-disposition") or "")
        return None if found is None else found[1]


class MultipartError(ValueError):
    """What is not as RFC 2046 has it; the message says where."""


def parts(content_type: str, body: bytes) -> tuple[Part, ...]:
    if not content_type.lower().startswith("multipart/form-data"):
        raise MultipartError(f"the content type is {content_type!r}, not multipart/form-data")
    given = _BOUNDARY.search(content_type)
    if given is None:
        raise MultipartError(f"the content type {content_type!r} names no boundary")
    return between((given[1] or given[2]).encode("latin-1"), body)


def between(boundary: bytes, body: bytes) -> tuple[Part, ...]:
    divider = b"\r\n--" + boundary
    first, *rest = (b"\r\n" + body).split(divider)
    if first.strip() or not rest:
        raise MultipartError("the body does not begin with its boundary")
    if rest.pop().rstrip(b"\r\n") != b"--":
        raise MultipartError("the body does not end with its boundary")
    return tuple(_part(text) for text in rest)


def _part(text: bytes) -> Part:
    head, blank, content = text.partition(b"\r\n\r\n")
    if not blank or not head.startswith(b"\r\n"):
        raise MultipartError("a part has no empty line after its headers")
    headers = []
    for line in head[2:].split(b"\r\n"):
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        if not colon:
            raise MultipartError(f"a part's header {name!r} has no colon")
        headers.append((name.strip().lower(), value.strip()))
    return Part(tuple(sorted(headers)), content)
