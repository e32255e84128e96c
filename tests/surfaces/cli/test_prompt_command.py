"""`pegboard prompt` beside a running gateway: what a model would be sent, in words and as JSON."""

import pytest
from tests.surfaces.cli.terminal import Pegboard, peer

BOARD = {"servers": {"three": peer("many", "3", trust="open")}}


@pytest.fixture(autouse=True)
def settled(at_gateway: Pegboard) -> None:
    assert "is up" in at_gateway("servers", "enable", "three").out


@pytest.mark.behaviour("prompt.shown_to_operators")
def test_what_would_be_sent_is_printed_with_reasons_and_costs(at_gateway: Pegboard) -> None:
    done = at_gateway("prompt", "--model", "nobody-knows", "--query", "tool", "--tool", "tool_00001")
    assert done.code == 0
    heads = [section.splitlines()[0] for section in done.out.split("\n\n")]
    assert heads[:8] == [
        "nobody-knows",
        heads[1],
        "Format: hermes",
        "Built-ins",
        "Search before the first turn",
        heads[5],
        heads[6],
        "System prompt",
    ]
    assert "three~three:tool_00001" in heads[1]
    assert heads[5].split() == ["PART", "TOKENS", "WHY"]
    assert heads[6].split() == ["TOOL", "TOKENS", "WHY"]
    assert "tokens, by estimate" in done.out
    native = at_gateway("prompt", "--model", "qwen3:8b", "--query", "tool")
    assert "Tools array" in native.out
    assert '"name": "tool_00000"' in native.out


@pytest.mark.behaviour("filter.in_flags")
def test_the_filter_and_the_model_are_given_by_flags(at_gateway: Pegboard) -> None:
    flags = ("--deny-tools", "*:tool_00001, *:tool_00002", "--allow-builtins", "", "--parameters", "300m")
    told = at_gateway("prompt", "--model", "x", "--query", "tool", "--tool", "tool_00001", *flags, "--json").json
    assert told["toolDecision"] == {
        "subject": "mcp:three~three:tool_00001",
        "availability": "out",
        "reason": "it is not in this view: it is filtered away: the launch filter denies it: '*:tool_00001' under "
        "deny_tools",
    }
    assert told["model"]["billions"] == 0.3
    assert [each["availability"] for each in told["builtins"]] == ["out"] * 4
    assert told["tools"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), 2, "Missing option '--model'"),
        (
            ("--model", "x", "--parameters", "big"),
            2,
            "--parameters is 'big'; write how many, such as 8b, 1.7b or 300m.",
        ),
        (("--model", "x", "--query", "q" * 2_001), 2, "the query has 2001 characters"),
        (("--model", "x", "--format", "xml"), 2, "format: this must be one of native"),
        (("--model", "x", "--tool", "nothing"), 4, "Unknown tool 'nothing'."),
    ],
)
def test_what_cannot_be_is_told(at_gateway: Pegboard, arguments: tuple[str, ...], code: int, told: str) -> None:
    done = at_gateway("prompt", *arguments)
    assert done.code == code
    assert told in done.err


@pytest.mark.behaviour("why.builtins", "builtins.python_execution_included")
def test_why_and_prompt_agree_about_python_execution(at_gateway: Pegboard) -> None:
    told = at_gateway("prompt", "--model", "qwen3:1.7b", "--query", "x", "--tool", "python_execution", "--json").json
    reason = "it is switched on, and codemode is among prompts.formats"
    assert told["toolDecision"] == {"subject": "python_execution", "availability": "in", "reason": reason}
    why = at_gateway("why", "python_execution").out
    assert "✗ Is it listed at /mcp/direct?  no: code.listed is false, so it is not on the board" in why
    assert f"✓ Is it in prompts and chats?  yes: {reason}" in why
    code = at_gateway("why", "python_execution", "--presentation", "code").out
    assert "✓ Is it listed at /mcp/code?  yes: programs are run by it there" in code
