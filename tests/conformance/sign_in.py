"""The suite's scenarios of signing in, with our provider as the client and a script as the person at the browser.

`python -m tests.conformance.sign_in` runs them all; the suite starts this module again as its client, with an address.
"""

import json
import os
import re
import subprocess
import sys
from typing import Final

import anyio
from tests.conformance.suite import command
from tests.providers.mcp.running import KEY
from tests.providers.mcp.signing import ANN, Person, consents, process
from tests.support.doubles import MemorySecrets
from tests.support.fork_server import ROOT, python

from pegboard.core.model.catalogue import ProviderDown, ProviderNeedsSignIn, ProviderStart, ProviderUp
from pegboard.core.model.server import Http, OAuth
from pegboard.ports.providers import SignInUnavailable

SUITES: Final = {
    "auth": (
        *("metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "pre-registration"),
        *("scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined"),
        *("scope-step-up", "scope-retry-limit"),
        *("token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none"),
    ),
    "backcompat": ("2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback"),
}
"""The scenarios of the first revision: what each suite runs at once, in one process of its own."""
SECOND_REVISION: Final = (
    *("offline-access-scope", "offline-access-not-supported", "resource-mismatch", "authorization-server-migration"),
    *("metadata-issuer-mismatch", "iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer"),
    *("iss-unexpected", "iss-normalized"),
)
PATIENCE: Final = 240
PATIENT: Final = 3
"""How often the person signs in before they give up."""
DOCUMENT: Final = "https://conformance-test.local/client-metadata.json"


def run_suite(suite: str) -> tuple[list[str], str]:
    """The scenarios that pass, and all that was said."""
    said = _run("--suite", suite).stdout
    return re.findall(r"^✓ auth/(\S+): ", said, re.MULTILINE), said


def run_scenario(scenario: str) -> tuple[bool, str]:
    done = _run("--scenario", f"auth/{scenario}")
    return done.returncode == 0, done.stdout


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    client = f"{python()} -m tests.conformance.sign_in"
    return subprocess.run(
        [*command(), "client", "--command", client, "--timeout", str(PATIENCE * 1000), *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE + 60,
        check=False,
    )


async def client(url: str) -> int:
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    registered = OAuth(given.get("client_id"), given.get("client_secret"))
    how = registered if registered != OAuth() else OAuth(client_metadata_url=DOCUMENT)
    async with process(Http(url, oauth=how), MemorySecrets()) as person:
        for _ in range(PATIENT):
            found = await person.watched.until(lambda listing: not isinstance(listing.health, ProviderStart))
            match found.health:
                case ProviderUp():
                    if not [tool for tool in found.tools if await _wants_more(person, tool.id.name)]:
                        return 0
                case ProviderNeedsSignIn():
                    pass
                case ProviderDown(_, _, None):
                    await person.watched.until(lambda listing: listing.health != found.health)  # noqa: B023 - at once
                    continue
                case _:
                    return 1
            if not await _signs_in(person):
                return 1
    return 1


async def _signs_in(person: Person) -> bool:
    link = person.desk.create_link(KEY, ANN)
    assert isinstance(link, str)
    sent = await person.desk.begin(link.rpartition("/")[2])
    if isinstance(sent, SignInUnavailable):
        return False
    done = await person.desk.finish(await consents(sent.url), sent.mark)
    if isinstance(done, SignInUnavailable):
        return False
    await person.watched.until(lambda listing: not isinstance(listing.health, ProviderNeedsSignIn))
    return True


async def _wants_more(person: Person, tool: str) -> bool:
    return "HTTP 403" in str(await person.watched.call(tool))


def main() -> int:
    if len(sys.argv) > 1:
        return anyio.run(client, sys.argv[-1])
    passed = [name for suite in SUITES for name in run_suite(suite)[0]]
    passed += [scenario for scenario in SECOND_REVISION if run_scenario(scenario)[0]]
    wanted = [*(name for names in SUITES.values() for name in names), *SECOND_REVISION]
    for scenario in wanted:
        print(f"{'passed' if scenario in passed else 'FAILED'}  {scenario}")
    return 0 if {*wanted} <= {*passed} else 1


if __name__ == "__main__":
    sys.exit(main())
