"""A server that fails, dies or comes back, and what its provider says and does meanwhile."""

import json
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import anyio
import anyio.lowlevel
import psutil
import pytest
from tests.providers.mcp.running import KEY, Watch, program, running, server
from tests.servers.peers import FOLDER

from pegboard.core.calls.call import Outcome, ProviderFailure, ToolSuccess
from pegboard.core.model.catalogue import Health, ProviderDown, ProviderStart, ProviderUp
from pegboard.core.model.server import Http, Stdio
from pegboard.ports.providers import UnresolvedReference
from pegboard.providers.mcp import lifecycle as life

pytestmark = pytest.mark.anyio


class Sleep:
    """Remembers each pause. The first few take no time; after them the provider sleeps until it is stopped."""

    def __init__(self, few: int = 0) -> None:
        self.pauses: list[float] = []
        self._few = few
        self.exhausted = anyio.Event()

    async def __call__(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) > self._few:
            self.exhausted.set()
            await anyio.sleep_forever()


@pytest.mark.behaviour("supervision.backoff_with_jitter")
async def test_a_server_that_keeps_failing_is_left_alone_for_longer_and_longer() -> None:
    sleep, clock = Sleep(few=8), Watch()
    async with running(program("crash_on_start"), sleep=sleep, clock=clock, chance=lambda: 1.0) as watched:
        with anyio.fail_after(60):
            await sleep.exhausted.wait()
        assert sleep.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        attempts = [listing.health.attempt for listing in watched.seen if isinstance(listing.health, ProviderStart)]
        assert attempts == list(range(1, 10))
        health = await watched.down()
        assert health.retry_at == clock.time + timedelta(seconds=60)


@pytest.mark.behaviour("supervision.stderr_in_health")
async def test_the_health_of_a_failed_server_holds_its_exit_code_and_its_last_lines() -> None:
    clock = Watch()
    async with running(program("crash_on_start"), sleep=Sleep(), clock=clock) as watched:
        health = await watched.down()
        lines = tuple(watched.provider.log())
        assert len(lines) == 3
        assert health == ProviderDown(clock.time, "exited with code 3", clock.time, lines)


async def test_a_failure_after_a_minute_of_health_counts_as_the_first() -> None:
    sleep, clock = Sleep(few=3), Watch()
    async with running(program("crash_on_call"), sleep=sleep, clock=clock, chance=lambda: 1.0) as watched:
        for healthy in (0, 59, 60, 0):
            await watched.up()
            clock.move(healthy)
            await watched.call("crash")
            await watched.until(lambda listing: not isinstance(listing.health, ProviderUp))
        with anyio.fail_after(20):
            await sleep.exhausted.wait()
        assert sleep.pauses == [1, 2, 1, 2]


@pytest.mark.behaviour(
    "supervision.killed_mid_call", "supervision.recovers", "providers.down_server_keeps_last_listing"
)
async def test_a_server_that_dies_in_a_call_keeps_its_tools_and_is_started_again() -> None:
    sleep = Sleep()
    async with running(program("crash_on_call"), sleep=sleep) as watched:
        before = await watched.up()
        assert await watched.call("crash") == ProviderFailure(
            "dev~peer exited with code 9 before it answered", may_have_run=True
        )
        health = await watched.down()
        assert health.why == "exited with code 9"
        assert health.last_lines == ("crash_on_call: out of memory, or so it says",)
        assert watched.provider.listing().tools == before.tools
        assert await watched.call("echo", text="hello") == ProviderFailure(
            "dev~peer is down: exited with code 9", may_have_run=False
        )
        watched.provider.restart()
        after = await watched.up()
        assert after.tools == before.tools
        assert isinstance(await watched.call("echo", text="hello"), ToolSuccess)


async def test_half_an_answer_is_no_answer() -> None:
    async with running(program("crash_on_call"), sleep=Sleep()) as watched:
        await watched.up()
        assert await watched.call("crash_halfway") == ProviderFailure(
            "dev~peer exited with code 9 before it answered", may_have_run=True
        )


async def test_a_killed_server_loses_all_its_own_calls_and_nobody_else_s() -> None:
    outcomes: list[Outcome] = []
    async with running(program("everyday"), sleep=Sleep()) as one, running(program("everyday"), sleep=Sleep()) as other:
        await one.up()
        await other.up()
        answer = await one.call("whoami")
        assert isinstance(answer, ToolSuccess)
        waiting = 0
        all_wait = anyio.Event()

        def asleep(*_: object) -> None:
            nonlocal waiting
            waiting += 1
            if waiting >= 20:
                all_wait.set()

        async def call() -> None:
            outcomes.append(await one.call("sleepy", seconds=600, steps=1, progress=asleep))

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(call)
            await all_wait.wait()
            os.kill(json.loads(answer.body)["structuredContent"]["pid"], signal.SIGKILL)
        assert (
            outcomes == [ProviderFailure("dev~peer was ended by signal 9 before it answered", may_have_run=True)] * 20
        )
        assert isinstance(await other.call("echo", text="untouched"), ToolSuccess)
        assert isinstance(other.provider.listing().health, ProviderUp)


