"""Reading weights: a safetensors file is a length, a JSON table of what lies where, and the numbers themselves."""

import json
import struct
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

Weights = Mapping[str, NDArray[np.float32]]

_MAX_TABLE_BYTES: Final = 10_000_000
_DTYPES: Final[Mapping[str, "np.dtype[np.float32] | np.dtype[np.float16]"]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
}


def read_weights(content: bytes) -> Weights:
    """Those that are numbers with a point; a table of indices is none. Raises `ValueError` on what is no such file."""
    if len(content) < 8:
        raise ValueError("it ends before it begins")
    (length,) = struct.unpack_from("<Q", content)
    if length > min(_MAX_TABLE_BYTES, len(content) - 8):
        raise ValueError("its table is longer than the file")
    table = json.loads(content[8 : 8 + length])
    found: dict[str, NDArray[np.float32]] = {}
    for name, entry in table.items():
        if (kind := _DTYPES.get(entry.get("dtype"))) is None:
            continue
        begin, end = entry["data_offsets"]
        numbers = np.frombuffer(content, kind, (end - begin) // kind.itemsize, 8 + length + begin)
        found[name] = numbers.reshape(entry["shape"]).astype(np.float32, copy=False)
    return found
