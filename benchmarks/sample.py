"""Order statistics of measured samples. Every benchmark reports medians, because one lucky window proves nothing."""

from collections.abc import Sequence


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the samples lie; `ordered` must be sorted and not empty."""
    if not ordered:
        raise ValueError("a percentile needs at least one sample; measure for longer (--seconds)")
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """How many times the denominator the numerator is; None where either was not measured or nothing was spent."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator
