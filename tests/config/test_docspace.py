"""`docspace` in pegboard.yaml: four toolsets on the board, and everything that is wrong with it at its place."""

from pathlib import Path
from textwrap import dedent

import pytest
from tests.config.loading import FOLDER, problems, settings

from pegboard.config.docspace import operator_access
from pegboard.config.references import expander
from pegboard.config.settings import Settings
from pegboard.core.calls.caller_credentials import ApiAccess, ApiKey, Password
from pegboard.core.model.ids import ToolsetId, ToolsetKey
from pegboard.core.model.server import DeclaredAt, Server, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.core.model.web_api import ApiMisconfiguration, CallerCredentialRules, WebApi

ENVIRON = {"KEY": "sk-secret"}
PLAIN = """\
    docspace:
      base_url: https://example.onlyoffice.com
      api_key: ${KEY}
    """


def connection(loaded: Settings) -> WebApi:
    (found,) = {server.connection for server in loaded.declared.servers.values()}
    assert isinstance(found, WebApi)
    return found


def told(text: str, environ: dict[str, str] | None = None) -> list[str]:
    return [str(warning) for warning in settings(text, environ).warnings]


@pytest.mark.behaviour("docspace.declared")
def test_a_docspace_is_four_toolsets_that_are_trusted_as_our_own() -> None:
    loaded = settings(PLAIN, ENVIRON)
    at = DeclaredAt("pegboard.yaml", 1)
    reached = WebApi("docspace", "DocSpace", base_url="https://example.onlyoffice.com", api_key="${KEY}")
    keys = [ToolsetKey(ToolsetId(id)) for id in ("files", "folders", "people", "rooms")]
    assert loaded.declared.servers == {key: Server(key, reached, at, trust=Trust.OPEN) for key in keys}
    assert loaded.declared.toolsets == {
        ToolsetId(id): Toolset(ToolsetId(id), at, description=text, user_mcp=False)
        for id, text in (
            ("files", "Operations for working with files."),
            ("folders", "Operations for working with folders."),
            ("people", "Operations for working with users."),
            ("rooms", "Operations for working with rooms."),
        )
    }
    assert loaded.warnings == ()
    assert "sk-secret" not in repr(loaded)


@pytest.mark.behaviour("docspace.declared")
def test_a_server_in_a_toolset_of_the_same_name_is_told_from_the_file_and_from_the_environment() -> None:
    server = "servers:\n  files:\n    command: notes\n  other:\n    command: notes\n"
    warned = (
        "pegboard.yaml:{}: files: the toolset 'files' holds this server and tools of DocSpace as well: whoever may use "
        "it has both. Give the server a toolset of another name"
    )
    variables = {"DOCSPACE_BASE_URL": "https://example.onlyoffice.com", "DOCSPACE_API_KEY": "sk"}
    assert told(server, variables) == [warned.format(2)]
    assert told(f"docspace: {{base_url: 'https://a.example', api_key: '${{KEY}}'}}\n{server}", ENVIRON) == [
        warned.format(3)
    ]
    assert told(server) == []


@pytest.mark.behaviour("docspace.declared")
def test_everything_that_can_be_said_of_it_is_kept() -> None:
    text = """\
        docspace:
          base_url: ${PLACE}
          username: ada@example.com
          password: ${file:password}
          trust: strict
          request_credentials: true
          user_agent: ""
          timeout: 30s
          deadline: 1h
        """
    loaded = settings(text, {"PLACE": "https://x"})
    assert connection(loaded) == WebApi(
        "docspace",
        "DocSpace",
        base_url="${PLACE}",
        username="ada@example.com",
        password="${file:password}",
        lends=CallerCredentialRules(),
        user_agent="",
        timeout=30,
        deadline=3600,
    )
    assert {server.trust for server in loaded.declared.servers.values()} == {Trust.STRICT}


@pytest.mark.behaviour("docspace.declared", "config.errors_name_the_place")
def test_what_cannot_be_meant_is_an_error_at_its_place_and_tells_no_secret() -> None:
    text = """\
        docspace:
          base_url: ftp://example.com
          api_key: sk-secret
          password: ${PASSWORD:-hunter2}
          toolsets: [files, fils]
          enabled_tools: create_foldr
          token: x
          timeout: soon
        """
    found = problems(text)
    assert found[:2] == [
        "pegboard.yaml:2: docspace.base_url: write a URL that begins with http:// or https://, or with a reference.",
        "pegboard.yaml:3: docspace.api_key: write a reference without a default, ${NAME} or ${file:path}, so that the "
        "secret is not in this file.",
    ]
    places = [problem.split(": ")[:2] for problem in found]
    assert places == [
        ["pegboard.yaml:2", "docspace.base_url"],
        ["pegboard.yaml:3", "docspace.api_key"],
        ["pegboard.yaml:4", "docspace.password"],
        ["pegboard.yaml:5", "docspace.toolsets[1]"],
        ["pegboard.yaml:6", "docspace.enabled_tools"],
        ["pegboard.yaml:7", "docspace.token"],
        ["pegboard.yaml:8", "docspace.timeout"],
    ]
    assert not any(secret in problem for problem in found for secret in ("sk-secret", "hunter2"))


