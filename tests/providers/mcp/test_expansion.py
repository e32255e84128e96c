"""References read when a connection opens, and their values kept out of what people read."""

import json

import pytest

from pegboard.core.model.server import Http, Stdio, Transport
from pegboard.ports.providers import UnresolvedReference
from pegboard.processes.output import SecretFilter
from pegboard.providers.mcp.credentials import ExpandedConnection, expand_connection

VALUES = {"TOKEN": "s3cr3t-token", "DIR": "/srv/files", "SHORT": "ab"}


def expand(text: str) -> str | UnresolvedReference:
    for name, value in VALUES.items():
        text = text.replace(f"${{{name}}}", value)
    return UnresolvedReference("${MISSING} stands for nothing") if "${" in text else text


def read(connection: Stdio | Http) -> ExpandedConnection:
    found = expand_connection(connection, expand)
    assert isinstance(found, ExpandedConnection)
    return found


def test_every_part_of_a_child_process_may_refer() -> None:
    found = read(Stdio("${DIR}/serve", ("--key", "${TOKEN}", "plain"), {"A": "x${TOKEN}y"}, "${DIR}"))
    assert found.connection == Stdio(
        "/srv/files/serve", ("--key", "s3cr3t-token", "plain"), {"A": "xs3cr3t-tokeny"}, "/srv/files"
    )


def test_every_part_of_an_address_may_refer() -> None:
    found = read(Http("http://h/?k=${TOKEN}", Transport.SSE, {"Authorization": "Bearer ${TOKEN}"}))
    assert found.connection == Http("http://h/?k=s3cr3t-token", Transport.SSE, {"Authorization": "Bearer s3cr3t-token"})


@pytest.mark.parametrize(
    "connection", [Stdio("a", env={"A": "${MISSING}"}), Http("http://h", headers={"A": "${MISSING}"})]
)
def test_a_reference_that_stands_for_nothing_is_the_answer(connection: Stdio | Http) -> None:
    assert expand_connection(connection, expand) == UnresolvedReference("${MISSING} stands for nothing")


@pytest.mark.parametrize(
    "connection",
    [
        Stdio("serve", ("--key=${TOKEN}",)),
        Stdio("serve", env={"HARMLESS": "x${TOKEN}"}),
        Stdio("serve", env={"API_KEY": "s3cr3t-token"}),
        Http("http://h/${TOKEN}/mcp"),
        Http("http://h", headers={"Authorization": "Bearer s3cr3t-token"}),
        Http("http://h", headers={"X-Anything": "s3cr3t-token"}),
    ],
)
def test_a_secret_is_erased_from_a_message(connection: Stdio | Http) -> None:
    assert read(connection).erase("got s3cr3t-token, s3cr3t-token!") == "got •••, •••!"


def test_what_is_no_secret_stays_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/srv/files")
    erase = read(Stdio("serve", ("${DIR}", "${SHORT}"), {"LOG_LEVEL": "debug"})).erase
    assert erase("debug: /srv/files is about") == "debug: /srv/files is about"


def test_a_secret_is_erased_in_the_form_an_address_gives_it() -> None:
    assert SecretFilter({"a b/c?"})("http://h/?k=a%20b%2Fc%3F") == "http://h/?k=•••"


def test_a_secret_that_begins_like_another_is_erased_whole() -> None:
    assert SecretFilter({"abcd", "abcdefgh"})("abcdefgh abcd") == "••• •••"


def test_a_secret_of_many_lines_is_erased_line_by_line() -> None:
    erase = SecretFilter({"-----BEGIN KEY-----\r\n  c2VjcmV0LWxpbmU=\r\nend\r\n"})
    printed = ["-----BEGIN KEY-----", "got c2VjcmV0LWxpbmU=!", "the end"]
    assert [erase(line) for line in printed] == ["•••", "got •••!", "the end"]


@pytest.mark.parametrize(("ascii_only", "secret"), [(True, 'pass"wörd\n1'), (False, 'pass"wörd\n1'), (True, "a\\b c")])
def test_a_secret_is_erased_in_the_form_json_gives_it(ascii_only: bool, secret: str) -> None:
    assert SecretFilter({secret})(json.dumps({"key": secret}, ensure_ascii=ascii_only)) == '{"key": "•••"}'
