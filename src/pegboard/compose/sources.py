"""The providers of what is on the board: each kind of source gets the adapter that reaches it."""

import os
from typing import TYPE_CHECKING, assert_never

from pegboard.surfaces.cli.link import Starts

from .surroundings import folder_of, now

if TYPE_CHECKING:
    from pegboard.config.settings import Settings
    from pegboard.core.catalogue import Health
    from pegboard.core.own import Own
    from pegboard.core.server import Server
    from pegboard.ports import ExpandFor, Provider, ProviderFor

    from .docspace import Halls
    from .house import LateDesk
    from .toolsets import Toolsets


def provider_for_each(
    settings: "Settings | None", starts: Starts, sign_ins: "LateDesk", toolsets: "Toolsets", halls: "Halls"
) -> "ProviderFor":
    from pegboard.config.references import expander_for_callers
    from pegboard.core.catalogue import Asleep, Down, Off
    from pegboard.core.docspace import DocSpace
    from pegboard.core.own import Own
    from pegboard.core.server import Container, Http, InstalledBy, Stdio
    from pegboard.ports import Unresolved
    from pegboard.providers.resting import Resting

    declared = expander_for_callers(os.environ, folder_of(settings))

    def expand_for(server: "Server") -> "ExpandFor":
        """What is declared in the operator's file belongs to no toolset that could have secrets of its own."""
        own = isinstance(server.origin, InstalledBy)
        return toolsets.secrets.expand_for(server.key.toolset, declared) if own else declared

    def connected(server: "Server", expand: "ExpandFor") -> "Provider":
        from pegboard.providers.mcp import mcp_provider

        return mcp_provider(server, expand, now, sign_ins.desk, halls.tag_key)

    def asleep(server: "Server", own: "Own") -> "Health":
        """Whoever calls one of its tools wakes it, or is told what keeps it from waking."""
        if not own.specs:
            return Off()
        values = toolsets.secrets.values(server.key.toolset, own.secrets)
        return Down(now(), values.why) if isinstance(values, Unresolved) else Asleep(now())

    def provider(server: "Server") -> "Provider":
        if isinstance(server.connection, DocSpace):
            # Nothing is started for it, and its tools are known without asking anybody.
            return halls.provider(server, server.connection)
        if not starts(str(server.key), server.id):
            own = server.connection
            return Resting(server.key, own.specs, asleep(server, own)) if isinstance(own, Own) else Resting(server.key)
        match server.connection:
            case Stdio() | Http():
                return connected(server, expand_for(server))
            case Container(image):
                expand = toolsets.expand_of(server.key.toolset)
                return toolsets.containers.speaking(
                    server, image, expand, lambda inner, starting: connected(inner, lambda headers: starting)
                )
            case Own() as own:
                return toolsets.own(server, own)
            case _:
                assert_never(server.connection)

    return provider