@pytest.mark.behaviour("docspace.misconfigured")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("docspace:", "No authentication method. Say one of api_key, "),
        ("docspace: {base_url: 'https://x'}", "No authentication method. Say one of api_key, "),
        ("docspace: {api_key: '${KEY}'}", "No API base URL. Say where DocSpace is: base_url "),
        ("docspace: {base_url: 'https://x', username: ada}", "No password. Say the password "),
        (
            "docspace: {base_url: 'https://x', api_key: '${KEY}', auth_token: '${KEY}'}",
            "Multiple authentication methods. Keep one of api_key, ",
        ),
        (
            "docspace: {base_url: 'https://x/?a=1', api_key: '${KEY}'}",
            "Expected a URL without search parameters, but got https://x/?a=1.",
        ),
        ("docspace: {base_url: 'https://x', api_key: '${BLANK}'}", "No authentication method. Say one of api_key, "),
        ("docspace: {base_url: 'https://x', api_key: '${KEY}', toolsets: []}", "No tools left. Select one tool "),
    ],
)
def test_what_does_not_go_together_is_told_and_the_rest_of_the_file_works(text: str, line: str) -> None:
    (warning,) = told(text, {**ENVIRON, "BLANK": " "})
    assert warning.startswith(f"pegboard.yaml:1: docspace: {line}")


@pytest.mark.behaviour("docspace.misconfigured")
def test_a_secret_that_is_not_there_is_told_where_it_is_referred_to() -> None:
    (warning,) = told(PLAIN)
    unset = "${KEY} stands for nothing: the environment variable KEY is not set. Set it before the gateway starts"
    assert warning == f"pegboard.yaml:3: docspace.api_key: {unset}."
    reached = connection(settings(PLAIN))
    assert operator_access(reached, expander({}, FOLDER)) == ApiMisconfiguration(unset)
    assert operator_access(reached, expander(ENVIRON, FOLDER)) == ApiAccess(
        "https://example.onlyoffice.com/", ApiKey("sk-secret")
    )


@pytest.mark.behaviour("docspace.request_credentials")
def test_callers_bring_no_credentials_unless_the_operator_says_so() -> None:
    assert connection(settings(PLAIN, ENVIRON)).lends is None
    asked = dedent(PLAIN) + "  request_credentials: true\n"
    assert connection(settings(asked, ENVIRON)).lends == CallerCredentialRules()


@pytest.mark.behaviour("docspace.request_credentials")
def test_authorization_is_not_for_docspace_where_it_is_the_gateways_or_another_servers() -> None:
    asked = dedent(PLAIN) + "  request_credentials: true\n"
    tokens = "principals: {ada: {token: '${TOKEN}'}}\n"
    loaded = settings(asked + tokens, {**ENVIRON, "TOKEN": "a-token-of-16-characters"})
    assert connection(loaded).lends == CallerCredentialRules(authorization=False)
    other = "servers: {crm: {url: 'https://crm', headers: {Authorization: '${request:Authorization}'}}}\n"
    server = settings(asked + other, ENVIRON).declared.servers[ToolsetKey(ToolsetId("files"))]
    assert isinstance(server.connection, WebApi)
    assert server.connection.lends == CallerCredentialRules(authorization=False)


def test_a_toolset_may_have_a_name_of_its_own_and_servers_beside() -> None:
    text = dedent(PLAIN) + dedent(
        """\
        toolsets: {files: {name: Papers, enabled: false}}
        servers: {disk: {command: disk, toolset: files}}
        """
    )
    loaded = settings(text, ENVIRON)
    assert loaded.declared.toolsets[ToolsetId("files")] == Toolset(
        ToolsetId("files"),
        DeclaredAt("pegboard.yaml", 4),
        name="Papers",
        description="Operations for working with files.",
        enabled=False,
        user_mcp=False,
    )
    assert [str(key) for key in loaded.declared.servers] == ["files~disk", "files", "folders", "people", "rooms"]


@pytest.mark.behaviour("docspace.environment")
def test_what_the_file_says_goes_before_the_environment_and_that_is_told() -> None:
    environ = {**ENVIRON, "DOCSPACE_API_KEY": "other", "DOCSPACE_TOOLSETS": "people"}
    (warning,) = told(PLAIN, environ)
    assert warning.startswith(
        "pegboard.yaml:1: docspace: DOCSPACE_API_KEY, DOCSPACE_TOOLSETS of the environment: not read, because this "
        "stands here. "
    )
    named = PLAIN.replace("${KEY}", "${DOCSPACE_API_KEY}")
    assert told(named, {"DOCSPACE_API_KEY": "sk"}) == []


def test_a_password_in_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    reached = WebApi("docspace", "DocSpace", base_url="https://x", username="ada", password="${file:password}")
    access = operator_access(reached, expander({}, tmp_path))
    assert isinstance(access, ApiAccess)
    assert access.credential == Password("ada", "hunter2")


def test_how_large_a_request_may_be_can_be_said_and_is_left_to_the_board_otherwise() -> None:
    assert settings(PLAIN, ENVIRON).gateway.max_bytes is None
    assert settings("gateway: {max_bytes: 20000000}").gateway.max_bytes == 20_000_000
    assert problems("gateway: {max_bytes: 1}") == [
        "pegboard.yaml:1: gateway.max_bytes: this must be a whole number from 100000 to 1000000000; it is 1."
    ]


@pytest.mark.behaviour("docspace.request_credentials")
def test_the_places_that_callers_may_bring_are_kept_in_one_spelling() -> None:
    asked = dedent(PLAIN) + "  request_credentials: true\n  request_base_urls: [HTTPS://Docs.example.com:443]\n"
    assert connection(settings(asked, ENVIRON)).lends == CallerCredentialRules(base_urls=("https://docs.example.com/",))
    assert problems(dedent(PLAIN) + "  request_base_urls: [https://x]\n", ENVIRON) == [
        "pegboard.yaml:4: docspace.request_base_urls: this goes only with request_credentials. Remove it, or write "
        "request_credentials."
    ]
