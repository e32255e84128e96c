"""A toolset that lists requirements gets an environment of its own, built once and never found half."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import psutil
import pytest
from tests.providers.python.toolsets import entries, structured, text_of, working, written
from tests.providers.python.wheels import wheel

from pegboard.core.model.catalogue import ProviderDown
from pegboard.core.model.tool import PythonTool, ToolSpec
from pegboard.ports.providers import ToolDescriptionError
from pegboard.providers.python.describe import Describer
from pegboard.providers.python.environments import EnvironmentBuildError, Environments

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CODE = 'def answer() -> int:\n    return 42\n\ndef main() -> None:\n    print("said")\n'
USES_IT = {"uses.py": "import tiny\nimport pydantic\n\ndef ask() -> int:\n    return tiny.answer()\n"}


def no_uv(name: str) -> str | None:
    return None


def environments(root: Path) -> Environments:
    return Environments(root, find=no_uv)


def built(root: Path) -> list[str]:
    """Everything below, but the locks."""
    return sorted(name for name in os.listdir(root) if not name.endswith(".lock"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    wheel(tmp_path / "toolset", "tiny", "1.0", CODE)
    return written(tmp_path / "toolset", USES_IT)


TINY = ("./tiny-1.0-py3-none-any.whl",)


@pytest.mark.behaviour("providers.python_environment")
async def test_a_requirement_is_there_for_the_tools_beside_what_they_need_of_us(folder: Path, tmp_path: Path) -> None:
    root, told = tmp_path / "environments", list[str]()
    (ask,) = await Describer(environments(root))(folder, entries("uses:ask"), TINY, told.append)
    assert told[0] == f"building an environment with {TINY[0]}"
    assert told[-1] == "the environment is ready"
    assert len(built(root)) == 1
    tools = [PythonTool("uses:ask", ask.spec)]
    async with working(folder, tools=tools, requirements=TINY, root=root) as watched:
        assert structured(await watched.call("ask")) == {"result": 42}
        # It was built when it was described, and nothing more was said.
        assert watched.provider.log() == ()


@pytest.mark.behaviour("providers.python_environment")
async def test_a_program_of_a_package_runs_where_the_environment_was_moved_to(folder: Path, tmp_path: Path) -> None:
    python = await environments(tmp_path / "environments").interpreter(TINY, folder, print)
    done = await anyio.run_process([str(python.parent / "tiny-says")])
    assert done.stdout == b"said\n"


@pytest.mark.behaviour("providers.python_environment_once")
async def test_equal_requirements_share_one_environment_and_other_content_has_another(
    folder: Path, tmp_path: Path
) -> None:
    root, told = tmp_path / "environments", list[str]()
    wheel(tmp_path / "wheels", "other", "1.0", CODE)
    both = [f"other @ {(tmp_path / 'wheels' / 'other-1.0-py3-none-any.whl').as_uri()}", *TINY]
    first = await environments(root).interpreter(both, folder, told.append)
    lines = len(told)
    assert await environments(root).interpreter(both[::-1], folder, told.append) == first
    assert len(told) == lines
    wheel(folder, "tiny", "1.0", CODE.replace("42", "43"))
    assert await environments(root).interpreter(both, folder, told.append) != first
    assert len(built(root)) == 2


@pytest.mark.behaviour("toolsets.leftovers_are_swept")
async def test_what_no_toolset_requires_any_more_goes_and_what_may_be_in_the_making_stays(
    folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "environments"
    used = await environments(root).interpreter(TINY, folder, print)
    (root / "unused").mkdir()
    fresh, old = root / ".a.1.building", root / ".b.2.building"
    for made in (fresh, old):
        made.mkdir()
    os.utime(old, (0, 0))
    environments(root).remove_unused([(TINY, folder), ((), folder)])
    assert built(root) == sorted([used.parent.parent.name, fresh.name])
    environments(root).remove_unused([])
    assert built(root) == [fresh.name]


@pytest.mark.behaviour("providers.python_environment_once")
async def test_many_who_need_the_same_at_once_build_it_once(folder: Path, tmp_path: Path) -> None:
    root, told, found = tmp_path / "environments", list[str](), set[Path]()

    async def need() -> None:
        found.add(await environments(root).interpreter(TINY, folder, told.append))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(need)
    assert len(found) == len(built(root)) == 1
    assert [line for line in told if line.startswith("building")] == [f"building an environment with {TINY[0]}"]


@pytest.mark.behaviour("providers.python_environment_whole")
async def test_a_build_that_was_killed_leaves_nothing_that_anybody_takes_for_whole(
    folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "environments"
    program = (
        "import anyio, sys\nfrom pathlib import Path\n"
        "from pegboard.providers.python.environments import Environments\n"
        "told = lambda line: print(line, flush=True)\n"
        "made = Environments(Path(sys.argv[1]), find=lambda name: None)\n"
        "anyio.run(made.interpreter, sys.argv[3:], Path(sys.argv[2]), told)"
    )
    command = [sys.executable, "-c", program, str(root), str(folder), *TINY]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    # Blocking is fine: nothing else runs here until the build is killed.
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as builder:  # noqa: ASYNC220
        assert builder.stdout is not None
        while b"Processing" not in builder.stdout.readline():
            pass
        children = psutil.Process(builder.pid).children(recursive=True)
        builder.kill()
    psutil.wait_procs(children, timeout=30)
    assert [name for name in built(root) if not name.startswith(".")] == []
    python = await environments(root).interpreter(TINY, folder, print)
    assert built(root) == [python.parents[1].name]
    assert (await anyio.run_process([str(python), "-c", "import tiny"])).returncode == 0


@pytest.mark.behaviour("providers.python_environment")
@pytest.mark.parametrize(
    ("requirements", "said"),
    [
        (("./nowhere-1.0-py3-none-any.whl",), "nowhere"),
        (("--index-url=http://127.0.0.1:9",), "requires '--index-url=http://127.0.0.1:9', which is no package"),
        (("",), "requires '', which is no package"),
        (("needy @ file:needy-1.0-py3-none-any.whl",), "cannot be installed"),
    ],
)
async def test_what_cannot_be_installed_is_told_in_the_words_of_whoever_tried(
    requirements: Sequence[str], said: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wheel(folder, "needy", "1.0", CODE, needs="is-not-anywhere>=9")
    root = tmp_path / "environments"
    with pytest.raises(EnvironmentBuildError, match=said) as raised:
        await environments(root).interpreter(requirements, folder, print)
    assert "\n" not in str(raised.value)
    assert not root.exists() or built(root) == []
    with pytest.raises(ToolDescriptionError, match=r"^requirements: the toolset (?:requires|has no environment)"):
        await Describer(environments(root))(folder, entries("uses:ask"), requirements, print)


@pytest.mark.behaviour("providers.python_environment")
async def test_a_toolset_whose_requirements_cannot_be_installed_is_down_with_the_reason(
    folder: Path, tmp_path: Path
) -> None:
    tools = [PythonTool("uses:ask", ToolSpec("ask"))]
    async with working(folder, tools=tools, requirements=("./nowhere-1.0-py3-none-any.whl",)) as watched:
        with anyio.fail_after(60):
            outcome = await watched.provider.call(watched.admitted("ask", {}))
        listing = await watched.until(lambda listing: isinstance(listing.health, ProviderDown))
        assert isinstance(listing.health, ProviderDown)
        assert listing.health.why.startswith("has no environment, because its requirements cannot be installed: "), (
            listing.health.why
        )
        assert "nowhere-1.0-py3-none-any.whl" in listing.health.why
        assert "Toolset dev" in str(outcome)


async def test_nothing_required_takes_our_own_interpreter(tmp_path: Path) -> None:
    root = tmp_path / "environments"
    assert await environments(root).interpreter((), tmp_path, print) == Path(sys.executable)
    assert not root.exists()
    folder = written(tmp_path / "toolset", {"one.py": "def one() -> str:\n    return 'one'\n"})
    async with working(folder, "one:one", root=root) as watched:
        assert text_of(await watched.call("one")) == "one"
