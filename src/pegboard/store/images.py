"""Containers as a manifest asks for them, to JSON and back."""

from dataclasses import fields
from typing import Any, Final

from pegboard.core.own import ContainerImage

from .text import check_pairs, check_texts, check_type

_MEMBER_TYPES: Final[dict[str, tuple[type[Any] | None, ...]]] = {
    "image": (str,),
    "network": (bool,),
    "workspace": (bool,),
    "memory": (int,),
    "pids": (int,),
    "cpus": (int, float, None),
}
_MEMBER_NAMES: Final = tuple(field.name for field in fields(ContainerImage))


def image_document(image: ContainerImage) -> dict[str, object]:
    return {**{name: getattr(image, name) for name in _MEMBER_NAMES}, "args": list(image.args), "env": dict(image.env)}


def image_of(said: dict[str, Any]) -> ContainerImage:
    plain = {name: check_type(said[name], *_MEMBER_TYPES[name]) for name in said if name not in ("args", "env")}
    return ContainerImage(**plain, args=check_texts(said["args"]), env=check_pairs(said["env"]))
