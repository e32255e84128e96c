"""What a manifest says becomes what the core knows."""

from dataclasses import replace

import pytest
from tests.config.manifest.reading import FOLDER, manifest, warnings

from pegboard.config.manifest.model import (
    CommandEntry,
    ContainerEntry,
    DeclaredCommands,
    Manifest,
    McpOnStdio,
    SecretEntry,
    ToolEntry,
    ToolsFromLabel,
)
from pegboard.config.manifest.reader import read_label
from pegboard.config.settings import InvalidFile
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import AllButTools, DeclaredAt, Http, Server, StartOnDemand, Stdio, Timeouts, Transport
from pegboard.core.model.tool import MIB, ContainerImage, ToolsetLimits

WEATHER = ToolsetId("weather")


@pytest.mark.behaviour("toolsets.manifest_metadata")
def test_a_manifest_gives_the_toolset_its_id_name_version_and_description() -> None:
    read = manifest("""
        manifest_version: 1
        id: weather
        name: Weather
        version: 1.10
        description: |
          Forecasts.
          Charts too.
    """)
    assert read == Manifest(WEATHER, "Weather", "1.10", "Forecasts.\nCharts too.\n")


@pytest.mark.behaviour("toolsets.manifest_numbers")
@pytest.mark.parametrize("version", ["1", '"1"', "1.0", "'1.0'"])
def test_the_manifests_version_is_taken_with_quotes_and_without(version: str) -> None:
    assert manifest(f"id: a\nmanifest_version: {version}") == Manifest(ToolsetId("a"))


@pytest.mark.behaviour("toolsets.manifest_numbers")
def test_numbers_are_taken_as_they_are_written_where_texts_are_meant() -> None:
    read = manifest("""
        id: 123
        name: 2048
        version: 1.0
        description: 7
        tools: [{id: 42, entrypoint: "games:play", name: 1e3}]
        mcp_servers: [{id: 7, command: serve, args: [-p, 8080, 1.50, true], env: {PORT: 0080, ON: yes}}]
        containers: [{id: 8, image: "alpine:3", tools: [{id: 0x1F, command: [sleep, 5]}]}]
    """)
    assert (read.id, read.name, read.version, read.description) == ("123", "2048", "1.0", "7")
    assert read.tools == (ToolEntry("42", "games:play", name="1e3"),)
    (server,) = read.servers
    assert server.connection == Stdio(
        "serve", ("-p", "8080", "1.50", "true"), {"PORT": "0080", "ON": "yes"}, str(FOLDER)
    )
    assert [tool.name for tool in read.own_tools] == ["42", "0x1F"]


@pytest.mark.behaviour("toolsets.manifest_python_tools")
def test_a_manifest_declares_python_tools_by_their_entrypoints() -> None:
    read = manifest("""
        id: weather
        tools:
          - id: forecast
            entrypoint: tools.weather:forecast
            name: Forecast
            description: What the weather will be.
            requires_confirmation: true
          - id: now
            entrypoint: tools:now
        requirements: [httpx>=0.27, "rich[jupyter] ~= 13.0 ; python_version > '3.10'", pinned==1.0]
        secrets:
          - API_KEY
          - name: OTHER
            description: From the settings of your account.
        workspace: true
        limits: {memory: 1GB, time: 90s, processes: 2}
    """)
    assert read.tools == (
        ToolEntry("forecast", "tools.weather:forecast", "Forecast", "What the weather will be.", True),
        ToolEntry("now", "tools:now"),
    )
    assert [entry.line for entry in read.tools] == [5, 10]
    assert read.tools[0].module_files == ("tools/weather.py", "tools/weather/__init__.py")
    assert read.requirements == ("httpx>=0.27", "rich[jupyter] ~= 13.0 ; python_version > '3.10'", "pinned==1.0")
    assert read.secrets == (SecretEntry("API_KEY"), SecretEntry("OTHER", "From the settings of your account."))
    assert (read.workspace, read.bounds) == (True, ToolsetLimits(1024 * MIB, 90.0, 2))
    assert read.warnings == ()


@pytest.mark.behaviour("toolsets.manifest_servers")
def test_a_manifest_declares_servers_as_the_settings_do() -> None:
    read = manifest("""
        id: weather
        mcp_servers:
          - id: files
            command: ./bin/serve
            args: [--root, "${HOME}"]
            env: {LEVEL: debug}
            cwd: data
            transport: stdio
            start: on_demand
            idle_stop: 30s
            timeouts: {call: 2m}
            disabled_tools: [delete_*]
          - id: web
            url: https://example.org/mcp
            transport: sse
            headers: {X-Key: "${KEY}"}
          - {id: plain, url: "https://example.org/mcp", transport: streamable-http, command: }
        secrets: [KEY]
    """)
    files, web, plain = (ServerKey(WEATHER, ServerId(id)) for id in ("files", "web", "plain"))
    assert read.servers == (
        Server(
            files,
            Stdio(str(FOLDER / "bin" / "serve"), ("--root", "${HOME}"), {"LEVEL": "debug"}, str(FOLDER / "data")),
            DeclaredAt("toolset.yaml", 4),
            timeouts=Timeouts(call=120.0),
            starts=StartOnDemand(30.0),
            limit=AllButTools(("delete_*",), DeclaredAt("toolset.yaml", 13)),
        ),
        Server(
            web,
            Http("https://example.org/mcp", Transport.SSE, {"X-Key": "${KEY}"}),
            DeclaredAt("toolset.yaml", 14),
        ),
        Server(plain, Http("https://example.org/mcp"), DeclaredAt("toolset.yaml", 18)),
    )
    assert read.server_keys == (files, web, plain)
    assert read.overrides == ()


