"""The tools by the API: every verdict, one tool in full, the trail of a decision, and a call."""

from dataclasses import replace
from typing import Any

import anyio
import pytest
from tests.core.boards import NOW, key, tool
from tests.support.house import PATIENCE, declared
from tests.support.sentences import locked_verdict
from tests.surfaces.rest.desk import GITHUB, NOTES, at_desk, problem

from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.decision.status import DeniedByPattern
from pegboard.core.decision.visibility import HiddenBySelection, explain_hidden
from pegboard.core.explain.explain import explain
from pegboard.core.model.catalogue import ProviderDown
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.principals import Principal
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.server import DeclaredAt, Trust
from pegboard.core.model.tool import ToolSpec
from pegboard.core.policy.policy import DeclaredSettings, Denial
from pegboard.ports.providers import Progress

pytestmark = pytest.mark.anyio

READ = "mcp:dev~github:read"
DENIED = Denial(Pattern("*", "write"), DeclaredAt("pegboard.yaml", 9))


def board() -> DeclaredSettings:
    grants = {PrincipalId("bob"): frozenset({ToolsetId("docs")})}
    return replace(declared(GITHUB, NOTES), denials=(DENIED,), grants=grants)


async def test_every_tool_is_listed_with_its_verdict() -> None:
    async with at_desk(board()) as desk:
        body = await desk.get("/tools")
        assert body["tools"] == [
            {
                "id": READ,
                "name": "read",
                "wireName": "read",
                "toolsetId": "dev",
                "serverId": "github",
                "verdict": "open",
            },
            {
                "id": "mcp:dev~github:write",
                "name": "write",
                "wireName": "write",
                "toolsetId": "dev",
                "serverId": "github",
                **locked_verdict(DeniedByPattern(ToolId(GITHUB, "write"), DENIED.pattern, DENIED.at)),
            },
            {
                "id": "mcp:docs~notes:jot",
                "name": "jot",
                "wireName": "jot",
                "toolsetId": "docs",
                "serverId": "notes",
                "verdict": "open",
            },
        ]
        assert (body["policyVersion"], body["notices"]) == (0, [])


@pytest.mark.parametrize(
    ("params", "left"),
    [
        ({"as": "bob"}, {"jot"}),
        ({"toolsets": "docs"}, {"jot"}),
        ({"toolsets": ["docs", "dev"], "disabled_tools": "jot"}, {"read", "write"}),
        ({"toolsets": ""}, set()),
        ({"toolsets": "", "enabled_tools": READ}, {"read"}),
        ({"toolsets": "all"}, {"read", "write", "jot"}),
        ({"as": "carol"}, {"read", "write", "jot"}),
    ],
)
async def test_a_view_leaves_what_it_leaves(params: dict[str, Any], left: set[str]) -> None:
    async with at_desk(board()) as desk:
        tools = (await desk.get("/tools", **params))["tools"]
        assert {one["name"] for one in tools if one["verdict"] != "hidden"} == left
        assert all(one["wireName"] is None for one in tools if one["verdict"] == "hidden")


@pytest.mark.behaviour("selection.errors_name_kind_and_near_matches")
async def test_a_name_in_vain_is_refused_with_what_there_is() -> None:
    async with at_desk(board()) as desk:
        answer = await desk.ask("GET", "/tools", params={"toolsets": "dve", "enabled_tools": "raed"})
        told = ["Unknown toolset 'dve'. Did you mean 'dev'?", "Unknown enabled tool 'raed'. Did you mean 'read'?"]
        assert problem(answer) == (400, " ".join((*told, "Toolsets to choose from: dev, docs.")))
        assert answer.json()["errors"] == told
        assert answer.json()["available"] == [READ, "mcp:dev~github:write", "mcp:docs~notes:jot"]
        assert problem(await desk.ask("GET", "/tools", params={"tolsets": "x"}))[0] == 422


async def test_one_tool_is_told_in_full_even_while_it_is_locked() -> None:
    async with at_desk(declared(GITHUB, trust=Trust.STRICT)) as desk:
        told = await desk.get("/tools/show", tool="read")
        shown = tool(GITHUB, "read").spec
        assert (told["verdict"], told["status"]) == ("locked", "pending_approval")
        assert (told["description"], told["inputSchema"]) == (shown.description, dict(shown.input_schema))
        assert (told["fingerprint"], told["approval"]) == (shown.fingerprint, None)


