"""Images before anything of them runs: fetched, and asked for the tools that their label tells of."""

import json
from collections.abc import Callable
from typing import Final

from pegboard.ports.describing import ToolDescriptionError

from .box import image_problem
from .engine import ContainerEngine, EngineOutput, NoEngine, engine_error

LABEL: Final = "io.pegboard.tools"
_INSPECT_TIMEOUT_S: Final = 60.0
_FETCH_TIMEOUT_S: Final = 1800.0
_UNKNOWN_IMAGE_ERRORS: Final = (b"image not known", b"No such image", b"o such object", b"unable to find")


async def fetch_image(find: Callable[[], ContainerEngine | NoEngine], image: str, told: Callable[[str], None]) -> None:
    """So that the image is here: what is here already is left as it is. Raises `CannotDescribe`."""
    await _inspect_image(find, image, told)


async def image_label(
    find: Callable[[], ContainerEngine | NoEngine], image: str, told: Callable[[str], None]
) -> str | None:
    """The label `io.pegboard.tools`, as it stands in the image. Raises `CannotDescribe`."""
    said = await _inspect_image(find, image, told)
    try:
        labels = json.loads(said.out)
    except ValueError:
        raise ToolDescriptionError(
            f"the labels of the image {image} cannot be read. Is the engine podman or docker?"
        ) from None
    label = labels.get(LABEL) if isinstance(labels, dict) else None
    return label if isinstance(label, str) else None


async def _inspect_image(
    find: Callable[[], ContainerEngine | NoEngine], image: str, told: Callable[[str], None]
) -> EngineOutput:
    if (problem := image_problem(image)) is not None:
        raise ToolDescriptionError(f"{problem}.")
    engine = find()
    if isinstance(engine, NoEngine):
        raise ToolDescriptionError(f"the image {image} {engine.why}.")
    said = await _ask_engine(
        engine, image, "image", "inspect", "--format", "{{json .Config.Labels}}", image, within=_INSPECT_TIMEOUT_S
    )
    if said.code == 0:
        return said
    if not any(words in said.error for words in _UNKNOWN_IMAGE_ERRORS):
        raise ToolDescriptionError(
            f"the image {image} cannot be looked at: {engine.name} says: {engine_error(said.error)}."
        )
    told(f"fetching the image {image}")
    pulled = await _ask_engine(engine, image, "pull", "--quiet", image, within=_FETCH_TIMEOUT_S)
    if pulled.code:
        why = engine_error(pulled.error)
        raise ToolDescriptionError(f"the image {image} is not here and cannot be fetched: {engine.name} says: {why}.")
    again = await _ask_engine(
        engine, image, "image", "inspect", "--format", "{{json .Config.Labels}}", image, within=_INSPECT_TIMEOUT_S
    )
    if again.code:
        raise ToolDescriptionError(
            f"the image {image} cannot be looked at: {engine.name} says: {engine_error(again.error)}."
        )
    return again


async def _ask_engine(engine: ContainerEngine, image: str, *arguments: str, within: float) -> EngineOutput:
    try:
        return await engine.query(*arguments, within=within, proxies=arguments[0] == "pull")
    except TimeoutError:
        raise ToolDescriptionError(
            f"{engine.name} did not answer about the image {image} within {within:g} s."
        ) from None
    except OSError as error:
        raise ToolDescriptionError(f"{engine.name} cannot be started: {error.strerror or error}.") from None
