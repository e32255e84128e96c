"""The conformance suite of the protocol, run as it is against an address."""

from collections.abc import Mapping, Sequence
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
FOR_CLIENTS: Final[Mapping[Version, tuple[str, ...]]] = {
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ),
}
"""The scenarios for clients, but those about signing in."""


class SuiteBroke(Exception):  # noqa: N818 - not an error of ours
    """The suite ended without a result."""


def command() -> list[str]:
    """Installs the suite when it is missing: once, by npm."""
    return node.program(PACKAGE, "dist/index.js")


async def checked(folder: Path, *words: str) -> dict[CheckId, Check]:
    """Every verdict of one run; what the suite writes goes into the folder."""
    await anyio.Path(folder).mkdir(parents=True)
    with anyio.fail_after(DEADLINE):
        done = await anyio.run_process([*command(), *words, "-o", str(folder)], check=False, cwd=node.ROOT)
    await anyio.Path(folder / "output.txt").write_bytes(done.stdout + done.stderr)
    checks = read(folder)
    if checks is None:
        told = (done.stdout + done.stderr).decode()
        raise SuiteBroke(f"The suite found nothing out by {' '.join(words)}:\n{told}")
    return checks


async def all_of(address: str, version: Version, folder: Path) -> dict[CheckId, Check]:
    return await checked(folder, "server", "--url", address, "--suite", "all", "--spec-version", version)


async def one_of(address: str, version: Version, scenario: str, folder: Path) -> dict[CheckId, Check]:
    return await checked(folder, "server", "--url", address, "--scenario", scenario, "--spec-version", version)


async def client_of(caller: Sequence[str], version: Version, scenario: str, folder: Path) -> dict[CheckId, Check]:
    """The suite starts this command as the client of one scenario."""
    patience = str((DEADLINE - 60) * 1000)
    options = ("--scenario", scenario, "--spec-version", version, "--timeout", patience)
    return await checked(folder, "client", "--command", " ".join(caller), *options)


async def required_of(address: str, version: Version, folder: Path) -> dict[CheckId, Check]:
    """What a revision required when it was released, extensions included; for information."""
    return await checked(folder, "server", "--url", address, "--requirements", version)
