"""Containers as a manifest asks for them, to JSON and back."""

from dataclasses import fields
from typing import Any, Final

from pegboard.core.own import Image

from .text import checked, checked_pairs, checked_texts

_KINDS: Final[dict[str, tuple[type[Any] | None, ...]]] = {
    "image": (str,),
    "network": (bool,),
    "workspace": (bool,),
    "memory": (int,),
    "pids": (int,),
    "cpus": (int, float, None),
}
_NAMES: Final = tuple(field.name for field in fields(Image))


def image_document(image: Image) -> dict[str, object]:
    return {**{name: getattr(image, name) for name in _NAMES}, "args": list(image.args), "env": dict(image.env)}


def image_of(said: dict[str, Any]) -> Image:
    plain = {name: checked(said[name], *_KINDS[name]) for name in said if name not in ("args", "env")}
    return Image(**plain, args=checked_texts(said["args"]), env=checked_pairs(said["env"]))
