"""How many parameters a model has: read out of its name, or out of what its server tells of it."""

import re
from collections.abc import Mapping
from typing import Final

from pegboard.core.tool import Json

_NUMBER: Final = r"[0-9]{1,6}(?:\.[0-9]{1,4})?"
_MIXTURE: Final = re.compile(rf"(?<![0-9a-z.])([0-9]{{1,3}})x({_NUMBER})b(?![0-9a-z])")
# A letter before it makes it another thing: a3b are the parameters at work, v2b is a version. Only e4b, the effective
# ones, count as a size. 17b-16e are the parameters at work beside sixteen experts.
_PLAIN: Final = re.compile(
    rf"(?:(?<![0-9a-z.])|(?<=(?<![0-9a-z])e))({_NUMBER})([bmt])(?![0-9a-z])(?![-_][0-9]+e(?![0-9a-z]))"
)
_UNITS: Final = {"m": 0.001, "b": 1.0, "t": 1000.0}
_MIN_MILLIONS: Final = 10
"""1m is a length of context."""
_MAX_BILLIONS: Final = 100_000.0
_COUNTS: Final = (
    "parameter_count",
    "general.parameter_count",
    "num_parameters",
    "n_params",
    "params",
    "total_parameters",
)
_SIZES: Final = ("parameter_size", "parameters", "size_label", "general.size_label")
_NESTED_KEYS: Final = ("details", "model_info", "meta", "safetensors")


def size_in_name(name: str) -> float | None:
    """Billions. `None` where the name tells none; what is no size (a version, a quantisation, a length of context, the
    parameters at work of a mixture) is not taken for one."""
    text = name.casefold()
    mixed = [int(each[1]) * float(each[2]) for each in _MIXTURE.finditer(text)]
    found = [*_PLAIN.finditer(text)]
    # Beside a size in billions, trillions are the tokens that it was trained on.
    tokens = "t" if mixed or any(each[2] == "b" for each in found) else ""
    plain = [
        float(each[1]) * _UNITS[each[2]]
        for each in found
        if each[2] != tokens and (each[2] != "m" or float(each[1]) >= _MIN_MILLIONS)
    ]
    # Of several the largest: a draft model or a length of context may stand beside it.
    return max((size for size in (*mixed, *plain) if 0 < size < _MAX_BILLIONS), default=None)


def billions_in_metadata(told: Mapping[str, Json]) -> float | None:
    """Billions, by the places in which model servers write it."""
    places = [told, *(inner for key in _NESTED_KEYS if isinstance(inner := told.get(key), Mapping))]
    for place in places:
        for key in _COUNTS:
            if (found := _billions_of_count(place.get(key))) is not None:
                return found
        if (
            isinstance(total := place.get("total"), int)
            and place is not told
            and (found := _billions_of_count(total)) is not None
        ):
            return found
        for key in _SIZES:
            if isinstance(text := place.get(key), str) and (found := _billions_of_text(text)) is not None:
                return found
    return None


def _billions_of_count(value: Json) -> float | None:
    """A bare number: of parameters, or of billions where it is too small to be that."""
    if isinstance(value, str):
        return _billions_of_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        return None
    billions = value / 1e9 if value >= 1e5 else float(value)
    return round(billions, 3) if billions < _MAX_BILLIONS else None


def _billions_of_text(text: str) -> float | None:
    return size_in_name(text.strip().replace(" ", "").replace(",", "."))
