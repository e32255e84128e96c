"""Renderers: each takes what its schema says, and a call is put where its configuration refers to it."""

import json

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.renderers.catalogue import DEFAULT_RENDERER, RENDERER_NAMES, RENDERERS, Renderer, find_renderer
from pegboard.core.renderers.render import (
    REFERENCE_ROOTS,
    RenderContext,
    RenderedCall,
    config_problems,
    render_call,
    renderer_problem,
    return_value,
)

CALL = RenderContext(
    {"path": "a.py", "lines": [1, 2, {"deep": True}], "odd name": "x"},
    {"text": "print()", "rows": [["a", 1], ["b", 2]], "none": None},
    chat_id="chat-7",
    workspace="/work",
    toolset="dev",
)


def config(name: str, said: JsonObject, around: RenderContext = CALL) -> Json:
    shown = render_call(name, said, around)
    assert shown is not None
    return dict(shown.config)


@pytest.mark.behaviour("overrides.renderer_catalogue")
def test_the_catalogue_has_every_renderer_once() -> None:
    assert (
        *("code", "document", "html", "frame", "editor", "terminal", "file-diff", "patch-diff", "web-search"),
        *("todo-list", "task", "file-read", "key-value", "table", "image", "json"),
    ) == RENDERER_NAMES
    assert find_renderer("markdown") is find_renderer("document")
    assert [each.name for each in RENDERERS if each.standalone] == ["todo-list", "task"]


@pytest.mark.behaviour("overrides.renderer_checked")
def test_a_renderer_that_does_not_exist_is_told_with_those_that_do() -> None:
    assert renderer_problem("code") is None
    assert renderer_problem("markdwn") == (
        "there is no renderer 'markdwn'. Did you mean 'markdown'? There are: "
        + ", ".join((*RENDERER_NAMES, "markdown", DEFAULT_RENDERER))
        + "."
    )
    assert render_call("nope", {}, CALL) is None


PROBLEMS: list[tuple[str, JsonObject, list[tuple[str, str]]]] = [
    (
        "code",
        {"langauge": "python"},
        [
            (
                "langauge",
                "the renderer code does not take this. Did you mean 'language'? "
                "It takes: file, content, language, editable.",
            )
        ],
    ),
    (
        "code",
        {"editable": "yes"},
        [("editable", "this must be true or false, or a reference such as $args.editable or $return.")],
    ),
    (
        "frame",
        {"port": True},
        [("port", "this must be a port from 1 to 65535, or a reference such as $args.port or $return.")],
    ),
    ("frame", {"port": 65536}, [("port", "")]),
    ("frame", {"url": "javascript:alert(1)"}, [("url", "")]),
    ("html", {"artifact": "../../etc/passwd"}, [("artifact", "")]),
    ("html", {"artifact": "/etc/passwd"}, [("artifact", "")]),
    ("html", {"artifact": "..\\x"}, [("artifact", "")]),
    ("html", {"artifact": "C:x"}, [("artifact", "")]),
    ("table", {"columns": [1]}, [("columns", "")]),
    ("table", {"rows": 5}, [("rows", "this must be a list of objects or of lists, or a reference such as $args.rows")]),
    ("table", {"rows": [5]}, [("rows", "")]),
    ("todo-list", {"items": True}, [("items", "this must be a list of objects")]),
    ("web-search", {"results": {"x": 1}}, [("results", "this must be a list of objects")]),
    ("key-value", {"values": 5}, [("values", "this must be an object, or a list of pairs")]),
    ("key-value", {"values": [[1]]}, [("values", "")]),
    ("terminal", {"exit_code": [[1]]}, [("exit_code", "this must be a number")]),
    ("json", {"value": "$return[0"}, [("value", "$return[0 breaks off. A path goes on with .name, [0] or")]),
    ("json", {"value": {"a": "see $args.b[x]"}}, [("value", "$args.b[x] breaks off.")]),
    ("editor", {"path": "../x"}, [("path", "this must be a path inside the workspace, without ..")]),
    (
        "code",
        {"content": "$arg.path"},
        [("content", "$arg refers to nothing. Did you mean $args? For these characters themselves write $$arg.")],
    ),
]


@pytest.mark.behaviour("overrides.renderer_checked")
@pytest.mark.parametrize(("name", "said", "expected"), PROBLEMS)
def test_a_configuration_that_does_not_fit_is_told_by_its_key(
    name: str, said: JsonObject, expected: list[tuple[str, str]]
) -> None:
    found = config_problems(name, said)
    assert [key for key, _ in found] == [key for key, _ in expected]
    assert all(what in told for (_, told), (_, what) in zip(found, expected, strict=True))


