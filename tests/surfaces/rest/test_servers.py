"""The servers by the API: seen, added, removed, switched and restarted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.core.boards import NOW, server, tool
from tests.support.doubles import SINCE, STARTING, MemoryStore
from tests.support.house import PATIENCE, declared, declaring
from tests.support.sentences import rejection
from tests.surfaces.rest.desk import ABOUT, GITHUB, NOTES, TOOLS, Desk, at_desk, problem

from pegboard.core.commands.commands import RemoveServer
from pegboard.core.model.catalogue import (
    ListingProblem,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderStart,
)
from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.model.selection import Selection, TheseToolsets
from pegboard.core.model.server import Http, InstalledBy, OnlyTools, Stdio, Timeouts, Trust

pytestmark = pytest.mark.anyio

EXTRA = ServerKey(ToolsetId("extra"), ServerId("extra"))


@pytest.mark.behaviour("ids.server_key_in_answers", "counts.in_server_answers")
async def test_a_server_is_told_with_its_key_health_and_counts() -> None:
    async with at_desk() as desk:
        body = await desk.get("/servers")
        assert body["servers"][0] == {
            "id": "dev~github",
            "serverId": "github",
            "toolsetId": "dev",
            "userMcp": True,
            "active": True,
            "trust": "open",
            "review": None,
            "fingerprint": body["servers"][0]["fingerprint"],
            "connection": {"transport": "stdio", "command": "true", "args": [], "env": {}, "cwd": None},
            "start": "always",
            "timeouts": {"start": 30.0, "call": 120.0, "stop": 5.0},
            "origin": {"kind": "declared", "file": "pegboard.yaml", "line": 7},
            "health": {"state": "up", "since": SINCE.isoformat(), "message": "up"},
            "tools": {"callable": 2},
            "hiddenTools": 0,
            "problems": [],
        }
        assert [one["id"] for one in body["servers"]] == ["dev~github", "docs~notes"]
        assert (body["policyVersion"], body["notices"]) == (0, [])
        assert await desk.get("/servers/github") == body["servers"][0]
        assert await desk.get("/servers/dev~github") == body["servers"][0]


@pytest.mark.parametrize(
    ("health", "told"),
    [
        (STARTING, {"state": "starting", "since": SINCE.isoformat(), "message": "starting, attempt 1"}),
        (
            ProviderDown(SINCE, "it fell", NOW, ("first", "last")),
            {
                "state": "down",
                "since": SINCE.isoformat(),
                "message": "it fell",
                "retryAt": NOW.isoformat(),
                "logTail": ["first", "last"],
            },
        ),
        (ProviderAsleep(SINCE), {"state": "asleep", "since": SINCE.isoformat(), "message": "asleep; a call wakes it"}),
        (
            ProviderNeedsSignIn(SINCE),
            {
                "state": "needs_sign_in",
                "since": SINCE.isoformat(),
                "message": "needs sign-in",
            },
        ),
    ],
)
async def test_each_state_of_health_is_told(health: Any, told: dict[str, object]) -> None:
    async with at_desk() as desk:
        desk.house.provider(GITHUB).becomes(health)
        await desk.house.until(lambda: desk.house.board.catalogue.health(GITHUB) == health)
        assert (await desk.get("/servers/github"))["health"] == told


async def test_flaws_and_tools_that_are_not_selected_are_counted() -> None:
    board = replace(declared(GITHUB, NOTES), selection=Selection(TheseToolsets(("docs",))))
    async with at_desk(board) as desk:
        provider = desk.house.provider(GITHUB)
        provider.becomes(provider.word.health, *provider.word.tools, flaws=(ListingProblem("odd", "has no name"),))
        await desk.house.until(lambda: bool(desk.house.board.catalogue.listings[GITHUB].problems))
        told, listed = await desk.get("/servers/github"), await desk.get("/tools")
    assert (told["tools"], told["hiddenTools"]) == ({"callable": 0}, 2)
    assert listed["problems"] == [
        {"id": "dev~github", "message": "lists 'odd', which cannot hang on the board: has no name."}
    ]
    assert told["problems"] == [
        {"name": "odd", "reason": "has no name", "message": "lists 'odd', which cannot hang on the board: has no name."}
    ]


# Adding


async def added(desk: Desk, **body: object) -> Any:
    answer = await desk.ask("POST", "/servers", json={"id": "extra", **body})
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.behaviour(
    "toolsets.user_mcp_made_by_adding_a_server",
    "toolsets.standalone_server_by_command_or_url",
    "toolsets.added_server_connects",
)
async def test_a_server_added_by_a_command_is_installed_and_started() -> None:
    async with at_desk() as desk:
        told = await added(
            desk,
            command="./server",
            args=["--port", "1"],
            env={"A": "${B:-c}"},
            folder="/srv/here",
            trust="strict",
            enabled_tools=["read", "list_*"],
            timeouts={"start": 5, "call": "2m"},
        )
        policy = desk.house.board.policy
        origin = InstalledBy(policy.servers[EXTRA].origin.by, NOW)  # type: ignore[union-attr]  # told below
        assert policy.servers[EXTRA] == server(
            EXTRA,
            connection=Stdio("/srv/here/server", ("--port", "1"), {"A": "${B:-c}"}, None),
            origin=origin,
            trust=Trust.STRICT,
            limit=OnlyTools(("read", "list_*")),
            timeouts=Timeouts(start=5.0, call=120.0),
        )
        assert (told["id"], told["userMcp"], told["origin"]["by"]) == ("extra~extra", True, "local")
        assert told["health"]["state"] == "starting"
        assert policy.toolsets[ToolsetId("extra")].user_mcp
        assert desk.house.provider(EXTRA).server == policy.servers[EXTRA]


async def test_a_server_added_by_a_url_or_into_a_toolset_is_no_standalone_program() -> None:
    async with at_desk() as desk:
        told = await added(
            desk, url="https://x.example/mcp", transport="sse", headers={"X-Key": "${K}"}, toolset="more"
        )
        assert told["connection"] == {
            "transport": "sse",
            "url": "https://x.example/mcp",
            "headers": {"X-Key": "${K}"},
        }
        assert (told["id"], told["userMcp"]) == ("more~extra", False)
        assert told["warnings"][0].startswith("headers.X-Key: ${K} stands for nothing: ")
        connection = desk.house.board.policy.servers[ServerKey(ToolsetId("more"), ServerId("extra"))].connection
        assert isinstance(connection, Http)


async def test_a_relative_path_is_taken_from_the_named_folder_or_the_gateways_own() -> None:
    async with at_desk() as desk:
        named = await added(desk, command="x", cwd="sub", folder="/srv/here")
        assert named["connection"]["cwd"] == "/srv/here/sub"
        assert (await desk.ask("DELETE", "/servers/extra")).status_code == 200
        own = await added(desk, command="x", cwd="sub")
        assert own["connection"]["cwd"] == str(Path.cwd() / "sub")


@pytest.mark.behaviour("config.secrets_are_not_shown")
async def test_no_secret_of_a_server_is_in_any_answer() -> None:
    async with at_desk() as desk:
        secrets = {"env": {"TOKEN": "swordfish"}, "args": ["--password", "swordfish"], "command": "x"}
        answers = [await desk.ask("POST", "/servers", json={"id": "extra", **secrets})]
        answers.append(await desk.ask("POST", "/servers", json={"id": "extra", **secrets}))
        wrong = {"id": "far", "url": "ftp://swordfish@host", "headers": {"A": "swordfish\n"}}
        answers.append(await desk.ask("POST", "/servers", json=wrong))
        answers.append(await desk.ask("POST", "/servers", json={"id": "far", "env": "swordfish"}))
        answers += [
            await desk.ask("GET", path) for path in ("/servers", "/servers/extra", "/doctor", "/status", "/tools")
        ]
        assert not any("swordfish" in answer.text for answer in answers)
        assert [answer.status_code for answer in answers] == [201, 409, 422, 422, 200, 200, 200, 200, 200]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"id": "x"}, "this needs command or url. Write one of them."),
        ({"id": "x", "command": "x", "url": "http://x"}, "command and url exclude each other. Keep one of them."),
        (
            {"id": "x", "command": "x", "enabled_tools": [], "disabled_tools": []},
            "enabled_tools and disabled_tools exclude each other. Keep one of them.",
        ),
        (
            {"id": "x", "url": "ftp://x"},
            "url: write a URL that begins with http:// or https://, or with a reference.",
        ),
        (
            {"id": "No Name", "command": "x"},
            "'No Name' cannot be a name here: use 1 to 64 characters of a-z, 0-9, '_' and '-', "
            "the first a letter or digit.",
        ),
        ({"id": "x", "command": "x", "trust": "blind"}, "trust: this must be 'open', 'baseline' or 'strict'."),
        (
            {"id": "x", "command": "x", "comand": "y"},
            "comand: this is unknown here. Leave it out, or did you mean 'command'?",
        ),
        ({"id": "x", "command": 7}, "command: this must be a text."),
        ({"id": "x", "command": "a\0b"}, "command: this text holds a NUL character or half a character. Remove it."),
        ({"command": "x"}, "id: this is missing. Give it."),
    ],
)
async def test_a_server_that_cannot_be_is_refused_in_the_words_of_the_file(body: Any, said: str) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask("POST", "/servers", json=body)) == (422, said)
        assert desk.house.store.saves == []


async def test_every_problem_of_a_server_is_told_at_once() -> None:
    async with at_desk() as desk:
        wrong = {"id": "x", "url": "http://x:0/", "headers": {"a b": "c\nd"}, "args": ["y"]}
        answer = await desk.ask("POST", "/servers", json=wrong)
    assert len(answer.json()["errors"]) == 4
    assert answer.json()["detail"] == "\n".join(answer.json()["errors"])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b"\xff", b"[" * 100_000])
async def test_a_body_that_is_none_is_refused(content: bytes) -> None:
    async with at_desk() as desk:
        answer = await desk.ask("POST", "/servers", content=content, headers={"content-type": "application/json"})
        assert problem(answer)[0] in (400, 422)


# Deciding


@pytest.mark.behaviour("toolsets.declared_is_read_only")
async def test_a_declared_server_is_not_removed_and_an_installed_one_is() -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask("DELETE", "/servers/github")) == (
            409,
            rejection(desk.house.board.policy, RemoveServer(GITHUB)),
        )
        await added(desk, command="x")
        removed = await desk.ask("DELETE", "/servers/extra")
        assert (removed.status_code, removed.json()) == (200, {"removed": "extra~extra"})
        assert problem(await desk.ask("DELETE", "/servers/extra"))[0] == 404


async def test_a_switch_is_thrown_with_its_note() -> None:
    async with at_desk() as desk:
        off = await desk.ask("POST", "/servers/github/switch", json={"enabled": False, "note": "noisy"})
        assert (off.status_code, off.json()["active"], off.json()["health"]["state"]) == (200, False, "off")
        shown = await desk.get("/tools/show", tool="mcp:dev~github:read")
        assert shown["message"] == "Server dev~github is off: switched off by local on 2026-01-02 (noisy)."
        on = await desk.ask("POST", "/servers/github/switch", json={"enabled": True})
        assert on.json()["active"] is True
        assert problem(await desk.ask("POST", "/servers/github/switch", json={"enabled": "maybe"}))[0] == 422


async def test_a_toolset_is_switched_whole() -> None:
    async with at_desk() as desk:
        off = await desk.ask("POST", "/toolsets/dev/switch", json={"enabled": False})
        assert (off.status_code, off.json()) == (200, {"toolsetId": "dev", "enabled": False})
        assert desk.house.statuses()["mcp:dev~github:read"] == "server_disabled"
        assert problem(await desk.ask("POST", "/toolsets/devs/switch", json={"enabled": True})) == (
            404,
            "There is no toolset 'devs'. Did you mean 'dev'?",
        )


async def test_a_decision_on_what_is_no_longer_true_is_refused() -> None:
    async with at_desk() as desk:
        first = await desk.ask("POST", "/servers/github/switch", json={"enabled": False}, headers={"if-match": '"0"'})
        assert first.status_code == 200
        for path, method in (("/servers/github/switch", "POST"), ("/servers/github", "DELETE")):
            late = await desk.ask(method, path, json={"enabled": True}, headers={"if-match": "0"})
            assert problem(late) == (412, "The policy is at version 1 now. Look at it again before you decide.")
            assert late.json()["policyVersion"] == 1
        now = await desk.ask("POST", "/servers/github/switch", json={"enabled": True}, headers={"if-match": 'W/"1"'})
        assert now.status_code == 200
        assert (await desk.get("/servers"))["policyVersion"] == 2


@pytest.mark.parametrize("version", ["*", "one", '""', "-1", "٣", "9" * 40])
async def test_a_version_that_is_none_is_refused(version: str) -> None:
    async with at_desk() as desk:
        headers = {b"if-match": version.encode()}
        answer = await desk.ask("POST", "/servers/github/switch", json={"enabled": False}, headers=headers)
        status, detail = problem(answer)
        assert status == 400
        assert detail.endswith("is not a policy version: send a number.")


async def test_a_store_that_does_not_take_a_decision_is_told() -> None:
    store = MemoryStore()
    async with at_desk(store=store) as desk:
        store.go_away(ConnectionError("the disk is full"))
        answer = await desk.ask("POST", "/servers/github/switch", json={"enabled": False})
        status, detail = problem(answer)
        assert status == 503
        assert "the disk is full" in detail
        store.come_back()


async def test_a_server_is_named_by_its_id_while_only_one_has_it() -> None:
    other = ServerKey(ToolsetId("ops"), ServerId("github"))
    async with at_desk(declared(GITHUB, other), settle=False) as desk:
        assert problem(await desk.ask("GET", "/servers/github")) == (
            400,
            "Several servers have the id 'github': dev~github, ops~github. Name one by its key.",
        )
        assert (await desk.get("/servers/ops~github"))["id"] == "ops~github"
        assert problem(await desk.ask("GET", "/servers/gitub"))[1].startswith(
            "There is no server 'gitub'. Did you mean"
        )
        assert problem(await desk.ask("GET", "/servers/%E5%B7%A5")) == (
            404,
            "There is no server '工'. See: pegboard servers list",
        )


async def test_a_restart_reaches_the_one_provider_and_a_resting_one_cannot_be_restarted() -> None:
    board = declaring(server(GITHUB, trust=Trust.OPEN), server(NOTES, enabled=False))
    async with at_desk(board) as desk:
        assert (await desk.ask("POST", "/servers/github/restart")).status_code == 200
        assert desk.house.provider(GITHUB).restarts == 1
        assert problem(await desk.ask("POST", "/servers/notes/restart")) == (
            409,
            "Server docs~notes is not running. Try: pegboard servers enable docs~notes",
        )


async def test_the_log_is_what_the_server_wrote() -> None:
    async with at_desk() as desk:
        desk.house.provider(GITHUB).lines = ("one", "two")
        assert (await desk.get("/servers/github/log"))["lines"] == ["one", "two"]


async def test_an_answer_waits_for_a_server_that_is_starting_when_it_is_asked_to() -> None:
    async with at_desk() as desk:
        await added(desk, command="x")
        states: list[str] = []

        async def wait() -> None:
            told = await desk.get("/servers/extra", wait=30)
            states.append(told["health"]["state"])

        with anyio.fail_after(PATIENCE):
            assert (await desk.get("/servers/extra"))["health"]["state"] == "starting"
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await desk.house.until(lambda: EXTRA in desk.house.board.catalogue.listings)
                desk.house.provider(EXTRA).lists(tool(EXTRA, "t"))
        assert states == ["up"]
        desk.house.provider(EXTRA).becomes(ProviderStart(2, SINCE))
        await desk.house.until(lambda: desk.house.board.catalogue.health(EXTRA) == ProviderStart(2, SINCE))
        with anyio.fail_after(PATIENCE):
            assert (await desk.get("/servers/extra", wait=30))["health"]["state"] == "starting"
        assert problem(await desk.ask("GET", "/servers/extra", params={"wait": "forever"}))[0] == 422


async def test_the_status_tells_what_runs_and_from_what() -> None:
    async with at_desk() as desk:
        assert await desk.get("/status") == {
            "version": "0.1.0",
            "policyVersion": 0,
            "config": ABOUT.config,
            "dataDir": ABOUT.data_dir,
            "endpoint": ABOUT.endpoint,
            "store": ABOUT.store,
            "servers": 2,
            "starting": [],
            "tools": sum(len(tools) for tools in TOOLS.values()),
            "openTools": 3,
            "pendingApprovals": 0,
            "pendingTickets": 0,
            "notices": [],
            "droppedAuditRecords": 0,
        }
        assert await desk.get("/doctor") == {"findings": []}
        await added(desk, command="x")
        assert (await desk.get("/status"))["starting"] == ["extra~extra"]
