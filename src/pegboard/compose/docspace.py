"""The DocSpace of the board: its settings tied to the provider of its tools, and a try of them for the command line."""

import os
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pegboard.surfaces.cli.link import DocSpaceCheck, Options
from pegboard.surfaces.cli.output import Exit, fail

from .surroundings import folder_of, now, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.config.settings import Settings
    from pegboard.core.docspace import DocSpace
    from pegboard.core.policy import Policy
    from pegboard.core.server import Server
    from pegboard.ports import Expand, Provider
    from pegboard.providers.docspace import Hall


@dataclass
class Halls:
    """One for all toolsets that are reached the same way: they share connections, and nothing of any caller."""

    settings: "Settings | None"
    by_requests: bool
    """Whether calls come in requests, which could bring credentials of their own."""
    tag_key: "Callable[[], bytes]"
    """By which a person's yes is bound to credentials."""
    _made: "dict[DocSpace, Hall]" = field(default_factory=dict)

    def provider(self, server: "Server", connection: "DocSpace") -> "Provider":
        from pegboard.core.ids import ToolsetKey
        from pegboard.providers.docspace import docspace_tools

        assert isinstance(server.key, ToolsetKey), "DocSpace brings toolsets, and no servers"
        if connection not in self._made:
            # The one before is closed by the last toolset that leaves it.
            self._made = {connection: self._hall(connection)}
        return docspace_tools(server.key, str(server.key.toolset), self._made[connection], now)

    def _hall(self, connection: "DocSpace") -> "Hall":
        return _hall(connection, _expand(self.settings), by_requests=self.by_requests, key=self.tag_key)


def _expand(settings: "Settings | None") -> "Expand":
    from pegboard.config.references import expander

    return expander(os.environ, folder_of(settings))


def _hall(
    connection: "DocSpace", expand: "Expand", *, by_requests: bool, key: "Callable[[], bytes]" = secrets.token_bytes
) -> "Hall":
    from dataclasses import replace

    from pegboard.config.docspace import inside, operators
    from pegboard.providers.docspace import Hall, Limits

    reached = connection if by_requests else replace(connection, lends=None)
    limits = Limits(answer=reached.timeout, operation=reached.deadline)
    return Hall(
        lambda: operators(reached, expand),
        now,
        lends=reached.lends,
        limits=limits,
        agent=reached.user_agent,
        named=lambda: inside(reached, expand),
        key=key,
    )


def unusable(policy: "Policy", settings: "Settings | None") -> str | None:
    """What keeps DocSpace from being used by callers who cannot bring credentials, as the one at our own pipe."""
    from dataclasses import replace

    from pegboard.config.docspace import operators
    from pegboard.core.docspace import Misconfigured, mends
    from pegboard.core.docspace.on_board import docspace_on

    connection = docspace_on(policy)
    if connection is None:
        return None
    wrong = operators(replace(connection, lends=None), _expand(settings))
    if not isinstance(wrong, Misconfigured):
        return None
    return " ".join((f"{wrong.outage.rstrip('.')}. None of its tools can be called.", *mends(wrong)))


async def check_docspace(options: Options) -> DocSpaceCheck:
    """Tries what the file and the environment of this command say, or ends it with what is wrong."""
    from dataclasses import replace

    from pegboard.config.docspace import from_environment, operators
    from pegboard.config.docspace_variables import remarks
    from pegboard.core.docspace import Misconfigured, mends
    from pegboard.core.docspace.on_board import docspace_on
    from pegboard.core.policy import Declared, Policy
    from pegboard.providers.docspace.visiting import Failed, Unwelcome, visit

    settings = settings_of(options)
    slips = tuple(map(str, remarks(os.environ)))
    declared = settings.declared if settings else from_environment(Declared(), os.environ).board
    connection = docspace_on(Policy(declared))
    if connection is None:
        how = "Write docspace in pegboard.yaml, or set DOCSPACE_BASE_URL and DOCSPACE_API_KEY for this command"
        fail(Exit.CONFIG, "\n".join((f"there is no DocSpace here. {how}, as for the gateway.", *slips)))
    expand = _expand(settings)
    access = operators(connection, expand)
    by_requests = connection.lends is not None and not connection.lends.implied
    if access is None and by_requests:
        return DocSpaceCheck()
    if access is None:
        # Nobody said that callers bring their own: more likely, a key was forgotten.
        access = operators(replace(connection, lends=None), expand)
    if isinstance(access, Misconfigured):
        lines = (access.why, *mends(access), *(slips if settings is None else ()))
        fail(Exit.CONFIG, "\n".join(lines), {"errors": access.why.splitlines()})
    assert access is not None, "without callers' own credentials there are the operator's, or none and that is wrong"
    hall = _hall(connection, expand, by_requests=False)
    async with hall.open():
        found = await visit(hall.api(access, None))
    if isinstance(found, Failed):
        codes = {Unwelcome.REFUSED: Exit.REFUSED, Unwelcome.NO_DOCSPACE: Exit.NOT_FOUND}
        told = f"{access.base}: {' '.join(found.why.split())}. {found.mend}"
        fail(codes.get(found.how, Exit.UNREACHABLE), told, {"kind": found.how.value, "baseUrl": access.base})
    return DocSpaceCheck(access.base, found.name, found.email, found.role, found.sees)