@pytest.mark.parametrize("known", RENDERERS, ids=RENDERER_NAMES)
def test_the_schema_of_a_configuration_says_what_the_check_says(known: Renderer) -> None:
    assert find_renderer(known.name) is known
    validator = jsonschema_rs.Draft202012Validator(known.schema())
    usual: JsonObject = {key.name: key.default for key in known.keys if key.default is not None}
    good: list[JsonObject] = [{}, usual, {key.name: "$return" for key in known.keys}]
    for said in good:
        assert (validator.is_valid(said), config_problems(known.name, said)) == (True, ())
    kinds: list[Json] = [5, True, "x", [], {}, [{"a": 1}], [[1, 2]], [[1]], ["$args.a"], ["x"]]
    for key in known.keys:
        for value in kinds:
            said = {key.name: value}
            assert (said, validator.is_valid(said)) == (said, config_problems(known.name, said) == ())
    bad: list[JsonObject] = [{"nope": 1}, {known.keys[0].name + "x": "$return"}]
    for said in bad:
        assert (validator.is_valid(said), bool(config_problems(known.name, said))) == (False, True)


@pytest.mark.behaviour("overrides.rendered", "overrides.renderer_shown")
def test_a_reference_that_is_the_whole_text_is_the_value_itself() -> None:
    assert config("json", {"value": "$return.rows"}) == {"value": [["a", 1], ["b", 2]]}
    assert config("json", {"value": "$args.lines[2].deep"}) == {"value": True}
    assert config("json", {"value": "$args.lines[-1]"}) == {"value": {"deep": True}}
    assert config("json", {"value": '$args["odd name"]'}) == {"value": "x"}
    assert config("json", {"value": "$args['odd name']"}) == {"value": "x"}
    assert config("json", {"value": {"a": ["$chat_id", "$workspace", "$toolset"]}}) == {
        "value": {"a": ["chat-7", "/work", "dev"]}
    }


@pytest.mark.behaviour("overrides.rendered")
def test_references_within_a_text_become_words() -> None:
    said: JsonObject = {"content": "$args.path ($toolset): $return.rows[0] costs $5, $$args, $argsx"}
    assert config("code", said) == {
        "content": 'a.py (dev): ["a", 1] costs $5, $args, $argsx',
        "editable": False,
    }


@pytest.mark.behaviour("overrides.rendered_missing")
def test_what_the_call_does_not_have_is_left_out_and_told() -> None:
    shown = render_call("code", {"file": "$args.nope", "content": "<$return.rows[9]>", "language": "python"}, CALL)
    assert shown == RenderedCall(
        "code",
        {"content": "<>", "language": "python", "editable": False},
        missing_references=("$args.nope", "$return.rows[9]"),
    )


def test_what_is_not_configured_comes_from_the_call_where_it_usually_stands() -> None:
    call = RenderContext({"command": "ls", "cwd": "/srv"}, "a\nb")
    assert config("terminal", {}, call) == {"command": "ls", "output": "a\nb", "cwd": "/srv"}
    picture: Json = [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]
    assert config("image", {}, RenderContext({}, picture)) == {"data": "aGk=", "mime_type": "image/png"}


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "//h", 7, ["http://h"]])
def test_a_server_cannot_choose_an_address_that_is_no_page(url: Json) -> None:
    assert render_call("frame", {"url": "$return"}, RenderContext({}, url)) == RenderedCall(
        "frame", {}, missing_references=("$return",)
    )


def test_a_server_cannot_choose_a_file_outside_the_toolset() -> None:
    shown = render_call("html", {"artifact": "$return", "content": "", "data": 1}, RenderContext({}, "../x"))
    why = {"artifact": "it must be a path inside the toolset, without .."}
    assert shown == RenderedCall("html", {"content": "", "data": 1}, refused_keys=why)


@pytest.mark.behaviour("overrides.html_artifact")
def test_a_page_from_a_file_stands_in_place_of_content() -> None:
    quiz: Json = {"title": "Rivers", "questions": []}
    call = RenderContext({}, quiz)
    assert config("html", {"artifact": "artifacts/quiz.html", "data": {"quiz": "$return"}}, call) == {
        "artifact": "artifacts/quiz.html",
        "data": {"quiz": quiz},
    }
    assert config("html", {"artifact": "quiz.html", "content": "<p>"}, call) == {"artifact": "quiz.html", "data": quiz}


