"""What a client does not get to see of a conversation, kept until it comes back."""

from typing import Any

import pytest

from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.gateway.chat import conversation as remembered
from pegboard.gateway.chat.conversation import HiddenCallMemory

pytestmark = pytest.mark.anyio

ASKED: list[JsonObject] = [{"role": "user", "content": "both, please"}]
HIDDEN: list[JsonObject] = [{"role": "assistant", "content": "all calls"}, {"role": "tool", "content": "ours"}]
RESULT: JsonObject = {"role": "tool", "tool_call_id": "c1", "content": "theirs"}


def handed(*ids: str) -> JsonObject:
    calls: Any = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


async def kept(now: float = 0.0) -> HiddenCallMemory:
    made = HiddenCallMemory()
    await made.keep(LOCAL_PRINCIPAL, ASKED, ["c1"], HIDDEN, now)
    return made


async def test_a_client_that_comes_back_goes_on_with_all_that_was_said() -> None:
    made = await kept()
    assert await made.restore(LOCAL_PRINCIPAL, [*ASKED, handed("c1"), RESULT], 1.0) == [*ASKED, *HIDDEN, RESULT]
    assert await made.restore(LOCAL_PRINCIPAL, [*ASKED, handed("c1"), RESULT], 2.0) == [*ASKED, *HIDDEN, RESULT]


@pytest.mark.parametrize(
    ("principal", "messages", "now"),
    [
        (PrincipalId("other"), [*ASKED, handed("c1"), RESULT], 1.0),
        (LOCAL_PRINCIPAL, [{"role": "user", "content": "another"}, handed("c1"), RESULT], 1.0),
        (LOCAL_PRINCIPAL, [*ASKED, handed("c2"), RESULT], 1.0),
        (LOCAL_PRINCIPAL, [*ASKED, handed("c1"), RESULT], remembered.LIFETIME_S + 1.0),
        (LOCAL_PRINCIPAL, ASKED, 1.0),
    ],
    ids=["another caller", "another conversation", "other calls", "too late", "no calls"],
)
async def test_nobody_else_and_nothing_else_finds_it(
    principal: PrincipalId, messages: list[JsonObject], now: float
) -> None:
    assert await (await kept()).restore(principal, messages, now) == messages


async def test_the_oldest_leave_where_there_are_too_many() -> None:
    made = await kept()
    for number in range(remembered.MAX_CONVERSATIONS):
        await made.keep(LOCAL_PRINCIPAL, [*ASKED, {"role": "user", "content": str(number)}], ["c1"], HIDDEN, 0.0)
    assert await made.restore(LOCAL_PRINCIPAL, [*ASKED, handed("c1"), RESULT], 1.0) == [*ASKED, handed("c1"), RESULT]


async def test_what_is_huge_is_not_kept() -> None:
    made = HiddenCallMemory()
    await made.keep(
        LOCAL_PRINCIPAL, ASKED, ["c1"], [{"role": "tool", "content": "x" * (remembered.MAX_BYTES // 2)}], 0.0
    )
    assert await made.restore(LOCAL_PRINCIPAL, [*ASKED, handed("c1")], 1.0) == [*ASKED, handed("c1")]
