"""Which presentation a view gets where the number of its tools decides."""

from itertools import islice

from pegboard.core.resolve import Resolution

from .presenting import Presented, Presenting


def chosen(resolution: Resolution, presenting: Presenting) -> Presented:
    """Search, of more tools than the threshold. Who narrows its view to a few gets those."""
    return Presented.SEARCH if exceeds(resolution, presenting) else Presented.DIRECT


def exceeds(resolution: Resolution, presenting: Presenting) -> bool:
    return next(islice(resolution.open(), presenting.threshold, None), None) is not None
