"""What looks poisoned in a tool's description or schema. A finding informs a person; it proves nothing by itself.

Every text of a spec is looked at: names, titles, descriptions, keys, enum values, defaults. What a finding tells is
safe to show: of what was found it repeats a short excerpt at most, with nothing invisible left in it. It is for a
person who decides, not for an agent: the excerpt is part of what is withheld from agents.
"""

from .finding import Finding, Kind, Path, Severity, is_poisoned
from .scan import MOST_FINDINGS, scan
from .strangers import Strangers, strangers, strangers_of_each

__all__ = [
    "MOST_FINDINGS",
    "Finding",
    "Kind",
    "Path",
    "Severity",
    "Strangers",
    "is_poisoned",
    "scan",
    "strangers",
    "strangers_of_each",
]
