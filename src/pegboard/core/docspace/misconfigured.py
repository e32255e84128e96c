"""Settings of a DocSpace that cannot be used: told of each of its tools, and of nothing else on the board."""

import re
from dataclasses import dataclass
from typing import Final

_PREFIX: Final = "DocSpace is misconfigured: "
OUTAGE_PATTERN: Final = rf"{_PREFIX}[^\r\n]{{1,2000}}"
"""As a regular expression: the whole of why a toolset is down then."""


@dataclass(frozen=True, slots=True)
class DocSpaceMisconfiguration:
    why: str
    """A line for each thing that is wrong; what stands above several of them has a line of its own."""

    @property
    def outage(self) -> str:
        """Why its toolsets are down, on one line."""
        lines = [" ".join(line.split()) for line in self.why.splitlines()]
        return f"{_PREFIX}{'; '.join(filter(None, lines))}"[:1_900]


_REMEDIES: Final = {
    "No tools left": "Select one tool or more: toolsets, enabled_tools and disabled_tools (DOCSPACE_TOOLSETS, …).",
    "No password": "Say the password that goes with the user name: password (DOCSPACE_PASSWORD).",
    "No username": "Say the user name that goes with the password: username (DOCSPACE_USERNAME).",
    "No API base URL": "Say where DocSpace is: base_url (DOCSPACE_BASE_URL), such as https://example.onlyoffice.com",
    "No authentication method": (
        "Say one of api_key, auth_token, username with password, or authorization (DOCSPACE_API_KEY, …); or let each "
        "caller over HTTP bring its own: request_credentials."
    ),
    "Multiple authentication methods": (
        "Keep one of api_key, auth_token, username with password, and authorization (DOCSPACE_API_KEY, …)."
    ),
}


def misconfiguration_remedies(wrong: DocSpaceMisconfiguration) -> tuple[str, ...]:
    """What to do about each thing that is wrong, where its own words do not say so."""
    return tuple(_REMEDIES[line] for line in wrong.why.splitlines() if line in _REMEDIES)


def misconfiguration_in(outage: str) -> str | None:
    """Of why a toolset is down, what is wrong with the settings; `None` where it is something else."""
    return outage.removeprefix(_PREFIX) if re.fullmatch(OUTAGE_PATTERN, outage) else None
