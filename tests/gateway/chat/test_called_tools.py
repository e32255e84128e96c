"""Which tools a conversation called before the user's latest message."""

import pytest

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import PrincipalId, ServerId, ServerKey, ToolId, ToolsetId
from pegboard.gateway.chat.plans import MAX_ANSWERS, CalledTools, conversation_keys
from pegboard.gateway.chat.report import ChatCallReport, ChatReport
from pegboard.gateway.chat.request import ChatInput, ClientTool

pytestmark = pytest.mark.anyio
ANN, BOB = PrincipalId("ann"), PrincipalId("bob")
KEY = ServerKey(ToolsetId("desk"), ServerId("desk"))
LEND, MAIL = (f"mcp:desk~desk:{name}" for name in ("lend", "mail"))


def report(*names: str) -> ChatReport:
    return ChatReport(
        calls=[ChatCallReport(f"call_{name}", name, ToolId(KEY, name), "returned", 0.1) for name in names]
    )


def says(*texts: str, after: tuple[JsonObject, ...] = (), tools: tuple[ClientTool, ...] = ()) -> ChatInput:
    """What a client sends whose user said these things: with the answers between them."""
    messages: list[JsonObject] = []
    for text in texts:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": f"About {text}."}]
    return ChatInput((*messages[:-1], *after), tools=tools)


async def answered(called: CalledTools, asked: ChatInput, *names: str, principal: PrincipalId = ANN) -> None:
    called.remember(await conversation_keys(principal, asked), report(*names))


async def before(called: CalledTools, asked: ChatInput, principal: PrincipalId = ANN) -> tuple[str, ...]:
    return called.called_before(await conversation_keys(principal, asked), asked)


@pytest.mark.behaviour("autosearch.earlier_messages")
async def test_what_earlier_answers_called_is_known_to_the_same_conversation_alone() -> None:
    called = CalledTools()
    await answered(called, says("lend it"), "lend")
    await answered(called, says("lend it", "mail it"), "find", "mail", "find")
    latest_first = ("mcp:desk~desk:find", MAIL, LEND)
    assert await before(called, says("lend it", "mail it", "go on")) == latest_first
    assert await before(called, says("lend it", "mail it", "go on", "and now?")) == latest_first
    assert await before(called, says("lend it", "go on")) == (LEND,)
    assert await before(called, says("find it", "mail it", "go on")) == ()
    assert await before(called, says("lend it", "go on"), BOB) == ()


@pytest.mark.behaviour("autosearch.earlier_messages")
async def test_a_message_that_is_answered_again_is_shown_the_same_as_before() -> None:
    called = CalledTools()
    await answered(called, says("lend it"), "lend")
    assert await before(called, says("lend it")) == ()


@pytest.mark.behaviour("autosearch.earlier_messages")
async def test_calls_that_the_client_ran_are_in_its_messages() -> None:
    calls: list[Json] = [
        {"id": str(at), "function": {"name": name, "arguments": "{}"}} for at, name in enumerate("abc")
    ]
    ran: tuple[JsonObject, ...] = (
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
        {"role": "user", "content": [{"type": "text", "text": "go on"}]},
    )
    own = ClientTool("b", "", {}, {})
    called = CalledTools()
    await answered(called, says("lend it"), "lend")
    assert await before(called, says("lend it", after=ran, tools=(own,))) == ("c", "a", LEND)


@pytest.mark.behaviour("autosearch.earlier_messages")
async def test_the_oldest_answers_are_forgotten() -> None:
    called = CalledTools()
    for number in range(MAX_ANSWERS + 1):
        called.remember([b"%d" % number], report("lend"))
    asked = says("first", "second")
    assert called.called_before([b"0", b"latest"], asked) == ()
    assert called.called_before([b"1", b"latest"], asked) == (LEND,)
