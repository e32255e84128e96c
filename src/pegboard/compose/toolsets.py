"""What toolsets bring themselves, tied to what runs it: worker processes and containers; and who brings them in."""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .surroundings import folder_of, now

if TYPE_CHECKING:
    from pegboard.config.settings import Settings
    from pegboard.core.ids import ToolsetId
    from pegboard.core.own import Own
    from pegboard.core.policy import Decided, Policy
    from pegboard.core.server import Server
    from pegboard.gateway.gateway import Gateway
    from pegboard.gateway.toolsets.files import Files
    from pegboard.gateway.toolsets.installer import Installer
    from pegboard.gateway.toolsets.secrets import ToolsetSecrets
    from pegboard.ports import Expand, PolicyStore, Provider, Secrets, SignIns, Unresolved
    from pegboard.ports.describing import Wished
    from pegboard.providers.container import Containers
    from pegboard.providers.python.environments import Environments

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Toolsets:
    """Each part is made when something asks for it: most boards have no toolset, and most commands touch none."""

    data_dir: Path
    settings: "Settings | None"
    kept: "Secrets"

    @cached_property
    def files(self) -> "Files":
        from pegboard.gateway.toolsets.files import Files

        return Files(self.data_dir)

    @cached_property
    def secrets(self) -> "ToolsetSecrets":
        from pegboard.gateway.toolsets.secrets import ToolsetSecrets

        return ToolsetSecrets(self.kept, self._expand)

    @cached_property
    def containers(self) -> "Containers":
        from pegboard.config.container_keys import ContainerSettings
        from pegboard.providers.container import Containers

        return Containers(self.settings.containers if self.settings else ContainerSettings(), self.data_dir, now)

    @cached_property
    def _environments(self) -> "Environments":
        from pegboard.providers.python.environments import Environments

        return Environments(self.data_dir / "environments")

    @cached_property
    def _expand(self) -> "Expand":
        from pegboard.config.references import expander

        return expander(os.environ, folder_of(self.settings))

    def expand_of(self, toolset: "ToolsetId") -> "Expand":
        return self.secrets.expand_of(toolset, self._expand)

    async def prepare(self, policy: "Policy") -> None:
        """Before anything starts: the secrets of what will."""
        if any(key.toolset in policy.decided.files for key in policy.decided.servers):
            from pegboard.gateway.toolsets.secrets import secrets_asked
            from pegboard.ports import SecretsAway

            try:
                await self.secrets.load(secrets_asked(policy))
            except SecretsAway as error:
                log.warning("Secrets of toolsets cannot be read: %s", error)

    async def sweep(self, store: "PolicyStore") -> None:
        if (self.data_dir / "toolsets").is_dir():
            from pegboard.gateway.toolsets.sweeping import sweep

            await sweep(self.files, store.load, self._keep_environments)

    def _keep_environments(self, decided: "Decided") -> None:
        if (self.data_dir / "environments").is_dir():
            from pegboard.core.own import Own

            owns = ((server.key.toolset, server.connection) for server in decided.servers.values())
            self._environments.keep(
                (own.requirements, self._folder(toolset, own)) for toolset, own in owns if isinstance(own, Own)
            )

    def _folder(self, toolset: "ToolsetId", own: "Own") -> Path:
        return self.files.folder(toolset, own.digest) if own.linked is None else Path(own.linked)

    def own(self, server: "Server", own: "Own") -> "Provider":
        """Functions in a worker, commands in containers, or both as one."""
        if not own.specs:
            from pegboard.providers.resting import Resting

            return Resting(server.key)
        if not own.commands:
            return self._functions(server, own)
        commands = self.containers.commands(server.key, own, self.expand_of(server.key.toolset))
        if not own.python:
            return commands
        from pegboard.providers.together import Together

        return Together(self._functions(server, own), commands)

    def _functions(self, server: "Server", own: "Own") -> "Provider":
        from pegboard.providers.python.provider import PythonTools

        toolset = server.key.toolset

        async def values() -> "Mapping[str, str] | Unresolved":
            return self.secrets.values(toolset, own.secrets)

        folder = self._folder(toolset, own)
        workspace = self.files.made_workspace(toolset) if own.workspace else None
        room = self.files.workspace(toolset)
        entries = _entries if own.linked is None else _edited()
        return PythonTools(server, folder, self._environments, workspace, values, now, entries, room)

    def installer(self, gateway: "Gateway", sign_ins: "Callable[[], SignIns]") -> "Installer":
        from pegboard.gateway.toolsets.installer import Installer
        from pegboard.providers.python.describing import Describer

        async def label(image: str, told: "Callable[[str], None]") -> str | None:
            return await self.containers.label(image, told)

        return Installer(gateway, self.files, Describer(self._environments), label, self.secrets, sign_ins)


def _entries(folder: Path) -> "Wished | None":
    """What the manifest of files that were copied names. It was read when they were imported: what another version of
    this program may have against it is no reason to stop."""
    from pegboard.ports.describing import CannotDescribe

    try:
        return _edited()(folder)
    except CannotDescribe:
        return None


def _edited() -> "Callable[[Path], Wished]":
    from pegboard.gateway.toolsets.editing import Edited

    return Edited()
