"""Bad days of the API that a test orders in advance."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.responses import Response


@dataclass
class Fault:
    """Answers the next requests whose method and path fit, in place of what they asked for; then it is over."""

    status: int
    method: str | None = None
    path: str = ""
    """Any path with this in it."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Any = ""
    """A text or bytes go as they are, everything else as JSON."""
    times: int = 1

    def fits(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method in (None, method) and self.path in path

    def response(self) -> Response:
        self.times -= 1
        headers = dict(self.headers)
        if isinstance(self.body, str | bytes):
            return Response(self.body, self.status, headers)
        kind = {} if any(name.lower() == "content-type" for name in headers) else {"Content-Type": "application/json"}
        return Response(json.dumps(self.body), self.status, kind | headers)


@dataclass
class Hold:
    """Requests that fit reach the API and wait there until they are let go, or until the caller hangs up."""

    method: str | None = None
    path: str = ""
    reached: anyio.Event = field(default_factory=anyio.Event)
    let_go: anyio.Event = field(default_factory=anyio.Event)
    hung_up: anyio.Event = field(default_factory=anyio.Event)

    def fits(self, method: str, path: str) -> bool:
        return self.method in (None, method) and self.path in path
