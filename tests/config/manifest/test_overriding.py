"""What a manifest changes of its tools, and how it names them."""

import pytest
from tests.config.manifest.reading import manifest, problems

from pegboard.core.model.confirmation import ConfirmationMode
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json, merge_overrides

DEV = ToolsetId("dev")
FILES = ServerKey(DEV, ServerId("filesystem"))
TOOLSET = """
id: dev
tools:
  - {id: draw, entrypoint: "tools.draw:draw"}
mcp_servers:
  - {id: filesystem, command: serve}
"""


def at(line: int) -> DeclaredAt:
    return DeclaredAt("toolset.yaml", line)


@pytest.mark.behaviour("toolsets.manifest_overrides")
def test_a_manifest_sets_all_fields_of_an_override_each_with_its_line() -> None:
    read = manifest(
        TOOLSET
        + """
tool_overrides:
  - tool_id: draw
    renderer: html
    renderer_config: {artifact: artifacts/draw.html}
    name_override: Draw
    description_override: Draws.
    requires_confirmation: true
    confirmation: ticket
    enabled: false
    arguments: {key: {pin: "${KEY}"}}
secrets: [KEY]
"""
    )
    assert read.overrides == (
        Override(
            DEV,
            ToolId(ToolsetKey(DEV), "draw"),
            renderer="html",
            renderer_config={"artifact": "artifacts/draw.html"},
            name_override="Draw",
            description_override="Draws.",
            requires_confirmation=True,
            confirmation=ConfirmationMode.TICKET,
            enabled=False,
            arguments={"key": ArgumentOverride(pin=freeze_json("${KEY}"))},
            origins={
                "renderer": at(10),
                "renderer_config": at(11),
                "name_override": at(12),
                "description_override": at(13),
                "requires_confirmation": at(14),
                "confirmation": at(15),
                "enabled": at(16),
                "arguments.key": at(17),
            },
        ),
    )
    assert read.warnings == ()


@pytest.mark.behaviour("toolsets.manifest_override_ids")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("draw", ToolId(ToolsetKey(DEV), "draw")),
        ("dev:draw", ToolId(ToolsetKey(DEV), "draw")),
        ("filesystem:read_file", ToolId(FILES, "read_file")),
        ("dev~filesystem:read_file", ToolId(FILES, "read_file")),
        ("mcp:filesystem:read_file", ToolId(FILES, "read_file")),
        ("mcp:dev~filesystem:read_file", ToolId(FILES, "read_file")),
        ("mcp:dev~filesystem:a:b", ToolId(FILES, "a:b")),
        ("read_file", Pattern("*", "read_file")),
        ("dev:read_file", Pattern("dev", "read_file")),
        ("filesystem:*", Pattern("dev~filesystem", "*")),
        ("mcp:dev~filesystem", Pattern("dev~filesystem", "*")),
        ("mcp:filesystem:read_*", Pattern("dev~filesystem", "read_*")),
        ("*:read_*", Pattern("*", "read_*")),
        ("read_*", Pattern("*", "read_*")),
        ("file*:*", Pattern("file*", "*")),
        ("toolset:dev", Pattern("*", "*")),
    ],
)
def test_an_override_names_tools_in_every_form(written: str, meant: ToolId | Pattern) -> None:
    read = manifest(f'{TOOLSET}tool_overrides: [{{tool_id: "{written}", enabled: false}}]')
    assert read.overrides == (Override(DEV, meant, enabled=False, origins={"enabled": at(7)}),)
    assert read.warnings == ()


@pytest.mark.behaviour("toolsets.manifest_override_ids")
def test_where_a_server_has_the_toolsets_id_a_tool_named_by_it_is_the_servers() -> None:
    read = manifest(
        'id: dev\nmcp_servers: [{id: dev, command: x}]\ntool_overrides: [{tool_id: "dev:a", enabled: false}]'
    )
    (row,) = read.overrides
    assert row.target == ToolId(ServerKey(DEV, ServerId("dev")), "a")


@pytest.mark.behaviour("toolsets.manifest_overrides")
def test_the_renderer_of_a_tool_is_an_override_and_tool_overrides_lie_on_top() -> None:
    read = manifest("""
        id: dev
        tools:
          - id: a
            entrypoint: t:a
            renderer: {type: code, language: json}
            requiresConfirmation: true
          - {id: b, entrypoint: "t:b", renderer: markdown}
          - {id: c, entrypoint: "t:c", renderer: {type: code, language: json}}
        tool_overrides:
          - {tool_id: a, rendererConfig: {language: yaml}, requiresConfirmation: false}
          - {tool_id: b, nameOverride: B}
          - {tool_id: c, renderer: document}
    """)

    def own(name: str) -> ToolId:
        return ToolId(ToolsetKey(DEV), name)

    assert read.overrides == (
        Override(
            DEV,
            own("a"),
            renderer="code",
            renderer_config={"language": "yaml"},
            requires_confirmation=False,
            origins={"renderer": at(6), "renderer_config": at(11), "requires_confirmation": at(11)},
        ),
        Override(
            DEV,
            own("b"),
            renderer="document",
            name_override="B",
            origins={"renderer": at(8), "name_override": at(12)},
        ),
        Override(DEV, own("c"), renderer="document", origins={"renderer": at(13)}),
    )
    assert [entry.requires_confirmation for entry in read.tools] == [True, None, None]


