"""The JSON Schema of toolset.yaml says what the reader says."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from tests.config.manifest.generating import MANIFESTS
from tests.config.manifest.reading import FOLDER
from tests.support.collect_failures import each_case

from pegboard.config.json_schema import TOOLSET_SCHEMA_FILE, toolset_schema, toolset_schema_text
from pegboard.config.manifest.model import Manifest
from pegboard.config.manifest.reader import read_manifest
from pegboard.config.manifest.write import format_manifest
from pegboard.config.schema.document import to_json
from pegboard.config.settings import parse_settings_text

VALIDATOR = jsonschema_rs.Draft202012Validator(toolset_schema(), validate_formats=True)


def fits(text: str) -> bool:
    parsed = parse_settings_text(text, "toolset.yaml")
    assert parsed.problems == ()
    return VALIDATOR.is_valid(None if parsed.root is None else to_json(parsed.root))


def reads(text: str) -> bool:
    return isinstance(read_manifest(text, "toolset.yaml", FOLDER, {}), Manifest)


@pytest.mark.behaviour("toolsets.manifest_schema")
def test_the_published_schema_is_the_one_the_keys_describe() -> None:
    asked = "Write it again with: python -m pegboard.config.json_schema"
    assert TOOLSET_SCHEMA_FILE.read_text("utf-8") == toolset_schema_text(), asked
    jsonschema_rs.meta.validate(toolset_schema())


TOOL = 'id: a\ntools: [{id: t, entrypoint: "m:f", %s}]'
SERVER = "id: a\nmcp_servers: [{id: s, %s}]"
BOX = "id: a\ncontainers: [{id: c, image: alpine, %s}]"
OVERRIDE = "id: a\ntool_overrides: [{tool_id: t, %s}]"
GOOD = [
    "id: a",
    "id: 7\nname: 1\nversion: 1.0\ndescription:\nmanifest_version: '1'",
    "id: a\nmanifestVersion: 1\nmcpServers: []\ntoolOverrides:\nx-mine: {a: 1}\n$schema: ./toolset.schema.json",
    "id: a\nauthor: {name: me}\nlicense: MIT\ntags: [a]",
    "id: a\nrequirements: [httpx, 'a>=1', 'b[c]~=2 ; x', 'd @ https://h/d']",
    "id: a\nsecrets: [A, {name: b, description: c}]",
    "id: a\nworkspace: true\nlimits: {memory: 512MB, time: 2m, processes: 1}",
    TOOL % "name: 5, description: '', requires_confirmation: true",
    TOOL % "requiresConfirmation: false, input_schema: {}, category: x, renderer: null",
    TOOL % "renderer: code",
    TOOL % "renderer: default",
    TOOL % "renderer: {type: html, artifact: a.html, data: {b: $return}}",
    TOOL % "renderer: {type: default}",
    SERVER % "command: x, args: [1, a], env: {A: 1}, cwd: b, transport: stdio, url: ",
    SERVER % "command: ./x, requires_confirmation: true, enabled: false, timeouts: {call: 1}",
    SERVER % "url: 'https://h', transport: sse, headers: {X-A: 1}, oauth: false, command: null",
    SERVER % "command: x, type: stdio, name: Mine, description: b",
    SERVER % "url: 'https://h', server_type: streamable-http",
    SERVER % "url: 'https://h', requiresConfirmation: true, start: on_demand, idleStop: 5m",
    BOX % "mcp: true, args: [a], env: {A: 1}, network: true, workspace: true, memory: 1g, pids: 1, cpus: 0.5",
    BOX % "mcp: false, tools: [{id: t, command: [a, 1]}]",
    BOX % "tools: [{id: t, command: [a], name: b, description: c, inputSchema: {}, output_schema: {}, timeout: 5s}]",
    BOX % "idle_stop: 90s, x-mine: 1",
    OVERRIDE % "enabled: false",
    OVERRIDE % "renderer: code, rendererConfig: {language: json}, nameOverride: a, descriptionOverride: b",
    OVERRIDE % "renderer: default, requiresConfirmation: true, arguments: {a: {pin: 1}}",
    "id: a\ntool_overrides: [{toolId: '*:read_*', enabled: true}, {tool_id: 'mcp:a~s:t', name_override: x}]",
]
BAD = [
    "",
    "[]",
    "a",
    "name: a",
    "id:",
    "id: A",
    "id: ../..",
    "id: a~b",
    "id: all",
    "id: a\nnmae: b",
    "id: a\nmanifest_version: 2",
    "id: a\nmanifest_version: 1\nmanifestVersion: 1",
    "id: a\nversion: ''",
    "id: a\nversion: [1]",
    "id: a\nname: {}",
    "id: a\ntools: {}",
    "id: a\ntools: [a]",
    "id: a\ntools: [{id: t}]",
    "id: a\ntools: [{entrypoint: 'm:f'}]",
    "id: a\ntools: [{id: a b, entrypoint: 'm:f'}]",
    "id: a\ntools: [{id: t, entrypoint: m.f}]",
    "id: a\ntools: [{id: t, entrypoint: 'm/f.py:g'}]",
    "id: a\ntools: [{id: t, entrypoint: '../m:f'}]",
    TOOL % "requires_confirmation: yes",
    TOOL % "renderer: cod",
    TOOL % "renderer: {language: a}",
    TOOL % "renderer: {type: frame, content: a}",
    TOOL % "renderer: {type: code, language: 1}",
    TOOL % "renderer_config: {}",
    TOOL % "enabled: true",
    "id: a\nmcp_servers: {s: {command: x}}",
    "id: a\nmcp_servers: [{command: x}]",
    "id: a\nmcp_servers: [{id: 'a~b', command: x}]",
    SERVER % "args: [a]",
    SERVER % "command: x, url: 'https://h'",
    SERVER % "command: x, transport: sse",
    SERVER % "url: 'https://h', transport: stdio",
    SERVER % "command: x, type: sse",
    SERVER % "url: 'https://h', type: stdio",
    SERVER % "url: 'https://h', type: sse, transport: sse",
    SERVER % "url: 'https://h', type: sse, server_type: sse",
    SERVER % "url: 'https://h', env: {A: b}",
    SERVER % "command: x, headers: {A: b}",
    SERVER % "command: x, trust: open",
    SERVER % "command: x, toolset: b",
    SERVER % "command: x, env: {A: '${'}",
    SERVER % "command: x, idle_stop: 5m, idleStop: 5m",
    "id: a\ncontainers: [{id: c}]",
    "id: a\ncontainers: [{image: alpine}]",
    "id: a\ncontainers: [{id: c, image: --privileged}]",
    "id: a\ncontainers: [{id: c, image: 'a b'}]",
    BOX % "mcp: true, tools: [{id: t, command: [a]}]",
    BOX % "tools: [{id: t, command: a}]",
    BOX % "tools: [{command: [a]}]",
    BOX % "tools: [{id: t}]",
    BOX % "memory: 1kB x",
    BOX % "memory: 1000",
    BOX % "pids: 0",
    BOX % "cpus: 0",
    BOX % "network: host",
    BOX % "volumes: [a]",
    BOX % "env: {A: '${request:b}'}",
    "id: a\ntool_overrides: [{enabled: true}]",
    "id: a\ntool_overrides: [{tool_id: t, toolId: t, enabled: true}]",
    "id: a\ntool_overrides: [{tool_id: 'a:', enabled: true}]",
    OVERRIDE % "renderer: cod",
    OVERRIDE % "renderer: code, renderer_config: {nope: 1}",
    OVERRIDE % "enabled: 'false'",
    OVERRIDE % "enabld: false",
    OVERRIDE % "arguments: {a: {value: 1}}",
    "id: a\nrequirements: a",
    "id: a\nrequirements: [-r x]",
    "id: a\nrequirements: ['./a']",
    "id: a\nsecrets: [a b]",
    "id: a\nsecrets: [{name: A, value: b}]",
    "id: a\nsecrets: [{description: b}]",
    "id: a\nworkspace: 1",
    "id: a\nlimits: {memory: 1}",
    "id: a\nlimits: {time: 0}",
    "id: a\nlimits: {processes: 65}",
    "id: a\nlimits: {cpu: 1}",
    "id: a\nservers: {}",
    "id: a\nenabled: true",
]


@pytest.mark.behaviour("toolsets.manifest_schema")
@pytest.mark.parametrize("text", GOOD)
def test_the_schema_accepts_what_the_reader_accepts(text: str) -> None:
    assert (reads(text), fits(text)) == (True, True)


@pytest.mark.behaviour("toolsets.manifest_schema")
@each_case("text", BAD)
def test_the_schema_refuses_what_the_reader_refuses(text: str) -> None:
    assert (reads(text), fits(text)) == (False, False)


@pytest.mark.behaviour("toolsets.manifest_schema")
@given(MANIFESTS)
@settings(max_examples=100)
def test_every_manifest_fits_the_schema_and_so_does_what_is_written_of_it(manifest: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(manifest), manifest
    read = read_manifest(json.dumps(manifest), "toolset.json", FOLDER, {})
    assert isinstance(read, Manifest)
    assert fits(format_manifest(read))


def test_every_key_of_the_schema_has_a_description() -> None:
    def undescribed(schema: object, at: str) -> Iterator[str]:
        if isinstance(schema, dict):
            for name, inner in schema.get("properties", {}).items():
                # What only says that a key is there is no description of it.
                if not inner.get("description") and inner != {"not": {"type": "null"}}:
                    yield f"{at}.{name}"
            for name, inner in schema.items():
                yield from undescribed(inner, f"{at}.{name}")
        elif isinstance(schema, list):
            for inner in schema:
                yield from undescribed(inner, at)

    assert [*undescribed(json.loads(toolset_schema_text()), "")] == []
