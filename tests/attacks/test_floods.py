"""A server that floods: names without number, names like others, texts of megabytes, schemas without bottom."""

import json
from pathlib import Path

import anyio
import pytest
from tests.attacks.siege import MARKER, TURNCOAT, Json, besieged, note

from pegboard.core.decision.resolve import OpenTool
from pegboard.core.model.selection import View
from pegboard.core.model.server import Trust

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

MANY = 10_000


def flood() -> list[Json]:
    """Near-duplicates of one name, in plain letters and in foreign ones."""
    plain = [{"name": f"tool_{number:05}x", "inputSchema": {"type": "object"}} for number in range(MANY - 200)]
    foreign = [{"name": f"t\u043eol_{number:05}", "inputSchema": {"type": "object"}} for number in range(200)]
    return [*plain, *foreign]


@pytest.mark.slow
@pytest.mark.behaviour("approvals.under_attack", "approvals.review_is_bounded")
async def test_ten_thousand_tools_wait_in_one_list_while_others_are_called(tmp_path: Path) -> None:
    async with besieged(tmp_path, *flood(), trust=Trust.STRICT) as siege:
        resolution = siege.gateway.board.resolution(View())
        assert len({*resolution.names.values()}) == len(resolution.names) == MANY + 3
        assert len([verdict for verdict in resolution.verdicts.values() if isinstance(verdict, OpenTool)]) == 3
        answered: list[str] = []
        body: Json = {}

        async def reviews(done: anyio.CancelScope) -> None:
            nonlocal body
            body = (await siege.api.get("/approvals")).json()
            done.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reviews, tasks.cancel_scope)
            while True:
                answered.append(await siege.call("tool_00001"))
        assert len(body["pending"]) == MANY
        # Reading ten thousand tools takes seconds, and is no reason for anybody's call to wait for its end.
        assert len(answered) > 5
        (of_server,) = body["servers"]
        hard = {each["name"] for each in body["pending"] if each["risk"]["level"] == "hard"}
        assert hard >= {tool["name"] for tool in flood()[MANY - 200 :]}
        assert of_server["approvableTogether"] == MANY - len(hard)
        read = {"server": "turncoat", "fingerprint": of_server["fingerprint"]}
        done = await siege.api.post("/approvals/approve", json=read)
        assert (done.status_code, len(done.json()["approved"])) == (200, of_server["approvableTogether"])
        opened = siege.gateway.board.resolution(View()).open_tools()
        assert {tool.id.name for tool in opened} & hard == set()


@pytest.mark.behaviour("approvals.under_attack", "scanner.shadowing")
async def test_a_name_in_foreign_letters_is_not_approved_at_first_sight(tmp_path: Path) -> None:
    foreign = "t\u043eol_00001"
    async with besieged(tmp_path, note(), note(name=foreign)) as siege:
        assert [siege.status(), siege.status(foreign)] == ["open", "pending_approval"]
        names = siege.gateway.board.resolution(View()).names
        assert len({*names.values()}) == len(names)
        assert all(name.isascii() for name in names.values())
        # The honest tool keeps its name, and is what a call by that name reaches.
        assert "tool_00001" in await siege.listed()


@pytest.mark.slow
@pytest.mark.behaviour("approvals.under_attack", "approvals.review_is_bounded")
async def test_megabytes_of_description_are_read_once_and_shown_in_part(tmp_path: Path) -> None:
    words = "lorem ipsum " * 100_000
    async with besieged(tmp_path, note(description=words)) as siege:
        assert siege.status() == "open"
        await siege.become(note(description=f"{words[:600_000]}{MARKER} {words[600_000:]}"))
        assert siege.status() == "pending_approval"
        review = await siege.review()
        (section,) = review["difference"]
        assert [piece["text"].strip() for piece in section["pieces"] if piece["kind"] != "kept"] == [MARKER]
        assert len(json.dumps(review["difference"])) < 2_000
        await siege.become(note(description=MARKER * 40_000))
        review = await siege.review()
        assert len(json.dumps(review["difference"]) + json.dumps(review["cautions"])) < 50_000
        assert "read_note" not in await siege.listed()
        siege.nothing_leaked()


def deep(levels: int, words: str) -> Json:
    schema: Json = {"type": "object", "description": words}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.behaviour("approvals.under_attack", "approvals.review_is_bounded", "approvals.difference_reviewed")
async def test_a_change_at_the_bottom_of_a_deep_schema_locks_and_is_shown(tmp_path: Path) -> None:
    async with besieged(tmp_path, note(inputSchema=deep(60, "The bottom."))) as siege:
        assert siege.status() == "open"
        await siege.become(note(inputSchema=deep(60, MARKER)))
        assert siege.status() == "pending_approval"
        (section,) = (await siege.review())["difference"]
        (change,) = section["changes"]
        assert (change["kind"], change["before"], change["after"]) == ("changed", '"The bottom."', f'"{MARKER}"')
        assert len(change["path"]) < 400
        assert "read_note" not in await siege.listed()
        siege.nothing_leaked()


@pytest.mark.behaviour("approvals.under_attack")
async def test_a_schema_without_bottom_takes_nobody_down(tmp_path: Path) -> None:
    async with besieged(tmp_path) as siege:
        text = "{" + '"properties":{"a":{' * 20_000 + "}" * 40_000 + "}"
        listing = json.dumps({"marker": MARKER, "tools": [note(name="deep", inputSchema="HERE")]})
        siege.file.write_text(listing.replace('"HERE"', text.replace("{", '{"type":"object",', 1).replace(",}", "}")))
        before = siege.gateway.board.catalogue.listings[TURNCOAT]
        siege.announce()
        await siege.until(lambda: siege.gateway.board.catalogue.listings[TURNCOAT] is not before)
        assert siege.status("deep") in (None, "pending_approval")
        assert "tool_00001" in await siege.call("tool_00001")
        assert (await siege.api.get("/approvals")).status_code == 200
        assert "deep" not in await siege.listed()
        siege.nothing_leaked()
