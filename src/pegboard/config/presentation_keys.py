"""The keys that say how tools are shown to a client that does not say itself."""

from typing import Final

from pegboard.core.presentations import Presented, Presenting
from pegboard.core.presentations.presenting import MOST_MATERIALISED

from .section import Key
from .shape import Choice, Whole

_USUAL: Final = Presenting()

PRESENTATION: Final = Key(
    "presentation",
    Choice({presented.value: presented for presented in Presented}),
    "How tools are shown at /mcp and by pegboard stdio: direct (each as itself), meta (five tools to look through "
    "toolsets), search (tools to find and call all others), deferred (each as itself once it was found), "
    "code (a search and programs that call what it finds), or auto "
    "(search for more tools than presentation_threshold, else direct). Read when the gateway starts.",
    _USUAL.presentation.value,
)
THRESHOLD: Final = Key(
    "presentation_threshold",
    Whole(1, 1_000_000),
    "Above how many tools auto takes search, and doctor and the start tell what showing each as itself costs.",
    _USUAL.threshold,
)
MATERIALISED: Final = Key(
    "materialised_tools",
    Whole(1, MOST_MATERIALISED),
    "Where tools are deferred: how many a conversation keeps that it found. The best of each search stay.",
    _USUAL.materialised,
)
