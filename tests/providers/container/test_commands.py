"""Commands of an image as tools: what they are given, what becomes of what they write, and of what goes wrong."""

import json
from dataclasses import replace

import anyio
import pytest
from tests.providers.container.boxes import KEY, bench, called, command, own, script, text_of
from tests.providers.mcp.running import PATIENCE
from tests.servers.containers import IMAGE, Host

from pegboard.core.calls.call import Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import ProviderAsleep, ProviderDown, ProviderOff
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import ContainerImage, Tool, ToolsetLimits, ToolSpec
from pegboard.ports.providers import UnresolvedReference
from pegboard.providers.container.flags import ContainerNamespace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.behaviour("containers.docker", "containers.json_in_out")
async def test_arguments_come_as_json_and_an_object_that_is_written_is_data(
    host: Host, board: ContainerNamespace
) -> None:
    async with bench(host, board, own(command("echo", "cat"))) as at_work:
        assert at_work.provider.listing().tools == (Tool(ToolId(KEY, "echo"), ToolSpec("echo")),)
        outcome = await at_work.call("echo", text="Grüße 🌍", many=[1, None])
        assert isinstance(outcome, ToolSuccess)
        body = json.loads(outcome.body)
        assert body["structuredContent"] == {"text": "Grüße 🌍", "many": [1, None]}
        assert [json.loads(part["text"]) for part in body["content"]] == [body["structuredContent"]]


@pytest.mark.behaviour("containers.json_in_out")
@pytest.mark.parametrize(
    ("written", "told"),
    [
        (r"two\nlines\n", "two\nlines"),
        ("[1, 2]", "[1, 2]"),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a": 1', '{"a": 1'),
        (r"\377", "\N{REPLACEMENT CHARACTER}"),
        ("", ""),
    ],
)
async def test_everything_else_that_is_written_is_text(
    host: Host, board: ContainerNamespace, written: str, told: str
) -> None:
    async with bench(host, board, own(command("write", "printf", written))) as at_work:
        outcome = await at_work.call("write")
        assert isinstance(outcome, ToolSuccess)
        assert "structuredContent" not in json.loads(outcome.body)
        assert text_of(outcome) == told


async def test_a_tool_that_does_not_write_what_it_promised_has_failed(host: Host, board: ContainerNamespace) -> None:
    promise: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    tools = (
        command("lie", "echo", "hi", output=promise),
        command("err", "echo", '{"a": "b"}', output=promise),
        command("true", "echo", '{"a": 1}', output=promise),
    )
    async with bench(host, board, own(*tools)) as at_work:
        outcomes = [await at_work.call(tool.spec.name) for tool in tools]
        assert [type(outcome) for outcome in outcomes] == [ToolFailure, ToolFailure, ToolSuccess]
        assert [text_of(outcome) for outcome in outcomes] == [
            "lie ran, but did not write the JSON object that its output schema promises. It wrote this: hi",
            'err ran, but what it wrote does not fit its output schema: a: "b" is not of type "integer"',
            '{"a": 1}',
        ]


@pytest.mark.behaviour("containers.failures_told")
async def test_a_command_that_fails_is_a_tool_error_with_its_last_words(host: Host, board: ContainerNamespace) -> None:
    tools = (
        script("loud", "echo out; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done; exit 3"),
        script("quiet", "echo the output; exit 4"),
        command("silent", "false"),
        script("pretender", "echo Error: not me >&2; exit 125"),
    )
    async with bench(host, board, own(*tools)) as at_work:
        outcomes = [await at_work.call(tool.spec.name) for tool in tools]
        assert [type(outcome) for outcome in outcomes] == [ToolFailure] * 4
        assert [text_of(outcome) for outcome in outcomes] == [
            "loud failed with exit code 3:\n" + "\n".join(f"line {number}" for number in range(3, 13)),
            "quiet failed with exit code 4:\nthe output",
            "silent failed with exit code 1.",
            "pretender failed with exit code 125:\nError: not me",
        ]
        assert at_work.provider.log()[-2:] == ("line 12", "Error: not me")


