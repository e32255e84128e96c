"""Creates the provider of each declared or installed server, and the DocSpace toolsets."""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, assert_never

from pegboard.bootstrap.environment import now, reference_folder
from pegboard.bootstrap.errors import (
    ConfigurationError,
    ServiceNotFoundError,
    ServiceUnavailableError,
    StartRefusedError,
)

if TYPE_CHECKING:
    from pegboard.bootstrap.application import LazySignInService
    from pegboard.bootstrap.toolsets import ToolsetServices
    from pegboard.config.settings import Settings
    from pegboard.core.model.catalogue import Health
    from pegboard.core.model.server import Server
    from pegboard.core.model.tool import OwnTools
    from pegboard.core.model.web_api import WebApi
    from pegboard.core.policy.policy import Policy
    from pegboard.ports.providers import Expand, ExpandForCaller, Provider, ProviderFor
    from pegboard.providers.docspace.check import DocSpaceUser
    from pegboard.providers.docspace.provider import DocSpaceContext


ServerFilter: TypeAlias = Callable[[str, str], bool]
"""Whether a server is started: by its key, and by its id alone."""


def make_provider_factory(
    settings: "Settings | None",
    starts: ServerFilter,
    sign_ins: "LazySignInService",
    toolsets: "ToolsetServices",
    halls: "DocSpaceClients",
) -> "ProviderFor":
    from pegboard.config.references import expander_for_callers
    from pegboard.core.model.catalogue import ProviderAsleep, ProviderDown, ProviderOff
    from pegboard.core.model.server import Container, Http, InstalledBy, Stdio
    from pegboard.core.model.tool import OwnTools
    from pegboard.core.model.web_api import WebApi
    from pegboard.ports.providers import UnresolvedReference
    from pegboard.providers.composite import IdleProvider

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
        if isinstance(server.connection, WebApi):
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


@dataclass
class DocSpaceClients:
    """One for all toolsets that are reached the same way: they share connections, and nothing of any caller."""

    settings: "Settings | None"
    per_request_credentials: bool
    """Whether calls come in requests, which could bring credentials of their own."""
    tag_key: "Callable[[], bytes]"
    """By which a person's yes is bound to credentials."""
    _contexts: "dict[WebApi, DocSpaceContext]" = field(default_factory=dict)

    def provider(self, server: "Server", connection: "WebApi") -> "Provider":
        from pegboard.core.model.ids import ToolsetKey
        from pegboard.providers.docspace import docspace_tools

        assert isinstance(server.key, ToolsetKey), "DocSpace brings toolsets, and no servers"
        if connection not in self._contexts:
            # The one before is closed by the last toolset that leaves it.
            self._contexts = {connection: self._context(connection)}
        return docspace_tools(server.key, str(server.key.toolset), self._contexts[connection], now)

    def _context(self, connection: "WebApi") -> "DocSpaceContext":
        return _make_context(
            connection, _expand(self.settings), by_requests=self.per_request_credentials, key=self.tag_key
        )


def _expand(settings: "Settings | None") -> "Expand":
    from pegboard.config.references import expander

    return expander(os.environ, reference_folder(settings))


def _make_context(
    connection: "WebApi", expand: "Expand", *, by_requests: bool, key: "Callable[[], bytes]" = secrets.token_bytes
) -> "DocSpaceContext":
    from dataclasses import replace

    from pegboard.config.docspace import operator_access, trusted_base_urls
    from pegboard.providers.docspace.limits import DocSpaceLimits
    from pegboard.providers.docspace.provider import DocSpaceContext

    reached = connection if by_requests else replace(connection, lends=None)
    limits = DocSpaceLimits(answer_timeout_s=reached.timeout, operation_timeout_s=reached.deadline)
    return DocSpaceContext(
        lambda: operator_access(reached, expand),
        now,
        lends=reached.lends,
        limits=limits,
        agent=reached.user_agent,
        named=lambda: trusted_base_urls(reached, expand),
        key=key,
    )


def docspace_problem(policy: "Policy", settings: "Settings | None") -> str | None:
    """What keeps DocSpace from being used by callers who cannot bring credentials, as the one at our own pipe."""
    from dataclasses import replace

    from pegboard.config.docspace import operator_access
    from pegboard.config.docspace_toolsets import misconfiguration_remedies
    from pegboard.core.model.web_api import ApiMisconfiguration

    connection = policy.web_api
    if connection is None:
        return None
    wrong = operator_access(replace(connection, lends=None), _expand(settings))
    if not isinstance(wrong, ApiMisconfiguration):
        return None
    return " ".join(
        (
            f"{wrong.outage(connection.title).rstrip('.')}. None of its tools can be called.",
            *misconfiguration_remedies(wrong),
        )
    )


async def check_docspace(settings: "Settings | None") -> "tuple[str, DocSpaceUser] | None":
    """Tries what the file and the environment say: the base URL and who the operator is there. `None` where only
    callers know which DocSpace they mean. Raises a `StartupError` with what is wrong."""
    from dataclasses import replace

    from pegboard.config.docspace import from_environment, operator_access, variable_warnings
    from pegboard.config.docspace_toolsets import misconfiguration_remedies
    from pegboard.core.model.web_api import ApiMisconfiguration
    from pegboard.core.policy.policy import DeclaredSettings, Policy
    from pegboard.providers.docspace.check import DocSpaceCheckFailure, DocSpaceFailureKind, check_docspace

    slips = tuple(map(str, variable_warnings(os.environ)))
    declared = settings.declared if settings else from_environment(DeclaredSettings(), os.environ).board
    connection = Policy(declared).web_api
    if connection is None:
        how = "Write docspace in pegboard.yaml, or set DOCSPACE_BASE_URL and DOCSPACE_API_KEY for this command"
        raise ConfigurationError("\n".join((f"there is no DocSpace here. {how}, as for the gateway.", *slips)))
    expand = _expand(settings)
    access = operator_access(connection, expand)
    by_requests = connection.lends is not None and not connection.lends.is_implied
    if access is None and by_requests:
        return None
    if access is None:
        # Nobody said that callers bring their own: more likely, a key was forgotten.
        access = operator_access(replace(connection, lends=None), expand)
    if isinstance(access, ApiMisconfiguration):
        lines = (access.why, *misconfiguration_remedies(access), *(slips if settings is None else ()))
        raise ConfigurationError("\n".join(lines), {"errors": access.why.splitlines()})
    assert access is not None, "without callers' own credentials there are the operator's, or none and that is wrong"
    hall = _make_context(connection, expand, by_requests=False)
    async with hall.open():
        found = await check_docspace(hall.api(access, None))
    if isinstance(found, DocSpaceCheckFailure):
        errors = {
            DocSpaceFailureKind.REFUSED: StartRefusedError,
            DocSpaceFailureKind.NO_DOCSPACE: ServiceNotFoundError,
            DocSpaceFailureKind.UNREACHABLE: ServiceUnavailableError,
        }
        told = f"{access.base_url}: {' '.join(found.why.split())}. {found.fix}"
        raise errors[found.kind](told, {"kind": found.kind.value, "baseUrl": access.base_url})
    return access.base_url, found
