"""A manifest written and read again is the same, and holds no secret."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from tests.config.manifest.filling import filled
from tests.config.manifest.generating import MANIFESTS
from tests.config.manifest.reading import FOLDER, manifest

from pegboard.config.manifest.model import Manifest
from pegboard.config.manifest.reader import read_manifest
from pegboard.config.manifest.write import format_manifest, format_without_secrets


def read(plain: dict[str, Any]) -> Manifest:
    found = read_manifest(json.dumps(plain), "toolset.json", FOLDER, {})
    assert isinstance(found, Manifest), str(found)
    return found


@pytest.mark.behaviour("toolsets.manifest_written")
@given(MANIFESTS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_manifest_that_is_written_reads_as_the_same(plain: dict[str, Any]) -> None:
    """Once the secrets that it asks for are set to what stood in their places."""
    meant = read(plain)
    found = format_without_secrets(meant)
    again = manifest(found.text)
    assert filled(again, found.placeholders.secret_values, meant.secrets) == meant, found.text
    assert format_manifest(again) == found.text


@pytest.mark.behaviour("toolsets.manifest_written")
def test_a_manifest_is_the_same_wherever_its_files_lie() -> None:
    text = "id: a\nmcp_servers: [{id: s, command: ./serve, cwd: data}, {id: t, command: npx}]"
    here, there = (read_manifest(text, "toolset.yaml", Path(folder), {}) for folder in ("/data/a", "/other/${b}"))
    assert isinstance(here, Manifest)
    assert isinstance(there, Manifest)
    assert here == there
    assert format_manifest(here) == format_manifest(there)


@pytest.mark.behaviour("toolsets.manifest_written")
def test_a_written_manifest_is_a_file_that_people_like_to_read() -> None:
    text = format_manifest(
        manifest("""
        id: weather
        version: "1.0"
        description: "Forecasts.\\n\\nCharts: too.\\n"
        tools: [{id: now, entrypoint: "tools.weather:now", requires_confirmation: true, renderer: {type: json}}]
        mcp_servers: [{id: files, command: ./bin/serve, env: {LEVEL: "1"}, requires_confirmation: true}]
        limits: {memory: 1073741824, time: 0.5}
    """)
    )
    assert text == snapshot("""\
manifest_version: 1
id: weather
version: '1.0'
description: |
  Forecasts.

  Charts: too.
tools:
  - id: now
    entrypoint: tools.weather:now
    requires_confirmation: true
mcp_servers:
  - id: files
    command: ./bin/serve
    env:
      LEVEL: '1'
tool_overrides:
  - tool_id: weather:now
    renderer: json
  - tool_id: weather~files:*
    requires_confirmation: true
limits:
  memory: 1GB
  time: 0.5
""")


@pytest.mark.behaviour("toolsets.manifest_without_secrets")
def test_secrets_are_asked_for_by_name_in_place_of_being_written() -> None:
    meant = manifest("""
        id: a
        mcp_servers:
          - id: one
            command: serve
            args: [--token, s3cr3t-arg, --key=s3cr3t-key, "https://me:s3cr3t-pw@example.org/?api_key=s3cr3t-q", plain]
            env:
              API_KEY: s3cr3t-one
              LEVEL: debug
              OURS: ghp_0123456789abcdefs3cr3t
              OTHER: aB3dE5gH7jK9mN1pQ3sT5vX7
              KNOWN: "${KNOWN}"
              DATABASE_URL: postgres://me:s3cr3t-db@host/db
              HALF: "${A:-b}"
          - id: two
            url: https://example.org/mcp?token=s3cr3t-url
            headers: {Authorization: Bearer s3cr3t-header, X-Api-Key: s3cr3t-x, X-Mode: fast, X-Token: "Bearer ${MINE}"}
            oauth: {client_id: me, client_secret: s3cr3t-client}
          - {id: three, command: serve, env: {API_KEY: s3cr3t-three, SAME_TOKEN: s3cr3t-same}}
          - {id: four, command: serve, env: {SAME_TOKEN: s3cr3t-same}}
        containers:
          - {id: box, image: alpine, env: {PASSWORD: s3cr3t-box}, args: [--password=s3cr3t-box-arg]}
        tool_overrides:
          - {tool_id: "one:x", arguments: {password: {pin: s3cr3t-pin}, level: {pin: 3}, key: {pin: "${KNOWN}"}}}
        requirements: ["x @ https://me:s3cr3t-req@example.org/x"]
        secrets: [KNOWN]
    """)
    text = format_manifest(meant)
    assert "s3cr3t" not in text
    assert "aB3dE5" not in text
    assert text == snapshot("""\
