"""What a client is told that gets no answer, in the words of the API: what was wrong, where, and what to do."""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from pegboard.core.tool import JsonObject
from pegboard.ports.models import ModelFault, ModelServerError

HeaderTuple = tuple[tuple[bytes, bytes], ...]

INVALID_REQUEST: Final = "invalid_request_error"
_STATUSES: Final = {
    ModelFault.UNREACHABLE: 502,
    ModelFault.TIMEOUT: 504,
    ModelFault.BAD_KEY: 502,
    ModelFault.NO_MODEL: 404,
    ModelFault.BUSY: 503,
    ModelFault.REFUSED: 400,
    ModelFault.MALFORMED: 502,
    ModelFault.TRUNCATED: 502,
}
_CODES: Final = {ModelFault.NO_MODEL: "model_not_found", ModelFault.REFUSED: "model_server_refused"}
NO_RETRY: Final[HeaderTuple] = ((b"x-should-retry", b"false"),)
"""Clients of this API repeat what failed by themselves. Where tools have run, that would run them again."""


@dataclass(frozen=True)
class ChatRejection:
    """An answer in place of the request's own."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    headers: HeaderTuple = field(default=(), repr=False)

    @property
    def body(self) -> JsonObject:
        kind = INVALID_REQUEST if self.status < 500 else "api_error"
        match self.status:
            case HTTPStatus.UNAUTHORIZED:
                kind = "authentication_error"
            case HTTPStatus.TOO_MANY_REQUESTS:
                kind = "rate_limit_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def bad_request(message: str, param: str | None = None, code: str | None = None) -> ChatRejection:
    return ChatRejection(400, message, param, code)


def models_unavailable(trouble: ModelServerError) -> ChatRejection:
    """There is no list, whatever its server has against the question: the client asked for nothing wrong."""
    told = model_error_rejection(trouble, have_run=False)
    return told if told.status >= 500 else ChatRejection(502, told.message, code=f"model_server_{trouble.fault.value}")


def model_error_rejection(trouble: ModelServerError, *, have_run: bool) -> ChatRejection:
    """`have_run`: tools were called before the trouble."""
    told = "Tools have been called before that: see pegboard.calls. " if have_run else ""
    headers: HeaderTuple = NO_RETRY if have_run else ()
    if trouble.retry_after is not None and trouble.retry_after.isdigit():
        headers = (*headers, (b"retry-after", trouble.retry_after[:10].encode()))
    code = _CODES.get(trouble.fault, f"model_server_{trouble.fault.value}")
    return ChatRejection(_STATUSES[trouble.fault], f"{told}{trouble.why}", code=code, headers=headers)
