"""Why an application cannot be opened. The command line makes exit codes of these (docs/reference/cli.md).

StartupError
├── ConfigurationError        the operator's file or the environment says something that cannot be used
├── StartRefusedError         it could start, and must not: others could change it, or callers would need no token
├── ServiceNotFoundError      something else answers where a service should be
└── ServiceUnavailableError   the data directory, the store or another service cannot be reached
"""

from collections.abc import Mapping


class StartupError(Exception):
    """What is wrong, where, and what to do, as a sentence without its first capital."""

    def __init__(self, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details or {}
        """The same for programs: members of a JSON document."""


class ConfigurationError(StartupError):
    pass


class StartRefusedError(StartupError):
    pass


class ServiceNotFoundError(StartupError):
    pass


class ServiceUnavailableError(StartupError):
    pass
