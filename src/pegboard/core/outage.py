"""What kind of trouble a server has, in our own words: agents hear this, and never what a server or a system wrote."""

import re
from dataclasses import dataclass
from typing import Final

from .docspace.misconfigured import OUTAGE_PATTERN as _MISCONFIGURED
from .ids import ToolsetId

_KIND_PATTERN: Final = re.compile(
    r"(?:it )?(?:"
    r"exited with code -?\d{1,10}|was ended by signal \d{1,3}|was restarted|fell asleep|"
    r"closed (?:its output|its input|the connection|the event stream)|"
    r"(?P<late>did not (?:answer|list its tools)\b)|(?P<slow>did not start within\b)|"
    r"answered HTTP \d{3}|answered with an error|answered tools/list with something that is no list of tools|"
    r"cannot be reached|cannot be asked|broke the connection off|"
    r"(?P<unstarted>command ['\"]|cannot start\b)|"
    r"(?P<unsigned>wants a sign-in|was not signed in to)|"
    r"does not speak (?:MCP|SSE)|sent a message longer than \d{1,6} MiB|"
    r"its provider broke|its former process does not stop|"
    r"has no environment(?:, because its requirements cannot be installed)?|"
    r"(?P<heavy>[^\s:]{1,400}\.py:\d{1,7}: importing it takes more memory than\b)|"
    r"(?P<unloaded>[^\s:]{1,400}\.py:\d{1,7}: )|"
    rf"{_MISCONFIGURED}|"
    r"(?:cannot run: )?(?P<unset>the secret [A-Za-z_][A-Za-z0-9_]{0,127} "
    r"(?:is not set|of [a-z0-9][a-z0-9_-]{0,63} (?:stands for nothing|cannot be read)))"
    r")"
)
_KIND_TEXTS: Final = {
    "late": "did not answer in time",
    "slow": "did not start in time",
    "unstarted": "cannot be started",
    "unsigned": "its sign-in failed",
    "heavy": "importing its Python files takes more memory than it may use",
    "unloaded": "its Python files cannot be imported",
}


def outage_kind(why: str) -> str:
    """Of why a server is down, what is ours; empty where we have no words for it."""
    found = _KIND_PATTERN.match(why)
    if found is None:
        return ""
    return found["unset"] or _KIND_TEXTS.get(found.lastgroup or "", found.group())


def outage_sentence(why: str) -> str:
    """Why a server is down reads on from its name, but for what names a secret or a file itself."""
    text = why.rstrip(".")
    if _NAMES_ITSELF.match(text) is None:
        return f"It {text}."
    return f"{text[0].upper()}{text[1:]}." if text.startswith(("the ", "command ")) else f"{text}."


_NAMES_ITSELF: Final = re.compile(r"the secret |command ['\"]|DocSpace |\$\{|[^\s:]{1,400}\.py:\d{1,7}: ")


@dataclass(frozen=True, slots=True)
class UnsetSecret:
    """A secret that a toolset asks for, and that nobody has set. What needs it is down until somebody does."""

    toolset: ToolsetId
    name: str

    def __str__(self) -> str:
        return f"the secret {self.name} is not set. Run: {self.command}"

    @property
    def command(self) -> str:
        return f"pegboard toolset secrets set {self.toolset} {self.name}"


_UNSET: Final = re.compile(
    r"(?:cannot run: )?the secret (?P<name>[A-Za-z_][A-Za-z0-9_]{0,127}) is not set\. "
    r"Run: pegboard toolset secrets set (?P<toolset>[a-z0-9][a-z0-9_-]{0,63}) (?P=name)"
)


def find_unset_secret(why: str) -> UnsetSecret | None:
    """Of why a server or toolset is down, the secret it waits for."""
    found = _UNSET.fullmatch(why.rstrip("."))
    return None if found is None else UnsetSecret(ToolsetId(found["toolset"]), found["name"])


_UNFIT: Final = re.compile(
    r"(?:cannot run: )?the secret (?P<name>[A-Za-z_][A-Za-z0-9_]{0,127}) "
    r"of (?P<toolset>[a-z0-9][a-z0-9_-]{0,63}) (?:stands for nothing|cannot be read): "
)


def find_unusable_secret(why: str) -> UnsetSecret | None:
    """Of why a server or toolset is down, the secret that was set, and has no value all the same."""
    found = _UNFIT.match(why)
    return None if found is None else UnsetSecret(ToolsetId(found["toolset"]), found["name"])


def find_needed_secret(why: str) -> UnsetSecret | None:
    """The secret by which it would be up, whatever is the matter with it."""
    return find_unset_secret(why) or find_unusable_secret(why)


_MISSING_COMMAND: Final = re.compile(r"command (?P<command>'[^']{1,400}'|\"[^\"]{1,400}\") was not found\b")


def missing_command(why: str) -> str | None:
    """Of why a server is down, the command that is not there, in quotes."""
    found = _MISSING_COMMAND.match(why)
    return None if found is None else found["command"]
