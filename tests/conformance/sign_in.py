"""The suite's scenarios of signing in, with our provider as the client and a script as the person at the browser.

`python -m tests.conformance.sign_in` runs them all; the suite starts this module again as its client, with an address.
"""

import json
import os
import subprocess
import sys
from typing import Final

import anyio
from tests.conformance.suite import command
from tests.providers.running import KEY
from tests.providers.signing import ANN, Person, consents, process
from tests.support.doubles import MemorySecrets

from pegboard.core.catalogue import Down, NeedsSignIn, Starting, Up
from pegboard.core.server import Http, OAuth
from pegboard.ports import NoSignIn

SCENARIOS: Final = tuple(
    f"auth/{name}"
    for name in (
        *("metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "pre-registration"),
        *("scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined"),
        *("scope-step-up", "scope-retry-limit", "offline-access-scope", "offline-access-not-supported"),
        *("token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none"),
        *("2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback"),
        *("resource-mismatch", "authorization-server-migration", "metadata-issuer-mismatch"),
        *("iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected"),
        "iss-normalized",
    )
)
PATIENT: Final = 3
"""How often the person signs in before they give up."""
DOCUMENT: Final = "https://conformance-test.local/client-metadata.json"


def passes(scenario: str) -> tuple[bool, str]:
    client = f"{sys.executable} -m tests.conformance.sign_in"
    done = subprocess.run(
        [*command(), "client", "--command", client, "--scenario", scenario],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode == 0, done.stdout + done.stderr


async def client(url: str) -> int:
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    registered = OAuth(given.get("client_id"), given.get("client_secret"))
    how = registered if registered != OAuth() else OAuth(client_metadata_url=DOCUMENT)
    async with process(Http(url, oauth=how), MemorySecrets()) as person:
        for _ in range(PATIENT):
            found = await person.watched.until(lambda listing: not isinstance(listing.health, Starting))
            match found.health:
                case Up():
                    if not [tool for tool in found.tools if await _wants_more(person, tool.id.name)]:
                        return 0
                case NeedsSignIn():
                    pass
                case Down(_, _, None):
                    await person.watched.until(lambda listing: listing.health != found.health)  # noqa: B023 - at once
                    continue
                case _:
                    return 1
            if not await _signs_in(person):
                return 1
    return 1


async def _signs_in(person: Person) -> bool:
    link = person.desk.link(KEY, ANN)
    assert isinstance(link, str)
    sent = await person.desk.begin(link.rpartition("/")[2])
    if isinstance(sent, NoSignIn):
        return False
    done = await person.desk.finish(await consents(sent.url), sent.mark)
    if isinstance(done, NoSignIn):
        return False
    await person.watched.until(lambda listing: not isinstance(listing.health, NeedsSignIn))
    return True


async def _wants_more(person: Person, tool: str) -> bool:
    return "HTTP 403" in str(await person.watched.call(tool))


def main() -> int:
    if len(sys.argv) > 1:
        return anyio.run(client, sys.argv[-1])
    failed = 0
    for scenario in SCENARIOS:
        passed, _ = passes(scenario)
        failed += not passed
        print(f"{'passed' if passed else 'FAILED'}  {scenario}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
