"""Web pages of the OAuth sign-in to a server."""

from collections.abc import Callable
from html import escape
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from pegboard.core.model.ids import PrincipalId, ServerKey
from pegboard.ports.providers import SignIns, SignInUnavailable

SIGN_IN_PATH: Final = "/sign-in/"
CALLBACK: Final = "callback"
COOKIE_NAME: Final = "pegboard_sign_in"
_MAX_QUERY_BYTES: Final = 16_384
_MAX_FIELDS: Final = 50
_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Pegboard: {title}</title>
<style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}}</style>
<h1>{title}</h1>
<p>{text}</p>
</html>
"""


class SignInPages:
    """An ASGI application. Whoever calls it has made sure that the request is addressed to this machine."""

    def __init__(self, sign_ins: SignIns, signed_in: Callable[[ServerKey, PrincipalId], None]) -> None:
        """`signed_in` is told of every sign-in that succeeded, and of who asked for its link."""
        self._sign_ins = sign_ins
        self._on_signed_in = signed_in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method != "GET":
            # A look at a link must not use it up.
            return _page(HTTPStatus.METHOD_NOT_ALLOWED, "Not this way", "Open the link in a browser.", {"allow": "GET"})
        last = request.url.path.removeprefix(SIGN_IN_PATH)
        return await self._finish(request) if last == CALLBACK else await self._begin(request, last)

    async def _begin(self, request: Request, link: str) -> Response:
        begun = await self._sign_ins.begin(link)
        if isinstance(begun, SignInUnavailable):
            return _page(HTTPStatus.GONE, "No sign-in here", begun.why)
        response = RedirectResponse(begun.url, HTTPStatus.SEE_OTHER, headers=_HEADERS)
        response.set_cookie(
            COOKIE_NAME,
            begun.mark,
            path=SIGN_IN_PATH,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return response

    async def _finish(self, request: Request) -> Response:
        answer = _parse_query(request.url.query)
        if answer is None:
            return _page(HTTPStatus.BAD_REQUEST, "Not signed in", "This is not how an authorization server answers.")
        finished = await self._sign_ins.finish(answer, request.cookies.get(COOKIE_NAME, ""))
        if isinstance(finished, SignInUnavailable):
            response = _page(HTTPStatus.BAD_REQUEST, "Not signed in", finished.why)
        else:
            self._on_signed_in(finished.server, finished.by)
            told = f"Signed in to {finished.server}. You can close this window."
            response = _page(HTTPStatus.OK, "Signed in", told)
        response.delete_cookie(COOKIE_NAME, path=SIGN_IN_PATH)
        return response


def _parse_query(query: str) -> dict[str, str] | None:
    """Each name once: of two states, or codes, nobody could say which is meant."""
    if len(query) > _MAX_QUERY_BYTES or query.count("&") >= _MAX_FIELDS:
        return None
    pairs = parse_qsl(query, keep_blank_values=True)
    said = dict(pairs)
    return said if said and len(said) == len(pairs) else None


def _page(status: HTTPStatus, title: str, text: str, more: dict[str, str] | None = None) -> Response:
    content = _PAGE.format(title=escape(title), text=escape(text))
    return HTMLResponse(content, status, headers={**_HEADERS, **(more or {})})
