"""What we write is an ONNX model to the runtime that reads it, and weights are read as they were written."""

import json
import struct
from typing import TypeAlias

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from pegboard.providers.embedding.convert import (
    EMBEDDING,
    HEADS,
    IDS,
    LAYERS,
    MASK,
    MAX_POSITIONS,
    WIDTH,
    build_network,
    model,
    node,
    read_weights,
    tensor,
    value,
)

Floats: TypeAlias = NDArray[np.float32]


def session(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def test_a_model_that_we_write_is_run_by_the_runtime() -> None:
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    written = model(
        "sums",
        [node("Add", ["given", "weights"], ["sum"]), node("Softmax", ["sum"], ["shares"], attributes={"axis": -1})],
        [tensor("weights", weights)],
        [value("given", "float32", ("rows", 3))],
        [value("shares", "float32", ("rows", 3))],
    )
    given = np.ones((2, 3), np.float32)
    (shares,) = session(written).run(None, {"given": given})
    expected = np.exp(given + weights) / np.exp(given + weights).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, expected, rtol=1e-5)


def random_weights() -> dict[str, Floats]:
    few = (np.random.default_rng(7).standard_normal(9_973) * 0.05).astype(np.float32)

    def some(*shape: int) -> Floats:
        return np.resize(few, shape)

    weights = {
        "embeddings.word_embeddings.weight": some(50, WIDTH),
        "embeddings.position_embeddings.weight": some(MAX_POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": some(2, WIDTH),
    }
    sizes = {"intermediate.dense": (4 * WIDTH, WIDTH), "output.dense": (WIDTH, 4 * WIDTH)}
    own = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    for layer in range(LAYERS):
        for name, shape in {**dict.fromkeys(own, (WIDTH, WIDTH)), **sizes}.items():
            weights[f"encoder.layer.{layer}.{name}.weight"] = some(*shape)
            weights[f"encoder.layer.{layer}.{name}.bias"] = some(shape[0])
    normal = [f"encoder.layer.{layer}.{name}" for layer in range(LAYERS) for name in ("attention.output", "output")]
    for name in ("embeddings", *normal):
        weights[f"{name}.LayerNorm.weight"] = 1 + some(WIDTH)
        weights[f"{name}.LayerNorm.bias"] = some(WIDTH)
    return weights


def by_numpy(weights: dict[str, Floats], ids: list[int]) -> Floats:
    """The same in whole numbers of 32 bits, as a textbook has it."""

    def normal(x: Floats, at: str) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        scaled = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        moved: Floats = scaled * weights[f"{at}.LayerNorm.weight"] + weights[f"{at}.LayerNorm.bias"]
        return moved

    def dense(x: Floats, at: str) -> Floats:
        return x @ weights[f"{at}.weight"].T + weights[f"{at}.bias"]

    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = normal(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        parts = [dense(x, f"{at}.attention.self.{part}") for part in ("query", "key", "value")]
        query, key, own = (part.reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for part in parts)
        weighed = query @ key.transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS)
        weighed = np.exp(weighed - weighed.max(-1, keepdims=True))
        heard = (weighed / weighed.sum(-1, keepdims=True) @ own).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        x = normal(x + dense(heard, f"{at}.attention.output.dense"), f"{at}.attention.output")
        risen = dense(x, f"{at}.intermediate.dense")
        bent = 0.5 * risen * (1 + np.tanh(np.sqrt(2 / np.pi) * (risen + 0.044715 * risen**3)))
        x = normal(x + dense(bent, f"{at}.output.dense"), f"{at}.output")
    mean: Floats = x.mean(0) / np.sqrt((x.mean(0) ** 2).sum())
    return mean


@pytest.mark.behaviour("semantic.own_network")
def test_the_network_computes_what_the_textbook_does_but_for_the_rounding() -> None:
    weights = random_weights()
    run = session(build_network(weights))
    for ids in ([1, 2, 3], [4], [*range(5, 45)]):
        given = np.array([ids], np.int64)
        (found,) = run.run([EMBEDDING], {IDS: given, MASK: np.ones_like(given)})
        assert found.shape == (1, WIDTH)
        assert float(found[0] @ by_numpy(weights, ids)) > 0.99


def test_a_network_that_lacks_a_weight_is_not_built() -> None:
    weights = random_weights()
    del weights["encoder.layer.3.output.dense.bias"]
    with pytest.raises(KeyError, match=r"encoder\.layer\.3\.output\.dense\.bias"):
        build_network(weights)


def safetensors(table: object, numbers: bytes) -> bytes:
    head = json.dumps(table).encode()
    return struct.pack("<Q", len(head)) + head + numbers


def test_weights_are_read_in_their_shapes_and_indices_are_left() -> None:
    numbers = np.arange(6, dtype="<f4").tobytes() + np.array([0.5], "<f2").tobytes() + np.array([7], "<i8").tobytes()
    content = safetensors(
        {
            "__metadata__": {"format": "pt"},
            "matrix": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
            "half": {"dtype": "F16", "shape": [1], "data_offsets": [24, 26]},
            "places": {"dtype": "I64", "shape": [1], "data_offsets": [26, 34]},
        },
        numbers,
    )
    found = read_weights(content)
    assert {name: array.tolist() for name, array in found.items()} == {
        "matrix": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
        "half": [0.5],
    }


@pytest.mark.parametrize(
    "content",
    [b"", b"\x01", struct.pack("<Q", 10**12) + b"{}", struct.pack("<Q", 2) + b"no"],
)
def test_what_holds_no_weights_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        read_weights(content)


def test_a_table_that_points_beyond_the_file_is_refused() -> None:
    with pytest.raises(ValueError):
        read_weights(safetensors({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, b"\0" * 8))
