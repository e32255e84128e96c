"""Templates of one source that have the form of what another has: a read may go elsewhere than people think."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from .ask import TemplateMatcher
from .ids import SourceKey
from .offers import ResourceView

MAX_PATTERNS: Final = 100
MAX_COMPARISONS: Final = 1_000
"""URIs of others against which each template is held: enough to notice one that fits everything."""

_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class TemplateOverlap:
    pattern: str
    source: SourceKey
    uri: str
    other: SourceKey
    answered_by: SourceKey


def template_overlaps(offered: ResourceView, fits: TemplateMatcher) -> Iterator[TemplateOverlap]:
    """Each template that fits something of another source, with the first such thing."""
    forms = offered.patterns[:MAX_PATTERNS]
    if len({source for _, source in forms} | {source for source, _ in offered.resources.values()}) < 2:
        return
    # A URI of each form, as a client may fill it in, and who answers for it: the first whose form it has.
    filled = [(_EXPRESSION.sub("1", pattern), source) for pattern, source in forms]
    listed = [(uri, source) for uri, (source, _) in islice(offered.resources.items(), MAX_COMPARISONS - len(filled))]
    for place, (pattern, source) in enumerate(forms):
        for number, (uri, other) in enumerate((*filled, *listed)):
            if other == source or not fits(pattern, uri):
                continue
            first = source if number < len(filled) and place < number else other
            yield TemplateOverlap(pattern, source, uri, other, first)
            break
