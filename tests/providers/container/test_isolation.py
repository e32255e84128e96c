"""What a container cannot do, seen from inside it, and who can see what it is given."""

from pathlib import Path

import anyio
import psutil
import pytest
from tests.providers.container.boxes import bench, command, own, script, text_of
from tests.providers.mcp.running import PATIENCE
from tests.servers.containers import IMAGE, Host

from pegboard.core.calls.call import ToolFailure
from pegboard.core.model.tool import MIB, ContainerImage
from pegboard.providers.container.flags import ContainerNamespace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.behaviour("providers.container_isolated", "containers.docker")
async def test_a_container_has_no_network_no_rights_and_nothing_to_write_to(
    host: Host, board: ContainerNamespace
) -> None:
    look = """
        echo net $(ls /sys/class/net)
        echo caps $(awk '/^Cap(Prm|Eff|Bnd)/ {print $2}' /proc/self/status)
        echo privileges $(awk '/^NoNewPrivs/ {print $2}' /proc/self/status)
        touch /x 2>/dev/null || echo root is read-only
        touch /workspace/x 2>/dev/null || echo workspace is read-only
        touch /tmp/x && echo /tmp is writable
        echo processes $(ps | wc -l)
    """
    async with bench(host, board, own(script("look", look))) as at_work:
        lines = (await at_work.said("look")).splitlines()
        assert lines[:-1] == [
            "net lo",
            "caps 0000000000000000 0000000000000000 0000000000000000",
            "privileges 1",
            "root is read-only",
            "workspace is read-only",
            "/tmp is writable",
        ]
        # Its own shell and what that starts, and nothing of this machine.
        assert int(lines[-1].split()[1]) < 8
    assert not board.workspace("demo").exists()


@pytest.mark.behaviour("providers.container_isolated")
async def test_only_tmp_and_dev_can_be_written_to_and_nothing_can_be_started_from_there(
    host: Host, board: ContainerNamespace
) -> None:
    """Whatever the engine mounts by itself: each folder is tried. `/dev` is docker's own, and no flag shuts it."""
    try_all = """
        find / -xdev -type d 2>/dev/null | cat - /proc/mounts | awk '{print (NF > 2) ? $2 : $1}' | sort -u |
        grep -v '^/proc\\|^/sys' | while read -r place; do
            cat /bin/busybox 2>/dev/null > "$place/echo" || continue
            chmod 755 "$place/echo" && "$place/echo" ran 2>/dev/null
            echo "$place"
            rm "$place/echo"
        done 2>/dev/null
    """
    async with bench(host, board, own(script("try_all", try_all))) as at_work:
        started = ["ran"] if host.name == "docker" else []
        assert (await at_work.said("try_all")).splitlines() == [*started, "/dev", "/dev/shm", "/tmp"]


@pytest.mark.behaviour("providers.container_isolated")
async def test_nothing_of_one_call_is_left_for_the_next(host: Host, board: ContainerNamespace) -> None:
    async with bench(host, board, own(script("count", "echo x >> /tmp/seen; wc -l < /tmp/seen"))) as at_work:
        assert [await at_work.said("count") for _ in range(2)] == ["1", "1"]


@pytest.mark.behaviour("containers.workspace")
async def test_a_workspace_is_there_only_for_those_who_ask_and_outlasts_calls(
    host: Host, board: ContainerNamespace
) -> None:
    count = script("count", "echo x >> /workspace/seen; wc -l < /workspace/seen")
    async with bench(host, board, own(count, image=ContainerImage(IMAGE, workspace=True))) as at_work:
        assert [await at_work.said("count") for _ in range(2)] == ["1", "2"]
    assert (board.workspace("demo") / "seen").read_text() == "x\nx\n"
    assert board.workspace("demo") == board.data_dir / "workspaces" / "demo"


@pytest.mark.behaviour("containers.bounded")
async def test_memory_is_limited(host: Host, board: ContainerNamespace) -> None:
    hungry = command("hungry", "awk", 'BEGIN { s = "x"; while (1) s = s s }')
    async with bench(host, board, own(hungry, image=ContainerImage(IMAGE, memory=32 * MIB))) as at_work:
        outcome = await at_work.call("hungry")
        assert isinstance(outcome, ToolFailure)
        assert (
            text_of(outcome)
            == "hungry was killed (exit code 137), most likely because it took more memory than its 32 MiB."
        )


@pytest.mark.behaviour("containers.bounded")
async def test_the_number_of_processes_is_limited(host: Host, board: ContainerNamespace) -> None:
    many = script("many", "i=0; while [ $i -lt 50 ]; do sleep 1000 & i=$((i+1)); done; echo started $i")
    async with bench(host, board, own(many, image=ContainerImage(IMAGE, pids=16))) as at_work:
        outcome = await at_work.call("many")
        assert isinstance(outcome, ToolFailure)
        assert "can't fork: Resource temporarily unavailable" in text_of(outcome)


@pytest.mark.behaviour("containers.secrets_unseen")
async def test_what_a_container_is_given_stands_in_no_list_of_processes(host: Host, board: ContainerNamespace) -> None:
    secret = "hunter2-and-a-half"
    image = ContainerImage(IMAGE, env={"TOKEN": secret, "LD_PRELOAD": "/nowhere/of-the-host.so"})
    tools = own(script("hold", "echo holding ${TOKEN#hunter2-} ${LD_PRELOAD} >&2; sleep 1000", seconds=30), image=image)
    before = psutil.Process().children(recursive=True)
    async with bench(host, board, tools) as at_work, anyio.create_task_group() as tasks:
        tasks.start_soon(at_work.call, "hold")
        with anyio.fail_after(PATIENCE):
            while "holding and-a-half /nowhere/of-the-host.so" not in at_work.provider.log():  # noqa: ASYNC110 - as above
                await anyio.sleep(0.02)
        engines = [process for process in psutil.Process().children(recursive=True) if process not in before]
        assert [process.name() for process in engines] == [host.name]
        assert all(secret not in " ".join(_words(process)) for process in psutil.process_iter())
        # Neither is anything of it in the engine's own environment, where such names would turn the engine itself.
        given = [process.environ() for process in engines]
        assert all("LD_PRELOAD" not in own and secret not in own.values() for own in given)
        tasks.cancel_scope.cancel()


@pytest.mark.behaviour("containers.secrets_unseen")
async def test_secrets_are_erased_from_what_is_told_of_a_failure(host: Host, board: ContainerNamespace) -> None:
    image = ContainerImage(IMAGE, env={"API_KEY": "hunter2", "LEVEL": "debug"})
    tools = own(script("fail", "echo $LEVEL: $API_KEY is wrong >&2; exit 1"), image=image)
    async with bench(host, board, tools) as at_work:
        outcome = await at_work.call("fail")
        assert text_of(outcome) == "fail failed with exit code 1:\ndebug: ••• is wrong"
        assert at_work.provider.log() == ("debug: ••• is wrong",)


async def test_a_data_directory_that_no_engine_can_mount_is_told(host: Host, tmp_path: Path) -> None:
    odd = ContainerNamespace(tmp_path / "a:b")
    async with bench(host, odd, own(command("echo", "cat"), image=ContainerImage(IMAGE, workspace=True))) as at_work:
        outcome = await at_work.call("echo")
        assert "the data directory's path holds a ':'" in str(outcome)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