@pytest.mark.behaviour("ids.shown_is_accepted")
async def test_a_tool_is_named_by_id_by_its_wire_name_or_by_its_own_name_while_one_has_it() -> None:
    other = key("ops~files")
    async with at_desk(declared(GITHUB, other), settle=False) as desk:
        odd = ToolSpec("a:b/c d", None, "")
        desk.house.provider(other).lists(
            tool(other, "read"), replace(tool(other, "x"), id=ToolId(other, "a:b/c d"), spec=odd)
        )
        await desk.house.until(lambda: len(desk.house.board.catalogue.tools) == 4)
        tools = (await desk.get("/tools"))["tools"]
        assert [one["wireName"] for one in tools][:1] == ["dev__read"]
        for one in tools:
            for name in (one["id"], one["wireName"]):
                assert (await desk.get("/tools/show", tool=name))["id"] == one["id"]
                assert (await desk.get("/why", tool=name))["id"] == one["id"]
        assert problem(await desk.ask("GET", "/why", params={"tool": "read"})) == (
            400,
            "2 tools fit 'read': mcp:dev~github:read, mcp:ops~files:read. Name one by its id.",
        )
        several = (await desk.ask("GET", "/why", params={"tool": "read"})).json()
        assert several["tools"] == ["mcp:dev~github:read", "mcp:ops~files:read"]
        assert (await desk.ask("GET", "/why", params={"tool": "wriet"})).json()["tools"] == ["mcp:dev~github:write"]
        assert (await desk.ask("GET", "/why", params={"tool": "mcp:ops~files:raed"})).json()["tools"] == [
            "mcp:ops~files:read"
        ]
        assert (await desk.ask("GET", "/why", params={"tool": "qqqqqqq"})).json()["tools"] == []
        assert problem(await desk.ask("GET", "/why", params={"tool": "ops:nothing*"}))[0] == 404
        assert problem(await desk.ask("GET", "/why", params={"tool": "wriet"})) == (
            404,
            "Unknown tool 'wriet'. Did you mean 'write'? See: pegboard tools list",
        )


@pytest.mark.behaviour("ids.shown_is_accepted")
async def test_a_name_with_escapes_as_lists_print_it_is_accepted_for_looking_and_not_for_acting() -> None:
    async with at_desk(declared(GITHUB), settle=False) as desk:
        odd = ToolId(GITHUB, "send\xa0mail\u200b")
        offered = [replace(tool(GITHUB, "x"), id=odd, spec=ToolSpec(odd.name)), tool(GITHUB, "send mail")]
        desk.house.provider(GITHUB).lists(*offered)
        await desk.house.until(lambda: odd in desk.house.board.catalogue.tools)
        printed = "send\\xa0mail\\u200b"
        for name in (printed, f"mcp:dev~github:{printed}"):
            assert (await desk.get("/tools/show", tool=name))["id"] == str(odd)
            assert (await desk.get("/why", tool=name))["id"] == str(odd)
            body = {"tool": name, "arguments": {}}
            assert problem(await desk.ask("POST", "/call", json=body))[0] == 404
        twin = ToolId(GITHUB, printed)
        desk.house.provider(GITHUB).lists(*offered, replace(tool(GITHUB, "x"), id=twin, spec=ToolSpec(printed)))
        await desk.house.until(lambda: twin in desk.house.board.catalogue.tools)
        assert (await desk.get("/why", tool=printed))["id"] == str(twin), "what is written exactly so comes first"


@pytest.mark.behaviour("naming.old_names_reach_their_tool", "cli.tools_call")
async def test_a_tool_is_named_by_a_name_it_had_before_and_the_trail_says_so() -> None:
    other = key("ops~files")
    async with at_desk(declared(GITHUB, other), settle=False) as desk:
        await desk.house.until(lambda: len(desk.house.board.catalogue.tools) == 2)
        assert (await desk.get("/why", tool="read"))["nameNotes"] == []
        desk.house.provider(other).lists(tool(other, "read"))
        await desk.house.until(lambda: len(desk.house.board.catalogue.tools) == 3)
        trail = await desk.get("/why", tool="read")
        assert (trail["id"], trail["wireName"], trail["nameNotes"]) == (
            READ,
            "dev__read",
            [
                "Clients see it as dev__read: read is also the name of mcp:ops~files:read.",
                "A call of read still reaches it: a name stays the tool's that had it.",
            ],
        )
        answer = await desk.ask("POST", "/call", json={"tool": "read"})
        assert (answer.status_code, desk.house.provider(GITHUB).calls[-1].tool.id) == (200, ToolId(GITHUB, "read"))
        assert (await desk.get("/why", tool="ops__read"))["nameNotes"] == [
            "Clients see it as ops__read: read is the name of mcp:dev~github:read, and does not pass to another tool."
        ]


