"""What pegboard.yaml says of model servers."""

import pytest
from tests.config.loading import FOLDER

from pegboard.config.keys.features import ChatLimits, ChatSettings, ModelServerSettings
from pegboard.config.settings import InvalidFile, Settings, load_settings_text


def loaded(text: str) -> Settings | InvalidFile:
    return load_settings_text(text, "pegboard.yaml", FOLDER, {"KEY": "hush-hush"})


def chat(text: str) -> ChatSettings | None:
    found = loaded(text)
    assert isinstance(found, Settings), str(found)
    return found.chat


@pytest.mark.behaviour("chat.any_model_server")
def test_servers_are_read_with_their_keys_as_references_and_limits_with_their_defaults() -> None:
    read = chat(
        "chat:\n"
        "  model_servers:\n"
        "    here: {url: http://127.0.0.1:11434/v1}\n"
        "    hosted: {url: 'https://example.org/v1', api_key: '${KEY}', models: [large, 7], timeout: 2m}\n"
        "  default_model: large\n"
        "  limits: {turns: 3, time: 90s}\n"
    )
    assert read == ChatSettings(
        {
            "here": ModelServerSettings("here", "http://127.0.0.1:11434/v1"),
            "hosted": ModelServerSettings("hosted", "https://example.org/v1", "${KEY}", ("large", "7"), 120.0),
        },
        "large",
        ChatLimits(turns=3, seconds=90.0),
    )


@pytest.mark.parametrize("text", ["", "chat: {model_servers: {}}\n"], ids=["nothing said", "no server"])
def test_without_a_server_there_is_no_chat(text: str) -> None:
    assert chat(text) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("chat: {}\n", "chat.model_servers: this is missing."),
        ("chat: {servers: {}}\n", "unknown key. Write model_servers."),
        ("chat: {model_servers: {here: {}}}\n", "chat.model_servers.here.url: this is missing."),
        ("chat: {model_servers: {here: {url: 'ftp://x'}}}\n", "write a URL that begins with http:// or https://"),
        ("chat: {model_servers: {here: {base_url: x}}}\n", "unknown key. Write url."),
        ("chat: {model_servers: {here: {url: 'http://x', api_key: plain}}}\n", "so that the key is not in this file"),
        ("chat: {model_servers: {Here: {url: 'http://x'}}}\n", "use small letters, digits, - and _"),
        ("chat: {model_servers: {here: {url: 'http://x'}}, limits: {turns: 1}}\n", "a whole number from 2 to 1000"),
    ],
)
def test_what_is_wrong_is_told_by_its_place(text: str, told: str) -> None:
    found = loaded(text)
    assert isinstance(found, InvalidFile)
    assert told in str(found)
    assert "plain" not in str(found)
