"""Ids: what is printed is read back as the same thing, and nothing else is read as an id."""

import copy
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.core.boards import EVERY_ID, texts

from pegboard.core.model.ids import (
    RESERVED_TOOLSETS,
    BadId,
    BuiltinKey,
    LegacyToolId,
    ServerId,
    ServerKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
    is_id,
    parse_server_key,
    parse_tool_id,
    parse_toolset_id,
)

names_of_things = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True)
toolset_ids = names_of_things.filter(lambda id: id not in RESERVED_TOOLSETS).map(ToolsetId)
server_keys = st.builds(ServerKey, toolset_ids, names_of_things.map(ServerId))
tool_names = texts.filter(bool)
tool_ids = st.one_of(
    st.builds(ToolId, server_keys, tool_names),
    st.builds(ToolId, toolset_ids.map(ToolsetKey), tool_names),
    st.builds(ToolId, st.just(BuiltinKey()), names_of_things),
)


@pytest.mark.behaviour("ids.mcp_form", "ids.toolset_form", "ids.builtin_form", "ids.tool_name_may_hold_colon")
@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("mcp:dev~github:create_issue", ToolId(ServerKey(ToolsetId("dev"), ServerId("github")), "create_issue")),
        ("mcp:dev~github:a:b~c", ToolId(ServerKey(ToolsetId("dev"), ServerId("github")), "a:b~c")),
        ("files:get_file", ToolId(ToolsetKey(ToolsetId("files")), "get_file")),
        ("files:a:b", ToolId(ToolsetKey(ToolsetId("files")), "a:b")),
        ("python_execution", ToolId(BuiltinKey(), "python_execution")),
        ("mcp:github:create_issue", LegacyToolId(ServerId("github"), "create_issue")),
        ("mcp:github:a:b", LegacyToolId(ServerId("github"), "a:b")),
    ],
)
def test_each_form_of_a_tool_id_is_read_and_printed(text: str, id: ToolId | LegacyToolId) -> None:
    assert (parse_tool_id(text), str(id)) == (id, text)


@pytest.mark.behaviour("ids.shown_is_accepted")
@given(tool_ids)
def test_a_tool_id_that_is_printed_is_read_back_as_the_same_tool(id: ToolId) -> None:
    assert parse_tool_id(str(id)) == id


@pytest.mark.behaviour("ids.server_key")
@given(server_keys)
def test_a_server_key_that_is_printed_is_read_back_as_the_same_server(key: ServerKey) -> None:
    assert parse_server_key(str(key)) == key


@given(texts)
@example("mcp:")
@example("mcp::")
@example("mcp:a~b:")
@example("mcp:a~b")
@example("mcp:~:x")
@example("a~b:c")
@example(":x")
@example("x:")
@example("")
@example("../../etc/passwd")
@example("mcp:a~b~c:d")
@example("mcp:A~b:c")
@example("builtin:x\n")
def test_any_text_is_an_id_that_prints_as_it_was_written_or_is_refused(text: str) -> None:
    match parse_tool_id(text):
        case BadId(refused, why):
            assert (refused, why.startswith(repr(text))) == (text, True)
        case id:
            assert str(id) == text


@pytest.mark.behaviour("ids.charset")
@pytest.mark.parametrize("text", ["a", "0", "a-b_c9", "a" * 64])
def test_an_id_is_of_lower_case_letters_digits_dash_and_underscore(text: str) -> None:
    assert (is_id(text), parse_toolset_id(text)) == (True, text)


@pytest.mark.behaviour("ids.charset")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "-a",
        "_a",
        "a" * 65,
        "a b",
        "a~b",
        "a:b",
        "a/b",
        "..",
        ".",
        "a.b",
        "ä",
        "a\n",
        "a\0",
        "٣",
        "\ud800",
        "a*",
    ],
)
def test_what_could_be_a_path_a_key_or_a_pattern_is_no_id(text: str) -> None:
    assert not is_id(text)
    assert isinstance(parse_toolset_id(text), BadId)
    assert isinstance(parse_server_key(f"{text}~ok"), BadId)
    assert isinstance(parse_server_key(f"ok~{text}"), BadId)
    # With a colon in it, the text is an id of its own and the rest the tool's name.
    assert ":" in text or isinstance(parse_tool_id(f"{text}:tool"), BadId)


@pytest.mark.parametrize("text", sorted(RESERVED_TOOLSETS))
def test_a_toolset_cannot_be_called_what_means_something_else(text: str) -> None:
    """`mcp:x` would be read as half an MCP tool, `toolset:x` as a whole toolset, `all` as every one."""
    refused = parse_toolset_id(text)
    assert isinstance(refused, BadId)
    assert refused.why == f"{text!r} cannot be a toolset id, because it means something else: choose another"
    assert parse_server_key(f"ok~{text}") == ServerKey(ToolsetId("ok"), ServerId(text))


def test_a_refusal_says_what_was_wrong_and_how_to_write_it() -> None:
    assert parse_tool_id("mcp:github") == BadId(
        "mcp:github", "'mcp:github' is not a tool id: write it as mcp:toolset~server:tool"
    )
    assert parse_server_key("github") == BadId(
        "github", "'github' is not a server key: write it as toolset~server, for example dev~github"
    )


@pytest.mark.behaviour("ids.same_server_id_in_two_toolsets")
def test_the_same_server_id_in_two_toolsets_is_two_servers() -> None:
    one, other = parse_server_key("dev~files"), parse_server_key("docs~files")
    assert isinstance(one, ServerKey)
    assert isinstance(other, ServerKey)
    assert one != other
    assert len({ToolId(one, "read"), ToolId(other, "read")}) == 2


def test_equal_ids_are_one_key_however_they_came_about() -> None:
    for id in EVERY_ID:
        for twin in (copy.copy(id), copy.deepcopy(id), pickle.loads(pickle.dumps(id)), ToolId(id.source, id.name)):
            assert (twin, hash(twin), repr(twin)) == (id, hash(id), repr(id))


def test_ids_sort_as_they_print() -> None:
    assert [str(id) for id in sorted(EVERY_ID)] == sorted(str(id) for id in EVERY_ID)
