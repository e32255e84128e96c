"""What tools are called in programs: legal, unique, stable, and found in a program without reading it."""

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.prompts.stubs.specs import key, texts, tool_id

from pegboard.core.model.ids import BuiltinKey, SourceKey, ToolId, ToolsetId, ToolsetKey
from pegboard.prompts.stubs.names import ProgramFunction, ProgramNames, module_name


@pytest.mark.behaviour("code.names")
@pytest.mark.parametrize(
    ("source", "name"),
    [
        (key("github"), "github"),
        (key("my-files"), "my_files"),
        (key("files", "dev"), "dev__files"),
        (key("time"), "time_tools"),
        (key("json"), "json_tools"),
        (key("list"), "list_tools"),
        (key("class"), "class_tools"),
        (key("2fa"), "tool_2fa"),
        (ToolsetKey(ToolsetId("reports")), "reports"),
        (BuiltinKey(), "builtin"),
    ],
)
def test_a_module_is_named_after_its_server_and_never_like_one_of_pythons_own(source: SourceKey, name: str) -> None:
    assert module_name(source) == name


@pytest.mark.behaviour("code.names")
def test_functions_are_called_like_their_tools_where_python_can_say_that() -> None:
    ids = [tool_id(name) for name in ("create_issue", "list-issues", "import", "2fa", "__getattr__", "Any", "a/b.c")]
    names = ProgramNames.of(ids)
    assert {str(each): each.id.name for each in names.all_functions()} == {
        "github.create_issue": "create_issue",
        "github.list_issues": "list-issues",
        "github.import_": "import",
        "github.tool_2fa": "2fa",
        "github.tool__getattr__": "__getattr__",
        "github.Any_": "Any",
        "github.a_b_c": "a/b.c",
    }


@pytest.mark.behaviour("code.names")
def test_a_name_that_two_tools_would_have_is_neithers() -> None:
    ids = [tool_id("list-issues"), tool_id("list_issues"), tool_id("other")]
    first, second, third = (ProgramNames.of(ids).function_of(id) for id in ids)
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.function.startswith("list_issues_")
    assert second.function.startswith("list_issues_")
    assert first.function != second.function
    assert third.function == "other"


@pytest.mark.behaviour("code.names")
def test_a_locked_tool_renames_no_open_one() -> None:
    ours, theirs = tool_id("list_issues"), tool_id("list-issues")
    names = ProgramNames.of([theirs, ours], locked=frozenset({theirs}))
    assert names.function_of(ours) == ProgramFunction("github", "list_issues", ours)
    other = names.function_of(theirs)
    assert other is not None
    assert other.function.startswith("list_issues_")


@pytest.mark.behaviour("code.not_itself")
def test_no_program_is_given_the_tool_that_runs_programs() -> None:
    python, sql = ToolId(BuiltinKey(), "python_execution"), ToolId(BuiltinKey(), "execute_sql")
    names = ProgramNames.of([python, sql])
    assert names.function_of(python) is None
    assert [*names.all_functions()] == [ProgramFunction("builtin", "execute_sql", sql)]
    assert names.mentioned_functions("builtin.python_execution(code='1')") == ()


@given(st.lists(texts, unique=True, max_size=12), st.sampled_from(["a", "time", "2", "a-b"]))
def test_names_are_legal_unique_and_lead_back(tools: list[str], server: str) -> None:
    ids = [tool_id(name, server) for name in tools]
    names = ProgramNames.of(ids)
    each = [*names.all_functions()]
    assert sorted(named.id for named in each) == sorted(ids)
    assert len({str(named) for named in each}) == len(ids)
    for named in each:
        for word in (named.module, named.function):
            assert word.isascii()
            assert word.isidentifier()
            assert not word.startswith("_")
            assert not keyword.iskeyword(word)
        assert names.tool_of(named.module, named.function) == named.id
        assert names.function_of(named.id) == named
    again = ProgramNames.of(reversed(ids))
    assert {named.id: named.function for named in again.all_functions()} == {named.id: named.function for named in each}


@pytest.mark.behaviour("code.stubs_of_what_is_mentioned")
@pytest.mark.parametrize(
    "code",
    [
        "await github.get(id=1)",
        "from github import get\nawait get(id=1)",
        "import github as g\nawait g.get(id=1)",
        "await getattr(github, 'get')(id=1)",
        "await (github\n  .get)(id=1)",
        "x = github\nf = x.get",
    ],
)
def test_whatever_way_a_program_reaches_a_function_it_is_found(code: str) -> None:
    names = ProgramNames.of([tool_id("get"), tool_id("put"), tool_id("get", "files")])
    assert names.mentioned_functions(code) == (ProgramFunction("github", "get", tool_id("get")),)


@pytest.mark.behaviour("code.stubs_of_what_is_mentioned")
def test_of_thousands_of_tools_those_of_other_modules_are_not_even_named() -> None:
    ids = [tool_id(f"tool_{number}", f"server_{number % 100}") for number in range(5_000)]
    names = ProgramNames.of(ids)
    (only,) = names.mentioned_functions("print(await server_7.tool_107())")
    assert only.id == tool_id("tool_107", "server_7")
    assert [*names._tools_by_name] == ["server_7"]


@pytest.mark.behaviour("code.near_names")
def test_a_function_that_is_not_there_is_told_with_those_that_are_like_it() -> None:
    names = ProgramNames.of([tool_id("create_issue"), tool_id("get")])
    assert names.missing_functions("await github.crate_issue(a=1)\ngithub.get()\nother.thing()\nx.github.nope()") == (
        "github has no function 'crate_issue'. Did you mean create_issue?",
    )
