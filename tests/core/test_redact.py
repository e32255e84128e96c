"""What of a call may be shown: secrets left out by name and by form, everything else bounded and safe to print."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.core.redact import HIDDEN, Bounds, Redaction, is_secret, safe_text
from pegboard.core.tool import Json

USUAL = Redaction()


@pytest.mark.behaviour("redaction.by_name")
@pytest.mark.parametrize(
    "key",
    [
        "password", "Password", "dbPassword", "DB_PASSWORD", "userpassword", "passwd", "token", "access_token",
        "accessToken", "X-Auth-Token", "Authorization", "api_key", "apiKey", "API-KEY", "x-api-key", "apikey",
        "client_secret", "secretKey", "privateKey", "credentials", "cookie", "sessionId", "ssh_key", "passphrase",
        "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44",
        "Passwort", "пароль", "密码", "AWS_SECRET_ACCESS_KEY", "jwt", "otp",
    ],
)  # fmt: skip
def test_what_has_the_name_of_a_secret_is_hidden(key: str) -> None:
    assert USUAL.shown({key: "hunter2"}) == {key: HIDDEN}


@pytest.mark.parametrize(
    "key", ["path", "key", "query", "author", "monkey", "keyboard", "max_results", "pass", "compass", "tokenizer", "id"]
)
def test_an_ordinary_name_hides_nothing(key: str) -> None:
    assert not is_secret(key)


def test_how_many_tokens_there_may_be_is_no_secret() -> None:
    assert USUAL.shown({"max_tokens": 4096, "token": "abc", "use_token": True, "password": None, "otp": 123456}) == {
        "max_tokens": 4096,
        "token": HIDDEN,
        "use_token": True,
        "password": None,
        "otp": HIDDEN,
    }


@pytest.mark.behaviour("redaction.by_name")
def test_secrets_are_found_at_any_depth_and_as_pairs_of_name_and_value() -> None:
    given: Json = {
        "request": {"headers": [{"name": "Authorization", "value": "abc"}, {"name": "Accept", "value": "text/html"}]},
        "auth": {"user": "ann", "pass": "x"},
    }
    assert USUAL.shown(given) == {
        "request": {"headers": [{"name": "Authorization", "value": HIDDEN}, {"name": "Accept", "value": "text/html"}]},
        "auth": HIDDEN,
    }


@pytest.mark.behaviour("redaction.by_form")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("curl -H 'Authorization: Bearer abcdefgh12345'", "curl -H 'Authorization: Bearer [hidden]'"),
        ("postgresql://ann:s3cret@db/x", "postgresql://ann:[hidden]@db/x"),
        ("PASSWORD=hunter2 run", "PASSWORD=[hidden] run"),
        ("--api-key=abc123 --verbose", "--api-key=[hidden] --verbose"),
        ('{"token": "abc123"}', '{"token": "[hidden]"}'),
        ("key sk-abcdefghijklmnop1234 end", "key [hidden] end"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "[hidden]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest", "[hidden]\nrest"),
        ("an ordinary sentence about tokens: none", "an ordinary sentence about tokens: [hidden]"),
        ("nothing here", "nothing here"),
    ],
)
def test_what_has_the_form_of_a_secret_is_hidden_in_any_text(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@pytest.mark.behaviour("redaction.own_patterns")
def test_the_operators_own_patterns_hide_by_key_and_with_a_dot_by_path() -> None:
    own = Redaction(("iban*", "patient.name"))
    given: Json = {"IBAN_from": "DE1", "name": "a list", "patient": {"name": "Ann", "ward": 3}}
    assert own.shown(given) == {"IBAN_from": HIDDEN, "name": "a list", "patient": {"name": HIDDEN, "ward": 3}}


@pytest.mark.behaviour("redaction.bounded")
def test_long_texts_many_members_and_deep_values_are_cut_and_say_so() -> None:
    small = Bounds(text=5, whole=1000, members=2, levels=2)
    given: Json = {"a": "abcdefgh", "b": [1, 2, 3], "c": 1}
    assert USUAL.shown(given, small) == {"a": "abcde… (8 characters)", "b": [1, 2, "… (1 more)"], "…": "1 more"}
    assert USUAL.shown({"a": {"b": {"c": 1}}}, small) == {"a": {"b": "…"}}


@pytest.mark.behaviour("redaction.bounded")
def test_a_value_of_any_size_takes_no_more_room_than_it_is_given() -> None:
    given: Json = {f"key-{number}": "x" * 10_000 for number in range(10_000)}
    assert len(USUAL.text(given)) < 12_000


def test_what_would_move_a_cursor_or_hide_text_is_written_out() -> None:
    assert safe_text("a\x1b[2Jb\u202ec\ud800d\ne") == "a\\x1b[2Jb\\u202ec\\ud800d\ne"
    assert USUAL.shown({"a\x1bb": "c"}) == {"a\\x1bb": "c"}


def test_numbers_that_json_cannot_hold_are_told_in_words() -> None:
    assert USUAL.shown([float("nan"), float("inf"), 10**5000]) == ["nan", "inf", "… (a number of 16610 bits)"]


def test_a_value_nested_ten_thousand_levels_deep_is_shown_as_far_as_is_fit() -> None:
    deep: Json = "x"
    for _ in range(10_000):
        deep = [deep]
    assert USUAL.text(deep) == '[[[[[[[["…"]]]]]]]]'


@settings(max_examples=200)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=30,
    )
)
def test_whatever_is_shown_is_json_that_every_peer_reads(value: Json) -> None:
    text = USUAL.text(value)
    text.encode()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@given(st.text(min_size=6).filter(lambda text: text.strip() and text not in HIDDEN and not text.isspace()))
def test_the_value_under_a_secret_name_is_never_in_the_text(secret: str) -> None:
    assert USUAL.text({"a": [{"password": secret}]}) == '{"a": [{"password": "[hidden]"}]}'
