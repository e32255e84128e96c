"""The keys that say how tools are shown to a client that does not say itself."""

from typing import Final

from pegboard.core.presentations import PresentationMode, PresentationSettings
from pegboard.core.presentations.presenting import MAX_MATERIALIZED

from .section import ConfigKey
from .shape import ChoiceField, IntegerField

_DEFAULTS: Final = PresentationSettings()

PRESENTATION: Final = ConfigKey(
    "presentation",
    ChoiceField({presented.value: presented for presented in PresentationMode}),
    "How tools are shown at /mcp and by pegboard stdio: direct (each as itself), meta (five tools to look through "
    "toolsets), search (tools to find and call all others), deferred (each as itself once it was found), "
    "code (a search and programs that call what it finds), or auto "
    "(search for more tools than presentation_threshold, else direct). Read when the gateway starts.",
    _DEFAULTS.presentation.value,
)
THRESHOLD: Final = ConfigKey(
    "presentation_threshold",
    IntegerField(1, 1_000_000),
    "Above how many tools auto takes search, and doctor and the start tell what showing each as itself costs.",
    _DEFAULTS.threshold,
)
MATERIALISED: Final = ConfigKey(
    "materialised_tools",
    IntegerField(1, MAX_MATERIALIZED),
    "Where tools are deferred: how many a conversation keeps that it found. The best of each search stay.",
    _DEFAULTS.max_materialized,
)
