"""What a good pegboard.yaml means, key by key."""

import hashlib
from pathlib import Path

import pytest
from tests.config.loading import FOLDER, only_server, problems, settings

from pegboard.config.keys.features import ContainerSettings
from pegboard.config.settings import GatewaySettings, Retention, Settings, load_settings_file, load_settings_text
from pegboard.core.model.ids import PrincipalId, ServerId, ServerKey, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.redaction import Redaction
from pegboard.core.model.selection import AllToolsets, Selection, TheseToolsets
from pegboard.core.model.server import (
    AllButTools,
    DeclaredAt,
    EveryTool,
    Http,
    OnlyTools,
    Server,
    Stdio,
    Timeouts,
    Transport,
    Trust,
)
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings, Denial


def key(toolset: str, server: str) -> ServerKey:
    return ServerKey(ToolsetId(toolset), ServerId(server))


@pytest.mark.behaviour("config.stdio_server", "config.comments", "config.server_timeouts", "config.trust")
def test_a_program_is_declared_with_all_that_is_said_of_it() -> None:
    text = """\
        # The database of the team
        servers:
          database:
            command: ./bin/database   # relative to this file
            args: [--port, 5432, --verbose, true, "${FLAG:-}"]
            env: {PASSWORD: "${PW:-x}", VERSION: 1.10, DEBUG: no, EMPTY: ""}
            cwd: work
            toolset: dev
            enabled: false
            trust: strict
            enabled_tools: [query, "describe_*"]
            timeouts: {start: 2m, call: 1.5, stop: 500ms}
        """
    assert only_server(text) == Server(
        key=key("dev", "database"),
        connection=Stdio(
            command="/etc/pegboard/bin/database",
            args=("--port", "5432", "--verbose", "true", "${FLAG:-}"),
            env={"PASSWORD": "${PW:-x}", "VERSION": "1.10", "DEBUG": "no", "EMPTY": ""},
            cwd="/etc/pegboard/work",
        ),
        origin=DeclaredAt("pegboard.yaml", 3),
        enabled=False,
        trust=Trust.STRICT,
        limit=OnlyTools(("query", "describe_*"), DeclaredAt("pegboard.yaml", 11)),
        timeouts=Timeouts(start=120.0, call=1.5, stop=0.5),
    )


@pytest.mark.behaviour("config.toolset_defaults_to_server_id")
def test_a_server_of_which_little_is_said_has_the_usual_settings() -> None:
    loaded = settings("servers: {files: {command: files-server}}")
    assert loaded.declared == DeclaredSettings(
        servers={
            key("files", "files"): Server(
                key=key("files", "files"),
                connection=Stdio("files-server", cwd="/etc/pegboard"),
                origin=DeclaredAt("pegboard.yaml", 1),
                enabled=True,
                trust=Trust.BASELINE,
                limit=EveryTool(),
                timeouts=Timeouts(),
            )
        },
        toolsets={ToolsetId("files"): Toolset(ToolsetId("files"), DeclaredAt("pegboard.yaml", 1), user_mcp=True)},
    )
    assert (loaded.store, loaded.audit, loaded.gateway, loaded.warnings) == (None, Retention(), GatewaySettings(), ())


@pytest.mark.behaviour("config.http_server")
@pytest.mark.parametrize(
    ("word", "transport"),
    [
        ("http", Transport.STREAMABLE_HTTP),
        ("streamable-http", Transport.STREAMABLE_HTTP),
        ("streamable_http", Transport.STREAMABLE_HTTP),
        ("streamableHttp", Transport.STREAMABLE_HTTP),
        ("sse", Transport.SSE),
    ],
)
def test_a_server_at_a_url_speaks_the_transport_that_is_named(word: str, transport: Transport) -> None:
    text = f"""\
        servers:
          web:
            url: https://example.org:8443/mcp?team=a
            transport: {word}
            headers: {{Authorization: "Bearer ${{TOKEN}}", X-Retries: 3}}
        """
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Retries": "3"}
    assert only_server(text).connection == Http("https://example.org:8443/mcp?team=a", transport, headers)


def test_a_url_may_begin_with_a_reference() -> None:
    assert only_server("servers: {web: {url: '${BASE}/mcp'}}").connection == Http("${BASE}/mcp")