@pytest.mark.behaviour("overrides.empty_config_is_a_value")
def test_an_empty_renderer_config_replaces_that_of_the_tool() -> None:
    read = manifest("""
        id: dev
        tools:
          - {id: a, entrypoint: "t:a", renderer: {type: code, language: json}}
          - {id: b, entrypoint: "t:b", renderer: {type: code, language: json}}
        tool_overrides:
          - {tool_id: a, renderer_config: {}}
          - {tool_id: b, name_override: B}
    """)
    assert [row.renderer_config for row in read.overrides] == [{}, {"language": "json"}]


@pytest.mark.behaviour("toolsets.manifest_overrides")
def test_a_server_whose_tools_ask_for_confirmation_asks_unless_an_override_says_otherwise() -> None:
    read = manifest("""
        id: dev
        mcp_servers:
          - {id: filesystem, command: x, requires_confirmation: true}
          - {id: other, command: x, requires_confirmation: true}
          - {id: third, command: x}
        tool_overrides:
          - {tool_id: "filesystem:read_*", requires_confirmation: false}
          - {tool_id: "other:*", requires_confirmation: false}
    """)

    def asks(server: str, name: str) -> bool | None:
        tool = ToolId(ServerKey(DEV, ServerId(server)), name)
        return merge_overrides(tool, read.overrides).requires_confirmation

    assert [asks("filesystem", "write"), asks("filesystem", "read_file")] == [True, False]
    assert [asks("other", "write"), asks("third", "write")] == [False, None]


@pytest.mark.behaviour("toolsets.manifest_problems")
def test_overrides_that_cannot_be_are_told() -> None:
    assert problems(
        TOOLSET
        + """
tool_overrides:
  - {tool_id: "mcp:other~filesystem:read", enabled: false}
  - {tool_id: draw}
  - {enabled: false}
  - {tool_id: draw, renderer: cod}
  - {tool_id: draw, renderer: frame, renderer_config: {content: x}}
  - {tool_id: draw, enabled: "no", toolId: draw}
  - {tool_id: "a:", enabled: true}
  - {tool_id: draw, name: x}
"""
    ) == [
        "toolset.yaml:11: tool_overrides[2].tool_id: this is missing. What is changed: a tool's id, server:tool, or a "
        "pattern such as filesystem:* or *:read_*.",
        "toolset.yaml:12: tool_overrides[3].renderer: this must be one of code, document, markdown, html, frame, "
        "editor, terminal, file-diff, patch-diff, web-search, todo-list, task, file-read, key-value, table, image, "
        "json, default; it is 'cod'. Did you mean 'code'?",
        "toolset.yaml:14: tool_overrides[5].enabled: this must be true or false, without quotes, and it is text.",
        "toolset.yaml:14: tool_overrides[5].toolId: this is tool_id in another spelling. Keep one of them.",
        "toolset.yaml:15: tool_overrides[6].tool_id: 'a:' does not fit: write a tool's id such as "
        "mcp:dev~github:create_issue, or a pattern such as github:* or *:read_*.",
        "toolset.yaml:16: tool_overrides[7].name: unknown key. Write name_override.",
    ]
    assert problems(
        TOOLSET
        + """
tool_overrides:
  - {tool_id: "mcp:other~filesystem:read", enabled: false}
  - {tool_id: draw}
  - {tool_id: draw, renderer: frame, renderer_config: {content: x}}
"""
    ) == [
        "toolset.yaml:9: tool_overrides[0].tool_id: 'mcp:other~filesystem:read' is a tool of toolset 'other'. "
        "Write the override there.",
        "toolset.yaml:10: tool_overrides[1]: this says nothing. Write one of renderer, renderer_config, name_override, "
        "description_override, requires_confirmation, confirmation, enabled, arguments.",
        "toolset.yaml:11: tool_overrides[2].renderer_config.content: the renderer frame does not take this. "
        "It takes: url, port.",
    ]


@pytest.mark.behaviour("toolsets.manifest_problems")
def test_what_a_tools_own_renderer_does_not_take_is_told_where_it_stands() -> None:
    text = 'id: a\ntools:\n  - {id: t, entrypoint: "t:t", renderer: %s}\n%s'
    assert problems(text % ("{type: code, lines: 3}", "")) == [
        "toolset.yaml:3: tools[0].renderer.lines: the renderer code does not take this. "
        "It takes: file, content, language, editable."
    ]
    assert problems(text % ("{language: json}", "")) == [
        "toolset.yaml:3: tools[0].renderer: this needs type, the renderer's name. Write type: code, for example."
    ]
    assert problems(text % ("code", "tool_overrides: [{tool_id: t, renderer_config: {url: x}}]")) == [
        "toolset.yaml:4: tool_overrides[0].renderer_config.url: the renderer code does not take this. "
        "It takes: file, content, language, editable."
    ]


@pytest.mark.behaviour("toolsets.manifest_overrides")
def test_the_default_renderer_is_none() -> None:
    read = manifest("""
        id: dev
        tools:
          - {id: a, entrypoint: "t:a", renderer: {type: default}}
          - {id: b, entrypoint: "t:b", renderer: default}
        tool_overrides:
          - {tool_id: a, renderer: default}
          - {tool_id: b, renderer: default, enabled: false}
    """)
    assert read.overrides == (Override(DEV, ToolId(ToolsetKey(DEV), "b"), enabled=False, origins={"enabled": at(8)}),)
