"""Images before anything of them runs: fetched, and asked for the tools that their label tells of."""

import json
from collections.abc import Callable
from typing import Final

from pegboard.ports.describing import CannotDescribe

from .box import image_problem
from .engine import Engine, NoEngine, Said, engine_error

LABEL: Final = "io.pegboard.tools"
_INSPECT: Final = 60.0
_FETCH: Final = 1800.0
_UNKNOWN: Final = (b"image not known", b"No such image", b"o such object", b"unable to find")


async def fetched(find: Callable[[], Engine | NoEngine], image: str, told: Callable[[str], None]) -> None:
    """So that the image is here: what is here already is left as it is. Raises `CannotDescribe`."""
    await _inspected(find, image, told)


async def label_of(find: Callable[[], Engine | NoEngine], image: str, told: Callable[[str], None]) -> str | None:
    """The label `io.pegboard.tools`, as it stands in the image. Raises `CannotDescribe`."""
    said = await _inspected(find, image, told)
    try:
        labels = json.loads(said.out)
    except ValueError:
        raise CannotDescribe(
            f"the labels of the image {image} cannot be read. Is the engine podman or docker?"
        ) from None
    label = labels.get(LABEL) if isinstance(labels, dict) else None
    return label if isinstance(label, str) else None


async def _inspected(find: Callable[[], Engine | NoEngine], image: str, told: Callable[[str], None]) -> Said:
    if (problem := image_problem(image)) is not None:
        raise CannotDescribe(f"{problem}.")
    engine = find()
    if isinstance(engine, NoEngine):
        raise CannotDescribe(f"the image {image} {engine.why}.")
    said = await _asked(
        engine, image, "image", "inspect", "--format", "{{json .Config.Labels}}", image, within=_INSPECT
    )
    if said.code == 0:
        return said
    if not any(words in said.error for words in _UNKNOWN):
        raise CannotDescribe(f"the image {image} cannot be looked at: {engine.name} says: {engine_error(said.error)}.")
    told(f"fetching the image {image}")
    pulled = await _asked(engine, image, "pull", "--quiet", image, within=_FETCH)
    if pulled.code:
        why = engine_error(pulled.error)
        raise CannotDescribe(f"the image {image} is not here and cannot be fetched: {engine.name} says: {why}.")
    again = await _asked(
        engine, image, "image", "inspect", "--format", "{{json .Config.Labels}}", image, within=_INSPECT
    )
    if again.code:
        raise CannotDescribe(f"the image {image} cannot be looked at: {engine.name} says: {engine_error(again.error)}.")
    return again


async def _asked(engine: Engine, image: str, *arguments: str, within: float) -> Said:
    try:
        return await engine.ask(*arguments, within=within, proxies=arguments[0] == "pull")
    except TimeoutError:
        raise CannotDescribe(f"{engine.name} did not answer about the image {image} within {within:g} s.") from None
    except OSError as error:
        raise CannotDescribe(f"{engine.name} cannot be started: {error.strerror or error}.") from None
