"""Toolsets made for the system of seed 003 are read as they are."""

import pytest
from tests.config.manifest.bundles import BUNDLES, EXPORTED, QUIZ, WORKBENCH
from tests.config.manifest.reading import FOLDER, manifest

from pegboard.config.manifest.model import ToolEntry
from pegboard.config.manifest.reader import check_files
from pegboard.config.manifest.write import format_manifest
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.server import Http, Stdio, Transport
from pegboard.core.overrides.model import EffectiveOverride, merge_overrides


def shown(text: str, tool: ToolId) -> EffectiveOverride:
    found = merge_overrides(tool, manifest(text).overrides)
    return EffectiveOverride(
        found.renderer,
        found.renderer_config,
        found.name_override,
        found.description_override,
        found.requires_confirmation,
        found.confirmation,
        found.enabled,
    )


@pytest.mark.behaviour("toolsets.manifest_of_seed")
@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_made_for_the_system_of_the_seed_is_read_as_it_is(name: str) -> None:
    bundle = BUNDLES[name]
    (file,) = (each for each in bundle if each.startswith("toolset."))
    read = manifest(bundle[file], file)
    assert check_files(read, bundle) == ()
    assert manifest(format_manifest(read)) == read


@pytest.mark.behaviour("toolsets.manifest_of_seed")
def test_its_tools_keep_their_renderers_and_what_it_ignored_is_passed_over() -> None:
    text = QUIZ["toolset.yaml"]
    read = manifest(text)
    assert read.tools == (
        ToolEntry("create_quiz", "tools.quiz:create_quiz", "Create quiz", "Makes a quiz about a topic.", False),
        ToolEntry("grade", "tools.grading:grade", None, None, True),
        ToolEntry("list_quizzes", "tools.quiz:list_quizzes"),
    )
    assert [str(warning) for warning in read.warnings] == [
        "toolset.yaml:13: tools[0].category: this is passed over: nothing here is sorted by it.",
        "toolset.yaml:15: tools[0].input_schema: this is passed over: the function's own annotations and docstring say "
        "it.",
    ]
    own = ToolsetKey(ToolsetId("quiz"))
    assert shown(text, ToolId(own, "create_quiz")) == EffectiveOverride(
        "html", {"artifact": "artifacts/quiz.html", "data": "$return"}, requires_confirmation=False
    )
    assert shown(text, ToolId(own, "grade")) == EffectiveOverride(
        "document", {"content": "$return.text", "editable": True}, requires_confirmation=True
    )
    assert shown(text, ToolId(own, "list_quizzes")) == EffectiveOverride()


@pytest.mark.behaviour("toolsets.manifest_of_seed")
def test_its_servers_keep_their_headers_and_its_overrides_fit_in_every_form() -> None:
    text = WORKBENCH["toolset.yml"]
    read = manifest(text, "toolset.yml")
    assert read.version == "2.1"
    assert [server.connection for server in read.servers] == [
        Stdio(
            "npx",
            ("-y", "@modelcontextprotocol/server-filesystem", "."),
            {"LOG_LEVEL": "warn"},
            str(FOLDER / "files"),
        ),
        Http("https://issues.example.org/mcp", headers={"Authorization": "Bearer ${ISSUES_TOKEN}"}),
        Http("https://legacy.example.org/sse", Transport.SSE),
        Stdio("python3", ("servers/local.py", "8080"), cwd=str(FOLDER)),
    ]

    def tool(server: str, name: str) -> ToolId:
        return ToolId(ServerKey(ToolsetId("workbench"), ServerId(server)), name)

    assert shown(text, tool("filesystem", "read_file")) == EffectiveOverride(
        "code", {"file": "$args.path", "content": "$return"}
    )
    assert shown(text, tool("filesystem", "write_file")) == EffectiveOverride("file-diff", requires_confirmation=True)
    assert shown(text, tool("issues", "create_issue")) == EffectiveOverride(
        name_override="New issue", description_override="Opens an issue.", requires_confirmation=True
    )
    assert shown(text, tool("issues", "close_issue")) == EffectiveOverride(requires_confirmation=True, enabled=False)
    assert shown(text, tool("legacy", "search")) == EffectiveOverride("web-search", requires_confirmation=False)
    assert shown(text, tool("local", "search")) == EffectiveOverride()


@pytest.mark.behaviour("toolsets.manifest_of_seed")
def test_what_its_export_wrote_keys_without_values_included_is_read() -> None:
    text = EXPORTED["toolset.yaml"]
    read = manifest(text)
    own = ToolsetKey(ToolsetId("notes"))
    assert (read.name, read.version, read.description) == ("Notes", "0.3.0", "")
    assert shown(text, ToolId(own, "add")) == EffectiveOverride(
        "document", {"content": "$return"}, requires_confirmation=False
    )
    assert shown(text, ToolId(own, "show")) == EffectiveOverride(
        "key-value", name_override="Show a note", requires_confirmation=True, enabled=True
    )
    sync = ServerKey(ToolsetId("notes"), ServerId("sync"))
    assert shown(text, ToolId(sync, "push")) == EffectiveOverride(requires_confirmation=True)
