"""The pages at `/ui/` as an ASGI application. Files are the same for everybody; what they show comes from the API."""

from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pegboard.gateway.access.login_links import LOGIN_PARAMETER
from pegboard.gateway.access.reception import (
    CROSS_SITE_REQUEST,
    NO_TOKENS_IN_ADDRESSES,
    UNKNOWN_TOKEN,
    USED_LINK,
    AuthRejection,
    OperatorAuthentication,
)
from pegboard.gateway.access.who import OPERATOR

from .files import CACHE_REVALIDATE, INDEX_FILE, SiteFiles
from .plain import (
    FRAME,
    FRAME_NAME,
    FRAME_POLICY,
    STYLE,
    STYLE_NAME,
    message_page,
    other_session_page,
    sign_in_page,
    unbuilt_page,
)

UI_PATH: Final = "/ui/"
SIGN_IN_PATH: Final = "sign-in"
HTML_TYPE: Final = "text/html; charset=utf-8"
_READ_METHODS: Final = ("GET", "HEAD")
_MAX_QUERY_BYTES: Final = 8_192
_MAX_FORM_BYTES: Final = 16_384
_FORM_TIMEOUT_S: Final = 30.0
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
    "cache-control": CACHE_REVALIDATE,
    "content-type": HTML_TYPE,
}
_FORM_HEADERS: Final = {"referrer-policy": "same-origin", "cache-control": "no-store"}


_FAILURE_REASONS: Final = {b"refused": UNKNOWN_TOKEN, b"used": USED_LINK, b"pasted": NO_TOKENS_IN_ADDRESSES}
"""Why somebody is led to the form, by the query of its address."""


class WebUiSite:
    """Whoever calls it has made sure that the request is addressed to this gateway."""

    def __init__(self, reception: OperatorAuthentication, files: SiteFiles | None = None) -> None:
        self._authentication = reception
        self._files = SiteFiles() if files is None else files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(scope, receive)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        method, path, query = scope["method"], scope["path"], scope["query_string"]
        if path == UI_PATH.rstrip("/"):
            return _redirect(UI_PATH + ("?" + query.decode("latin-1") if query else ""), HTTPStatus.TEMPORARY_REDIRECT)
        name = path.removeprefix(UI_PATH)
        if name == SIGN_IN_PATH and method == "POST":
            return await self._sign_in_by_form(scope, receive)
        if method not in _READ_METHODS:
            return _page_response(
                HTTPStatus.METHOD_NOT_ALLOWED, message_page("Not this way", "Open it in a browser."), "GET"
            )
        if name == SIGN_IN_PATH:
            why = _FAILURE_REASONS.get(query)
            return _page_response(HTTPStatus.OK, sign_in_page(why), more=_FORM_HEADERS)
        if name == STYLE_NAME:
            return Response(STYLE, headers={**HEADERS, "cache-control": CACHE_REVALIDATE}, media_type="text/css")
        if name == FRAME_NAME:
            return Response(FRAME, headers={**HEADERS, **_FRAME_HEADERS})
        if query and (code := _form_field(query, LOGIN_PARAMETER)) is not None:
            return self._sign_in_by_link(scope, code)
        if query and _form_field(query, "token") is not None:
            return _redirect(f"{UI_PATH}{SIGN_IN_PATH}?pasted")
        return await self._file(name)

    async def _file(self, name: str) -> Response:
        """What has no file ending is a place within the UI, which finds its way by itself."""
        last = name.rpartition("/")[2]
        file = self._files.find(name if "." in last else INDEX_FILE)
        if file is None and "." in last:
            return _page_response(HTTPStatus.NOT_FOUND, message_page("Not here", "There is no such file."))
        if file is None:
            return _page_response(HTTPStatus.OK, unbuilt_page())
        try:
            content = await anyio.Path(file.path).read_bytes()
        except OSError:
            return _page_response(
                HTTPStatus.NOT_FOUND, message_page("Not here", "The pages are being built. Load it again.")
            )
        headers = {**HEADERS, "cache-control": file.cache_control, "content-type": file.media_type}
        return Response(content, headers=headers)

    def _sign_in_by_link(self, scope: Scope, code: str) -> Response:
        """The code leaves the address at once, whether it was right or not. Whoever is signed in as somebody else is
        asked first; whoever is signed in already needs no link."""
        headers, peer = scope["headers"], _peer_address(scope)
        session = self._authentication.session_identity(headers)
        if session is not None and session.principal == OPERATOR.principal:
            return _redirect(UI_PATH)
        if session is not None and self._authentication.login_links.is_valid(code):
            return _page_response(HTTPStatus.OK, other_session_page(session.principal, code), more=_FORM_HEADERS)
        secret = self._authentication.sign_in_by_link(code, headers, peer)
        if isinstance(secret, AuthRejection):
            if secret.status == HTTPStatus.UNAUTHORIZED:
                return _redirect(f"{UI_PATH}{SIGN_IN_PATH}?used")
            return _rejection_response(secret)
        return _redirect(UI_PATH, cookie=self._authentication.cookie(headers, peer).set_header(secret))

    async def _sign_in_by_form(self, scope: Scope, receive: Receive) -> Response:
        headers, peer = scope["headers"], _peer_address(scope)
        if not self._authentication.is_same_origin("POST", headers, peer):
            return _rejection_response(AuthRejection(HTTPStatus.FORBIDDEN, CROSS_SITE_REQUEST))
        body = await _read_form(receive)
        token = None if body is None else _form_field(body, "token")
        code = None if body is None else _form_field(body, LOGIN_PARAMETER)
        if code is not None and token is None:
            secret = self._authentication.sign_in_by_link(code, headers, peer)
        elif token is None:
            return _rejection_response(
                AuthRejection(HTTPStatus.BAD_REQUEST, "That form holds no token. Paste it once more.")
            )
        else:
            secret = self._authentication.sign_in(token, headers, peer)
        if isinstance(secret, AuthRejection):
            return _rejection_response(secret)
        return _redirect(UI_PATH, cookie=self._authentication.cookie(headers, peer).set_header(secret))


def _peer_address(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def _form_field(text: bytes, wanted: str) -> str | None:
    if len(text) > _MAX_QUERY_BYTES:
        return None
    try:
        said = [value for name, value in parse_qsl(text.decode("latin-1"), max_num_fields=50) if name == wanted]
    except ValueError:
        return None
    return said[0] if len(said) == 1 else None


async def _read_form(receive: Receive) -> bytes | None:
    body = b""
    with anyio.move_on_after(_FORM_TIMEOUT_S):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += bytes(message.get("body", b""))
            if len(body) > _MAX_FORM_BYTES:
                return None
            if not message.get("more_body", False):
                return body
    return None


def _redirect(where: str, status: HTTPStatus = HTTPStatus.SEE_OTHER, cookie: str | None = None) -> Response:
    answer = Response(None, status, headers={**HEADERS, "location": where, "cache-control": "no-store"})
    if cookie is not None:
        answer.headers.append("set-cookie", cookie)
    return answer


def _rejection_response(turned: AuthRejection) -> Response:
    more = {} if turned.retry_after is None else {"retry-after": str(turned.retry_after)}
    return _page_response(HTTPStatus(turned.status), sign_in_page(turned.why), more={**_FORM_HEADERS, **more})


def _page_response(
    status: HTTPStatus, content: bytes, allow: str | None = None, more: dict[str, str] | None = None
) -> Response:
    headers = {**HEADERS, "cache-control": "no-store", "content-type": HTML_TYPE, **(more or {})}
    if allow is not None:
        headers["allow"] = "GET, HEAD"
    return Response(content, status, headers=headers)
