"""What a child process inherits of our environment: enough to run, and nothing that was meant for us alone."""

import os
import sys
from typing import Final

_INHERITED_NAMES: Final = (
    frozenset(
        {
            "APPDATA",
            "COMSPEC",
            "HOMEDRIVE",
            "HOMEPATH",
            "LOCALAPPDATA",
            "PATH",
            "PATHEXT",
            "PROCESSOR_ARCHITECTURE",
            "SYSTEMDRIVE",
            "SYSTEMROOT",
            "TEMP",
            "TMP",
            "USERNAME",
            "USERPROFILE",
            "WINDIR",
        }
    )
    if sys.platform == "win32"
    else frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"})
)
_CERTIFICATE_VARIABLES: Final = frozenset(
    {"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"}
)
"""Where certificates lie: no secret, and without them a server behind a company's proxy hangs without a word."""


def inherited_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        # A value that begins so is a shell function of old bash, and runs when a shell starts.
        if (name in _INHERITED_NAMES or name in _CERTIFICATE_VARIABLES or name.startswith("LC_"))
        and not value.startswith("()")
    }
