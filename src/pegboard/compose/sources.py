"""The providers of what is on the board: each kind of source gets the adapter that reaches it."""

import os
from typing import TYPE_CHECKING, assert_never

from pegboard.surfaces.cli.link import ServerFilter

from .surroundings import now, reference_folder

if TYPE_CHECKING:
    from pegboard.config.settings import Settings
    from pegboard.core.catalogue import Health
    from pegboard.core.own import OwnTools
    from pegboard.core.server import Server
    from pegboard.ports import ExpandForCaller, Provider, ProviderFor

    from .docspace import DocSpaceClients
    from .house import LazySignInService
    from .toolsets import ToolsetServices


def make_provider_factory(
    settings: "Settings | None",
    starts: ServerFilter,
    sign_ins: "LazySignInService",
    toolsets: "ToolsetServices",
    halls: "DocSpaceClients",
) -> "ProviderFor":
    from pegboard.config.references import expander_for_callers
    from pegboard.core.catalogue import ProviderAsleep, ProviderDown, ProviderOff
    from pegboard.core.docspace import DocSpace
    from pegboard.core.own import OwnTools
    from pegboard.core.server import Container, Http, InstalledBy, Stdio
    from pegboard.ports import UnresolvedReference
    from pegboard.providers.resting import IdleProvider

    declared = expander_for_callers(os.environ, reference_folder(settings))

    def expand_for(server: "Server") -> "ExpandForCaller":
        """What is declared in the operator's file belongs to no toolset that could have secrets of its own."""
        own = isinstance(server.origin, InstalledBy)
        return toolsets.secrets.caller_expander_for(server.key.toolset, declared) if own else declared

    def connect_mcp(server: "Server", expand: "ExpandForCaller") -> "Provider":
        from pegboard.providers.mcp import mcp_provider

        return mcp_provider(server, expand, now, sign_ins.service, halls.tag_key)

    def asleep(server: "Server", own: "OwnTools") -> "Health":
        """Whoever calls one of its tools wakes it, or is told what keeps it from waking."""
        if not own.specs:
            return ProviderOff()
        values = toolsets.secrets.values(server.key.toolset, own.secrets)
        return ProviderDown(now(), values.why) if isinstance(values, UnresolvedReference) else ProviderAsleep(now())

    def provider(server: "Server") -> "Provider":
        if isinstance(server.connection, DocSpace):
            # Nothing is started for it, and its tools are known without asking anybody.
            return halls.provider(server, server.connection)
        if not starts(str(server.key), server.id):
            own = server.connection
            return (
                IdleProvider(server.key, own.specs, asleep(server, own))
                if isinstance(own, OwnTools)
                else IdleProvider(server.key)
            )
        match server.connection:
            case Stdio() | Http():
                return connect_mcp(server, expand_for(server))
            case Container(image):
                expand = toolsets.expander_for(server.key.toolset)
                return toolsets.containers.mcp_provider(
                    server, image, expand, lambda inner, starting: connect_mcp(inner, lambda headers: starting)
                )
            case OwnTools() as own:
                return toolsets.make_provider(server, own)
            case _:
                assert_never(server.connection)

    return provider
