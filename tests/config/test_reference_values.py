"""What a reference stands for may be a secret: no message about a file quotes it, wherever the reference is written."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pegboard.config import docspace
from pegboard.config.databases import DatabaseLocation, locate_database
from pegboard.config.keys import root as keys
from pegboard.config.references import expander
from pegboard.config.schema.fields import AnyValueField, ListField, MapField, OrFalseField, TextField
from pegboard.config.schema.section import ConfigSection
from pegboard.config.settings import InvalidFile, load_settings_text
from pegboard.core.model.web_api import ApiMisconfiguration
from pegboard.core.policy.policy import Policy
from pegboard.ports.providers import UnresolvedReference

REFERENCE = "${SOMETHING}"
FOLDER = Path("/etc/pegboard")
DOCUMENTS = {
    "servers.*.command": "servers: {s: {command: REF}}",
    "servers.*.args[]": "servers: {s: {command: x, args: [REF]}}",
    "servers.*.env.*": "servers: {s: {command: x, env: {A: REF}}}",
    "servers.*.cwd": "servers: {s: {command: x, cwd: REF}}",
    "servers.*.url": "servers: {s: {url: REF}}",
    "servers.*.headers.*": 'servers: {s: {url: "http://h/", headers: {A: REF}}}',
    "servers.*.oauth.client_id": 'servers: {s: {url: "http://h/", oauth: {client_id: REF}}}',
    "servers.*.oauth.client_secret": 'servers: {s: {url: "http://h/", oauth: {client_id: x, client_secret: REF}}}',
    "servers.*.oauth.client_metadata_url": 'servers: {s: {url: "http://h/", oauth: {client_metadata_url: REF}}}',
    "overrides.*.*.arguments.*.pin": 'servers: {s: {url: "http://h/"}}\noverrides: {s: {"s:t": {arguments: {a: {pin: REF}}}}}',  # noqa: E501
    "principals.*.token": "principals: {p: {token: REF}, q: {token: REF}}",
    "store": "store: REF",
    "databases.*.url": "databases: {d: {url: REF}}",
    "docspace.base_url": 'docspace: {base_url: REF, api_key: "${KEY}"}',
    "docspace.api_key": 'docspace: {base_url: "https://h/", api_key: REF}',
    "docspace.auth_token": 'docspace: {base_url: "https://h/", auth_token: REF}',
    "docspace.username": 'docspace: {base_url: "https://h/", username: REF, password: "${KEY}"}',
    "docspace.password": 'docspace: {base_url: "https://h/", username: u, password: REF}',
    "docspace.authorization": 'docspace: {base_url: "https://h/", authorization: REF}',
    "chat.model_servers.*.url": "chat: {model_servers: {m: {url: REF}}}",
    "chat.model_servers.*.api_key": 'chat: {model_servers: {m: {url: "http://h/v1", api_key: REF}}}',
    "search.embeddings.url": "search: {embeddings: {url: REF, model: m}}",
    "search.embeddings.api_key": 'search: {embeddings: {url: "http://h/v1", model: m, api_key: REF}}',
}
VALUES = (
    "MARKER",
    "MARKER with spaces",
    "MARKER\nMARKER",
    "MARKER\N{SNOWMAN}",
    '{"token": "MARKER"}',
    "http://MARKER:MARKER@MARKER:MARKER/?MARKER#MARKER",
    "https://h/?MARKER",
    "https://user:MARKER@h/",
    "ftp://MARKER/",
    "postgresql://user:MARKER/word@host/db",
    "mysql://user:MAR:MARKER@host/db",
    "sqlite://MARKER",
)


def settings_with_references(shape: object, at: str = "") -> Iterator[str]:
    match shape:
        case TextField(allows_references=True) | AnyValueField(allows_references=True):
            yield at
        case ConfigSection():
            for key in shape.keys:
                yield from settings_with_references(key.field_type, f"{at}.{key.name}" if at else key.name)
        case ListField(item):
            yield from settings_with_references(item, f"{at}[]")
        case MapField(_, item):
            yield from settings_with_references(item, f"{at}.*")
        case OrFalseField(other):
            yield from settings_with_references(other, at)


def test_every_setting_with_references_is_tested_here() -> None:
    assert {*settings_with_references(keys.PEGBOARD)} == {*DOCUMENTS}


def messages(document: str, value: str) -> Iterator[str]:
    environ = {"SOMETHING": value, "KEY": "another-key-of-a-caller"}
    loaded = load_settings_text(document.replace("REF", f'"{REFERENCE}"'), "pegboard.yaml", FOLDER, environ)
    if isinstance(loaded, InvalidFile):
        yield str(loaded)
        return
    yield from map(str, loaded.all_warnings.applicable((), ()))
    expand = expander(environ, FOLDER)
    connection = Policy(loaded.declared).web_api
    if connection is not None and isinstance(
        wrong := docspace.operator_access(connection, expand), ApiMisconfiguration
    ):
        yield wrong.outage(connection.title)
    for database in loaded.declared.databases.values():
        match locate_database(database, expand, FOLDER, environ):
            case UnresolvedReference(why):
                yield why
            case DatabaseLocation() as place:
                yield repr(place)


@pytest.mark.behaviour("config.references_not_quoted")
def test_no_message_quotes_what_a_reference_stands_for() -> None:
    quoting = [
        (setting, value, message)
        for setting, document in DOCUMENTS.items()
        for value in VALUES
        for message in messages(document, value)
        if "MARKER" in message
    ]
    assert quoting == []


def test_a_bad_base_url_is_named_by_its_reference() -> None:
    told = [*messages(DOCUMENTS["docspace.base_url"], "MARKER")]
    assert told == [
        "pegboard.yaml:1: docspace: Expected a valid URL, but got ${SOMETHING}.",
        "DocSpace is misconfigured: Expected a valid URL, but got ${SOMETHING}",
    ]


def test_an_address_of_a_database_that_cannot_be_read_says_how_to_write_it() -> None:
    (told,) = messages(DOCUMENTS["databases.*.url"], "postgresql://user:a/b@host/db")
    assert told.startswith("its url cannot be read as scheme://user:password@host:port/database.")


class _Unasked(dict[str, str]):
    """An environment of which no variable is read."""

    def get(self, name: str, default: object = None) -> str:
        raise AssertionError(f"{name} was read")


@pytest.mark.behaviour("config.references_not_resolved")
@pytest.mark.parametrize("reference", [REFERENCE, "${file:/etc/hostname}", "${file:/nowhere/at/all}"])
def test_the_references_of_a_text_that_somebody_sent_are_not_read(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reads(*args: object) -> None:
        raise AssertionError("a file was read")

    monkeypatch.setattr("pegboard.config.references._read_file", reads)
    for document in DOCUMENTS.values():
        text = document.replace("REF", f'"{reference}"').replace("${KEY}", reference)
        loaded = load_settings_text(text, "pegboard.yaml", FOLDER, _Unasked(), resolves_references=False)
        told = (
            str(loaded)
            if isinstance(loaded, InvalidFile)
            else [str(each) for each in loaded.all_warnings.applicable((), ())]
        )
        same = "this is the token of 'p' too" in told
        assert same if document.startswith("principals") else told == [], document