async def test_a_tool_in_vain_may_belong_to_a_server_that_is_not_up() -> None:
    async with at_desk(declared(GITHUB, key("ops~files")), settle=False) as desk:
        await desk.house.until(lambda: GITHUB in {id.source for id in desk.house.board.catalogue.tools})
        assert problem(await desk.ask("GET", "/tools/show", params={"tool": "zzz"})) == (
            404,
            "Unknown tool 'zzz'. Not up, so its tools are not known: ops~files. See: pegboard tools list",
        )


@pytest.mark.behaviour("web.name_in_vain")
async def test_a_name_in_vain_is_answered_with_what_is_near_and_with_who_may_have_it_and_the_act_for_it() -> None:
    off, on = key("ops~files"), "ops~files"
    async with at_desk(declared(GITHUB, off), settle=False) as desk:
        await desk.house.until(lambda: GITHUB in {id.source for id in desk.house.board.catalogue.tools})
        await desk.ask("POST", "/servers/ops~files/switch", json={"enabled": False})
        body = (await desk.ask("GET", "/why", params={"tool": "raed"})).json()
        fits = (await desk.ask("GET", "/why", params={"tool": "*:r*"})).json()
    assert (body["status"], body["tools"]) == (404, [READ])
    [silent] = body["unlistedProviders"]
    assert silent["message"].startswith("Server ops~files is off: switched off by local on ")
    act = {"kind": "enable_server", "target": on, "label": "Switch server ops~files on", "toolsets": []}
    assert (silent["id"], silent["action"]) == (on, act)
    assert fits["verdict"] == "open", "one tool fits"


@pytest.mark.behaviour("web.name_in_vain")
async def test_an_id_of_a_server_that_is_off_is_answered_with_that_server_alone() -> None:
    async with at_desk(declared(GITHUB, key("ops~files"), key("ops~other")), settle=False) as desk:
        await desk.house.until(lambda: GITHUB in {id.source for id in desk.house.board.catalogue.tools})
        await desk.ask("POST", "/servers/ops~files/switch", json={"enabled": False})
        body = (await desk.ask("GET", "/why", params={"tool": "mcp:ops~files:read"})).json()
    [silent] = body["unlistedProviders"]
    assert (body["tools"], silent["id"]) == ([], "ops~files")
    assert body["detail"].startswith(
        "Whether there is a tool 'mcp:ops~files:read' is not known: its server has not listed its tools. "
        "Server ops~files is off: switched off by local on "
    )
    assert "ops~other" not in body["detail"]


@pytest.mark.behaviour("web.name_in_vain")
async def test_of_a_server_whose_command_is_not_there_the_command_is_told_and_where_it_stands() -> None:
    why = "command 'gihtub' was not found on the PATH. Install it, or write its full path"
    silent = key("ops~files")
    async with at_desk(declared(GITHUB, silent), settle=False) as desk:
        desk.house.provider(silent).becomes(ProviderDown(NOW, why))
        await desk.house.until(lambda: isinstance(desk.house.board.catalogue.health(silent), ProviderDown))
        body = (await desk.ask("GET", "/why", params={"tool": "merge"})).json()
    [told] = [each for each in body["unlistedProviders"] if each["id"] == "ops~files"]
    assert told["message"] == f"ops~files is down: cannot be started. {why[0].upper()}{why[1:]}."
    assert (told["action"]["kind"], told["action"]["label"]) == (
        "edit_file",
        "Install 'gihtub', or correct the command",
    )


