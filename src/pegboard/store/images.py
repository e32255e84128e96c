"""Containers as a manifest asks for them, to JSON and back."""

from dataclasses import fields
from typing import Any, Final

from pegboard.core.own import Image

_NAMES: Final = tuple(field.name for field in fields(Image))


def image_document(image: Image) -> dict[str, object]:
    return {**{name: getattr(image, name) for name in _NAMES}, "args": list(image.args), "env": dict(image.env)}


def image_of(said: dict[str, Any]) -> Image:
    return Image(**{**said, "args": tuple(said["args"])})
