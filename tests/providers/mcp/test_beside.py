"""What goes to a server beside a call: what the client said, and what its era wants to be told of who asks."""

import json

from pegboard import __version__
from pegboard.core.json.values import Json
from pegboard.providers.mcp.results import extra_params, requested_log_level

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
KEY = "io.modelcontextprotocol/"
SAID = {
    "_meta": {
        "progressToken": 7,
        f"{KEY}protocolVersion": "1999-01-01",
        f"{KEY}clientInfo": {"name": "secret agent"},
        f"{KEY}clientCapabilities": {"everything": {}},
        f"{KEY}logLevel": "info",
        "example.org/trace": [None, "größe"],
    },
    "requestState": "s",
    "inputResponses": {"a": {}},
    "later": 1,
}
TEXT = {name: json.dumps(value).encode() for name, value in SAID.items()}


def test_a_server_of_the_handshake_era_gets_the_clients_own_words_and_nothing_of_the_later_era() -> None:
    assert extra_params(TEXT, HANDSHAKE) == {"_meta": {"example.org/trace": [None, "größe"]}}
    assert extra_params({}, HANDSHAKE) == {}
    assert extra_params({"_meta": b"null"}, HANDSHAKE) == {}


def test_a_server_of_the_later_era_is_told_who_we_are_and_what_the_client_can_be_asked() -> None:
    can: dict[str, Json] = {"elicitation": {"form": {}}, "roots": {}, "extensions": {"x": {}}, "experimental": {}}
    assert extra_params(TEXT, MODERN, can) == {
        "requestState": "s",
        "inputResponses": {"a": {}},
        "later": 1,
        "_meta": {
            "example.org/trace": [None, "größe"],
            f"{KEY}protocolVersion": MODERN,
            f"{KEY}clientInfo": {"name": "pegboard", "version": __version__},
            f"{KEY}clientCapabilities": {"elicitation": {"form": {}}, "roots": {}},
            f"{KEY}logLevel": "info",
        },
    }


def test_a_level_that_is_none_is_not_passed_on() -> None:
    for level in (7, "loud", None):
        assert requested_log_level(json.dumps({f"{KEY}logLevel": level}).encode()) is None
    assert requested_log_level(b'{"io.modelcontextprotocol/logLevel":"error"}') == "error"
    assert requested_log_level(b"[]") is None
