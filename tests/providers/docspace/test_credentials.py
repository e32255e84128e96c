"""Who DocSpace is asked as: what an operator wrote, and what a caller brings."""

import pytest

from pegboard.providers.docspace.credentials import (
    Access,
    AccessToken,
    ApiKey,
    Misconfigured,
    Password,
    Raw,
    base_url,
    brought,
    declared,
    origin,
)

BASE = "https://docs.example.com/"


@pytest.mark.parametrize(
    ("credential", "headers"),
    [
        (ApiKey("sk-1"), {"authorization": "Bearer sk-1"}),
        (AccessToken("pat-1"), {"authorization": "pat-1", "cookie": "asc_auth_key=pat-1"}),
        (Password("ada@example.com", "p:ä"), {"authorization": "Basic YWRhQGV4YW1wbGUuY29tOnA6w6Q="}),
        (Raw("Custom abc"), {"authorization": "Custom abc"}),
    ],
)
def test_each_kind_of_credential_is_sent_in_its_own_way(
    credential: ApiKey | AccessToken | Password | Raw, headers: dict[str, str]
) -> None:
    assert credential.headers() == headers


def test_no_secret_is_in_what_is_shown_of_a_credential() -> None:
    shown = repr([ApiKey("s3cret"), AccessToken("s3cret"), Password("ada", "s3cret"), Raw("s3cret")])

    assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://docs.example.com", BASE),
        (" https://docs.example.com/ ", BASE),
        ("https://DOCS.example.com:443/sub/path", "https://docs.example.com/sub/path/"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"),
        ("http://[::1]:80/", "http://[::1]/"),
    ],
)
def test_an_address_is_read_as_people_write_it(written: str, read: str) -> None:
    assert base_url(written) == read


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("docs.example.com", "Expected a valid URL, but got docs.example.com"),
        ("http://", "Expected a valid URL, but got http://"),
        ("http://exa mple/", "Expected a valid URL, but got http://exa mple/"),
        ("http://example:x/", "Expected a valid URL, but got http://example:x/"),
        (
            "localhost:8080",
            "Expected a URL that begins with http:// or https://, but got localhost:8080. "
            "Write the address that a browser shows for your DocSpace",
        ),
        ("https://a/?x=1", "Expected a URL without search parameters, but got https://a/?x=1"),
        (
            "https://a/?x=1#y",
            "Expected a URL without search parameters, but got https://a/?x=1#y\n"
            "Expected a URL without hash, but got https://a/?x=1#y",
        ),
        (
            "https://ada:pw@a/",
            "Expected a URL without a user name and password. Set them as username and password",
        ),
    ],
)
def test_an_address_that_cannot_be_asked_is_told_why(written: str, told: str) -> None:
    assert base_url(written) == Misconfigured(told)


def test_what_an_operator_declares_is_one_way_to_ask_one_docspace() -> None:
    assert declared(BASE, api_key=" k ") == Access(BASE, ApiKey("k"))
    assert declared(BASE, auth_token="t") == Access(BASE, AccessToken("t"))
    assert declared(BASE, username="u", password="p") == Access(BASE, Password("u", "p"))
    assert declared(BASE, authorization="Custom x") == Access(BASE, Raw("Custom x"))
    assert declared(BASE) is None
    assert declared() is None


def test_everything_that_is_wrong_with_a_declaration_is_told_at_once() -> None:
    assert declared(BASE, username="u") == Misconfigured("No password")
    assert declared(BASE, password="p") == Misconfigured("No username")
    assert declared(api_key="k") == Misconfigured("No API base URL")
    assert declared(BASE, api_key="k", auth_token="t") == Misconfigured("Multiple authentication methods")
    assert declared(api_key="k", auth_token="t", username="u") == Misconfigured(
        "No password\nNo API base URL\nMultiple authentication methods"
    )
    assert declared(BASE, api_key="k\nx") == Misconfigured(
        "The API key has a line break or a character that no HTTP header can hold. Correct it"
    )


def test_a_caller_brings_an_address_and_one_credential() -> None:
    where = {b"x-mcp-base-url": b"https://docs.example.com"}

    assert brought({**where, b"x-mcp-api-key": b"k"}) == Access(BASE, ApiKey("k"))
    assert brought({**where, b"x-mcp-auth-token": b"t"}) == Access(BASE, AccessToken("t"))
    assert brought({**where, b"x-mcp-username": b"u", b"x-mcp-password": b"p"}) == Access(BASE, Password("u", "p"))
    assert brought({**where, b"authorization": b"Bearer b"}) == Access(BASE, Raw("Bearer b"))
    assert brought({}) is None
    assert brought({b"authorization": b"Bearer b"}) is None


def test_a_caller_who_brings_too_little_or_too_much_is_told_so() -> None:
    where = {b"x-mcp-base-url": b"https://docs.example.com"}

    assert brought(where) == Misconfigured("Base URL without credentials")
    assert brought({**where, b"x-mcp-username": b"u"}) == Misconfigured("No password")
    assert brought({b"x-mcp-api-key": b"k"}) == Misconfigured(
        "Base URL is required with API key, PAT, or (username and password)"
    )
    assert brought({**where, b"x-mcp-api-key": b"k", b"x-mcp-auth-token": b"t"}) == Misconfigured(
        "Expected only one of API key, PAT, or (username and password) to be set"
    )
    assert brought({**where, b"x-mcp-api-key": b"k", b"authorization": b"a"}) == Misconfigured(
        "Authorization header with credentials"
    )
    assert brought({b"x-mcp-base-url": b"ftp://a/", b"x-mcp-api-key": b"k"}) == Misconfigured(
        "x-mcp-base-url: Expected a URL that begins with http:// or https://, but got ftp://a/. "
        "Write the address that a browser shows for your DocSpace"
    )


def test_the_gateways_own_token_is_no_credential_for_docspace() -> None:
    sent = {b"x-mcp-base-url": b"https://docs.example.com", b"authorization": b"Bearer gateway"}

    assert brought(sent, authorization=False) == Misconfigured("Base URL without credentials")
    assert brought({**sent, b"x-mcp-api-key": b"k"}, authorization=False) == Access(BASE, ApiKey("k"))


def test_origins_differ_by_scheme_host_or_port_and_by_nothing_else() -> None:
    assert origin("https://docs.example.com/a") == origin("HTTPS://DOCS.example.com:443/b?c")
    assert len({origin(url) for url in ("http://a/", "https://a/", "http://a:81/", "http://b/")}) == 4