@pytest.mark.behaviour("explain.every_step", "explain.absent_names_the_step", "law.deciding_is_explaining")
async def test_the_trail_says_what_the_list_says_and_names_the_step() -> None:
    selection = Selection(TheseToolsets(("dev",)))
    async with at_desk(replace(board(), selection=selection)) as desk:
        for one in (await desk.get("/tools"))["tools"]:
            trail = await desk.get("/why", tool=one["id"])
            assert trail["verdict"] == one["verdict"]
            assert all(step["passes"] for step in trail["steps"]) == (one["verdict"] == "open")
        absent = await desk.get("/why", tool="mcp:docs~notes:jot")
        explained = explain(desk.house.board.catalogue, desk.house.board.policy, View(), ToolId(NOTES, "jot"))
        assert explained is not None
        assert (absent["verdict"], absent["message"]) == ("hidden", explain_hidden(HiddenBySelection(selection)))
        assert absent["steps"][0] == {
            "question": explained.steps[0].question,
            "passes": False,
            "answer": "no: toolsets dev",
        }


# Calling


async def call(desk: Any, **body: object) -> Any:
    answer = await desk.ask("POST", "/call", json={"tool": READ, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.behaviour("cli.tools_call")
async def test_a_call_passes_the_same_gate_as_any_clients_and_is_recorded() -> None:
    async with at_desk(board()) as desk:
        provider = desk.house.provider(GITHUB)
        provider.answers["read"] = ToolSuccess(b'{"content":[{"type":"text","text":"hi"}],"odd":1}')
        ended = await call(desk, arguments={"x": "1"})
        assert ended == {"outcome": "returned", "result": {"content": [{"type": "text", "text": "hi"}], "odd": 1}}
        assert provider.calls[0].call.arguments == {"x": "1"}
        locked = await call(desk, tool="write")
        assert locked["outcome"] == "disabled_by_config"
        assert locked["message"].startswith("disabled_by_config: mcp:dev~github:write is denied by the operator")
        absent = await call(desk, **{"as": "bob"})
        assert (absent["outcome"], len(provider.calls)) == ("unknown_tool", 1)
        narrowed = await call(desk, toolsets=["docs"])
        assert narrowed["outcome"] == "unknown_tool"
        records = [(record.call.client, record.call.principal) for record in desk.house.audit.records]
        assert records == [
            ("operator", LOCAL_PRINCIPAL),
            ("operator", LOCAL_PRINCIPAL),
            ("operator local", "bob"),
            ("operator", LOCAL_PRINCIPAL),
        ]


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (
            ToolFailure(b'{"content":[],"isError":true}'),
            {"outcome": "tool_failed", "result": {"content": [], "isError": True}},
        ),
        (
            ProviderFailure("it fell over", may_have_run=True),
            {"outcome": "provider_failed", "message": "it fell over", "mayHaveRun": True},
        ),
    ],
)
async def test_each_outcome_is_told(outcome: Outcome, told: dict[str, object]) -> None:
    async with at_desk() as desk:
        desk.house.provider(GITHUB).answers["read"] = outcome
        assert await call(desk) == told


async def test_a_caller_that_leaves_gives_its_call_up() -> None:
    async with at_desk() as desk:
        begun, left = anyio.Event(), anyio.Event()

        async def wait(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                left.set()
            raise AssertionError("unreachable")

        desk.house.provider(GITHUB).answers["read"] = wait
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, desk)
                await begun.wait()
                tasks.cancel_scope.cancel()
            await left.wait()
        assert desk.house.provider(GITHUB).given_up == 1


