"""Writing an ONNX model: the few messages of its format that a network of ours needs, as bytes.

The format is Protocol Buffers, in which a message is its fields one after the other, each with its number. To write
that takes a page; the package that would do it for us brings a compiler with it.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Attribute: TypeAlias = int | float
Tensor: TypeAlias = NDArray[np.float32] | NDArray[np.int8] | NDArray[np.int64]

MICROSOFT_DOMAIN: Final = "com.microsoft"
"""The operators that onnxruntime has beside those of the standard."""

_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_FLOAT, _INT = 1, 2
_TYPES: Final[Mapping[str, int]] = {"float32": 1, "int8": 3, "int64": 7}
_IR_VERSION: Final = 9
_OPSET_VERSION: Final = 18


def node(
    op: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    domain: str = "",
    attributes: Mapping[str, Attribute] = MappingProxyType({}),
) -> bytes:
    """An input that is left out is an empty name."""
    return b"".join(
        (
            *(_text(1, name) for name in inputs),
            *(_text(2, name) for name in outputs),
            _text(4, op),
            *(_bytes(5, _attribute(name, value)) for name, value in attributes.items()),
            _text(7, domain),
        )
    )


def tensor(name: str, values: Tensor) -> bytes:
    laid_out = np.ascontiguousarray(values)
    if not laid_out.dtype.isnative or laid_out.dtype.byteorder == ">":
        laid_out = laid_out.astype(laid_out.dtype.newbyteorder("<"))
    dimensions = (_number(1, size) for size in values.shape)
    return b"".join((*dimensions, _number(2, _TYPES[values.dtype.name]), _text(8, name), _bytes(9, laid_out.tobytes())))


def value(name: str, of: str, shape: Iterable[str | int]) -> bytes:
    """An input or output; a size that is known only when it runs is a name."""
    sizes = (_text(2, size) if isinstance(size, str) else _number(1, size) for size in shape)
    dimensions = b"".join(_bytes(1, size) for size in sizes)
    kind = _number(1, _TYPES[of]) + _bytes(2, dimensions)
    return _text(1, name) + _bytes(2, _bytes(1, kind))


def model(
    name: str, nodes: Iterable[bytes], tensors: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    graph = b"".join(
        (
            *(_bytes(1, each) for each in nodes),
            _text(2, name),
            *(_bytes(5, each) for each in tensors),
            *(_bytes(11, each) for each in inputs),
            *(_bytes(12, each) for each in outputs),
        )
    )
    operators = (
        _text(1, domain) + _number(2, version) for domain, version in (("", _OPSET_VERSION), (MICROSOFT_DOMAIN, 1))
    )
    return b"".join(
        (_number(1, _IR_VERSION), _text(2, "pegboard"), _bytes(7, graph), *(_bytes(8, each) for each in operators))
    )


def _attribute(name: str, said: Attribute) -> bytes:
    if isinstance(said, int):
        return _text(1, name) + _number(3, said) + _number(20, _INT)
    return _text(1, name) + _key(2, _FIXED32) + struct.pack("<f", said) + _number(20, _FLOAT)


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _bytes(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(content)) + content


def _number(field: int, number: int) -> bytes:
    return _key(field, _VARINT) + _varint(number)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first. A negative number is its complement in 64 bits."""
    rest, found = number & 0xFFFF_FFFF_FFFF_FFFF, bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)
