"""An MCP server behind a sign-in, and the authorization server in front of it, at one address of the test's own loop.

Every token it gives begins with `tok-`, so a test can look for one wherever it must not be. What a test breaks, it says
by setting an attribute.
"""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

METADATA = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource/mcp"
MARK = "tok-"


@dataclass
class Guarded:
    inner: ASGIApp
    lasts: int | None = 3600
    """Seconds that a token is said to last. Whether it does, the test decides: see `expire`."""
    refreshes: bool = True
    unlocked: bool = False
    """Let everybody in: the endpoint behind guards itself."""
    denies: bool = False
    silent: bool = False
    """Say nowhere where to sign in."""
    resource: dict[str, Any] = field(default_factory=dict[str, Any])
    """Laid over the metadata of the resource, as `metadata` is over that of the authorization server."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    iss: str | None = None
    """The issuer that comes back with the code, in place of the true one."""
    scope: str | None = None
    """What an answer of 401 says is wanted."""
    short: str | None = None
    """A scope without which every request is answered with 403."""
    token_status: int | None = None
    """Answer every request for a token with this."""
    register_status: int = 201
    filler: int = 0
    """Characters that the metadata of the resource is longer."""
    circles: bool = False
    """Send whoever asks for the metadata of the resource round in circles."""
    said: str = ""
    """Added to what is said about a token that is refused, with the token itself."""
    rejects: bool = False
    """Take no token at all."""
    clients: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    valid: set[str] = field(default_factory=set[str])
    renewable: dict[str, str] = field(default_factory=dict[str, str])
    """Refresh tokens that still work, and the scope they are for."""
    asked: list[str] = field(default_factory=list[str])
    """Each request for a token or a registration, by its kind."""
    granted: list[str | None] = field(default_factory=list[str | None])
    sent_in_vain: int = 0
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    _codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        base = f"http://{request.headers['host']}"
        response = await self._answered(request, base)
        if response is None:
            await self.inner(scope, receive, send)
        else:
            await response(scope, receive, send)

    def expire(self) -> None:
        """Every access token runs out; what renews them still does."""
        self.valid.clear()

    def revoke(self) -> None:
        """Nothing that was given is worth anything any more."""
        self.valid.clear()
        self.renewable.clear()

    async def _answered(self, request: Request, base: str) -> Response | None:
        match request.url.path:
            case path if path == RESOURCE and not self.silent:
                if self.circles:
                    return RedirectResponse(path, status_code=307)
                told = {"resource": f"{base}/mcp", "authorization_servers": [base], "scopes_supported": ["tools"]}
                return JSONResponse({**told, "resource_name": "x" * self.filler, **self.resource})
            case path if path == METADATA and not self.silent:
                return JSONResponse({**self._metadata(base), **self.metadata})
            case "/register":
                return await self._register(request)
            case "/authorize":
                return self._authorize(request, base)
            case "/token":
                return await self._token(request)
            case "/revoke":
                self.asked.append("revoke")
                self.revoke()
                return Response(status_code=200)
            case path if path.startswith("/.well-known/"):
                return Response(status_code=404)
            case _:
                return self._guard(request, base)

    def _metadata(self, base: str) -> dict[str, Any]:
        return {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register",
            "revocation_endpoint": f"{base}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }

    def _guard(self, request: Request, base: str) -> Response | None:
        self.headers.append(dict(request.headers))
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.unlocked:
            return None
        if sent in self.valid and not self.rejects:
            if self.short is not None and self.short not in (self.granted[-1] or "").split():
                told = f'Bearer error="insufficient_scope", scope="{self.short}", resource_metadata="{base}{RESOURCE}"'
                return Response(status_code=403, headers={"www-authenticate": told})
            return None
        self.sent_in_vain += bool(sent)
        challenge = "Bearer" if self.silent else f'Bearer resource_metadata="{base}{RESOURCE}"'
        if self.scope is not None:
            challenge += f', scope="{self.scope}"'
        if self.said and sent:
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": f"{self.said} {sent}"}}
            return JSONResponse(error, status_code=401, headers={"www-authenticate": challenge})
        return Response(status_code=401, headers={"www-authenticate": challenge})

    async def _register(self, request: Request) -> Response:
        self.asked.append("register")
        if self.register_status != 201:
            return JSONResponse({"error": "invalid_client_metadata"}, status_code=self.register_status)
        said = json.loads(await request.body())
        client = {**said, "client_id": f"client-{len(self.clients) + 1}", "token_endpoint_auth_method": "none"}
        self.clients[client["client_id"]] = client
        return JSONResponse(client, status_code=201)

    def _authorize(self, request: Request, base: str) -> Response:
        said = dict(request.query_params)
        client = self.clients.get(said["client_id"])
        if client is None or said["redirect_uri"] not in client["redirect_uris"]:
            return Response("no such client, or it may not come back there", status_code=400)
        if said["code_challenge_method"] != "S256" or said["response_type"] != "code":
            return Response("not like this", status_code=400)
        back = {"state": said["state"], "iss": self.iss or base}
        if self.denies:
            back |= {"error": "access_denied", "error_description": "<b>You</b> said no"}
        else:
            code = secrets.token_urlsafe(8)
            self._codes[code] = said
            back["code"] = code
        return RedirectResponse(f"{said['redirect_uri']}?{urlencode(back)}", status_code=302)

    async def _token(self, request: Request) -> Response:
        said = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        self.asked.append(said["grant_type"])
        if self.token_status is not None:
            return JSONResponse({"error": "temporarily_unavailable"}, status_code=self.token_status)
        if not self._is_client(request, said):
            return JSONResponse({"error": "invalid_client"}, status_code=401)
        if said["grant_type"] == "refresh_token":
            scope = self.renewable.pop(said["refresh_token"], None)
            if scope is None:
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
            return self._given(scope)
        begun = self._codes.pop(said["code"], None)
        digest = hashlib.sha256(said["code_verifier"].encode()).digest()
        if begun is None or base64.urlsafe_b64encode(digest).decode().rstrip("=") != begun["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        return self._given(begun.get("scope", ""))

    def _is_client(self, request: Request, said: dict[str, str]) -> bool:
        client = self.clients.get(said.get("client_id", ""), {})
        if "client_secret" not in client:
            return bool(client)
        shown = base64.b64encode(f"{client['client_id']}:{client['client_secret']}".encode()).decode()
        basic = request.headers.get("authorization") == f"Basic {shown}"
        return basic or said.get("client_secret") == client["client_secret"]

    def _given(self, scope: str) -> Response:
        access, refresh = f"{MARK}a-{secrets.token_hex(12)}", f"{MARK}r-{secrets.token_hex(12)}"
        self.valid.add(access)
        self.granted.append(scope)
        told: dict[str, Any] = {"access_token": access, "token_type": "bearer", "scope": scope}
        if self.lasts is not None:
            told["expires_in"] = self.lasts
        if self.refreshes:
            self.renewable[refresh] = scope
            told["refresh_token"] = refresh
        return JSONResponse(told)
