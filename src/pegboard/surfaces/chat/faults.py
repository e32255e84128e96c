"""What a client is told that gets no answer, in the words of the API: what was wrong, where, and what to do."""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from pegboard.core.tool import JsonObject
from pegboard.ports.models import Fault, ModelTrouble

Headers = tuple[tuple[bytes, bytes], ...]

INVALID: Final = "invalid_request_error"
_STATUSES: Final = {
    Fault.AWAY: 502,
    Fault.SILENT: 504,
    Fault.KEY: 502,
    Fault.NO_MODEL: 404,
    Fault.BUSY: 503,
    Fault.REFUSED: 400,
    Fault.GARBLED: 502,
    Fault.CUT: 502,
}
_CODES: Final = {Fault.NO_MODEL: "model_not_found", Fault.REFUSED: "model_server_refused"}
NO_RETRY: Final[Headers] = ((b"x-should-retry", b"false"),)
"""Clients of this API repeat what failed by themselves. Where tools have run, that would run them again."""


@dataclass(frozen=True)
class Refused:
    """An answer in place of the request's own."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    headers: Headers = field(default=(), repr=False)

    @property
    def body(self) -> JsonObject:
        kind = INVALID if self.status < 500 else "api_error"
        match self.status:
            case HTTPStatus.UNAUTHORIZED:
                kind = "authentication_error"
            case HTTPStatus.TOO_MANY_REQUESTS:
                kind = "rate_limit_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def bad(message: str, param: str | None = None, code: str | None = None) -> Refused:
    return Refused(400, message, param, code)


def unlisted(trouble: ModelTrouble) -> Refused:
    """There is no list, whatever its server has against the question: the client asked for nothing wrong."""
    told = of_trouble(trouble, have_run=False)
    return told if told.status >= 500 else Refused(502, told.message, code=f"model_server_{trouble.fault.value}")


def of_trouble(trouble: ModelTrouble, *, have_run: bool) -> Refused:
    """`have_run`: tools were called before the trouble."""
    told = "Tools have been called before that: see pegboard.calls. " if have_run else ""
    headers: Headers = NO_RETRY if have_run else ()
    if trouble.retry_after is not None and trouble.retry_after.isdigit():
        headers = (*headers, (b"retry-after", trouble.retry_after[:10].encode()))
    code = _CODES.get(trouble.fault, f"model_server_{trouble.fault.value}")
    return Refused(_STATUSES[trouble.fault], f"{told}{trouble.why}", code=code, headers=headers)