def test_a_page_that_is_refused_is_not_replaced_by_the_result() -> None:
    shown = render_call("html", {"artifact": "$args.page"}, RenderContext({"page": "../x.html"}, "<p>a result</p>"))
    why = {"artifact": "it must be a path inside the toolset, without .."}
    assert shown == RenderedCall("html", {"data": "<p>a result</p>"}, refused_keys=why)


@pytest.mark.behaviour("overrides.rendered_path_stays_inside")
@pytest.mark.parametrize("name", ["editor", "file-read", "file-diff"])
@pytest.mark.parametrize(
    "path",
    ["../../etc/passwd", "/etc/passwd", "a/../../b", "..\\x", "C:\\x", "~/.ssh/id_rsa", "/desk/../etc", "/desktop/a"],
)
def test_a_caller_cannot_choose_a_file_outside_the_workspace(name: str, path: str) -> None:
    shown = render_call(name, {}, RenderContext({"path": path}, "text", workspace="/desk"))
    assert shown is not None
    assert "path" not in shown.config
    assert shown.refused_keys == {"path": "it must be a path inside the workspace, without .."}


@pytest.mark.behaviour("overrides.rendered_path_stays_inside")
@pytest.mark.parametrize("path", ["a.py", "src/a b.py", "/desk/src/a.py"])
def test_a_file_of_the_workspace_is_shown_by_its_path(path: str) -> None:
    shown = render_call("editor", {}, RenderContext({"path": path}, workspace="/desk/"))
    assert shown == RenderedCall("editor", {"path": path, "editable": False})


@pytest.mark.behaviour("overrides.rendered_missing")
def test_what_usually_stands_there_is_told_where_the_call_lacks_it_and_nothing_else_stands_for_it() -> None:
    assert render_call("frame", {}, RenderContext({})) == RenderedCall("frame", {}, missing_references=("$return.url",))
    assert render_call("frame", {"port": 80}, RenderContext({})) == RenderedCall("frame", {"port": 80})
    assert render_call("image", {}, RenderContext({})) == RenderedCall(
        "image", {}, missing_references=("$return[0].data", "$return[0].mimeType")
    )
    assert render_call("image", {"url": "https://h/p"}, RenderContext({})) == RenderedCall(
        "image", {"url": "https://h/p"}
    )


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"structuredContent": {"a": 1}, "content": []}, {"a": 1}),
        ({"structuredContent": {"result": [1]}, "content": []}, [1]),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"content": [{"type": "image", "data": ""}]}, [{"type": "image", "data": ""}]),
        ({"content": 7}, {"content": 7}),
        ({}, {}),
    ],
)
def test_what_a_tool_returned_is_its_structured_content_else_its_text_else_its_parts(
    result: JsonObject, expected: Json
) -> None:
    assert return_value(result) == expected


def test_a_path_leads_into_a_text_that_is_json() -> None:
    call = RenderContext({}, '{"items": [{"title": "x"}]}')
    assert config("code", {"content": "$return.items[0].title"}, call) == {"content": "x", "editable": False}
    assert config("table", {}, call) == {"rows": {"items": [{"title": "x"}]}}


def test_texts_have_a_bound_and_what_was_cut_is_told() -> None:
    shown = render_call("code", {"content": "$return " * 3000}, RenderContext({}, "x" * 10_000))
    assert shown is not None
    assert shown.is_cut
    assert len(str(shown.config["content"])) <= 1_000_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
steps = st.sampled_from([".a", "[0]", "[-1]", '["b"]', "['']", ".", "[", "[9999999999]", ".__class__", "[0", "..a"])
texts = st.lists(st.sampled_from([f"${root}" for root in REFERENCE_ROOTS]) | steps | st.text(max_size=5)).map("".join)


@pytest.mark.behaviour("overrides.rendered_missing")
@given(
    st.sampled_from(RENDERER_NAMES),
    st.dictionaries(st.text() | st.just("content"), texts | json_values),
    json_values,
    json_values,
)
def test_whatever_a_configuration_and_a_call_hold_nothing_is_raised(
    name: str, said: JsonObject, argument: Json, result: Json
) -> None:
    shown = render_call(name, said, RenderContext({"a": argument}, result))
    config_problems(name, said)
    assert shown is not None
    known = find_renderer(name)
    assert known is not None
    assert {*shown.config} <= {key.name for key in known.keys}
    json.dumps(dict(shown.config))
