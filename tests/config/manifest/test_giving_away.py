"""What is written for others holds no secret of whoever writes it, and all references that it held before."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.config.manifest.filling import filled
from tests.config.manifest.reading import FOLDER, manifest
from tests.support.fuzzing import case_count

from pegboard.config.manifest.model import Manifest
from pegboard.config.manifest.reader import read_manifest
from pegboard.config.manifest.secrets import Placeholders, is_harmless, referenced_names
from pegboard.config.manifest.write import format_manifest, format_without_secrets
from pegboard.config.masked_servers import MASK, mask_connection
from pegboard.core.json.values import Json
from pegboard.core.model.redaction import redact_line
from pegboard.core.model.server import Connection, Container, Http, Stdio
from pegboard.core.model.tool import ContainerImage
from pegboard.gateway.toolsets.build import reach_describer

LEAKS = Path(__file__).parent / "leaks.yaml"


@pytest.mark.behaviour("toolsets.export_without_secrets")
def test_a_value_with_a_name_is_replaced_whatever_it_looks_like_and_an_argument_by_its_form() -> None:
    meant = manifest(LEAKS.read_text())
    found = format_without_secrets(meant)
    assert [line.strip() for line in found.text.splitlines() if "leak" in line or "L3ak" in line] == []
    plain = [line.strip().removeprefix("- ") for line in found.text.splitlines()]
    kept = [
        *("srv.py", "--mode=fast", "'8080'", "gpt-4o-2024-08-06", "'@scope/package@1.2.3'"),
        "./models/Qwen2.5-7B-Q4_K_M.gguf",
        "git+https://example.org/a/b@0f2d8f2f0c4c4d9a9d7f4be0e5f1c7a3b2d1e0f9",
        *("typescript", "DEBUG: '1'", "LOG_LEVEL: info", "LANG: en_US.UTF-8", "BASE_URL: https://api.example.org/v1/"),
        *("DATA: ./assets/words.txt", "MAX_TOKENS: '4096'", "USE_AUTH: 'true'", "REGION: ${REGION:-eu-west}"),
        *("Accept-Language: en", "EMPTY: ''", "A_REF: ${REF}", "MIXED: Bearer ${REF} ${MIXED}"),
        *("HOST_URL: https://${REF}/api/v1", "X-Half: ${X_HALF}${REF}", "COOKIE: sid=${REF}; ${COOKIE}"),
    ]
    assert [line for line in kept if line not in plain] == []
    assert filled(manifest(found.text), found.placeholders.secret_values, meant.secrets) == meant
    assert {str(place) for name in ("KEY", "CONT") for place in found.placeholders.locations[name]} == {
        "a: args[3]",
        "box: env.CONT",
    }


AWKWARD = st.lists(
    st.sampled_from(
        [
            *(
                "${A}",
                "${B:-x}",
                "$${",
                "$",
                "lit",
                " ",
                "Bearer ",
                "k-",
                "ghp_0123456789abcdefghij",
                "https://h/",
                "@",
            ),
            *("Zx9Q2mLp7Rt4Kd8WvB3nYs6H", "=", "?k=", "&", "--token=", ":", "/hooks/", "me:pw", "${file:x}", "#"),
            *(";", "@"),
        ]
    ),
    max_size=7,
).map("".join)


@pytest.mark.behaviour("toolsets.manifest_written")
@given(st.lists(AWKWARD, max_size=4), st.dictionaries(st.sampled_from(["PLAIN", "API_KEY"]), AWKWARD))
@settings(max_examples=case_count(100))
def test_references_stay_wherever_they_stand_among_secrets(args: list[str], env: dict[str, str]) -> None:
    meant = read_manifest(
        json.dumps({"id": "a", "mcp_servers": [{"id": "s", "command": "x", "args": args, "env": env}]}),
        "toolset.json",
        FOLDER,
        {},
    )
    assume(isinstance(meant, Manifest))
    assert isinstance(meant, Manifest)
    found = format_without_secrets(meant)
    again = manifest(found.text)
    whole = filled(again, found.placeholders.secret_values, ())
    # A default may have looked like a secret.
    plainly = [[text.replace("${B:-x}", "${B}") for text in texts_of(each)] for each in (whole, meant)]
    assert plainly[0] == plainly[1], found.text
    assert format_manifest(again) == found.text
    refers = {name for name in "AB" if any(f"${{{name}" in text.replace("$${", "") for text in (*args, *env.values()))}
    assert refers <= referenced_names([*texts_of(again), *found.placeholders.secret_values.values()])
    assert "Zx9Q2mLp7Rt4Kd8WvB3nYs6H" not in found.text


def texts_of(read: Manifest) -> list[str]:
    (server,) = read.servers
    assert isinstance(server.connection, Stdio)
    return [*server.connection.args, *server.connection.env.values()]


@pytest.mark.behaviour("toolsets.export_without_secrets")
@given(
    st.sampled_from(["PLAIN", "MODE", "X", "region", "A-B"]),
    st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=5, max_size=30),
)
@settings(max_examples=case_count(100))
def test_what_is_not_known_to_be_harmless_is_taken_for_a_secret(name: str, value: str) -> None:
    assume("$" not in value and not is_harmless(name, value))
    text = format_manifest(
        manifest(json.dumps({"id": "a", "containers": [{"id": "s", "image": "x", "env": {name: value}}]}))
    )
    (box,) = manifest(text).containers
    assert [*box.image.env.values()] in ([f"${{{secret.name}}}"] for secret in manifest(text).secrets)


NAMES = st.sampled_from(
    [
        *("token", "api-key", "apiKey", "API_KEY", "password", "pass", "pwd", "secret", "auth", "user", "mode", "port"),
        *("config", "webhookUrl", "dsn", "session", "db", "MAX_TOKENS", "USE_AUTH", "PASSWORD", "passphrase", "pat"),
    ]
)
WORTH = st.sampled_from(
    [
        *(
            "Qz7hunter",
            "true",
            "8080",
            "info",
            "bob:Qz7pass99",
            "ghp_0123456789abcdefghij",
            "${REF}",
            "Qz7 with blanks",
        ),
        *("Zx9Q2mLp7Rt4Kd8WvB3nYs6H", "./Qz7/x.txt", "Bearer Qz7token", "https://me:Qz7pw@h.example/x", "null", "1234"),
        *("${REF:-Qz7default}", "k=Qz7value", "", "Qz7-${REF}", "sk-proj-0123456789abcdef"),
    ]
)
PLANTED = re.compile(r"Qz7\w*|Zx9\w*|ghp_\w+|sk-proj-\w+")
WORDS_OF_ARGS = st.one_of(
    st.builds("--{0}\n{1}".format, NAMES, WORTH),
    st.builds("--{0}={1}".format, NAMES, WORTH),
    st.builds("--{0}:{1}".format, NAMES, WORTH),
    st.builds("/{0}:{1}".format, NAMES, WORTH),
    st.builds("{0}={1}".format, NAMES, WORTH),
    st.builds("-e\n{0}={1}".format, NAMES, WORTH),
    st.builds("-H\nX-{0}: {1}".format, NAMES, WORTH),
    st.builds('--config={{"{0}": "{1}"}}'.format, NAMES, WORTH),
    st.builds("{{'{0}':'{1}'}}".format, NAMES, WORTH),
    st.builds("host=x {0}={1}; port=1".format, NAMES, WORTH),
    st.builds("https://h.example/hooks/{1}?{0}={1}".format, NAMES, WORTH),
    st.builds("{0}\n{1}".format, st.sampled_from(["-p", "-k", "-u", "--user", "-P", "-x"]), WORTH),
    WORTH,
).map(lambda text: text.split("\n"))


HOW_MANY = re.compile(r"[\w-]*max[\w-]*=[0-9]{1,9}", re.IGNORECASE)


@pytest.mark.behaviour("toolsets.one_rule_for_secrets")
@given(
    st.sampled_from(["serve", "npx", "/usr/bin/python3", "./run-Zx9Q2mLp7Rt4Kd8WvB3nYs6H"]),
    st.lists(WORDS_OF_ARGS, max_size=4).map(lambda found: tuple(arg for args in found for arg in args)),
    st.dictionaries(NAMES, WORTH, max_size=4),
    st.builds("https://{1}/{0}?{0}={1}".format, NAMES, WORTH),
)
@example("serve", ("-e", "MAX_TOKENS=8080"), {}, "https://Qz7hunter/token?token=Qz7hunter")
@example("serve", ("-e", "pass=Bearer Qz7token"), {}, "https://Qz7hunter/token?token=Qz7hunter")
@settings(max_examples=case_count(150))
def test_no_value_is_told_by_one_that_another_hides(
    command: str, args: tuple[str, ...], env: dict[str, str], url: str
) -> None:
    """Whoever shows how a server is reached, whoever gives it away, and whoever shows a call of it."""
    for connection in (
        Stdio(command, args, env),
        Http(url, headers=env),
        Container(ContainerImage("x", args=args, env=env)),
    ):
        given_away, held = exported(connection)
        assert mask_connection(connection) == without(given_away, held)
        plan = "\n".join(reach_describer(())(connection))
        assert [word for word in PLANTED.findall(plan) if word not in json.dumps(given_away)] == []
    told = mask_connection(Stdio(command, args, env))["args"]
    assert isinstance(told, list)
    for arg, shown in zip(args, told, strict=True):
        assert isinstance(shown, str)
        if HOW_MANY.fullmatch(shown):
            continue  # a number and no secret; a record of a call, which cannot be sure, hides it
        # What a record of a call would hide of it; the word before a token is no value, and a record may hide it too.
        left = shown.replace(f"Bearer {MASK}", MASK).replace(MASK, "[hidden]")
        assert redact_line(left) == left, arg


def exported(connection: Connection) -> tuple[Mapping[str, Json], Placeholders]:
    """How it is written for others, in the shape in which it is shown."""
    match connection:
        case Container(image):
            held = Placeholders(reserved_names=referenced_names((*image.args, *image.env.values())))
            env = held.replace_values("s", "env", image.env)
            return {
                "transport": "container",
                "image": image.image,
                "args": [*held.replace_args("s", "", image.args)],
                "env": {**env},
                "network": False,
                "workspace": False,
            }, held
        case Stdio(command, args_of, env_of, cwd):
            held = Placeholders(reserved_names=referenced_names((*args_of, *env_of.values())))
            env = held.replace_values("s", "env", env_of)
            return {
                "transport": "stdio",
                "command": held.replace_text("s", "command", command),
                "args": [*held.replace_args("s", command, args_of)],
                "env": {**env},
                "cwd": cwd,
            }, held
        case Http(url, transport, headers):
            held = Placeholders(reserved_names=referenced_names((url, *headers.values())))
            return {
                "transport": transport.value,
                "url": held.replace_text("s", "url", url),
                "headers": {**held.replace_values("s", "headers", headers)},
            }, held
        case _:
            raise AssertionError(connection)


def without(told: Json | Mapping[str, Json], held: Placeholders) -> Json:
    match told:
        case str():
            for name in held.names:
                told = told.replace(f"${{{name}}}", MASK)
            return told
        case list():
            return [without(each, held) for each in told]
        case Mapping():
            return {name: without(each, held) for name, each in told.items()}
        case _:
            return told
