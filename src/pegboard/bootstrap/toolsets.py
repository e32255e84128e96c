"""Connects toolsets with what runs them (worker processes, containers) and with the installer."""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard.bootstrap.environment import now, reference_folder

if TYPE_CHECKING:
    from pegboard.config.settings import Settings
    from pegboard.core.model.ids import ToolsetId
    from pegboard.core.model.server import Server
    from pegboard.core.model.tool import OwnTools
    from pegboard.core.policy.policy import Policy, PolicyDecisions
    from pegboard.gateway.gateway import Gateway
    from pegboard.gateway.toolsets.files import ToolsetFiles
    from pegboard.gateway.toolsets.installer import ToolsetInstaller
    from pegboard.gateway.toolsets.secrets import ToolsetSecrets
    from pegboard.ports.providers import Expand, ManifestEntries, Provider, SignIns, UnresolvedReference
    from pegboard.ports.stores import PolicyStore, SecretStore
    from pegboard.providers.container import Containers
    from pegboard.providers.python.environments import Environments


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ToolsetServices:
    """Each part is made when something asks for it: most boards have no toolset, and most commands touch none."""

    data_dir: Path
    settings: "Settings | None"
    secret_store: "SecretStore"

    @cached_property
    def files(self) -> "ToolsetFiles":
        from pegboard.gateway.toolsets.files import ToolsetFiles

        return ToolsetFiles(self.data_dir)

    @cached_property
    def secrets(self) -> "ToolsetSecrets":
        from pegboard.gateway.toolsets.secrets import ToolsetSecrets

        return ToolsetSecrets(self.secret_store, self._expand)

    @cached_property
    def containers(self) -> "Containers":
        from pegboard.config.keys.features import ContainerSettings
        from pegboard.providers.container import Containers

        return Containers(self.settings.containers if self.settings else ContainerSettings(), self.data_dir, now)

    @cached_property
    def _environments(self) -> "Environments":
        from pegboard.providers.python.environments import Environments

        return Environments(self.data_dir / "environments")

    @cached_property
    def _expand(self) -> "Expand":
        from pegboard.config.references import expander

        return expander(os.environ, reference_folder(self.settings))

    def expander_for(self, toolset: "ToolsetId") -> "Expand":
        return self.secrets.expander_for(toolset, self._expand)

    async def prepare(self, policy: "Policy") -> None:
        """Before anything starts: the secrets of what will."""
        if any(key.toolset in policy.decisions.files for key in policy.decisions.servers):
            from pegboard.gateway.toolsets.secrets import requested_secrets
            from pegboard.ports.stores import SecretsUnavailable

            try:
                await self.secrets.load(requested_secrets(policy))
            except SecretsUnavailable as error:
                log.warning("Secrets of toolsets cannot be read: %s", error)

    async def sweep(self, store: "PolicyStore") -> None:
        if (self.data_dir / "toolsets").is_dir():
            from pegboard.gateway.toolsets.files import sweep

            await sweep(self.files, store.load, self._keep_environments)

    def _keep_environments(self, decided: "PolicyDecisions") -> None:
        if (self.data_dir / "environments").is_dir():
            from pegboard.core.model.tool import OwnTools

            owns = ((server.key.toolset, server.connection) for server in decided.servers.values())
            self._environments.remove_unused(
                (own.requirements, self._folder(toolset, own)) for toolset, own in owns if isinstance(own, OwnTools)
            )

    def _folder(self, toolset: "ToolsetId", own: "OwnTools") -> Path:
        return self.files.folder(toolset, own.digest) if own.linked is None else Path(own.linked)

    def make_provider(self, server: "Server", own: "OwnTools") -> "Provider":
        """Functions in a worker, commands in containers, or both as one."""
        if not own.specs:
            from pegboard.providers.composite import IdleProvider

            return IdleProvider(server.key)
        if not own.commands:
            return self._python_provider(server, own)
        commands = self.containers.command_provider(server.key, own, self.expander_for(server.key.toolset))
        if not own.python:
            return commands
        from pegboard.providers.composite import CompositeProvider

        return CompositeProvider(self._python_provider(server, own), commands)

    def _python_provider(self, server: "Server", own: "OwnTools") -> "Provider":
        from pegboard.providers.python.provider import PythonTools

        toolset = server.key.toolset

        async def values() -> "Mapping[str, str] | UnresolvedReference":
            return self.secrets.values(toolset, own.secrets)

        folder = self._folder(toolset, own)
        workspace = self.files.ensure_workspace(toolset) if own.workspace else None
        room = self.files.workspace(toolset)
        entries = _manifest_entries if own.linked is None else _make_manifest_edits()
        return PythonTools(server, folder, self._environments, workspace, values, now, entries, room)

    def installer(self, gateway: "Gateway", sign_ins: "Callable[[], SignIns]") -> "ToolsetInstaller":
        from pegboard.gateway.toolsets.installer import ToolsetInstaller
        from pegboard.providers.python.describe import Describer

        async def label(image: str, told: "Callable[[str], None]") -> str | None:
            return await self.containers.label(image, told)

        return ToolsetInstaller(
            gateway.board,
            gateway.operator,
            gateway.providers,
            now,
            self.files,
            Describer(self._environments),
            label,
            self.secrets,
            sign_ins,
        )


def _manifest_entries(folder: Path) -> "ManifestEntries | None":
    """What the manifest of files that were copied names. It was read when they were imported: what another version of
    this program may have against it is no reason to stop."""
    from pegboard.ports.providers import ToolDescriptionError

    try:
        return _make_manifest_edits()(folder)
    except ToolDescriptionError:
        return None


def _make_manifest_edits() -> "Callable[[Path], ManifestEntries]":
    from pegboard.gateway.toolsets.reader import ManifestEdits

    return ManifestEdits()
