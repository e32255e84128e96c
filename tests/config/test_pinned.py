"""What looks like a secret in a pinned value, and what is a reference to one."""

from typing import Any

import pytest

from pegboard.config.overrides import plaintext_secrets
from pegboard.core.overrides.model import ArgumentOverride, freeze_json

TOKEN = "ghp_" + "a1B2" * 9


def found(name: str, value: Any) -> tuple[str, ...]:
    return plaintext_secrets(name, ArgumentOverride(pin=freeze_json(value)))


@pytest.mark.behaviour("overrides.no_secret_in_the_store")
@pytest.mark.parametrize(
    ("name", "value", "places"),
    [
        ("api_key", "hunter2", ["arguments.api_key.pin"]),
        ("apiKey", "x", ["arguments.apiKey.pin"]),
        ("password", 123456, ["arguments.password.pin"]),
        ("пароль", "слово", ["arguments.пароль.pin"]),
        ("query", TOKEN, ["arguments.query.pin"]),
        ("query", f"is:open {TOKEN}", ["arguments.query.pin"]),
        ("query", f"${{TOKEN:-{TOKEN}}}", ["arguments.query.pin"]),
        ("api_key", "${API_KEY:-hunter2}", ["arguments.api_key.pin"]),
        ("header", "Bearer abcdefgh12345678", ["arguments.header.pin"]),
        ("url", "postgres://me:hunter2@localhost/db", ["arguments.url.pin"]),
        ("url", "https://localhost/x?api_key=hunter2", ["arguments.url.pin"]),
        ("options", {"auth": {"token": "hunter2"}, "retries": 3}, ["arguments.options.pin.auth.token"]),
        ("headers", ["x", {"authorization": "abc"}], ["arguments.headers.pin.authorization"]),
        ("passwords", ["a", "b"], ["arguments.passwords.pin"]),
        ("key", "-----BEGIN PRIVATE KEY-----\nMIIE", ["arguments.key.pin"]),
    ],
)
def test_a_secret_is_known_by_its_name_or_its_form(name: str, value: Any, places: list[str]) -> None:
    assert found(name, value) == tuple(places)


@pytest.mark.behaviour("overrides.no_secret_in_the_store")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key", "${API_KEY}"),
        ("api_key", "${file:secrets/key}"),
        ("api_key", "${API_KEY:-}"),
        ("authorization", "Bearer ${TOKEN}"),
        ("connection_string", "postgres://me:${PASSWORD}@localhost/db"),
        ("url", "https://localhost/x?api_key=${KEY}"),
        ("api_key", ""),
        ("password", None),
        ("use_token", True),
        ("max_tokens", 4096),
        ("root", "/srv/documents"),
        ("key", "title"),
        ("limit", 10),
        ("options", {"auth": {"token": "${TOKEN}"}}),
        ("query", "how to reset a password"),
    ],
)
def test_a_reference_and_a_plain_value_are_no_secret(name: str, value: Any) -> None:
    assert found(name, value) == ()


def test_an_argument_that_pins_nothing_holds_no_secret() -> None:
    assert plaintext_secrets("api_key", ArgumentOverride(hide=True)) == ()
    assert plaintext_secrets("api_key", ArgumentOverride(default=freeze_json("shown to callers anyway"))) == ()