async def test_a_restart_cuts_the_pause_short(tmp_path: Path) -> None:
    folder = tmp_path / "not yet"
    sleep = Sleep()
    async with running(program("crash_on_call", cwd=str(folder)), sleep=sleep) as watched:
        health = await watched.down()
        assert health.why == (
            f"cannot start: the working directory {str(folder)!r} does not exist. Create it or correct cwd"
        )
        folder.mkdir()
        watched.provider.restart()
        assert watched.provider.listing().health == ProviderStart(1, watched.seen[-1].health.since)  # type: ignore[union-attr]
        await watched.up()


@pytest.mark.parametrize(
    ("connection", "why"),
    [
        (
            Stdio("no-such-command-anywhere"),
            "command 'no-such-command-anywhere' was not found on the PATH. Install it, or write its full path",
        ),
        (Stdio("./no/such/file"), "command './no/such/file' was not found. Correct the path, or install it"),
        (
            Stdio(str(FOLDER / "everyday.py")),
            f"command {str(FOLDER / 'everyday.py')!r} may not be executed. Check its permissions",
        ),
        (Stdio(str(FOLDER)), f"command {str(FOLDER)!r} may not be executed. Check its permissions"),
        (
            Stdio(sys.executable, ("a\0b",)),
            "cannot start: its command, an argument or its environment holds a NUL character",
        ),
        (Http("ftp://127.0.0.1/mcp"), "cannot be asked: its url is no address of the form https://machine/path"),
        (Http("not an address"), "cannot be asked: its url is no address of the form https://machine/path"),
        (
            Http("http://127.0.0.1:9/mcp", headers={"X-Key": "a\nb"}),
            "cannot be asked: the value of its header 'X-Key' has a line break, a control character or is not ASCII. "
            "Correct it, or the secret that it refers to",
        ),
        (
            Http("http://127.0.0.1:9/mcp", headers={"Content-Length": "3"}),
            "cannot be asked: its header 'Content-Length' is written by the transport itself. Remove it",
        ),
        (
            Http("http://127.0.0.1:9/mcp", headers={"X Key": "a"}),
            "cannot be asked: 'X Key' cannot be the name of an HTTP header. Correct it",
        ),
    ],
)
async def test_what_cannot_start_says_what_to_correct(connection: Stdio | Http, why: str) -> None:
    async with running(connection, sleep=Sleep()) as watched:
        assert (await watched.down()).why == why


@pytest.mark.behaviour("config.headers_can_be_sent")
@pytest.mark.parametrize("secret", ["s3cret-part-one\nX-Evil: s3cret-part-two", "s3cret-\x07-bell", "s3cret-ü"])
async def test_a_secret_that_no_header_can_carry_is_named_by_its_header_alone(secret: str) -> None:
    declared = Http("http://127.0.0.1:9/mcp", headers={"X-Key": "Bearer ${KEY}"})
    async with running(declared, expand=lambda text: text.replace("${KEY}", secret), sleep=Sleep()) as watched:
        down = await watched.down()
        assert "the value of its header 'X-Key' has a line break" in down.why
        assert "s3cret" not in repr(down)


async def test_a_script_whose_interpreter_is_missing_says_so(tmp_path: Path) -> None:
    script = tmp_path / "serve"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    async with running(Stdio(str(script)), sleep=Sleep()) as watched:
        assert (await watched.down()).why == (
            f"command {str(script)!r} names an interpreter in its first line that was not found"
        )


async def test_a_file_that_is_no_program_says_so(tmp_path: Path) -> None:
    junk = tmp_path / "serve"
    junk.write_bytes(b"\x7fELF junk")
    junk.chmod(0o755)
    async with running(Stdio(str(junk)), sleep=Sleep()) as watched:
        assert (await watched.down()).why == f"command {str(junk)!r} cannot be executed: Exec format error"


async def test_a_reference_that_stands_for_nothing_is_why_a_server_is_down_until_it_stands_for_something() -> None:
    found: list[str] = []

    def expand(text: str) -> str | UnresolvedReference:
        return (
            UnresolvedReference("${TOKEN} stands for nothing: set TOKEN") if text == "${TOKEN}" and not found else text
        )

    async with running(program("crash_on_call", env={"A": "${TOKEN}"}), expand=expand, sleep=Sleep()) as watched:
        assert (await watched.down()).why == "${TOKEN} stands for nothing: set TOKEN"
        found.append("set")
        watched.provider.restart()
        await watched.up()


