"""ONLYOFFICE DocSpace as the core knows it: how it is reached, which tools it brings, and what a caller may lend."""

from .base_url import base_url, url_faults
from .connection import DocSpace, Lends
from .credential import Access, AccessToken, ApiKey, Credential, Password, Raw
from .lent import CREDENTIAL_HEADERS, BadCredential, Lent, lent
from .misconfigured import Misconfigured, mends, misconfigured
from .settled import Said, settled
from .toolsets import DESCRIPTIONS, TOOLSETS, tool_ids

__all__ = [
    "CREDENTIAL_HEADERS",
    "DESCRIPTIONS",
    "TOOLSETS",
    "Access",
    "AccessToken",
    "ApiKey",
    "BadCredential",
    "Credential",
    "DocSpace",
    "Lends",
    "Lent",
    "Misconfigured",
    "Password",
    "Raw",
    "Said",
    "base_url",
    "lent",
    "mends",
    "misconfigured",
    "settled",
    "tool_ids",
    "url_faults",
]
