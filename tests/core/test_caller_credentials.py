"""What a request of a caller's own says of DocSpace, in the cases recorded of the server that people come from."""

import pytest

from pegboard.core.calls.caller_credentials import (
    AccessToken,
    ApiAccess,
    ApiKey,
    BadCredential,
    Password,
    RawAuthorization,
    read_caller_credentials,
)
from pegboard.core.model.web_api import CallerCredentialRules

BASE = "http://127.0.0.1:18931/"
KEY, TOKEN, USER = {"X-Mcp-Api-Key": "k"}, {"X-Mcp-Auth-Token": "p1"}, {"X-Mcp-Username": "u"}
PASSWORD, AT = {"X-Mcp-Password": "p"}, {"X-Mcp-Base-Url": BASE}
BEARER = {"Authorization": "Bearer z"}
ONLY_ONE = "Parsing credential\n\tExpected only one of API key, PAT, or (username and password) to be set"


def brought(
    headers: dict[str, str], lends: CallerCredentialRules | None = None, query: str = ""
) -> ApiAccess | BadCredential | None:
    given = {name.lower().encode(): value.encode() for name, value in headers.items()}
    return read_caller_credentials(given, lends or CallerCredentialRules(), query)


@pytest.mark.behaviour("docspace.request_credentials")
@pytest.mark.parametrize(
    ("headers", "query", "access"),
    [
        ({}, "", None),
        ({"X-Mcp-Base-Url": " ", "X-Mcp-Api-Key": ""}, "", None),
        (AT | KEY, "", ApiAccess(BASE, ApiKey("k"), is_from_caller=True)),
        (AT | TOKEN, "", ApiAccess(BASE, AccessToken("p1"), is_from_caller=True)),
        (AT | USER | PASSWORD, "", ApiAccess(BASE, Password("u", "p"), is_from_caller=True)),
        (AT | KEY | USER, "", ApiAccess(BASE, ApiKey("k"), is_from_caller=True)),
        (AT | BEARER, "", ApiAccess(BASE, RawAuthorization("Bearer z"), is_from_caller=True)),
        (KEY, "http://127.0.0.1:18931", ApiAccess(BASE, ApiKey("k"), is_from_caller=True)),
        (BEARER, BASE, ApiAccess(BASE, RawAuthorization("Bearer z"), is_from_caller=True)),
    ],
)
def test_a_caller_lends_a_place_and_one_credential(
    headers: dict[str, str], query: str, access: ApiAccess | None
) -> None:
    assert brought(headers, query=query) == access


@pytest.mark.behaviour("docspace.request_credentials")
@pytest.mark.parametrize(
    ("headers", "query", "why"),
    [
        (AT, "", "Base URL without credentials"),
        ({}, BASE, "Base URL without credentials"),
        (
            KEY,
            "",
            "Parsing credential\n\tBase URL is required with API key, PAT, or (username and password)",
        ),
        (AT | KEY | TOKEN, "", ONLY_ONE),
        (AT | KEY | USER | PASSWORD, "", ONLY_ONE),
        (BEARER, "", "Authorization header with credentials"),
        (AT | KEY | BEARER, "", "Authorization header with credentials"),
        (AT | USER | BEARER, "", "Authorization header with credentials"),
        (AT | KEY, BASE, "Parsing credential\n\tBoth query and header specify base URL"),
        (
            {"X-Mcp-Base-Url": "nope"} | KEY,
            "",
            "Parsing credential\n\tParsing header\n\t\t\tx-mcp-base-url: custom Expected a valid URL, but got nope",
        ),
        (
            {"X-Mcp-Base-Url": f"{BASE}?a=1"} | KEY,
            "",
            "Parsing credential\n\tParsing header\n\t\t\tx-mcp-base-url: custom Expected a URL without search "
            f"parameters, but got {BASE}?a=1",
        ),
        (
            KEY,
            "ftp://h",
            "Parsing credential\n\tParsing query\n\t\t\tbase_url: custom Expected a URL that begins with http:// or "
            "https://, but got ftp://h",
        ),
    ],
)
def test_what_is_not_clear_is_refused_in_the_recorded_words(headers: dict[str, str], query: str, why: str) -> None:
    assert brought(headers, query=query) == BadCredential(why)


@pytest.mark.behaviour("docspace.request_credentials")
def test_a_user_name_alone_is_no_credential_though_it_once_was() -> None:
    told = "Parsing credential\n\tNo password: a username and a password go together"
    assert brought(AT | USER) == BadCredential(told)
    told = "Parsing credential\n\tNo username: a username and a password go together"
    assert brought(AT | PASSWORD) == BadCredential(told)


@pytest.mark.behaviour("docspace.request_credentials")
def test_what_the_operator_does_not_take_is_as_good_as_not_sent() -> None:
    assert brought(BEARER, CallerCredentialRules(authorization=False)) is None
    assert brought(AT | KEY | BEARER, CallerCredentialRules(authorization=False)) == ApiAccess(
        BASE, ApiKey("k"), is_from_caller=True
    )
    assert brought(AT | KEY, CallerCredentialRules(headers=False)) is None
    assert brought(BEARER, CallerCredentialRules(headers=False), BASE) == ApiAccess(
        BASE, RawAuthorization("Bearer z"), is_from_caller=True
    )
    assert brought({}, CallerCredentialRules(query=False), BASE) is None


def test_what_no_header_can_hold_is_told_and_never_shown() -> None:
    bad = read_caller_credentials(
        {b"x-mcp-base-url": BASE.encode(), b"x-mcp-api-key": "sécret€".encode()}, CallerCredentialRules()
    )
    told = "Parsing credential\n\tThe API key has a line break or a character that no HTTP header can hold. Correct it"
    assert bad == BadCredential(told)
    assert read_caller_credentials({b"x-mcp-api-key": b"\xff"}, CallerCredentialRules()) == BadCredential(
        "Parsing credential\n\tParsing header\n\t\t\tx-mcp-api-key: custom Expected text in UTF-8"
    )


@pytest.mark.behaviour("docspace.request_credentials")
def test_a_caller_names_no_other_place_than_those_that_the_operator_lists() -> None:
    within = CallerCredentialRules(base_urls=(BASE, "https://docs.example.com/"), api_title="Shop")
    assert brought({"X-Mcp-Base-Url": "http://127.0.0.1:18931"} | KEY, within) == ApiAccess(
        BASE, ApiKey("k"), is_from_caller=True
    )
    told = f"Parsing credential\n\tThis gateway asks no other Shop than {BASE} or https://docs.example.com/"
    assert brought({"X-Mcp-Base-Url": "http://169.254.0.1/"} | KEY, within) == BadCredential(told)
    assert brought(KEY, within, "http://127.0.0.1:18932") == BadCredential(told)
    assert brought({"X-Mcp-Base-Url": f"{BASE}below"} | KEY, within) == BadCredential(told)
