"""The conformance suite of the protocol, run as it is against an address."""

from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio
from tests.conformance.checks import Check, CheckId, read
from tests.support import node

RELEASE: Final = "0.2.0-alpha.12"
PACKAGE: Final = f"@modelcontextprotocol/conformance@{RELEASE}"
DEADLINE: Final = 300
Version: TypeAlias = Literal["2025-11-25", "2026-07-28"]
VERSIONS: Final[tuple[Version, ...]] = ("2025-11-25", "2026-07-28")


class SuiteBroke(Exception):  # noqa: N818 - not an error of ours
    """The suite ended without a result."""


def command() -> list[str]:
    """Installs the suite when it is missing: once, by npm."""
    return node.program(PACKAGE, "dist/index.js")


async def checked(address: str, folder: Path, *options: str) -> dict[CheckId, Check]:
    """Every verdict on the server at this address; what the suite writes goes into the folder."""
    await anyio.Path(folder).mkdir(parents=True)
    with anyio.fail_after(DEADLINE):
        done = await anyio.run_process(
            [*command(), "server", "--url", address, *options, "-o", str(folder)], check=False, cwd=folder
        )
    await anyio.Path(folder / "output.txt").write_bytes(done.stdout + done.stderr)
    checks = read(folder)
    if not checks:
        raise SuiteBroke(f"The suite found nothing out about {address}:\n{(done.stdout + done.stderr).decode()}")
    return checks


async def all_of(address: str, version: Version, folder: Path) -> dict[CheckId, Check]:
    return await checked(address, folder, "--suite", "all", "--spec-version", version)


async def one_of(address: str, version: Version, scenario: str, folder: Path) -> dict[CheckId, Check]:
    return await checked(address, folder, "--scenario", scenario, "--spec-version", version)


async def required_of(address: str, version: Version, folder: Path) -> dict[CheckId, Check]:
    """What a revision required when it was released, extensions included; for information."""
    return await checked(address, folder, "--requirements", version)
