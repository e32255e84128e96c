"""ONLYOFFICE DocSpace: four toolsets with twenty-three tools, by its HTTP API.

Names, arguments, requests and short texts are those that clients of today's server know. What differs does so on
purpose:

- answers with `null`, unknown members and values that are new to a list of choices are passed on, not refused;
- an operation is waited for with growing pauses, ten minutes by default, and its own error is told;
- a question that is answered with 429, 502 or 503 is put again;
- credentials stay with the DocSpace they are for: neither redirects nor downloads take them elsewhere;
- empty files can be uploaded, and binary ones as base64;
- the `culture` of an invitation is sent;
- a web page in place of an answer is called what it is, and an address must begin with `http://` or `https://`;
- arguments that are left out altogether are an empty object, as the protocol has it;
- what a room type or access level is, is told in words of our own.

Imported only where a DocSpace is set up.
"""

from pegboard.core.model.ids import ToolsetKey
from pegboard.ports.providers import Clock, Provider
from pegboard.providers.docspace.limits import DocSpaceLimits
from pegboard.providers.docspace.provider import TOOLSETS, DocSpaceContext, DocSpaceProvider, MissingCredentials

__all__ = ["TOOLSETS", "DocSpaceContext", "DocSpaceLimits", "MissingCredentials", "docspace_tools"]


def docspace_tools(key: ToolsetKey, toolset: str, house: DocSpaceContext, now: Clock) -> Provider:
    """The tools of one toolset (`files`, `folders`, `rooms`, `people`), under the key that it has on the board."""
    return DocSpaceProvider(key, TOOLSETS[toolset], house, now)
