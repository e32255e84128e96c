"""What was found in tools by themselves, by their fingerprints: whoever looks at a board again need not wait again.

What other servers' tools have to do with it is not remembered, because those change; but whether there can be anything
is seen from what is.
"""

from array import array
from dataclasses import dataclass
from typing import Final

from pegboard.core.tool import Fingerprint

from .finding import ScanFinding

MAX_CACHED_WEIGHT: Final = 1 << 14
"""Tools and findings together, twice. A hostile server may list thousands of tools with many findings each."""


@dataclass(frozen=True, slots=True)
class ToolScan:
    """One tool, as it was read by itself."""

    findings: tuple[ScanFinding, ...]
    mentions: "array[int]"
    """What may be names of tools in its texts: see `strangers.mentions`."""
    speaks_of_others: bool

    @property
    def weight(self) -> int:
        return 1 + len(self.findings)


class ScanCache:
    """Bounded, by forgetting what nobody has asked for during a whole generation. Each step is one look into a
    dictionary or one assignment, so threads may share it."""

    def __init__(self, most: int = MAX_CACHED_WEIGHT) -> None:
        self._max_weight = most
        self._weight = 0
        self._young: dict[Fingerprint, ToolScan] = {}
        self._old: dict[Fingerprint, ToolScan] = {}

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def get(self, fingerprint: Fingerprint) -> ToolScan | None:
        read = self._young.get(fingerprint)
        if read is None and (read := self._old.get(fingerprint)) is not None:
            self.add(fingerprint, read)
        return read

    def add(self, fingerprint: Fingerprint, read: ToolScan) -> None:
        if self._weight + read.weight > self._max_weight:
            self._old, self._young, self._weight = self._young, {}, 0
        self._young[fingerprint] = read
        self._weight += read.weight
