"""Which presentation a view gets where the number of its tools decides."""

from itertools import islice

from pegboard.core.resolve import Resolution

from .presenting import PresentationMode, PresentationSettings


def choose_presentation(resolution: Resolution, presenting: PresentationSettings) -> PresentationMode:
    """Search, of more tools than the threshold. Who narrows its view to a few gets those."""
    return PresentationMode.SEARCH if exceeds_threshold(resolution, presenting) else PresentationMode.DIRECT


def exceeds_threshold(resolution: Resolution, presenting: PresentationSettings) -> bool:
    return next(islice(resolution.open_tools(), presenting.threshold, None), None) is not None