@pytest.mark.behaviour("containers.failures_told")
async def test_what_the_engine_cannot_run_is_told_in_its_own_words(host: Host, board: ContainerNamespace) -> None:
    async with bench(host, board, own(command("gone", "/opt/nowhere/tool"))) as at_work:
        outcome = await at_work.call("gone")
        assert isinstance(outcome, ProviderFailure)
        assert not outcome.may_have_run
        assert outcome.why.startswith(f"demo cannot start '/opt/nowhere/tool' in the image {IMAGE}: ")
        assert str(host.root) not in outcome.why
    missing = own(command("echo", "cat"), image=ContainerImage("localhost/nowhere:1"))
    async with bench(host, board, missing) as at_work:
        assert await at_work.call("echo") == ProviderFailure(
            f"demo cannot run the image localhost/nowhere:1: {host.missing('localhost/nowhere:1')}. Import the toolset "
            "again, which fetches it",
            may_have_run=False,
        )


@pytest.mark.parametrize("image", ["--privileged", "docker-archive:/etc/x.tar", "dir:/etc", "a b", "", "../x", "oci:x"])
async def test_a_text_that_names_no_image_never_reaches_the_engine(
    host: Host, board: ContainerNamespace, image: str
) -> None:
    async with bench(
        host, board, own(command("echo", "cat"), image=ContainerImage(image)), health=ProviderDown
    ) as at_work:
        assert await at_work.call("echo") == ProviderFailure(
            f"demo cannot run: {image!r} does not name an image. Write it as in registry.example.org/team/tool:1.0",
            may_have_run=False,
        )


async def test_a_tool_that_is_not_what_was_approved_does_not_run(host: Host, board: ContainerNamespace) -> None:
    async with bench(host, board, own(command("echo", "cat"))) as at_work:
        changed = called("echo", {}, ToolSpec("echo", description="once it said this"))
        assert await at_work.provider.call(changed) == ProviderFailure(
            "demo:echo has changed, and what was approved is not what would run. List the tools again", False
        )
        assert await at_work.call("other") == ProviderFailure(
            "demo has no tool 'other' now. List the tools again", may_have_run=False
        )


@pytest.mark.behaviour("containers.bounded")
async def test_a_call_that_takes_too_long_is_ended_with_its_container(host: Host, board: ContainerNamespace) -> None:
    tools = own(script("hang", "trap '' TERM; sleep 1000", seconds=1.0), command("echo", "cat"))
    async with bench(host, board, tools) as at_work:
        assert await at_work.call("hang") == ProviderFailure(
            "demo did not answer within 1 s, and its container was stopped", may_have_run=True
        )
        assert host.left() == []
        assert await at_work.said("echo", a=1) == '{"a": 1}'


@pytest.mark.behaviour("containers.bounded")
async def test_a_command_that_writes_without_end_is_stopped(host: Host, board: ContainerNamespace) -> None:
    async with bench(host, board, own(command("flood", "yes"), command("echo", "cat"))) as at_work:
        assert await at_work.call("flood") == ProviderFailure(
            "flood wrote more than 8 MiB, and its container was stopped", may_have_run=True
        )
        assert host.left() == []
        large = "x" * 1_000_000
        assert json.loads(await at_work.said("echo", text=large)) == {"text": large}


@pytest.mark.behaviour("containers.bounded")
async def test_a_command_that_reads_nothing_ends_as_it_likes(host: Host, board: ContainerNamespace) -> None:
    async with bench(host, board, own(command("hi", "echo", "hi"))) as at_work:
        assert await at_work.said("hi", text="x" * 1_000_000) == "hi"


@pytest.mark.behaviour("containers.nothing_left")
async def test_a_cancelled_call_takes_its_container_with_it(host: Host, board: ContainerNamespace) -> None:
    shared = own(script("hang", "echo started >&2; sleep 1000"), image=ContainerImage(IMAGE))
    async with bench(host, board, shared) as at_work, anyio.create_task_group() as tasks:
        tasks.start_soon(at_work.call, "hang")
        await _until_it_said(at_work.provider.log, "started")
        assert len(host.left()) == 1
        tasks.cancel_scope.cancel()
    assert host.left() == []


