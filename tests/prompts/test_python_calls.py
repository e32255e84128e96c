"""Calls as Python: what follows a call shows whether its strings were read right, so it waits for that."""

import random

import pytest
from benchmarks.parser_cases.invariants import broken_rule
from inline_snapshot import snapshot

from pegboard.core.json.values import Json
from pegboard.prompts.formats import FORMATS, parse
from pegboard.prompts.tool_shape import ToolShape

TEXT: Json = {"type": "string"}
TOOLS = (
    ToolShape("write_file", parameters={"type": "object", "properties": {"path": TEXT, "content": TEXT}}),
    ToolShape("run_sql", parameters={"type": "object", "properties": {"statement": TEXT}}),
)
AROUND = {
    "pythonic": ("[", "]"),
    "pythonic_lfm2": ("<|tool_call_start|>[", "]<|tool_call_end|>"),
    "pythonic_olmo3": ("<function_calls>\n", "\n</function_calls>"),
    "pythonic_bare": ("", ""),
    "pythonic_block": ("```python\n", "\n```"),
}
CUT_SHORT = (
    """write_file(path="a.py", content="print("hello")")""",
    """write_file(content="print("hello")", path="a.py")""",
    """write_file(content="print(")")""",
    """write_file(content="print("a"), print("b")")""",
    """write_file(content="print("a"), print(1)")""",
    """write_file(content="a["x"]")""",
    """write_file(content="a["x"] + b["y"]")""",
    """write_file(content='x='a', y='b'')""",
    """run_sql(statement='DELETE FROM notes WHERE (owner = 'ann') AND id = 2')""",
    """run_sql(statement='DELETE FROM notes WHERE (owner = 'ann') AND (id = 2)')""",
    """write_file(content="print("a")\nprint("b")")""",
    """run_sql(statement='UPDATE notes SET a='x', b='y' WHERE id = 2')""",
)


@pytest.mark.behaviour("formats.repaired_without_guessing")
@pytest.mark.parametrize("name", sorted(AROUND))
@pytest.mark.parametrize("call", CUT_SHORT)
def test_a_call_never_runs_with_a_string_that_an_inner_quote_cut_short(name: str, call: str) -> None:
    text = call.join(AROUND[name])
    found = parse(FORMATS[name], text, TOOLS)
    assert [made for made in found.calls if not made.recovered] == []
    assert found.broken_calls
    assert broken_rule(FORMATS[name], text, TOOLS, False, random.Random(call), times=20) is None


@pytest.mark.parametrize("name", sorted(AROUND))
def test_inner_quotes_are_repaired_where_only_one_end_is_possible(name: str) -> None:
    call = """write_file(path='it's mine', content="say "hello" to all")"""
    (made,) = parse(FORMATS[name], call.join(AROUND[name]), TOOLS).calls
    assert made.arguments == {"path": "it's mine", "content": 'say "hello" to all'}
    assert made.repairs == ("quotes inside a string were not escaped",)
    assert not made.recovered


def test_the_model_reads_why_a_call_with_text_behind_it_was_not_made() -> None:
    text = """[write_file(path="a.py", content="print("hello")")]"""
    (broken,) = parse(FORMATS["pythonic"], text, TOOLS).broken_calls
    assert broken.raw == text
    assert broken.why == snapshot(
        "The call was not made: text stands behind it, so a string in it may have quotes that are not escaped. \
Write \\ before each of them."
    )


def test_a_call_before_one_that_is_broken_runs_unless_its_strings_are_in_doubt() -> None:
    assert [call.arguments for call in parse(FORMATS["pythonic"], "[run_sql(statement='a'), now(x)]", TOOLS).calls] == [
        {"statement": "a"}
    ]
    assert parse(FORMATS["pythonic"], """[run_sql(statement='a'b), now(x)']""", TOOLS).calls == ()


def test_a_doubtful_call_whose_list_never_ends_is_recovered() -> None:
    (call,) = parse(FORMATS["pythonic"], """[run_sql(statement="say "a" now"), """, TOOLS).calls
    assert call.recovered
