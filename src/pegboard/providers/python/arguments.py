"""Arguments as the JSON that a worker reads."""

import json
from collections.abc import Mapping

from pegboard.core.tool import Json


class UnencodableArgumentsError(Exception):
    """Arguments that no JSON text can carry."""


def encode_arguments(arguments: Mapping[str, Json]) -> bytes:
    """Raises `Unsendable`."""
    try:
        # Not msgspec, which would send a number that is none as null.
        return json.dumps(dict(arguments), allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise UnencodableArgumentsError("the arguments hold half a character, which no JSON text can carry") from None
    except (ValueError, RecursionError):
        raise UnencodableArgumentsError(
            "the arguments hold a number that is not finite, or are nested too deep"
        ) from None
