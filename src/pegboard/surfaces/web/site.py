"""Serves the web UI at `/ui/`."""

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pegboard.gateway.access.authentication import (
    CROSS_SITE_REQUEST,
    NO_TOKENS_IN_ADDRESSES,
    UNKNOWN_TOKEN,
    USED_LINK,
    AuthRejection,
    OperatorAuthentication,
)
from pegboard.gateway.access.sessions import LOGIN_PARAMETER
from pegboard.gateway.access.tokens import OPERATOR

# The built pages: every file there is, found once, so that no path of a request is ever looked up on the disk.

PAGES_FOLDER: Final = Path(__file__).parent / "pages"
INDEX_FILE: Final = "index.html"
CACHE_FOREVER: Final = "public, max-age=31536000, immutable"
CACHE_REVALIDATE: Final = "no-cache"
_HASHED_NAME: Final = re.compile(r".*[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+")
"""The name of a file that holds a hash of its content, as the build writes them."""
_TEXT_TYPES: Final = frozenset({"text/html", "text/css", "text/javascript", "application/json", "image/svg+xml"})
_MEDIA_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
"""Said here, because a machine may have been told that scripts are something else."""


@dataclass(frozen=True)
class SiteFile:
    path: Path
    media_type: str
    cache_control: str


@dataclass(frozen=True)
class SiteFiles:
    folder: Path = PAGES_FOLDER

    def find(self, name: str) -> SiteFile | None:
        """By its path under the folder, with `/` between the parts."""
        found = self._by_name.get(name)
        if found is None and not self._by_name:
            # Built while the gateway ran: looked for again, until it is there.
            self.__dict__.pop("_by_name", None)
            found = self._by_name.get(name)
        return found

    @cached_property
    def _by_name(self) -> Mapping[str, SiteFile]:
        files = {}
        for path in sorted(self.folder.rglob("*")) if self.folder.is_dir() else ():
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in name.split("/")):
                files[name] = SiteFile(path, _media_type(path), _cache_control(name))
        return files


def _media_type(path: Path) -> str:
    suffix = path.suffix.lower()
    kind = _MEDIA_TYPES.get(suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind in _TEXT_TYPES else kind


def _cache_control(name: str) -> str:
    return CACHE_FOREVER if name.startswith("assets/") and _HASHED_NAME.fullmatch(name) else CACHE_REVALIDATE


# Pages without a script: signing in, and what to do where the UI was not built.

STYLE_NAME: Final = "plain.css"
STYLE: Final = """:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 4rem auto; padding: 0 1rem }
code { font-family: ui-monospace, monospace }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; margin: .25rem 0 1rem }
button { font: inherit; padding: .5rem 1.25rem }
[role=alert] { border-left: .25rem solid currentColor; padding-left: .75rem }
"""
FRAME_NAME: Final = "frame"
FRAME_POLICY: Final = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; webrtc 'block'"
)
"""For the frame that shows a tool's page: an origin of its own, no network, no forms, no other windows. The page is
written into this document, so the policy holds for it. Leaving the frame by navigation is refused by the policy of the
web UI around it, whose `default-src 'self'` counts for frames."""
FRAME: Final = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>The page of a tool</title>
<script>
addEventListener("message", function receive(event) {
  if (window === parent || event.source !== parent) return;
  var given = event.data;
  if (typeof given !== "object" || given === null || typeof given.html !== "string") return;
  removeEventListener("message", receive);
  if (given.runs !== true) {
    var inner = document.createElement("iframe");
    inner.setAttribute("sandbox", "");
    inner.setAttribute("title", document.title);
    inner.srcdoc = given.html;
    inner.style.cssText = "position:fixed;inset:0;width:100%;height:100%;border:0";
    document.body.appendChild(inner);
    return;
  }
  delete window.RTCPeerConnection;
  delete window.webkitRTCPeerConnection;
  window.__TOOL_DATA__ = given.data;
  document.open();
  document.write(given.html);
  document.close();
});
</script>
</head>
<body></body>
</html>
"""
"""Waits for one message of the web UI: `html`, whether its scripts run, and `data` for them. A page that a tool
returned runs none: it is shown in a frame within the frame that has the same policy and no scripts. Few browsers know
the directive `webrtc`, so peer connections are taken from the page as well."""
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pegboard: {title}</title>
<link rel="stylesheet" href="/ui/{style}">
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
_FORM: Final = """<form method="post" action="/ui/sign-in" autocomplete="off">
<label for="token">Token</label>
<input id="token" name="token" type="password" required autofocus>
<button>Sign in</button>
</form>
<p>Paste the start-up token, or an API token with the scope read, operate or admin. On the machine that runs the
gateway, <code>pegboard ui</code> prints an address that needs none of this.</p>"""


_OTHER_SESSION: Final = """<p>This browser is signed in as <strong>{who}</strong>.</p>
<form method="post" action="/ui/sign-in" autocomplete="off">
<input name="login" type="hidden" value="{code}">
<button>Sign in as the operator of this machine instead</button>
</form>
<p><a href="/ui/">Stay signed in as {who}</a></p>"""


def html_page(title: str, body: str) -> bytes:
    return _PAGE.format(title=escape(title), body=body, style=STYLE_NAME).encode()


def other_session_page(who: str, code: str) -> bytes:
    return html_page("Sign in as somebody else?", _OTHER_SESSION.format(who=escape(who), code=escape(code)))


def sign_in_page(why: str | None) -> bytes:
    told = "" if why is None else f'<p role="alert">{escape(why)}</p>\n'
    return html_page("Sign in", f"{told}{_FORM}")


def unbuilt_page() -> bytes:
    return html_page(
        "The pages are not built yet",
        "<p>This gateway runs, and its API and MCP endpoint answer. The pages of the UI were not built on this "
        "machine. In the folder that you cloned, run</p>\n<pre><code>make ui</code></pre>\n"
        "<p>and load this page again. A package that was installed without them was built with "
        "<code>PEGBOARD_WITHOUT_PAGES=1</code>: build it again without that.</p>",
    )


def message_page(title: str, text: str) -> bytes:
    return html_page(title, f"<p>{escape(text)}</p>")


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
