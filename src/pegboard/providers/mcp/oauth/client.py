"""The SDK's OAuth client with our own hands on it: its flow is driven by us, because a person may take their time.

As an `auth` of an HTTP client it would hold its lock while a request is under way, and so one call at a time.
"""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl

from pegboard.core.model.server import OAuth
from pegboard.providers.mcp.errors import McpServerError
from pegboard.providers.mcp.oauth.http import SendRequest
from pegboard.providers.mcp.oauth.tokens import Challenge, SignInRecord

# It logs answers of token endpoints, and with them what must be in no log. What went wrong, we say ourselves.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)

CLIENT_NAME: Final = "Pegboard"
_MAX_MESSAGE_CHARS: Final = 300
_UNUSED_REDIRECT_URI: Final = "http://127.0.0.1/"
"""The flow wants an address to come back to, even where nobody goes anywhere."""

ShowUrl = Callable[[str], Awaitable[None]]
AwaitCallback = Callable[[], Awaitable[AuthorizationCodeResult]]
SaveClient = Callable[[OAuthClientInformationFull], Awaitable[None]]


class OAuthClient(OAuthClientProvider):
    """At one server. `show` gets the address of the page where a person signs in, `answered` gives what came back."""

    def __init__(
        self,
        record: SignInRecord,
        how: OAuth,
        *,
        redirect_uri: str = _UNUSED_REDIRECT_URI,
        show: ShowUrl | None = None,
        answered: AwaitCallback | None = None,
        registered: SaveClient | None = None,
    ) -> None:
        web = not redirect_uri.startswith("http://")
        super().__init__(
            record.url,
            OAuthClientMetadata(
                redirect_uris=[AnyUrl(redirect_uri)],
                client_name=CLIENT_NAME,
                application_type="web" if web else "native",
            ),
            _FlowStorage(record.tokens, _known_client(record, how, redirect_uri), redirect_uri, registered),
            redirect_handler=None if show is None else self._show_with_auth_method(show),
            callback_handler=answered,
            client_metadata_url=how.client_metadata_url,
        )
        self._oauth = how
        self._last_response: httpx2.Response | None = None

    @property
    def has_metadata(self) -> bool:
        """Whether the server, or the machine it is on, says where to sign in."""
        return self.context.oauth_metadata is not None

    async def discover(self, challenge: Challenge, send: SendRequest) -> None:
        """Only find out where to sign in; nothing is registered and nobody is sent anywhere. Raises
        `McpServerError`."""
        await self._run_flow(challenge, send, to_the_end=False)

    async def sign_in(self, challenge: Challenge, send: SendRequest) -> OAuthToken:
        """The whole way, with a person in the middle of it. Raises `McpServerError`."""
        await self._run_flow(challenge, send, to_the_end=True)
        tokens = self.context.current_tokens
        assert tokens is not None
        return tokens

    async def renewal_request(self, record: SignInRecord) -> httpx2.Request:
        """The request that gives new tokens for the old."""
        self._load_context(record)
        return await self._refresh_token()

    async def parse_renewal(self, answer: httpx2.Response) -> OAuthToken | None:
        return self.context.current_tokens if await self._handle_refresh_response(answer) else None

    def revocation_request(self, record: SignInRecord) -> httpx2.Request | None:
        """The request that makes the tokens worthless at the server too, where it takes one."""
        self._load_context(record)
        metadata, tokens = record.metadata, record.tokens
        if metadata is None or metadata.revocation_endpoint is None or tokens is None or record.client is None:
            return None
        token = tokens.refresh_token or tokens.access_token
        hint = "refresh_token" if tokens.refresh_token else "access_token"
        said = {"token": token, "token_type_hint": hint, "client_id": record.client.client_id}
        form, headers = self.context.prepare_token_auth(said, {"Content-Type": "application/x-www-form-urlencoded"})
        return httpx2.Request("POST", str(metadata.revocation_endpoint), data=form, headers=headers)

    def _load_context(self, record: SignInRecord) -> None:
        context = self.context
        context.current_tokens, context.client_info = record.tokens, record.client
        context.oauth_metadata, context.protected_resource_metadata = record.metadata, record.resource
        context.protocol_version = LATEST_PROTOCOL_VERSION

    def _show_with_auth_method(self, show: ShowUrl) -> ShowUrl:
        async def choose_and_show(url: str) -> None:
            self._choose_auth_method()
            await show(url)

        return choose_and_show

    def _choose_auth_method(self) -> None:
        """A client that people registered has a secret; how to show it, the authorization server says."""
        client, metadata = self.context.client_info, self.context.oauth_metadata
        if client is None or self._oauth.client_secret is None:
            return
        methods = None if metadata is None else metadata.token_endpoint_auth_methods_supported
        basic = methods is None or "client_secret_basic" in methods
        client.token_endpoint_auth_method = "client_secret_basic" if basic else "client_secret_post"

    async def _run_flow(self, challenge: Challenge, send: SendRequest, *, to_the_end: bool) -> None:
        asked = httpx2.Request(
            "POST", self.context.server_url, headers={MCP_PROTOCOL_VERSION_HEADER: LATEST_PROTOCOL_VERSION}
        )
        flow = self.async_auth_flow(asked)
        try:
            sending = await anext(flow)
            answer = challenge.response(asked, self._oauth.scopes)
            while True:
                sending = await flow.asend(answer)
                # The request again, now with a token; or the first that would leave a trace at the other side.
                if sending is asked or not (to_the_end or sending.method == "GET"):
                    return
                answer = self._last_response = await send(sending)
        except StopAsyncIteration:
            return
        except OAuthRegistrationError:
            raise McpServerError(
                "wants a sign-in, and its authorization server does not register us as a "
                f"client{self._describe_last_response()}. "
                f"Register one there and write it under oauth: client_id"
            ) from None
        except OAuthTokenError:
            raise McpServerError(
                f"wants a sign-in, and its authorization server gave us no token{self._describe_last_response()}"
            ) from None
        except OAuthFlowError as error:
            told = " ".join(str(error).split())[:_MAX_MESSAGE_CHARS]
            raise McpServerError(f"wants a sign-in that is not to be trusted: {told}") from None
        except ValueError as error:
            raise McpServerError(f"wants a sign-in in a way that makes no sense ({type(error).__name__})") from None
        finally:
            await flow.aclose()

    def _describe_last_response(self) -> str:
        """The status and the code of the last answer: the rest of it may hold what nobody should read."""
        if self._last_response is None:
            return ""
        code = error_code(self._last_response)
        return f" (HTTP {self._last_response.status_code}{f', {code}' if code else ''})"


