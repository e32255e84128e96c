"""What a command has loaded by the time it answers. Start-up time is measured by benchmarks/startup, never here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import anyio
import pytest
from tests.e2e.served import environment, served

from pegboard.surfaces.mcp import protocol

pytestmark = pytest.mark.anyio

REPORT = """
import atexit, json, os, sys
report = sys.argv.pop(1)
def write(*args, **kwargs):
    with open(report, "w") as file:
        json.dump(sorted(sys.modules), file)
"""

RUN = f"""{REPORT}
atexit.register(write)
from pegboard.__main__ import main
main()
"""

SERVE = f"""{REPORT}
def ready(*args, **kwargs):
    write()
    os._exit(0)
import pegboard.bootstrap.launcher
pegboard.bootstrap.launcher.print_json = ready  # prints the endpoint once the gateway listens
from pegboard.__main__ import main
main()
"""

OF_A_GATEWAY = {"aiosqlite", "alembic", "cryptography", "fastapi", "mcp", "mcp_types", "sqlalchemy", "starlette"}
SELDOM_USED = {"duckdb", "jsonschema", "numpy", "onnxruntime", "openai", "pandas", "pglast", "pydantic", "sqlglot"}


async def _loaded(program: str, tmp_path: Path, *words: str) -> set[str]:
    report = tmp_path / "modules.json"
    await anyio.run_process([sys.executable, "-c", program, str(report), *words], env=environment(tmp_path))
    return set(json.loads(report.read_text("utf-8")))


def _packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.behaviour("cli.loads_what_it_uses")
async def test_help_loads_click_and_nothing_else_from_outside(tmp_path: Path) -> None:
    packages = _packages(await _loaded(RUN, tmp_path, "--help")) - sys.stdlib_module_names
    installed = {name for name in packages if not name.startswith("_") and name not in ("__main__", "sitecustomize")}
    assert installed == {"click", "pegboard"}


@pytest.mark.behaviour("cli.loads_what_it_uses")
async def test_a_client_of_a_running_gateway_loads_nothing_that_makes_a_gateway(tmp_path: Path) -> None:
    async with served(tmp_path, {}) as gateway:
        modules = await _loaded(RUN, tmp_path, "tools", "list", "--data-dir", str(gateway.data_dir))
    assert "httpx2" in modules
    assert _packages(modules) & (OF_A_GATEWAY | SELDOM_USED | {"uvicorn", "uvloop", "yaml"}) == set()
    assert {name for name in modules if name.startswith(("pegboard.gateway", "pegboard.store"))} == set()


@pytest.mark.behaviour("cli.loads_what_it_uses", "chat.loaded_by_the_first_request")
async def test_a_gateway_is_ready_before_it_loads_the_sdk_the_api_or_a_chat(tmp_path: Path) -> None:
    config = tmp_path / "pegboard.yaml"
    config.write_text("", "utf-8")
    words = ("serve", "--config", str(config), "--data-dir", str(tmp_path / "data"), "--port", "0", "--json")
    modules = await _loaded(SERVE, tmp_path, *words)
    assert {"pegboard.surfaces.mcp.fast.endpoint", "sqlalchemy.dialects.sqlite.aiosqlite"} <= modules
    assert _packages(modules) & (OF_A_GATEWAY - {"aiosqlite", "sqlalchemy"} | SELDOM_USED | {"httpx2"}) == set()
    late = (
        *("sqlalchemy.orm", "pegboard.surfaces.rest", "pegboard.providers.mcp", "pegboard.prompts.formats"),
        *("pegboard.gateway.chat", "pegboard.surfaces.chat", "pegboard.providers.model_servers"),
    )
    assert [name for name in modules if name.startswith(late)] == []


@pytest.mark.behaviour("cli.loads_what_it_uses")
def test_the_gateway_itself_loads_no_orm_and_no_cipher() -> None:
    """Nor does what it loads once it listens, beside what the SDK brings."""
    program = "import sys, mcp; brought = set(sys.modules); import pegboard.surfaces.mcp.sdk_endpoint, pegboard.store, "
    program += "pegboard.providers.mcp; print(*{*sys.modules} - brought)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert _packages(set(said.stdout.split())) & {"alembic", "cryptography", "fastapi"} == set()
    assert "sqlalchemy.orm" not in said.stdout.split()


def test_what_is_read_before_the_sdk_is_loaded_is_what_the_sdk_says() -> None:
    import mcp.shared.inbound
    import mcp_types
    import mcp_types.version

    ours = {name: value for name, value in vars(protocol).items() if name.isupper() and name != "LOGGING_LEVELS"}
    theirs = {**vars(mcp.shared.inbound), **vars(mcp_types), **vars(mcp_types.version)}
    assert ours == {name: theirs[name] for name in ours}
    assert get_args(mcp_types.LoggingLevel) == protocol.LOGGING_LEVELS


LATE = """
import sys
from pegboard.late_packages import open_late
open_late()
import mcp.client.session
from mcp.shared.exceptions import MCPError
assert "mcp.server.mcpserver" not in sys.modules
import mcp
assert mcp.client is sys.modules["mcp.client"] and mcp.__file__.endswith("__init__.py")
assert mcp.server.lowlevel.__name__ == "mcp.server.lowlevel"
assert not hasattr(mcp, "__nothing__") and "mcp.server.mcpserver" not in sys.modules
from mcp import Client
from mcp.server import MCPServer
assert mcp.MCPError is MCPError and not hasattr(mcp, "nothing")
print(Client.__name__, MCPServer.__module__)
"""


@pytest.mark.behaviour("cli.loads_what_it_uses")
async def test_a_late_package_gives_its_modules_at_once_and_its_own_names_when_they_are_asked_for() -> None:
    done = await anyio.run_process([sys.executable, "-c", LATE])
    assert done.stdout.decode().split() == ["Client", "mcp.server.mcpserver.server"]
