"""As whom the operator asks DocSpace: exactly one method, or all that is wrong."""

from itertools import combinations

import pytest

from pegboard.config.docspace import DocSpaceCredentialValues, resolve_operator_access
from pegboard.config.docspace_toolsets import misconfiguration_remedies
from pegboard.core.calls.caller_credentials import AccessToken, ApiAccess, ApiKey, Password, RawAuthorization
from pegboard.core.model.web_api import ApiMisconfiguration, CallerCredentialRules

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
        (DocSpaceCredentialValues(BASE, api_key=" sk \n"), ApiAccess(BASE, ApiKey("sk"))),
        (DocSpaceCredentialValues(" http://localhost ", auth_token="pat"), ApiAccess(BASE, AccessToken("pat"))),
        (DocSpaceCredentialValues(BASE, username="ada", password="p:ä"), ApiAccess(BASE, Password("ada", "p:ä"))),
        (DocSpaceCredentialValues(BASE, authorization="Bearer z"), ApiAccess(BASE, RawAuthorization("Bearer z"))),
    ],
)
def test_one_method_is_the_operators_access(said: DocSpaceCredentialValues, access: ApiAccess) -> None:
    assert resolve_operator_access(said, None) == access


@pytest.mark.behaviour("docspace.one_method")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (DocSpaceCredentialValues(BASE), "No authentication method"),
        (DocSpaceCredentialValues(), "No authentication method"),
        (DocSpaceCredentialValues(BASE, username="u"), "No password"),
        (DocSpaceCredentialValues(BASE, password="u"), "No username"),
        (DocSpaceCredentialValues(api_key="k"), "No API base URL"),
        (DocSpaceCredentialValues(username="u", password="p"), "No API base URL"),
        (DocSpaceCredentialValues(username="u", api_key="k"), "No password\nNo API base URL"),
        (
            DocSpaceCredentialValues("localhost:8080", api_key="k"),
            "Expected a URL that begins with http:// or https://, but got localhost:8080",
        ),
        (
            DocSpaceCredentialValues(BASE, api_key="two\nlines"),
            "The API key has a line break or a character that no HTTP header can hold. Correct it",
        ),
    ],
)
def test_what_is_missing_is_told_in_the_words_that_its_users_know(said: DocSpaceCredentialValues, told: str) -> None:
    assert resolve_operator_access(said, None) == ApiMisconfiguration(told)


@pytest.mark.behaviour("docspace.one_method")
def test_any_two_methods_are_one_too_many() -> None:
    for count in range(2, len(METHODS) + 1):
        for chosen in combinations(METHODS.values(), count):
            values = {name: value for method in chosen for name, value in method.items()}
            assert resolve_operator_access(DocSpaceCredentialValues(BASE, **values), None) == ApiMisconfiguration(
                "Multiple authentication methods"
            )


@pytest.mark.behaviour("docspace.request_credentials")
def test_without_a_method_callers_must_be_able_to_bring_one() -> None:
    assert resolve_operator_access(DocSpaceCredentialValues(BASE), CallerCredentialRules()) is None
    assert (
        resolve_operator_access(DocSpaceCredentialValues(), CallerCredentialRules(authorization=False, query=False))
        is None
    )
    no_method = ApiMisconfiguration("No authentication method")
    assert (
        resolve_operator_access(DocSpaceCredentialValues(), CallerCredentialRules(headers=False, query=False))
        == no_method
    )
    assert (
        resolve_operator_access(DocSpaceCredentialValues(), CallerCredentialRules(headers=False, authorization=False))
        == no_method
    )


def test_what_is_wrong_fits_on_one_line_and_says_what_to_do() -> None:
    wrong = ApiMisconfiguration("Parsing environment variables\n\t\tDOCSPACE_TOOLSETS: custom Unknown value: q")
    told = "Parsing environment variables; DOCSPACE_TOOLSETS: custom Unknown value: q"
    assert wrong.outage("DocSpace") == f"DocSpace is misconfigured: {told}"
    assert misconfiguration_remedies(ApiMisconfiguration("No password\nNo API base URL")) == (
        "Say the password that goes with the user name: password (DOCSPACE_PASSWORD).",
        "Say where DocSpace is: base_url (DOCSPACE_BASE_URL), such as https://example.onlyoffice.com",
    )


def test_no_secret_is_in_any_representation() -> None:
    said = DocSpaceCredentialValues(BASE, "sk-secret", "pat-secret", "ada", "pw-secret", "Bearer secret")
    access = [ApiAccess(BASE, each) for each in (ApiKey("secret"), AccessToken("secret"), RawAuthorization("secret"))]
    assert "secret" not in repr((said, access, Password("ada", "secret")))