manifest_version: 1
id: a
mcp_servers:
  - id: one
    command: serve
    args:
      - --token
      - ${TOKEN}
      - --key=${KEY}
      - https://${PASSWORD}@example.org/?api_key=${ONE_API_KEY}
      - plain
    env:
      API_KEY: ${API_KEY}
      LEVEL: debug
      OURS: ${OURS}
      OTHER: ${OTHER}
      KNOWN: ${KNOWN}
      DATABASE_URL: ${DATABASE_URL}
      HALF: ${A:-b}
  - id: two
    url: https://example.org/mcp?token=${TWO_TOKEN}
    headers:
      Authorization: Bearer ${AUTHORIZATION}
      X-Api-Key: ${X_API_KEY}
      X-Mode: ${X_MODE}
      X-Token: Bearer ${MINE}
    oauth:
      client_id: me
      client_secret: ${CLIENT_SECRET}
  - id: three
    command: serve
    env:
      API_KEY: ${THREE_API_KEY}
      SAME_TOKEN: ${SAME_TOKEN}
  - id: four
    command: serve
    env:
      SAME_TOKEN: ${SAME_TOKEN}
containers:
  - id: box
    image: alpine
    args:
      - --password=${PASSWORD_2}
    env:
      PASSWORD: ${BOX_PASSWORD}
tool_overrides:
  - tool_id: mcp:a~one:x
    arguments:
      password:
        pin: ${X_PASSWORD}
      level:
        pin: 3
      key:
        pin: ${KNOWN}
requirements:
  - x @ https://example.org/x
secrets:
  - KNOWN
  - API_KEY
  - AUTHORIZATION
  - BOX_PASSWORD
  - CLIENT_SECRET
  - DATABASE_URL
  - KEY
  - ONE_API_KEY
  - OTHER
  - OURS
  - PASSWORD
  - PASSWORD_2
  - SAME_TOKEN
  - THREE_API_KEY
  - TOKEN
  - TWO_TOKEN
  - X_API_KEY
  - X_MODE
  - X_PASSWORD
""")
    again = manifest(text)
    assert format_manifest(again) == text


@pytest.mark.behaviour("toolsets.manifest_without_secrets")
def test_a_sign_before_a_secret_does_not_turn_its_placeholder_into_text() -> None:
    text = format_manifest(manifest("id: a\nmcp_servers: [{id: s, command: x, args: ['$ghp_0123456789abcdef0123']}]"))
    assert "- ${SECRET}\n" in text


@pytest.mark.behaviour("toolsets.manifest_without_secrets")
def test_a_default_that_is_a_secret_is_left_out_and_the_reference_stays() -> None:
    read = manifest("""
        id: a
        mcp_servers:
          - id: s
            command: x
            args: ["--token=${TOKEN:-s3cr3t}", "${MODE:-fast}"]
            env: {API_KEY: "${API_KEY:-s3cr3t}", LEVEL: "${LEVEL:-debug}", URL: "https://${WHO:-me:s3cr3t}@example.org"}
    """)
    assert [line.strip() for line in format_manifest(read).splitlines() if "${" in line] == [
        "- --token=${TOKEN}",
        "- ${MODE:-fast}",
        "API_KEY: ${API_KEY}",
        "LEVEL: ${LEVEL:-debug}",
        "URL: https://${WHO}@example.org",
    ]


@pytest.mark.behaviour("toolsets.manifest_without_secrets")
@given(
    st.lists(st.from_regex(r"[A-Za-z0-9+/_~-]{12,40}", fullmatch=True), min_size=6, max_size=6, unique=True),
    st.sampled_from(["API_KEY", "GITHUB_TOKEN", "dbPassword", "SESSION_SECRET", "auth"]),
    st.sampled_from(["Authorization", "X-Api-Key", "Cookie", "x-auth-token"]),
    st.sampled_from(["--token", "--api-key", "-password"]),
)
def test_no_secret_is_written_whatever_it_looks_like(
    secrets: list[str], variable: str, header: str, option: str
) -> None:
    env, sent, arg, equal, client, box = (f"q{secret}" for secret in secrets)
    plain = {
        "id": "a",
        "mcp_servers": [
            {"id": "s", "command": "x", "args": [option, arg, f"{option}={equal}"], "env": {variable: env}},
            {"id": "t", "url": "https://h", "headers": {header: f"Bearer {sent}"}},
            {"id": "u", "url": "https://h", "oauth": {"client_id": "me", "client_secret": client}},
        ],
        "containers": [{"id": "c", "image": "alpine", "env": {variable: box}, "args": [option, arg]}],
    }
    text = format_manifest(read(plain))
    assert [secret for secret in (env, sent, arg, equal, client, box) if secret in text] == []
    assert manifest(text).secrets != ()


@pytest.mark.behaviour("toolsets.manifest_written")
def test_what_a_manifest_says_of_itself_is_written_again_unless_it_looks_like_a_secret() -> None:
    meant = manifest("""
        id: a
        license: MIT
        author: {name: Ada, mail: ada@example.org}
        tags: [kitchen, "1.10"]
        homepage: https://example.org/kitchen
        x-mine: {built: 2026-11-15, token: hunter2}
        x-plain: [1, true, null]
        repository: https://ada:hunter2@example.org/kitchen
    """)
    found = format_without_secrets(meant)
    assert found.text == snapshot("""\
manifest_version: 1
id: a
license: MIT
author:
  name: Ada
  mail: ada@example.org
tags:
  - kitchen
  - '1.10'
homepage: https://example.org/kitchen
x-plain:
  - 1
  - true
  - null
""")
    assert [str(place) for place in found.placeholders.dropped_locations] == ["a: x-mine", "a: repository"]
    assert not meant.has_unread_keys
