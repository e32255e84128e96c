"""The pages at `/ui/` as an ASGI application. Files are the same for everybody; what they show comes from the API."""

from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pegboard.gateway.access.login_links import PARAMETER
from pegboard.gateway.access.reception import FOREIGN, NO_TOKENS_IN_ADDRESSES, USED_LINK, WRONG, Reception, Turned
from pegboard.gateway.access.who import OPERATOR

from .files import ASK_AGAIN, INDEX, Files
from .plain import (
    FRAME,
    FRAME_NAME,
    FRAME_POLICY,
    STYLE,
    STYLE_NAME,
    other_session_page,
    sign_in_page,
    told_page,
    unbuilt_page,
)

ROOT: Final = "/ui/"
SIGN_IN: Final = "sign-in"
HTML: Final = "text/html; charset=utf-8"
_READS: Final = ("GET", "HEAD")
_MOST_QUERY: Final = 8_192
_LARGEST_FORM: Final = 16_384
_FORM_SECONDS: Final = 30.0
_CSP: Final = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": _CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# Without a referrer a browser would say of the form that it comes from nowhere, and be refused.
_FRAME_HEADERS: Final = {
    "content-security-policy": FRAME_POLICY,
    "x-frame-options": "SAMEORIGIN",
    "x-dns-prefetch-control": "off",
    "cache-control": ASK_AGAIN,
    "content-type": HTML,
}
_FORM_HEADERS: Final = {"referrer-policy": "same-origin", "cache-control": "no-store"}


_REASONS: Final = {b"refused": WRONG, b"used": USED_LINK, b"pasted": NO_TOKENS_IN_ADDRESSES}
"""Why somebody is led to the form, by the query of its address."""


class Site:
    """Whoever calls it has made sure that the request is addressed to this gateway."""

    def __init__(self, reception: Reception, files: Files | None = None) -> None:
        self._reception = reception
        self._files = Files() if files is None else files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(scope, receive)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        method, path, query = scope["method"], scope["path"], scope["query_string"]
        if path == ROOT.rstrip("/"):
            return _to(ROOT + ("?" + query.decode("latin-1") if query else ""), HTTPStatus.TEMPORARY_REDIRECT)
        name = path.removeprefix(ROOT)
        if name == SIGN_IN and method == "POST":
            return await self._signed_in_by_form(scope, receive)
        if method not in _READS:
            return _answered(HTTPStatus.METHOD_NOT_ALLOWED, told_page("Not this way", "Open it in a browser."), "GET")
        if name == SIGN_IN:
            why = _REASONS.get(query)
            return _answered(HTTPStatus.OK, sign_in_page(why), more=_FORM_HEADERS)
        if name == STYLE_NAME:
            return Response(STYLE, headers={**HEADERS, "cache-control": ASK_AGAIN}, media_type="text/css")
        if name == FRAME_NAME:
            return Response(FRAME, headers={**HEADERS, **_FRAME_HEADERS})
        if query and (code := _field(query, PARAMETER)) is not None:
            return self._signed_in_by_link(scope, code)
        if query and _field(query, "token") is not None:
            return _to(f"{ROOT}{SIGN_IN}?pasted")
        return await self._file(name)

    async def _file(self, name: str) -> Response:
        """What has no file ending is a place within the UI, which finds its way by itself."""
        last = name.rpartition("/")[2]
        file = self._files.find(name if "." in last else INDEX)
        if file is None and "." in last:
            return _answered(HTTPStatus.NOT_FOUND, told_page("Not here", "There is no such file."))
        if file is None:
            return _answered(HTTPStatus.OK, unbuilt_page())
        try:
            content = await anyio.Path(file.path).read_bytes()
        except OSError:
            return _answered(HTTPStatus.NOT_FOUND, told_page("Not here", "The pages are being built. Load it again."))
        headers = {**HEADERS, "cache-control": file.keep, "content-type": file.kind}
        return Response(content, headers=headers)

    def _signed_in_by_link(self, scope: Scope, code: str) -> Response:
        """The code leaves the address at once, whether it was right or not. Whoever is signed in as somebody else is
        asked first; whoever is signed in already needs no link."""
        headers, peer = scope["headers"], _peer(scope)
        session = self._reception.session_of(headers)
        if session is not None and session.principal == OPERATOR.principal:
            return _to(ROOT)
        if session is not None and self._reception.links.is_valid(code):
            return _answered(HTTPStatus.OK, other_session_page(session.principal, code), more=_FORM_HEADERS)
        secret = self._reception.sign_in_by_link(code, headers, peer)
        if isinstance(secret, Turned):
            if secret.status == HTTPStatus.UNAUTHORIZED:
                return _to(f"{ROOT}{SIGN_IN}?used")
            return _refused(secret)
        return _to(ROOT, cookie=self._reception.cookie(headers, peer).setting(secret))

    async def _signed_in_by_form(self, scope: Scope, receive: Receive) -> Response:
        headers, peer = scope["headers"], _peer(scope)
        if not self._reception.is_own("POST", headers, peer):
            return _refused(Turned(HTTPStatus.FORBIDDEN, FOREIGN))
        body = await _form(receive)
        token = None if body is None else _field(body, "token")
        code = None if body is None else _field(body, PARAMETER)
        if code is not None and token is None:
            secret = self._reception.sign_in_by_link(code, headers, peer)
        elif token is None:
            return _refused(Turned(HTTPStatus.BAD_REQUEST, "That form holds no token. Paste it once more."))
        else:
            secret = self._reception.sign_in(token, headers, peer)
        if isinstance(secret, Turned):
            return _refused(secret)
        return _to(ROOT, cookie=self._reception.cookie(headers, peer).setting(secret))


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def _field(text: bytes, wanted: str) -> str | None:
    if len(text) > _MOST_QUERY:
        return None
    try:
        said = [value for name, value in parse_qsl(text.decode("latin-1"), max_num_fields=50) if name == wanted]
    except ValueError:
        return None
    return said[0] if len(said) == 1 else None


async def _form(receive: Receive) -> bytes | None:
    body = b""
    with anyio.move_on_after(_FORM_SECONDS):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += bytes(message.get("body", b""))
            if len(body) > _LARGEST_FORM:
                return None
            if not message.get("more_body", False):
                return body
    return None


def _to(where: str, status: HTTPStatus = HTTPStatus.SEE_OTHER, cookie: str | None = None) -> Response:
    answer = Response(None, status, headers={**HEADERS, "location": where, "cache-control": "no-store"})
    if cookie is not None:
        answer.headers.append("set-cookie", cookie)
    return answer


def _refused(turned: Turned) -> Response:
    more = {} if turned.retry_after is None else {"retry-after": str(turned.retry_after)}
    return _answered(HTTPStatus(turned.status), sign_in_page(turned.why), more={**_FORM_HEADERS, **more})


def _answered(
    status: HTTPStatus, content: bytes, allow: str | None = None, more: dict[str, str] | None = None
) -> Response:
    headers = {**HEADERS, "cache-control": "no-store", "content-type": HTML, **(more or {})}
    if allow is not None:
        headers["allow"] = "GET, HEAD"
    return Response(content, status, headers=headers)