@pytest.mark.behaviour("containers.nothing_left")
async def test_those_who_wait_are_told_when_the_toolset_is_stopped(host: Host, board: ContainerNamespace) -> None:
    outcomes = []

    async def call() -> None:
        outcomes.append(await at_work.call("hang"))

    async with bench(host, board, own(script("hang", "echo started >&2; sleep 1000"))) as at_work:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await _until_it_said(at_work.provider.log, "started")
            at_work.provider.restart()
        assert outcomes == [ProviderFailure("demo was restarted", may_have_run=True)]
        await at_work.until(ProviderAsleep)
    assert isinstance(at_work.provider.listing().health, ProviderOff)
    assert await at_work.call("hang") == ProviderFailure("demo was stopped", may_have_run=False)


@pytest.mark.behaviour("containers.crash_costs_one_call")
async def test_a_command_that_is_killed_costs_its_own_call_alone(host: Host, board: ContainerNamespace) -> None:
    tools = own(script("die", "sh -c 'kill -9 $$'; exit $?"), script("wait", "sleep 1; echo done"))
    outcomes: dict[str, Outcome] = {}

    async def call(name: str) -> None:
        outcomes[name] = await at_work.call(name)

    async with bench(host, board, tools) as at_work:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, "wait")
            tasks.start_soon(call, "die")
        assert text_of(outcomes["wait"]) == "done"
        assert isinstance(outcomes["die"], ToolFailure)


@pytest.mark.behaviour("containers.json_in_out")
async def test_nothing_is_lost_of_what_commands_write_that_end_at_once(host: Host, board: ContainerNamespace) -> None:
    said: list[str] = []

    async def call() -> None:
        said.append(await at_work.said("hi"))

    async with bench(host, board, own(script("hi", "echo hi"))) as at_work:
        async with anyio.create_task_group() as tasks:
            for _ in range(16):
                tasks.start_soon(call)
        assert said == ["hi"] * 16


async def test_no_more_calls_run_at_once_than_the_toolset_may(host: Host, board: ContainerNamespace) -> None:
    slow = (script("hold", "echo started >&2; sleep 1000"), script("next", "echo hi", seconds=0.5))
    async with (
        bench(host, board, own(*slow, bounds=ToolsetLimits(processes=1))) as at_work,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(at_work.call, "hold")
        await _until_it_said(at_work.provider.log, "started")
        assert await at_work.call("next") == ProviderFailure(
            "demo runs 1 calls at a time, and they took longer than 0.5 s. Try again later", may_have_run=False
        )
        tasks.cancel_scope.cancel()


async def test_variables_are_read_when_a_call_runs_and_a_missing_one_is_told(
    host: Host, board: ContainerNamespace
) -> None:
    image = ContainerImage(IMAGE, env={"NAME": "${NAME}", "PLAIN": "a b=c # 'd\""})
    values: dict[str, str | UnresolvedReference] = {
        "${NAME}": UnresolvedReference("the variable NAME is not set. Set it")
    }

    def expand(text: str) -> str | UnresolvedReference:
        return values.get(text, text)

    tools = own(script("show", 'echo "$NAME|$PLAIN"'), image=image)
    async with bench(host, board, tools, expand=expand, health=ProviderDown) as at_work:
        health = at_work.provider.listing().health
        assert isinstance(health, ProviderDown)
        assert health.why == "cannot run: the variable NAME is not set. Set it"
        assert await at_work.call("show") == ProviderFailure(
            "demo cannot run: the variable NAME is not set. Set it", may_have_run=False
        )
        values["${NAME}"] = "Ångström"
        at_work.provider.restart()
        await at_work.until(ProviderAsleep)
        assert await at_work.said("show") == "Ångström|a b=c # 'd\""
        values["${NAME}"] = "two\nlines"
        assert await at_work.call("show") == ProviderFailure(
            "demo cannot run: the value of NAME has several lines, which no container can be given. Encode it as one "
            "line",
            may_have_run=False,
        )


async def test_further_flags_of_the_operator_are_given_to_every_run(host: Host, board: ContainerNamespace) -> None:
    flags = replace(host.settings, flags=(*host.settings.flags, "--hostname", "peg"))
    async with bench(host, board, own(command("name", "hostname")), settings=flags) as at_work:
        assert await at_work.said("name") == "peg"


async def _until_it_said(log: object, word: str) -> None:
    assert callable(log)
    with anyio.fail_after(PATIENCE):
        while word not in log():  # noqa: ASYNC110 - a container rings no bell for what it writes
            await anyio.sleep(0.02)