def error_code(answer: httpx2.Response) -> str:
    """The `error` of an OAuth answer, if it is one."""
    try:
        said = json.loads(answer.content)
    except (ValueError, RecursionError):
        return ""
    code = said.get("error") if isinstance(said, dict) else None
    return code[:64] if isinstance(code, str) and code.replace("_", "").isalnum() and code.isascii() else ""


class _FlowStorage:
    """The SDK's storage for the length of one flow."""

    def __init__(
        self,
        tokens: OAuthToken | None,
        client: OAuthClientInformationFull | None,
        redirect_uri: str,
        registered: SaveClient | None,
    ) -> None:
        self._redirect_uris = [AnyUrl(redirect_uri)]
        self._tokens = tokens
        self._client = client
        self._save_client = registered

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        # A server that leaves them out of its answer has registered the ones we gave it.
        client_info.redirect_uris = client_info.redirect_uris or self._redirect_uris
        self._client = client_info
        if self._save_client is not None:
            await self._save_client(client_info)


def _known_client(record: SignInRecord, how: OAuth, redirect_uri: str) -> OAuthClientInformationFull | None:
    """The one that people registered; else the one we registered, if it may come back to this address."""
    if how.client_id is not None:
        return OAuthClientInformationFull(
            client_id=how.client_id,
            client_secret=how.client_secret,
            redirect_uris=[AnyUrl(redirect_uri)],
            token_endpoint_auth_method="none" if how.client_secret is None else "client_secret_basic",
        )
    known = record.client
    if known is None or AnyUrl(redirect_uri) not in (known.redirect_uris or ()):
        return None
    return known