def test_tools_of_a_server_are_named_by_name_pattern_id_or_one_text() -> None:
    text = """\
        servers:
          github:
            command: x
            toolset: dev
            disabled_tools: delete_*, mcp:dev~github:merge, mcp:github:a:b
        """
    assert only_server(text).limit == AllButTools(("delete_*", "merge", "a:b"), DeclaredAt("pegboard.yaml", 5))


def test_an_empty_list_of_enabled_tools_allows_none() -> None:
    assert only_server("servers: {a: {command: x, enabled_tools: []}}").limit == OnlyTools(
        (), DeclaredAt("pegboard.yaml", 1)
    )


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("python3", "python3"),
        ("bin/x", "/etc/pegboard/bin/x"),
        ("../x/./y", "/etc/x/y"),
        ("/usr/bin/x", "/usr/bin/x"),
        ("~/bin/x", "/users/ada/bin/x"),
        ("${PYTHON_FOR_DEMO:-python3}", "${PYTHON_FOR_DEMO:-python3}"),
        ("${BIN}/x", "${BIN}/x"),
        ("tools/${NAME}", "/etc/pegboard/tools/${NAME}"),
        ("tools/${file:a/../b}", "/etc/pegboard/tools/${file:a/../b}"),
    ],
)
def test_a_command_with_a_slash_is_taken_from_the_folder_of_the_file(written: str, path: str) -> None:
    connection = only_server(f"servers: {{a: {{command: '{written}'}}}}", {"HOME": "/users/ada"}).connection
    assert connection == Stdio(path, cwd="/etc/pegboard")


def test_a_folder_whose_name_looks_like_a_reference_is_not_one(tmp_path: Path) -> None:
    folder = tmp_path / "${HOME}"
    loaded = load_settings_text("servers: {a: {command: ./x}}", "pegboard.yaml", folder, {})
    assert isinstance(loaded, Settings)
    (server,) = loaded.declared.servers.values()
    assert server.connection == Stdio(f"{tmp_path}/$${{HOME}}/x", cwd=f"{tmp_path}/$${{HOME}}")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("5", 5.0), ("0.25", 0.25), ("30s", 30.0), ("2m", 120.0), ("1h", 3600.0), ("500ms", 0.5), ("'2 m'", 120.0)],
)
def test_a_timeout_is_a_number_of_seconds_or_has_a_unit(written: str, seconds: float) -> None:
    text = f"servers: {{a: {{command: x, timeouts: {{call: {written}}}}}}}"
    assert only_server(text).timeouts == Timeouts(call=seconds)


@pytest.mark.behaviour("config.selection", "selection.nothing_given_is_all", "selection.all_is_every_toolset")
@pytest.mark.parametrize(
    ("written", "selection"),
    [
        ("{}", Selection()),
        ("selection: {}", Selection()),
        ("selection:", Selection()),
        ("selection: {toolsets: all}", Selection(AllToolsets())),
        ("selection: {toolsets: [files, all]}", Selection(AllToolsets())),
        ("selection: {toolsets: []}", Selection(TheseToolsets(()))),
        ("selection: {toolsets: ''}", Selection(TheseToolsets(()))),
        ("selection: {toolsets: 'files, folders ,'}", Selection(TheseToolsets(("files", "folders")))),
        (
            "selection: {toolsets: [files], enabled_tools: 'a, toolset:dev', disabled_tools: [mcp:dev~x, '*:b']}",
            Selection(TheseToolsets(("files",)), ("a", "toolset:dev"), ("mcp:dev~x", "*:b")),
        ),
    ],
)
def test_the_selection_is_read_as_lists_or_texts_with_commas(written: str, selection: Selection) -> None:
    assert settings(written).declared.selection == selection


def test_deny_patterns_know_their_lines() -> None:
    text = """\
        deny:
          - "*:delete_*"
          - github:merge
          - shutdown
        """
    assert settings(text).declared.denials == (
        Denial(Pattern("*", "delete_*"), DeclaredAt("pegboard.yaml", 2)),
        Denial(Pattern("github", "merge"), DeclaredAt("pegboard.yaml", 3)),
        Denial(Pattern("*", "shutdown"), DeclaredAt("pegboard.yaml", 4)),
    )


