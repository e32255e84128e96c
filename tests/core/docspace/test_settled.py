"""As whom the operator asks DocSpace: exactly one method, or all that is wrong."""

from itertools import combinations

import pytest

from pegboard.core.docspace import (
    Access,
    AccessToken,
    ApiKey,
    Lends,
    Misconfigured,
    Password,
    Raw,
    Said,
    mends,
    misconfigured,
    settled,
)

BASE = "http://localhost/"
METHODS = {
    "authorization": {"authorization": "Bearer z"},
    "api_key": {"api_key": "sk"},
    "auth_token": {"auth_token": "pat"},
    "password": {"username": "ada", "password": "p:ä"},
}


@pytest.mark.behaviour("docspace.one_method")
@pytest.mark.parametrize(
    ("said", "access"),
    [
        (Said(BASE, api_key=" sk \n"), Access(BASE, ApiKey("sk"))),
        (Said(" http://localhost ", auth_token="pat"), Access(BASE, AccessToken("pat"))),
        (Said(BASE, username="ada", password="p:ä"), Access(BASE, Password("ada", "p:ä"))),
        (Said(BASE, authorization="Bearer z"), Access(BASE, Raw("Bearer z"))),
    ],
)
def test_one_method_is_the_operators_access(said: Said, access: Access) -> None:
    assert settled(said, None) == access


@pytest.mark.behaviour("docspace.one_method")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (Said(BASE), "No authentication method"),
        (Said(), "No authentication method"),
        (Said(BASE, username="u"), "No password"),
        (Said(BASE, password="u"), "No username"),
        (Said(api_key="k"), "No API base URL"),
        (Said(username="u", password="p"), "No API base URL"),
        (Said(username="u", api_key="k"), "No password\nNo API base URL"),
        (
            Said("localhost:8080", api_key="k"),
            "Expected a URL that begins with http:// or https://, but got localhost:8080",
        ),
        (
            Said(BASE, api_key="two\nlines"),
            "The API key has a line break or a character that no HTTP header can hold. Correct it",
        ),
    ],
)
def test_what_is_missing_is_told_in_the_words_that_its_users_know(said: Said, told: str) -> None:
    assert settled(said, None) == Misconfigured(told)


@pytest.mark.behaviour("docspace.one_method")
def test_any_two_methods_are_one_too_many() -> None:
    for count in range(2, len(METHODS) + 1):
        for chosen in combinations(METHODS.values(), count):
            values = {name: value for method in chosen for name, value in method.items()}
            assert settled(Said(BASE, **values), None) == Misconfigured("Multiple authentication methods")


@pytest.mark.behaviour("docspace.request_credentials")
def test_without_a_method_callers_must_be_able_to_bring_one() -> None:
    assert settled(Said(BASE), Lends()) is None
    assert settled(Said(), Lends(authorization=False, query=False)) is None
    no_method = Misconfigured("No authentication method")
    assert settled(Said(), Lends(headers=False, query=False)) == no_method
    assert settled(Said(), Lends(headers=False, authorization=False)) == no_method


def test_what_is_wrong_fits_on_one_line_and_says_what_to_do() -> None:
    wrong = Misconfigured("Parsing environment variables\n\t\tDOCSPACE_TOOLSETS: custom Unknown value: q")
    told = "Parsing environment variables; DOCSPACE_TOOLSETS: custom Unknown value: q"
    assert wrong.outage == f"DocSpace is misconfigured: {told}"
    assert misconfigured(wrong.outage) == told
    assert misconfigured("exited with code 1") is None
    assert mends(Misconfigured("No password\nNo API base URL")) == (
        "Say the password that goes with the user name: password (DOCSPACE_PASSWORD).",
        "Say where DocSpace is: base_url (DOCSPACE_BASE_URL), such as https://example.onlyoffice.com",
    )


def test_no_secret_is_in_any_representation() -> None:
    said = Said(BASE, "sk-secret", "pat-secret", "ada", "pw-secret", "Bearer secret")
    access = [Access(BASE, each) for each in (ApiKey("secret"), AccessToken("secret"), Raw("secret"))]
    assert "secret" not in repr((said, access, Password("ada", "secret")))
