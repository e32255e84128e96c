"""A server that changes while a person decides, or while a call runs: only what was read is ever open."""

from pathlib import Path

import anyio
import pytest
from tests.attacks.siege import MARKER, TURNCOAT, Json, besieged, note

from pegboard.core.model.catalogue import ProviderUp
from pegboard.core.model.server import Trust

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

GOOD, BAD = note(), note(description=f"Reads a note. {MARKER}")
ROUNDS = 25


@pytest.mark.behaviour("approvals.under_attack", "approvals.name_the_fingerprint")
async def test_a_change_between_reading_and_approving_is_refused(tmp_path: Path) -> None:
    async with besieged(tmp_path, trust=Trust.STRICT) as siege:
        read = await siege.review()
        await siege.become(BAD)
        refused = await siege.approve(read)
        assert refused.status_code == 409
        assert "changed while you were reading it" in refused.json()["detail"]
        assert siege.status() == "pending_approval"
        # Back to what was read, the same approval is good: that is what the person said yes to.
        await siege.become(GOOD)
        assert (await siege.approve(read)).status_code == 200
        assert siege.status() == "open"
        await siege.become(BAD)
        assert siege.status() == "pending_approval"
        assert "pending_approval" in await siege.call("read_note")
        siege.nothing_leaked()


@pytest.mark.behaviour("approvals.under_attack", "law.open_is_what_was_approved")
async def test_however_fast_it_flips_only_the_one_that_was_read_is_ever_shown_or_approved(tmp_path: Path) -> None:
    """A person reads the good one once. The server flips at every question while approvals and lists pour in."""
    async with besieged(tmp_path, trust=Trust.STRICT) as siege:
        read = await siege.review()
        siege.write(flip=[[GOOD], [BAD]], tools=[])
        answers: list[int] = []

        async def approves() -> None:
            for _ in range(ROUNDS):
                siege.announce()
                answers.append((await siege.approve(read)).status_code)

        async def lists() -> None:
            for _ in range(ROUNDS):
                for tool in (await siege.listed()).values():
                    assert tool["description"] != BAD["description"]
                await siege.call("read_note")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(approves)
            tasks.start_soon(lists)
        assert {*answers} <= {200, 409}
        approval = siege.gateway.board.policy.decisions.approvals.get(siege.id())
        assert approval is None or approval.fingerprint == read["fingerprint"]
        await siege.become(BAD)
        assert siege.status() == "pending_approval"
        siege.nothing_leaked()


@pytest.mark.behaviour("approvals.under_attack", "approvals.several")
async def test_a_tool_that_joins_while_a_whole_server_is_approved_is_not_approved_with_it(tmp_path: Path) -> None:
    async with besieged(tmp_path, GOOD, note(name="other"), trust=Trust.STRICT) as siege:
        (of_server,) = (await siege.api.get("/approvals", params={"server": "turncoat"})).json()["servers"]
        await siege.become(GOOD, note(name="other"), note(name="joined", description=MARKER))
        body = {"server": "turncoat", "fingerprint": of_server["fingerprint"]}
        assert (await siege.api.post("/approvals/approve", json=body)).status_code == 409
        assert {siege.status(name) for name in ("read_note", "other", "joined")} == {"pending_approval"}
        await siege.become(GOOD, note(name="other"))
        assert (await siege.api.post("/approvals/approve", json=body)).status_code == 200
        assert {siege.status(name) for name in ("read_note", "other")} == {"open"}


@pytest.mark.behaviour("approvals.under_attack", "law.open_is_what_was_approved")
async def test_a_tool_that_changes_in_the_middle_of_its_call_is_locked_for_the_next(tmp_path: Path) -> None:
    async with besieged(tmp_path) as siege:
        siege.write(tools=[GOOD], during=[BAD])
        # What was admitted runs to its end: nobody can take back what a server has begun.
        assert await siege.call("read_note") == "ran read_note"
        await siege.until(lambda: siege.status() == "pending_approval")
        assert "changed since it was approved" in await siege.call("read_note")
        assert "read_note" not in await siege.listed()
        siege.nothing_leaked()


@pytest.mark.behaviour("approvals.under_attack", "approvals.trust_baseline")
async def test_a_server_that_shows_one_face_first_and_another_later_is_held_to_the_first(tmp_path: Path) -> None:
    """First sight happens once: a restart, of the server or of the gateway, is no second one."""
    async with besieged(tmp_path, GOOD) as siege:
        assert siege.status() == "open"
        await siege.become(BAD, note(name="more", description=MARKER))
        restarted = await siege.api.post("/servers/turncoat/restart")
        assert restarted.status_code == 200
        await siege.until(lambda: isinstance(siege.gateway.board.catalogue.health(TURNCOAT), ProviderUp))
        assert {siege.status(), siege.status("more")} == {"pending_approval"}
        siege.write(tools=[BAD])
        await siege.listed()
        siege.nothing_leaked()
        store = siege.store
    again = tmp_path / "again"
    again.mkdir()
    async with besieged(again, BAD, store=store) as siege:
        assert siege.status() == "pending_approval"
        assert "read_note" not in await siege.listed()
        siege.nothing_leaked()


@pytest.mark.behaviour("approvals.block", "approvals.under_attack")
async def test_a_blocked_tool_stays_locked_whatever_the_server_makes_of_it(tmp_path: Path) -> None:
    async with besieged(tmp_path) as siege:
        blocked = await siege.api.post("/approvals/block", json={"tool": str(siege.id()), "note": "no"})
        assert blocked.status_code == 200
        faces: tuple[Json, ...] = (BAD, GOOD, note(title="Harmless"), GOOD)
        for face in faces:
            await siege.become(face)
            assert siege.status() == "disabled_by_user"
            assert "was blocked at its review by local" in await siege.call("read_note")
            assert "read_note" not in await siege.listed()
        siege.nothing_leaked()