@pytest.mark.behaviour("toolsets.manifest_containers")
def test_a_manifest_declares_containers_that_speak_mcp_that_have_commands_or_that_have_a_label() -> None:
    read = manifest("""
        id: weather
        containers:
          - {id: time, image: docker.io/mcp/time, mcp: true, args: [--utc], env: {TZ: "${ZONE:-UTC}"}, network: true}
          - id: text
            image: localhost/text@sha256:abc
            workspace: true
            memory: 64MB
            pids: 16
            cpus: 0.5
            idle_stop: 10m
            tools:
              - id: count
                command: [wc, -w]
                description: Counts words.
                name: Count words
                input_schema: {type: object, properties: {text: {type: string}}, required: [text]}
                output_schema: {properties: {words: {type: integer}}}
                timeout: 5s
                requires_confirmation: false
              - {id: list, command: [ls]}
          - {id: labelled, image: alpine, mcp: false}
    """)
    count = CommandEntry(
        id="count",
        command=("wc", "-w"),
        description="Counts words.",
        name="Count words",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        output_schema={"type": "object", "properties": {"words": {"type": "integer"}}},
        seconds=5.0,
        requires_confirmation=False,
    )
    image = ContainerImage("localhost/text@sha256:abc", workspace=True, memory=64 * MIB, pids=16, cpus=0.5)
    assert read.containers == (
        ContainerEntry(
            "time",
            ContainerImage("docker.io/mcp/time", ("--utc",), {"TZ": "${ZONE:-UTC}"}, network=True),
            McpOnStdio(),
        ),
        ContainerEntry("text", image, DeclaredCommands((count, CommandEntry("list", ("ls",)))), 600.0),
        ContainerEntry("labelled", ContainerImage("alpine"), ToolsFromLabel()),
    )
    assert read.server_keys == (ServerKey(WEATHER, ServerId("time")),)
    assert [str(tool) for tool in read.own_tools] == ["weather:count", "weather:list"]


@pytest.mark.behaviour("toolsets.manifest_containers")
def test_an_images_label_is_read_as_the_tools_of_a_container() -> None:
    label = '[{"id": "count", "command": ["wc", "-w"], "inputSchema": {"properties": {"text": {"type": "string"}}}}]'
    schema: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}}
    assert read_label(label, "alpine") == (CommandEntry("count", ("wc", "-w"), input_schema=schema),)


@pytest.mark.behaviour("toolsets.manifest_containers")
@pytest.mark.parametrize(
    ("label", "told"),
    [
        (
            "",
            [
                "label io.pegboard.tools of alpine: it is empty. Write a JSON list of tools, "
                "or name them in toolset.yaml."
            ],
        ),
        (
            "{}",
            ["label io.pegboard.tools of alpine:1: this must be a list, and it is a map. Write [one, two]."],
        ),
        (
            '[{"id": "a", "comand": ["x"]}, {"id": "b", "command": ["x"]}, {"id": "b", "command": []}]',
            [
                "label io.pegboard.tools of alpine:1: [0].comand: unknown key. Did you mean 'command'?",
                "label io.pegboard.tools of alpine:1: [2].command: this names no program. "
                "Write a list: [program, argument].",
                "label io.pegboard.tools of alpine:1: there is a tool 'b' already. Choose another id.",
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_label_is_told_with_its_image(label: str, told: list[str]) -> None:
    read = read_label(label, "alpine")
    assert isinstance(read, InvalidFile)
    assert [str(problem) for problem in read.problems] == told


@pytest.mark.behaviour("toolsets.manifest_yaml_or_json")
@pytest.mark.parametrize(
    "text",
    [
        "id: a\nname: b\nversion: '2'",
        '{"id": "a", "name": "b", "version": "2"}',
        '{\n\t"id": "a",\n\t"name": "b",\n\t"version": "2"\n}',
        "\ufeffid: a\r\nname: b\r\nversion: 2\r\n",
        "# mine\n---\nx-mine: &n b\nid: a\nname: *n\nversion: 2\ndescription:\ntools:\nmcp_servers: null\nlimits:\n",
    ],
)
def test_a_manifest_is_yaml_or_json_and_keys_without_a_value_are_not_said(text: str) -> None:
    assert replace(manifest(text), metadata={}) == Manifest(ToolsetId("a"), "b", "2")


def test_what_may_not_be_meant_is_told_as_a_warning() -> None:
    assert warnings("""
        id: a
        author: me
        mcp_servers:
          - {id: s, command: x, env: {A: "${MINE}", B: "${KNOWN}", C: "${D:-e}"}, args: ["${file:/etc/key}", "${HOME}"]}
        secrets: [KNOWN]
        tool_overrides:
          - {tool_id: "t:read", enabled: false}
          - {tool_id: "s:read", enabled: false}
          - {tool_id: "mcp:s:read", name_override: Read}
    """) == [
        "toolset.yaml:3: author: this is passed over: nothing here uses it.",
        "toolset.yaml:5: mcp_servers[0]: ${MINE} is taken from the environment of the gateway. Name it under secrets, "
        "so that whoever imports the toolset is asked for it.",
        "toolset.yaml:5: mcp_servers[0]: ${file:/etc/key} reads a file of whoever imports the toolset. "
        "Ask for a secret instead.",
        "toolset.yaml:8: tool_overrides[0].tool_id: the toolset has no server 't', so that this fits nothing. "
        "There are: a, s.",
        "toolset.yaml:10: tool_overrides[2]: 'mcp:a~s:read' stands on line 9 too. What is said here lies on top. "
        "Keep one of them.",
    ]
    assert warnings("id: a") == ["toolset.yaml: this toolset brings no tools. Write tools, mcp_servers or containers."]