async def test_a_client_that_closes_its_connection_gives_its_call_up() -> None:
    """As a web server tells it: the request ends, and then the client is gone."""
    async with at_desk() as desk:
        begun, gone = anyio.Event(), anyio.Event()

        async def wait(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
            begun.set()
            await anyio.sleep_forever()
            raise AssertionError("unreachable")

        desk.house.provider(GITHUB).answers["read"] = wait
        sent: list[Any] = [{"type": "http.request", "body": b'{"tool": "read"}', "more_body": False}]

        async def receive() -> Any:
            if sent:
                return sent.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        answered: list[Any] = []

        async def send(message: Any) -> None:
            answered.append(message)

        transport = desk.client._transport
        app: Any = transport.app  # type: ignore[attr-defined]  # the same application, without a client in between
        headers = [
            (b"authorization", desk.client.headers["authorization"].encode()),
            (b"content-type", b"application/json"),
        ]
        scope = {"type": "http", "method": "POST", "path": "/api/v1/call", "headers": headers, "query_string": b""}
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(app, scope, receive, send)
                await begun.wait()
                gone.set()
        assert desk.house.provider(GITHUB).given_up == 1


async def test_a_caller_that_nobody_declared_is_told_and_not_shown_an_empty_board() -> None:
    bob = Principal(PrincipalId("bob"), DeclaredAt("pegboard.yaml", 3))
    async with at_desk(replace(board(), principals={bob.id: bob})) as desk:
        asked: tuple[tuple[str, dict[str, str]], ...] = (
            ("/tools", {}),
            ("/tools/search", {"query": "read"}),
            ("/why", {"tool": READ}),
        )
        for path, params in asked:
            assert problem(await desk.ask("GET", path, params={**params, "as": "bbo"})) == (
                404,
                "There is no caller 'bbo'. Did you mean 'bob'? Callers are declared under principals in pegboard.yaml, "
                "or have a token: pegboard tokens make",
            )
        assert (await desk.get("/tools", **{"as": "bob"}))["tools"]


@pytest.mark.behaviour("why.builtins")
async def test_the_gateways_own_tools_are_known_to_why() -> None:
    async with at_desk() as desk:
        search = await desk.get("/why", tool="tool_search")
        assert (search["id"], search["verdict"], search["wireName"]) == ("tool_search", "open", "tool_search")
        there = {step["question"]: step["passes"] for step in search["steps"]}
        assert there == {
            "Is it listed at /mcp and stdio, as direct?": False,
            "Is it listed at /mcp/direct?": False,
            "Is it listed at /mcp/meta?": False,
            "Is it listed at /mcp/search?": False,
            "Is it listed at /mcp/deferred?": True,
            "Is it listed at /mcp/code?": True,
            "Is it in prompts and chats?": True,
        }
        code = await desk.get("/why", tool="python_execution", presentation="code")
        assert (code["verdict"], code["message"]) == (
            "hidden",
            "It is nowhere here. /mcp/code: this gateway has no sandbox, so it runs no programs.",
        )
        told = await desk.get("/prompt", model="x", tool="python_execution")
        assert told["toolDecision"]["reason"] == "this gateway has no sandbox, so it runs no programs"


@pytest.mark.behaviour("why.builtins")
async def test_why_tells_whether_a_tool_is_listed_at_the_endpoint_of_a_presentation() -> None:
    async with at_desk() as desk:
        said = {
            presentation: (await desk.get("/why", tool="write", presentation=presentation))["steps"][-1]
            for presentation in ("direct", "code")
        }
    assert said["direct"]["question"] == "Is it listed as itself at /mcp/direct?"
    assert said["direct"]["answer"] == "yes, while it is open"
    assert said["code"]["question"] == "Is it listed as itself at /mcp/code?"
    assert said["code"]["answer"].startswith("no: clients there are shown 2 tools")


@pytest.mark.behaviour("names.of_other_programs")
async def test_a_tool_is_told_by_our_name_to_whoever_knows_it_by_another() -> None:
    async with at_desk() as desk:
        status, told = problem(await desk.ask("GET", "/why", params={"tool": "call_tool_read"}))
    assert (status, told) == (404, "Unknown tool 'call_tool_read'. Did you mean 'call_tool'? See: pegboard tools list")


@pytest.mark.behaviour("names.of_other_programs")
@pytest.mark.parametrize(
    ("method", "path", "sent", "told"),
    [
        (
            "POST",
            "/call",
            {"tool": "x", "args": {}},
            "args: this is unknown here. Leave it out, or did you mean 'arguments'?",
        ),
        ("POST", "/call", {"tool": "x", "args_json": "{}"}, "did you mean 'arguments'? It is an object and no text."),
        ("POST", "/call", {"name": "x"}, "name: this is unknown here. Leave it out, or did you mean 'tool'?"),
        ("GET", "/search", {"q": "x"}, "Find tools with: GET /api/v1/tools/search?query=TEXT"),
        ("GET", "/tools/search", {"q": "x"}, "q: this is unknown here. Leave it out, or did you mean 'query'?"),
        ("GET", "/prompt", {"model": "x", "enabled_builtins": "x"}, "or did you mean 'allow_builtins'?"),
        ("GET", "/prompt", {"model": "x", "tool_call_formats": "x"}, "or did you mean 'format'?"),
    ],
)
async def test_a_member_or_parameter_of_another_program_is_told_with_ours(
    method: str, path: str, sent: dict[str, Any], told: str
) -> None:
    async with at_desk() as desk:
        what = {"json": sent} if method == "POST" else {"params": sent}
        status, why = problem(await desk.ask(method, path, **what))
    assert (status, why.endswith(told)) == (422, True), why
