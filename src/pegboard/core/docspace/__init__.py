"""ONLYOFFICE DocSpace as the core knows it: how it is reached, which tools it brings, and what a caller may lend."""

from .base_url import base_url_problems, normalize_base_url
from .connection import CallerCredentialRules, DocSpace
from .credential import AccessToken, ApiKey, Credential, DocSpaceAccess, Password, RawAuthorization
from .lent import CREDENTIAL_HEADERS, BadCredential, CallerCredentials, read_caller_credentials
from .misconfigured import DocSpaceMisconfiguration, misconfiguration_in, misconfiguration_remedies
from .settled import DocSpaceCredentialValues, resolve_operator_access
from .toolsets import DESCRIPTIONS, TOOLSETS, tool_ids

__all__ = [
    "CREDENTIAL_HEADERS",
    "DESCRIPTIONS",
    "TOOLSETS",
    "AccessToken",
    "ApiKey",
    "BadCredential",
    "CallerCredentialRules",
    "CallerCredentials",
    "Credential",
    "DocSpace",
    "DocSpaceAccess",
    "DocSpaceCredentialValues",
    "DocSpaceMisconfiguration",
    "Password",
    "RawAuthorization",
    "base_url_problems",
    "misconfiguration_in",
    "misconfiguration_remedies",
    "normalize_base_url",
    "read_caller_credentials",
    "resolve_operator_access",
    "tool_ids",
]
