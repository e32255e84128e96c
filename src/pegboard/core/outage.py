"""What kind of trouble a server has, in our own words: agents hear this, and never what a server or a system wrote."""

import re
from typing import Final

_KINDS: Final = re.compile(
    r"(?:it )?(?:"
    r"exited with code -?\d{1,10}|was ended by signal \d{1,3}|was restarted|fell asleep|"
    r"closed (?:its output|its input|the connection|the event stream)|"
    r"(?P<late>did not (?:answer|list its tools)\b)|"
    r"answered HTTP \d{3}|answered with an error|answered tools/list with something that is no list of tools|"
    r"cannot be reached|cannot be asked|broke the connection off|"
    r"(?P<unstarted>command '|cannot start\b)|"
    r"(?P<unsigned>wants a sign-in|was not signed in to)|"
    r"does not speak (?:MCP|SSE)|sent a message longer than \d{1,6} MiB|"
    r"its provider broke|its former process does not stop"
    r")"
)
_KEPT: Final = {"late": "did not answer in time", "unstarted": "cannot be started", "unsigned": "its sign-in failed"}


def kind(why: str) -> str:
    """Of why a server is down, what is ours; empty where we have no words for it."""
    found = _KINDS.match(why)
    if found is None:
        return ""
    return _KEPT.get(found.lastgroup or "", found.group())
