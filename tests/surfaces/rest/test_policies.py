"""The whole policy by the API: exported, held against what holds, imported by what somebody looked at."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.core.boards import NOW, key
from tests.support.doubles import MemoryStore
from tests.support.house import declared
from tests.support.sentences import rejection
from tests.surfaces.rest.desk import GITHUB, NOTES, TOOLS, Desk, at_desk, problem

from pegboard.config.policy_file import read_policy
from pegboard.core.commands.commands import SetGrants, SetSwitch
from pegboard.core.commands.transfer import PolicyExport, ReplaceDecisions, describe_left_out
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolId, ToolsetId
from pegboard.core.model.server import Trust
from pegboard.core.policy.policy import Approval, PolicyDecisions

pytestmark = pytest.mark.anyio

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
READ, WRITE = (tool.id for tool in TOOLS[GITHUB])
EMPTY = '{"pegboard_policy": 1}'


async def exported(desk: Desk) -> Any:
    return await desk.get("/policy/export")


@pytest.mark.behaviour("policy.round_trip", "policy.without_secrets")
async def test_another_board_that_imports_a_policy_judges_alike() -> None:
    async with at_desk(declared(GITHUB, NOTES, trust=Trust.STRICT)) as desk:
        spec = desk.house.board.catalogue.tools[READ].spec
        await desk.ask("POST", "/servers", json={"id": "extra", "command": "x", "env": {"TOKEN": SECRET}})
        await desk.ask("POST", "/tools/approve", json={"tool": str(READ), "fingerprint": spec.fingerprint})
        await desk.house.does(SetSwitch(NOTES, False), SetGrants(PrincipalId("ann"), frozenset({ToolsetId("docs")})))
        body, statuses = await exported(desk), desk.house.statuses()
        alone = await desk.ask("GET", "/policy/export/file")
        assert (alone.text, alone.headers["content-type"]) == (body["text"], "application/octet-stream")
    assert SECRET not in body["text"]
    (secret,) = body["secrets"]
    assert secret["locations"] == ["extra: env.TOKEN"]
    async with at_desk(declared(GITHUB, NOTES, trust=Trust.STRICT)) as desk:
        assert desk.house.statuses() != statuses
        told = (await desk.ask("POST", "/policy/import", json={"text": body["text"], "version": 0})).json()
        assert (told["imported"], told["policyVersion"], told["omitted"]) == (True, 1, [])
        assert desk.house.statuses() == statuses
        again = (await desk.ask("POST", "/policy/what-if", json={"text": body["text"]})).json()
        assert (again["changes"], again["addedServers"], again["callers"][0]["changes"]) == ([], [], [])


@pytest.mark.behaviour("policy.what_if")
async def test_what_would_change_is_told_for_each_caller_and_nothing_is_saved() -> None:
    async with at_desk() as desk:
        await desk.house.does(SetSwitch(READ, False))
        saves = len(desk.house.store.saves)
        text = json.dumps({"pegboard_policy": 1, "grants": {"ann": ["dev"]}})
        body = (await desk.ask("POST", "/policy/what-if", json={"text": text})).json()
        assert len(desk.house.store.saves) == saves
    assert body["changes"] == [
        {"kind": "switches", "added": [], "removed": [str(READ)], "changed": []},
        {"kind": "grants", "added": ["ann"], "removed": [], "changed": []},
    ]
    shifts = {
        caller["principal"]: {
            shift["id"]: (shift["before"]["verdict"], shift["after"]["verdict"]) for shift in caller["changes"]
        }
        for caller in body["callers"]
    }
    assert shifts == {
        "local": {str(READ): ("locked", "open")},
        "ann": {str(READ): ("locked", "open"), "mcp:docs~notes:jot": ("open", "hidden")},
    }
    assert (body["imported"], body["policyVersion"]) == (False, 1)


@pytest.mark.behaviour("policy.approvals_name_what_was_read", "law.agents_cannot_widen")
async def test_an_import_opens_nothing_that_nobody_has_read() -> None:
    async with at_desk(declared(GITHUB, NOTES, trust=Trust.STRICT)) as desk:
        spec = desk.house.board.catalogue.tools[READ].spec
        older = replace(spec, description="As it was when somebody read it.")
        desk.house.store.decided = PolicyDecisions(approvals={READ: Approval(older, PrincipalId("ann"), NOW)})
        await desk.house.gateway.operator.reload()
        text = (await exported(desk))["text"]
        assert (await desk.ask("POST", "/policy/import", json={"text": text})).status_code == 200
        assert desk.house.status(READ) == "pending_approval"
        forged = json.loads(text)
        forged["approvals"][0]["fingerprint"] = spec.fingerprint
        assert problem(await desk.ask("POST", "/policy/import", json={"text": json.dumps(forged)}))[0] == 422
        assert desk.house.status(READ) == "pending_approval"


@pytest.mark.behaviour("policy.all_or_nothing")
async def test_a_policy_that_contradicts_the_board_or_stale_eyes_change_nothing() -> None:
    async with at_desk() as desk:
        before = desk.house.board.policy
        clashing = {
            "pegboard_policy": 1,
            "servers": {"dev~github": {"command": "x"}, "new~new": {"command": "y"}},
            "toolsets": {"dev": {}, "new": {}},
        }
        answer = await desk.ask("POST", "/policy/import", json={"text": json.dumps(clashing)})
        read = read_policy(json.dumps(clashing), LOCAL_PRINCIPAL, NOW)
        assert isinstance(read, PolicyExport)
        assert problem(answer) == (409, rejection(before, ReplaceDecisions(read)))
        assert desk.house.board.policy is before
        for headers, version in (({"if-match": "7"}, None), ({}, 7)):
            said = {"text": EMPTY, **({} if version is None else {"version": version})}
            stale = await desk.ask("POST", "/policy/import", json=said, headers=headers)
            assert (problem(stale)[0], stale.json()["policyVersion"]) == (412, 0)
        broken = await desk.ask("POST", "/policy/import", json={"text": '{"pegboard_policy": 1, "trust": []}'})
        assert (problem(broken), broken.json()["errors"]) == (
            (422, "trust: this must be a map."),
            ["trust: this must be a map."],
        )
        assert desk.house.store.saves == []


@pytest.mark.behaviour("policy.all_or_nothing")
async def test_what_the_policy_is_about_and_the_board_has_not_is_left_out_and_told() -> None:
    async with at_desk(store=MemoryStore()) as desk:
        text = json.dumps({"pegboard_policy": 1, "trust": {"no~where": "open", "dev~github": "strict"}})
        body = (await desk.ask("POST", "/policy/import", json={"text": text})).json()
        nowhere = PolicyExport(trust={key("no~where"): Trust.OPEN})
        assert body["omitted"] == [*describe_left_out(desk.house.board.policy, nowhere)]
        assert len(body["omitted"]) == 1
        assert desk.house.board.policy.decisions.trust == {GITHUB: Trust.STRICT}
        assert desk.house.status(ToolId(GITHUB, "read")) == "pending_approval"
