"""The providers of what is on the board: each kind of source gets the adapter that reaches it."""

import os
from typing import TYPE_CHECKING

from pegboard.surfaces.cli.link import Starts

from .surroundings import folder_of, now

if TYPE_CHECKING:
    from pegboard.config.settings import Settings
    from pegboard.core.server import Server
    from pegboard.ports import Provider, ProviderFor

    from .house import LateDesk


def provider_for_each(settings: "Settings | None", starts: Starts, sign_ins: "LateDesk") -> "ProviderFor":
    from pegboard.config.references import expander_for_callers
    from pegboard.core.server import Http, Stdio
    from pegboard.providers.resting import Resting

    expand_for = expander_for_callers(os.environ, folder_of(settings))

    def provider(server: "Server") -> "Provider":
        if not starts(str(server.key), server.id) or not isinstance(server.connection, Stdio | Http):
            return Resting(server.key)
        from pegboard.providers.mcp import mcp_provider

        return mcp_provider(server, expand_for, now, sign_ins.desk)

    return provider