def test_a_caller_is_granted_toolsets_none_or_all() -> None:
    text = "grants: {intern: [files], bot: 'a, b', auditor: [], chef: all, 'Zoë Q.': files}"
    files = frozenset({ToolsetId("files")})
    assert settings(text).declared.grants == {
        PrincipalId("intern"): files,
        PrincipalId("bot"): frozenset({ToolsetId("a"), ToolsetId("b")}),
        PrincipalId("auditor"): frozenset(),
        PrincipalId("Zoë Q."): files,
    }


def test_a_toolset_of_many_servers_is_described_under_toolsets() -> None:
    text = """\
        servers:
          github: {command: x, toolset: dev}
          jira: {command: y, toolset: dev}
          files: {command: z}
        toolsets:
          dev: {name: Development, description: Issues and code, enabled: false}
        """
    loaded = settings(text)
    assert [*loaded.declared.servers] == [key("dev", "github"), key("dev", "jira"), key("files", "files")]
    assert loaded.declared.toolsets == {
        ToolsetId("dev"): Toolset(
            ToolsetId("dev"),
            DeclaredAt("pegboard.yaml", 6),
            name="Development",
            description="Issues and code",
            enabled=False,
            user_mcp=False,
        ),
        ToolsetId("files"): Toolset(ToolsetId("files"), DeclaredAt("pegboard.yaml", 4), user_mcp=True),
    }


@pytest.mark.behaviour("config.store_url")
@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("postgresql://u:${PW:-}@h/db", "postgresql://u:${PW:-}@h/db"),
        ("sqlite:///data/a.db?x=1", "sqlite:////etc/pegboard/data/a.db?x=1"),
        ("sqlite+aiosqlite:///a.db", "sqlite+aiosqlite:////etc/pegboard/a.db"),
        ("sqlite:////var/a.db", "sqlite:////var/a.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("sqlite://", "sqlite://"),
        ("${STORE:-sqlite://}", "${STORE:-sqlite://}"),
    ],
)
def test_the_store_is_a_url_and_its_file_is_taken_from_the_folder(written: str, url: str) -> None:
    assert settings(f"store: '{written}'").store == url


def test_audit_and_gateway_are_read() -> None:
    text = """\
        audit: {keep_days: 7, keep_rows: 1e3}
        gateway:
          allowed_hosts: [tools.example.org, "[::1]:8460", "localhost:*"]
          allowed_origins: ["https://chat.example.org", "http://localhost:*", "vscode-webview://abc"]
        """
    loaded = settings(text)
    assert loaded.audit == Retention(keep_days=7, keep_rows=1000)
    assert loaded.gateway == GatewaySettings(
        hosts=("tools.example.org", "[::1]:8460", "localhost:*"),
        origins=("https://chat.example.org", "http://localhost:*", "vscode-webview://abc"),
    )


@pytest.mark.behaviour("redaction.own_patterns", "confirmation.deadline")
def test_what_is_redacted_and_how_long_a_person_has_to_decide_are_read() -> None:
    board = settings("redact: [iban, 7]\nconfirmation: {deadline: 2m}").declared
    assert (board.redaction, board.confirmation_seconds) == (Redaction(("iban", "7")), 120.0)
    assert settings("confirmation: {}").declared.confirmation_seconds == 300.0


@pytest.mark.behaviour("confirmation.standing_ends")
@pytest.mark.parametrize(("written", "days"), [("", 30), ("consent_days: 7", 7), ("consent_days: never", None)])
def test_how_long_standing_permissions_last_is_read(written: str, days: int | None) -> None:
    assert settings(f"confirmation: {{{written}}}").declared.consent_days == days


@pytest.mark.behaviour("confirmation.manifest_servers")
def test_whether_servers_of_manifests_are_confirmed_is_read_with_its_line() -> None:
    assert settings("confirmation: {}").declared.confirm_manifest_servers is None
    assert settings("confirmation: {manifest_servers: false}").declared.confirm_manifest_servers is None
    at = settings("confirmation:\n  manifest_servers: true").declared.confirm_manifest_servers
    assert at is not None
    assert at.line == 2


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "---\n", "{}", "servers:\n", "servers: {}\ndeny: []\n", "\ufeff"]
)
def test_a_file_that_says_nothing_declares_nothing(text: str) -> None:
    assert settings(text).declared == DeclaredSettings()


