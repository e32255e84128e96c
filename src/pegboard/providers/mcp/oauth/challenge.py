"""Why a server turned a request away, as it said it itself: what the SDK's flow starts from."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpx2
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)

_MAX_HEADER_CHARS: Final = 4_096
"""Characters of the header that are looked at."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """`text` is the `WWW-Authenticate` of an answer, empty if it had none."""

    text: str = ""

    def response(self, asked: httpx2.Request, scopes: tuple[str, ...]) -> httpx2.Response:
        """The answer again, for the flow to read. What people configured stands in place of the server's own scopes."""
        said = httpx2.Response(
            HTTPStatus.UNAUTHORIZED, headers={"www-authenticate": self.text[:_MAX_HEADER_CHARS]}, request=asked
        )
        step_up = extract_field_from_www_auth(said, "error") == "insufficient_scope"
        fields = {
            "error": "insufficient_scope" if step_up else None,
            "resource_metadata": extract_resource_metadata_from_www_auth(said),
            "scope": " ".join(scopes) or extract_scope_from_www_auth(said),
        }
        told = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
        status = HTTPStatus.FORBIDDEN if step_up else HTTPStatus.UNAUTHORIZED
        return httpx2.Response(status, headers={"www-authenticate": f"Bearer {told}"}, request=asked)


def is_insufficient_scope(challenge: str) -> bool:
    """Whether the sign-in was good, but not for this."""
    said = httpx2.Response(HTTPStatus.FORBIDDEN, headers={"www-authenticate": challenge[:_MAX_HEADER_CHARS]})
    return extract_field_from_www_auth(said, "error") == "insufficient_scope"