async def test_no_secret_reaches_health_or_log(tmp_path: Path) -> None:
    script = "import os, sys; print('key', os.environ['KEY'], sys.argv[1], file=sys.stderr); sys.exit(4)"
    values = {"${KEY}": "s3cr3t-key", "${ARG}": "s3cr3t-arg", "${DIR}": str(tmp_path / "s3cr3t-dir")}
    declared = Stdio(sys.executable, ("-c", script, "${ARG}"), {"KEY": "${KEY}"})
    async with running(declared, expand=lambda text: values.get(text, text), sleep=Sleep()) as watched:
        health = await watched.down()
        assert health.why == "exited with code 4"
        assert health.last_lines == ("key ••• •••",)
        assert watched.provider.log() == ("key ••• •••",)
    declared = Stdio(sys.executable, ("-c", script), cwd="${DIR}")
    async with running(declared, expand=lambda text: values.get(text, text), sleep=Sleep()) as watched:
        assert "s3cr3t" not in (await watched.down()).why


async def test_a_fault_that_nobody_foresaw_is_logged_without_secrets_and_the_server_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise KeyError("s3cr3t-key")

    def expand(text: str) -> str:
        return text.replace("${KEY}", "s3cr3t-key")

    with monkeypatch.context() as patched:
        patched.setattr(life, "open_connection", broken)
        async with running(program("crash_on_call", env={"KEY": "${KEY}"}), expand=expand, sleep=Sleep()) as watched:
            health = await watched.down()
            assert health.why == "failed in an unforeseen way (KeyError); the gateway's log has the details"
            assert "raise KeyError" in caplog.text
            assert "s3cr3t-key" not in caplog.text
            patched.undo()
            watched.provider.restart()
            await watched.up()


@pytest.mark.behaviour("config.stdio_server")
async def test_a_child_gets_its_folder_its_arguments_and_what_it_was_granted_but_not_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEGBOARD_TEST_SECRET", "ours alone")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    granted = {"GRANTED": "Grüße", "PATH": os.environ["PATH"]}
    async with running(program("everyday", env=granted, cwd=str(tmp_path), fresh=True)) as watched:
        await watched.up()
        told = await watched.call("env")
        assert isinstance(told, ToolSuccess)
        names = set(json.loads(told.body)["structuredContent"]["result"])
        assert "GRANTED" in names
        assert names <= {
            "GRANTED", "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
            "LC_ALL", "LC_CTYPE", "LC_TIME",
            "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
        }  # fmt: skip
        assert "SSL_CERT_DIR" in names
        value = await watched.call("env", name="GRANTED")
        assert isinstance(value, ToolSuccess)
        assert json.loads(value.body)["structuredContent"] == {"result": ["Grüße"]}
        where = await watched.call("whoami")
        assert isinstance(where, ToolSuccess)
        assert json.loads(where.body)["structuredContent"]["cwd"] == str(tmp_path)


async def test_a_server_that_falls_over_the_question_of_the_new_era_is_asked_in_the_old_way_next(
    tmp_path: Path,
) -> None:
    script = tmp_path / "old.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(FOLDER)!r})\n"
        "import wire\n"
        "answers = wire.opening('old', stateless=False) | {'tools/list': wire.lists([wire.tool('a')])}\n"
        "for request in wire.messages():\n"
        "    if request['method'] == 'server/discover':\n"
        "        sys.exit(7)\n"
        "    answer = wire.answer(request, answers)\n"
        "    if answer is not None:\n"
        "        wire.write(answer)\n"
    )
    async with running(Stdio(sys.executable, (str(script),)), sleep=Sleep(few=1)) as watched:
        listing = await watched.up()
        assert [tool.id.name for tool in listing.tools] == ["a"]
        assert [type(seen.health) for seen in watched.seen] == [ProviderStart, ProviderDown, ProviderStart, ProviderUp]


async def test_the_first_word_of_a_provider_is_that_it_is_starting() -> None:
    clock = Watch()
    async with running(program("crash_on_call"), clock=clock) as watched:
        assert watched.provider.source == KEY
        assert watched.provider.listing().health == ProviderStart(1, clock.time)
        assert await watched.call("echo") == ProviderFailure("dev~peer is starting (attempt 1)", may_have_run=False)
        await watched.up()


@pytest.mark.behaviour("supervision.nothing_left_behind")
async def test_stopping_in_the_middle_of_a_start_leaves_nothing_behind() -> None:
    async with running(program("hung")) as watched:
        while not psutil.Process().children():
            await anyio.lowlevel.checkpoint()
        assert isinstance(watched.provider.listing().health, ProviderStart)


async def test_restarting_again_and_again_leaves_one_connection() -> None:
    async with running(program("crash_on_call")) as watched:
        before: Health = (await watched.up()).health
        for _ in range(5):
            watched.provider.restart()
        listing = await watched.until(
            lambda listing: isinstance(listing.health, ProviderUp) and listing.health is not before
        )
        assert len(listing.tools) == 3
        assert isinstance(await watched.call("echo", text="one"), ToolSuccess)


async def test_a_server_that_does_not_answer_in_time_is_down_and_gone() -> None:
    async with running(server(program("hung"), start=0.5), sleep=Sleep()) as watched:
        assert (await watched.down()).why == "did not answer within 0.5 s"
