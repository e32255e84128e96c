"""The network of all-MiniLM-L6-v2 as an ONNX model in eight bits: six layers of attention, then the mean of the words.

A weight takes 7 bits, with a scale for each column: processors that lack the newer instructions add products of 8 bits
in 16, and would overflow. So a text has the same vector wherever it is encoded.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Writing an ONNX model: the few messages of its format that a network of ours needs, as bytes.
#
# The format is Protocol Buffers, in which a message is its fields one after the other, each with its number. To
# write
# that takes a page; the package that would do it for us brings a compiler with it.

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


# Reading weights: a safetensors file is a length, a JSON table of what lies where, and the numbers themselves.

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


WIDTH: Final = 384
LAYERS: Final = 6
HEADS: Final = 12
MAX_POSITIONS: Final = 512
"""Tokens: what the network has places for."""

IDS, MASK, EMBEDDING = "input_ids", "attention_mask", "embedding"

_EPSILON: Final = 1e-12
_QUANTIZATION_STEPS: Final = 63


def build_network(weights: Weights) -> bytes:
    """Raises `KeyError` when a weight is missing."""
    return _NetworkBuilder(weights).build()


class _NetworkBuilder:
    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def build(self) -> bytes:
        words = self._embedding()
        for layer in range(LAYERS):
            words = self._layer(f"encoder.layer.{layer}", words)
        self._mean(words)
        return model(
            "all-MiniLM-L6-v2",
            self._nodes,
            self._tensors,
            [value(name, "int64", ("texts", "tokens")) for name in (IDS, MASK)],
            [value(EMBEDDING, "float32", ("texts", WIDTH))],
        )

    def _embedding(self) -> str:
        """Each word's row, by its own scale, and where it stands in the text."""
        rows = self._weights["embeddings.word_embeddings.weight"]
        scales = np.maximum(np.abs(rows).max(axis=1, keepdims=True) / 127, np.float32(1e-12))
        self._constant("word_rows", np.round(rows / scales).astype(np.int8))
        self._constant("word_scales", scales.astype(np.float32))
        first = self._weights["embeddings.token_type_embeddings.weight"][0]
        self._constant("places", self._weights["embeddings.position_embeddings.weight"] + first)
        for name, number in (("zero", 0), ("one", 1), ("last", -1)):
            self._constant(name, np.array([number], np.int64))
        self._add("Gather", "word_rows", IDS, to="word_steps")
        self._add("Cast", "word_steps", to="word_numbers", attributes={"to": 1})
        self._add("Gather", "word_scales", IDS, to="word_scale")
        self._add("Mul", "word_numbers", "word_scale", to="words")
        self._add("Shape", IDS, to="sizes")
        self._add("Gather", "sizes", "one", to="tokens", attributes={"axis": 0})
        self._add("Slice", "places", "zero", "tokens", "zero", to="placed")
        self._add("Add", "words", "placed", to="embedded")
        self._add("Cast", MASK, to="mask", attributes={"to": 6})
        scale, shift = self._weight("embeddings.LayerNorm.weight"), self._weight("embeddings.LayerNorm.bias")
        rule: dict[str, Attribute] = {"epsilon": _EPSILON, "axis": -1}
        return self._add("LayerNormalization", "embedded", scale, shift, to="layer_input", attributes=rule)

    def _layer(self, at: str, words: str) -> str:
        attended = self._attention(f"{at}.attention.self", words)
        said = self._product(f"{at}.attention.output.dense", attended)
        heard = self._sum(f"{at}.attention.output", said, words)
        risen = self._product(f"{at}.intermediate.dense", heard)
        bent = self._add_microsoft("Gelu", risen, to=f"{at}.gelu")
        return self._sum(f"{at}.output", self._product(f"{at}.output.dense", bent), heard)

    def _attention(self, at: str, words: str) -> str:
        """Question, key and value in one product."""
        parts = ("query", "key", "value")
        matrix = np.concatenate([self._weights[f"{at}.{part}.weight"] for part in parts]).T
        scale = self._quantize(at, matrix)
        self._constant(f"{at}.bias", np.concatenate([self._weights[f"{at}.{part}.bias"] for part in parts]))
        quantised = (f"{at}.steps", f"{at}.step", f"{at}.zero")
        self._nodes.append(node("DynamicQuantizeLinear", [words], quantised))
        steps, step, zero = quantised
        return self._add_microsoft(
            *("QAttention", steps, f"{at}.matrix", f"{at}.bias", step, scale, "mask", zero, f"{at}.matrix_zero"),
            to=f"{at}.attended",
            attributes={"num_heads": HEADS},
        )

    def _product(self, at: str, words: str) -> str:
        scale, bias = self._quantize(at, self._weights[f"{at}.weight"].T), self._weight(f"{at}.bias")
        return self._add_microsoft(
            *("DynamicQuantizeMatMul", words, f"{at}.matrix", scale, f"{at}.matrix_zero", bias), to=f"{at}.product"
        )

    def _sum(self, at: str, one: str, other: str) -> str:
        scale, shift = self._weight(f"{at}.LayerNorm.weight"), self._weight(f"{at}.LayerNorm.bias")
        rule: dict[str, Attribute] = {"epsilon": _EPSILON}
        return self._add_microsoft(
            "SkipLayerNormalization", one, other, scale, shift, to=f"{at}.normal", attributes=rule
        )

    def _mean(self, words: str) -> None:
        """Of the words that count, at length one."""
        self._constant("least", np.array(_EPSILON, np.float32))
        self._add("Cast", MASK, to="counted", attributes={"to": 1})
        self._add("Unsqueeze", "counted", "last", to="counting")
        self._add("Mul", words, "counting", to="counted_words")
        self._add("ReduceSum", "counted_words", "one", to="sum", attributes={"keepdims": 0})
        self._add("ReduceL2", "sum", "last", to="length", attributes={"keepdims": 1})
        self._add("Max", "length", "least", to="some_length")
        self._add("Div", "sum", "some_length", to=EMBEDDING)

    def _quantize(self, at: str, matrix: NDArray[np.float32]) -> str:
        scales = np.maximum(np.abs(matrix).max(axis=0) / _QUANTIZATION_STEPS, np.float32(1e-12)).astype(np.float32)
        self._constant(f"{at}.matrix", np.round(matrix / scales).astype(np.int8))
        self._constant(f"{at}.matrix_zero", np.zeros(matrix.shape[1], np.int8))
        return self._constant(f"{at}.scales", scales)

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, values: Tensor) -> str:
        self._tensors.append(tensor(name, values))
        return name

    def _add(self, op: str, *inputs: str, to: str, attributes: dict[str, Attribute] | None = None) -> str:
        self._nodes.append(node(op, inputs, [to], attributes=attributes or {}))
        return to

    def _add_microsoft(self, op: str, *inputs: str, to: str, attributes: dict[str, Attribute] | None = None) -> str:
        self._nodes.append(node(op, inputs, [to], MICROSOFT_DOMAIN, attributes or {}))
        return to