def test_sections_without_a_value_are_as_if_they_were_not_there() -> None:
    text = "servers: {a: {command: x, env: , args: , timeouts: }}\ntoolsets:\ngrants:\ndeny:\naudit:\ngateway:\n"
    assert settings(text).declared == settings("servers: {a: {command: x}}").declared


def test_anchors_merges_and_keys_of_ones_own_are_understood() -> None:
    text = """\
        x-careful: &careful {trust: strict, timeouts: {call: 9}}
        servers:
          a: {<<: *careful, command: x}
          b: {<<: [{enabled: false}, *careful], command: y, trust: open}
        """
    a, b = settings(text).declared.servers.values()
    assert (a.trust, a.timeouts, a.enabled) == (Trust.STRICT, Timeouts(call=9.0), True)
    assert (b.trust, b.timeouts, b.enabled) == (Trust.OPEN, Timeouts(call=9.0), False)


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    unix = settings("servers:\n  a:\n    command: x\n")
    windows = load_settings_text(b"\xef\xbb\xbfservers:\r\n  a:\r\n    command: x\r\n", "pegboard.yaml", FOLDER, {})
    assert isinstance(windows, Settings)
    assert windows.declared == unix.declared


def test_json_is_read_by_its_name_and_yaml_holds_json_too() -> None:
    text = """\
        {
        \t"$schema": "./pegboard.schema.json",
        \t"servers": {"a": {"command": "x", "env": {"E": "\\ud83d\\ude00", "V": 1.10}},},  // mine
        }
        """
    loaded = settings(text, file="pegboard.json")
    (server,) = loaded.declared.servers.values()
    assert server.connection == Stdio("x", env={"E": "😀", "V": "1.10"}, cwd="/etc/pegboard")
    assert server.origin == DeclaredAt("pegboard.json", 3)
    assert settings('{"servers": {"a": {"command": "x"}}}').declared.servers.keys() == loaded.declared.servers.keys()


def test_a_file_is_named_as_it_was_given_and_known_by_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = "servers: {ünïcode: {}}\n".replace("ünïcode: {}", "a: {command: ./x}").encode()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "pegboard.yaml").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    loaded = load_settings_file("conf/pegboard.yaml", {})
    assert isinstance(loaded, Settings)
    assert (loaded.file, loaded.folder, loaded.digest) == (
        "conf/pegboard.yaml",
        tmp_path / "conf",
        hashlib.sha256(content).hexdigest(),
    )
    (server,) = loaded.declared.servers.values()
    assert server.origin == DeclaredAt("conf/pegboard.yaml", 1)
    assert server.connection == Stdio(f"{tmp_path}/conf/x", cwd=f"{tmp_path}/conf")


def test_a_linked_file_is_relative_to_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "pegboard.yaml").write_text("servers: {a: {command: ./x}}")
    (tmp_path / "pegboard.yaml").symlink_to(tmp_path / "real" / "pegboard.yaml")
    loaded = load_settings_file(tmp_path / "pegboard.yaml", {})
    assert isinstance(loaded, Settings)
    assert loaded.folder == tmp_path


@pytest.mark.behaviour("containers.engine_found")
def test_the_engine_of_containers_is_read_with_its_flags(tmp_path: Path) -> None:
    text = "containers: {engine: ./bin/podman, flags: [--cpus, 1], global_flags: [--storage-driver, vfs]}"
    loaded = load_settings_text(text, "pegboard.yaml", tmp_path, {})
    assert isinstance(loaded, Settings)
    assert loaded.containers == ContainerSettings(
        str(tmp_path / "bin" / "podman"), ("--cpus", "1"), ("--storage-driver", "vfs")
    )
    by_name = load_settings_text("containers: {engine: docker}", "pegboard.yaml", tmp_path, {})
    assert isinstance(by_name, Settings)
    assert by_name.containers == ContainerSettings("docker")
    assert problems("containers: {engine: '', image: x, flags: ['']}") == [
        "pegboard.yaml:1: containers.engine: '' does not fit: it must not be blank.",
        "pegboard.yaml:1: containers.image: unknown key. Images belong to toolsets: containers in toolset.yaml.",
        "pegboard.yaml:1: containers.flags[0]: '' does not fit: it must not be blank; write each flag and each value "
        "on its own, as in [--runtime, runc].",
    ]
