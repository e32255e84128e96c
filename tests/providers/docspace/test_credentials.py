"""As whom a DocSpace is asked: what each kind of credential sends, and where it may go."""

import pytest

from pegboard.core.calls.caller_credentials import (
    AccessToken,
    ApiAccess,
    ApiKey,
    Credential,
    Password,
    RawAuthorization,
    url_origin,
)
from pegboard.providers.docspace.client import credential_headers


@pytest.mark.parametrize(
    ("credential", "headers"),
    [
        (ApiKey("sk-1"), {"authorization": "Bearer sk-1"}),
        (AccessToken("pat-1"), {"authorization": "pat-1", "cookie": "asc_auth_key=pat-1"}),
        (Password("ada@example.com", "p:ä"), {"authorization": "Basic YWRhQGV4YW1wbGUuY29tOnA6w6Q="}),
        (RawAuthorization("Custom abc"), {"authorization": "Custom abc"}),
    ],
)
def test_each_kind_of_credential_is_sent_in_its_own_way(credential: Credential, headers: dict[str, str]) -> None:
    assert credential_headers(credential) == headers


def test_origins_differ_by_scheme_host_or_port_and_by_nothing_else() -> None:
    assert url_origin("https://docs.example.com/a") == url_origin("HTTPS://DOCS.example.com:443/b?c")
    assert len({url_origin(url) for url in ("http://a/", "https://a/", "http://a:81/", "http://b/")}) == 4
    assert ApiAccess("http://a/portal/", ApiKey("k")).origin == "http://a:80"
