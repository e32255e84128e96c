"""Which core runs what. The gateway has a core of its own; the load client and the upstream share the other one."""

import os
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placement:
    """The cores of one run; None where processes cannot be pinned."""

    load: int | None
    gateway: int | None

    @property
    def is_pinned(self) -> bool:
        return self.gateway is not None

    def __str__(self) -> str:
        if not self.is_pinned:
            return "not pinned (needs Linux with two cores)"
        return f"gateway on core {self.gateway}, client and upstream on core {self.load}"


def available_placement() -> Placement:
    """The first two cores this process may use, or none where the system cannot pin or has only one."""
    if sys.platform == "linux":
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) >= 2:
            return Placement(load=cores[0], gateway=cores[1])
    return Placement(load=None, gateway=None)


def pin_this_process(core: int | None) -> None:
    """Keep this process, and what it starts, on one core; without a core it may run anywhere."""
    if core is not None:
        pin(0, core)


def pin(pid: int, core: int) -> None:
    if sys.platform == "linux":
        os.sched_setaffinity(pid, {core})
