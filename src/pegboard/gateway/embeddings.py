"""Semantic search over the board: vectors from the store or computed in the background. Nothing is loaded before the
first search.

Nothing is loaded, read or made before somebody searches.
"""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from pegboard.core.model.ids import SourceKey, ToolId
from pegboard.gateway.signals import ChangeSignal, Subscription, contain_cancellation
from pegboard.ports.models import Digest, Encoder, EncodingError, Vector, VectorStore, VectorsUnavailable
from pegboard.ports.providers import Clock

if TYPE_CHECKING:
    from pegboard.search.index import AnalyzedDocuments, DocumentSource
    from pegboard.search.semantic import BoardEmbeddings, PartDigests, QueryVectors


log = logging.getLogger(__name__)

VECTOR_LIFETIME: Final = timedelta(days=30)
"""How long a vector is kept that no gateway uses."""
MAX_MISSING_SHARE: Final = 0.1
"""The share of tools that may lack a vector; with more, all are found by their words alone."""
_SWEEP_INTERVAL: Final = timedelta(days=1)
_MAX_CACHED_QUERIES: Final = 1_024
"""Queries and their clauses."""
_LOAD_BATCH: Final = 4_000
_ENCODE_BATCH: Final = 64
"""Vectors that are made before they are kept: what a killed process loses."""
_BATCHES_PER_ROUND: Final = 8
"""Batches before the board is looked at again. What may not leave this machine is looked at before each."""
_SETTLE_S: Final = 0.5
_MIN_RETRY_PAUSE_S: Final = 5.0
_MAX_RETRY_PAUSE_S: Final = 300.0
_QUERY_PAUSE_S: Final = 10.0
"""Seconds for which an encoder that failed is not asked about queries."""


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    model: str
    is_remote: bool
    tools: int
    """That are to be read."""
    vectors: int
    """Of these."""
    problem: str | None
    """Why it does not go on, if it does not."""

    @property
    def is_ready(self) -> bool:
        """Whether a search of the whole board goes by meaning too."""
        return self.problem is None and self.tools > 0 and self.tools - self.vectors <= MAX_MISSING_SHARE * self.tools


@dataclass(frozen=True)
class EmbeddableTools:
    """The board as it is to be read: what each source lists, and which tools are open."""

    listings: "Mapping[SourceKey, AnalyzedDocuments]"
    open_tools: frozenset[ToolId]
    """Asked for only where texts leave this machine."""

    def is_same(self, other: "EmbeddableTools") -> bool:
        """Whether nothing was listed or judged anew."""
        return (
            self.open_tools == other.open_tools
            and self.listings.keys() == other.listings.keys()
            and all(listed is other.listings[source] for source, listed in self.listings.items())
        )


class EmbeddingIndex:
    def __init__(self, encoder: Encoder, store: VectorStore, clock: Clock, *, settling: float = _SETTLE_S) -> None:
        self.encoder = encoder
        self.store = store
        self.progress = ChangeSignal()
        self._clock = clock
        self._settle_s = settling
        self._matrix: BoardEmbeddings | None = None
        self._tools = 0
        self._missing_count = 0
        """Of these, how many have no vector yet."""
        self._digests: dict[int, tuple[AnalyzedDocuments, tuple[Digest, ...]]] = {}
        self._loaded_digests: set[Digest] = set()
        self._last_scan: tuple[EmbeddableTools, Mapping[Digest, DocumentSource]] | None = None
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._wake_signal = Subscription()
        self._loaded = anyio.Event()
        self._problem: str | None = None
        """Why tools are not read."""
        self._was_unable = False
        """Whether that was for want of an encoder: once there is one, it is no trouble any more."""
        self._query_problem: str | None = None
        """Why the last query was not."""
        self._queries_paused_until = 0.0
        self._swept_at: datetime | None = None

    def for_other_texts(self) -> "EmbeddingIndex":
        """For other texts, by the same encoder and into the same store."""
        return EmbeddingIndex(self.encoder, self.store, self._clock, settling=self._settle_s)

    def wake(self) -> None:
        """Somebody searches: from now on the board is read. What did not go on is tried again."""
        if self._matrix is None or self._problem is not None:
            self._wake_signal.notify()

    def state(self) -> EmbeddingState:
        traits, there = self.encoder.traits, max(0, self._tools - self._missing_count)
        trouble = (
            self.encoder.unavailable_reason() or (None if self._was_unable else self._problem) or self._query_problem
        )
        return EmbeddingState(traits.name, traits.is_remote, self._tools, there, trouble)

    async def semantic_scores(self, query: str) -> "QueryVectors | None":
        """The meaning of a query, beside those of the board; nothing while there is none to be had in good time."""
        if self.encoder.unavailable_reason() is not None:
            return None
        traits = self.encoder.traits
        with anyio.move_on_after(traits.query_timeout_s):
            # The first who searches waits for what is kept, and for no more.
            await self._loaded.wait()
        shelf = self._matrix
        if not self._loaded.is_set() or shelf is None or not len(shelf.vectors):
            return None
        vector: Vector | None = None
        with anyio.move_on_after(traits.query_timeout_s) as patience:
            vector = await self._vector(query)
        if patience.cancelled_caught:
            self._pause_queries(
                f"A query was not read within {traits.query_timeout_s:g} s, and was answered by its words alone."
            )
        if vector is None:
            return None
        from pegboard.search.semantic import QueryVectors

        return QueryVectors(vector, shelf, traits.min_similarity, MAX_MISSING_SHARE, await self._clauses(query))

    async def _clauses(self, query: str) -> "tuple[Vector, ...]":
        """The vectors of a query's clauses; none where they would have to leave this machine, or take too long."""
        from pegboard.search.text import split_clauses

        traits = self.encoder.traits
        clauses = [] if traits.is_remote else split_clauses(query)
        vectors: list[Vector | None] = []
        with anyio.move_on_after(traits.query_timeout_s):
            vectors = [await self._vector(clause) for clause in clauses]
        return tuple([vector for vector in vectors if vector is not None])

    async def _vector(self, query: str) -> "Vector | None":
        known = self._queries.get(query)
        if known is None:
            if anyio.current_time() < self._queries_paused_until:
                return None
            try:
                known = await self.encoder.encode_query(query)
                self._check_width(known)
            except EncodingError as error:
                self._pause_queries(str(error))
                return None
            self._query_problem = None
            self._queries[query] = known
            if len(self._queries) > _MAX_CACHED_QUERIES:
                self._queries.popitem(last=False)
        self._queries.move_to_end(query)
        return known

    def _check_width(self, vector: "Vector") -> None:
        width = None if self._matrix is None else self._matrix.vectors.width
        if width is not None and vector.shape != (width,):
            raise EncodingError(
                f"{self.encoder.traits.name} reads a query as {len(vector)} numbers, and read the tools as {width}: "
                "it is another model now. Name it in search.embeddings as what it is, and the tools are read anew."
            )

    def _pause_queries(self, why: str) -> None:
        """Or everybody would wait for one that does not answer."""
        self._queries_paused_until = anyio.current_time() + _QUERY_PAUSE_S
        if self._query_problem != why:
            log.warning("%s", why)
        self._query_problem = why

    async def run(self, changed: ChangeSignal, board: Callable[[], Awaitable[EmbeddableTools]]) -> None:
        """From the first search on: after every change of the board, what it says anew is read."""
        await self._wake_signal.wait()
        pause = _MIN_RETRY_PAUSE_S
        with changed.subscribe() as bell:
            # Whoever wakes us later rings the same bell.
            self._wake_signal = bell
            while True:
                if await self._encode_all(board):
                    pause = _MIN_RETRY_PAUSE_S
                    await bell.wait()
                else:
                    with anyio.move_on_after(pause):
                        await bell.wait()
                    pause = min(2 * pause, _MAX_RETRY_PAUSE_S)
                await anyio.sleep(self._settle_s)

    async def _encode_all(self, board: Callable[[], Awaitable[EmbeddableTools]]) -> bool:
        try:
            with contain_cancellation():
                # Before the board is looked at: on a large one that takes its time, and whoever searches by words alone
                # would pay for it each time.
                self._require_encoder()
                while not await self._encode_some(await board()):
                    pass
                await self._sweep()
        except (EncodingError, VectorsUnavailable) as error:
            self._report(str(error))
            return False
        except Exception:  # a supervised task: search by words must not end with it
            log.exception("Reading tools for search by meaning failed")
            self._problem, self._was_unable = "Reading tools failed; see the log.", False
            return False
        finally:
            self._loaded.set()
            self.progress.notify()
        self._problem = None
        return True

    def _require_encoder(self) -> None:
        if (trouble := self.encoder.unavailable_reason()) is not None:
            raise EncodingError(trouble, is_permanent=True)

    async def _encode_some(self, board: EmbeddableTools) -> bool:
        """Whether all is read."""
        self._require_encoder()
        missing = await anyio.to_thread.run_sync(self._missing_texts, board)
        assert self._matrix is not None
        vectors = self._matrix.vectors
        await self._load([digest for digest in missing if digest not in self._loaded_digests])
        self._loaded_digests.update(missing)
        self._loaded.set()
        self.progress.notify()
        rest = [digest for digest in missing if digest not in vectors]
        batches = 1 if self.encoder.traits.is_remote else _BATCHES_PER_ROUND
        for start in range(0, min(len(rest), batches * _ENCODE_BATCH), _ENCODE_BATCH):
            await self._encode({digest: missing[digest] for digest in rest[start : start + _ENCODE_BATCH]})
        return not missing

    def _missing_texts(self, board: EmbeddableTools) -> "Mapping[Digest, DocumentSource]":
        """What the board says that has no vector here. Digests are worked out once for each part."""
        from pegboard.search.semantic import BoardEmbeddings

        shelf = self._matrix or BoardEmbeddings()
        if self._last_scan is not None and self._last_scan[0].is_same(board):
            rest = {digest: said for digest, said in self._last_scan[1].items() if digest not in shelf.vectors}
            if rest:
                self._last_scan = board, rest
                return rest
        self._digests = {id(listed.part): self._digests_of(listed) for listed in board.listings.values()}
        shelf.update([self._encoded_tool(listed, board) for listed in board.listings.values()])
        shelf.drop_unused_vectors()
        said = [
            (digest, telling)
            for listed in board.listings.values()
            for digest, telling in zip(
                shelf.part_digests[id(listed.part)].digests, listed.document_sources, strict=True
            )
            if digest is not None
        ]
        lacking = [(digest, telling) for digest, telling in said if digest not in shelf.vectors]
        self._matrix, self._tools, self._missing_count = shelf, len(said), len(lacking)
        missing = dict(lacking)
        self._last_scan = board, missing
        return missing

    def _digests_of(self, listed: "AnalyzedDocuments") -> "tuple[AnalyzedDocuments, tuple[Digest, ...]]":
        from pegboard.search.semantic import document_text, text_digest

        known = self._digests.get(id(listed.part))
        if known is not None and known[0].part is listed.part:
            return known
        model = self.encoder.traits.model
        return listed, tuple(
            [text_digest(model, document_text(telling.document)) for telling in listed.document_sources]
        )

    def _encoded_tool(self, listed: "AnalyzedDocuments", board: EmbeddableTools) -> "PartDigests":
        from pegboard.search.semantic import PartDigests

        digests = self._digests[id(listed.part)][1]
        if self._matrix is not None and not self.encoder.traits.is_remote:
            known = self._matrix.part_digests.get(id(listed.part))
            if known is not None and known.part is listed.part:
                return known
        if not self.encoder.traits.is_remote:
            return PartDigests(listed.part, digests)
        sent = [telling.key in board.open_tools for telling in listed.document_sources]
        return PartDigests(
            listed.part, tuple([digest if may else None for digest, may in zip(digests, sent, strict=True)])
        )

    async def _load(self, digests: Sequence[Digest]) -> None:
        from pegboard.search.semantic import unpack_vector

        assert self._matrix is not None
        vectors = self._matrix.vectors
        for start in range(0, len(digests), _LOAD_BATCH):
            kept = await self.store.load(digests[start : start + _LOAD_BATCH], self._clock())
            await anyio.to_thread.run_sync(
                lambda some: vectors.add({digest: unpack_vector(content) for digest, content in some.items()}), kept
            )

    async def _encode(self, wanted: "Mapping[Digest, DocumentSource]") -> None:
        from pegboard.search.semantic import document_text, pack_vector, unpack_vector

        assert self._matrix is not None
        # Another replica may have been quicker.
        await self._load([*wanted])
        tellings = {digest: telling for digest, telling in wanted.items() if digest not in self._matrix.vectors}
        made: Sequence[Vector] = await self.encoder.encode_documents(
            [document_text(each.document) for each in tellings.values()]
        )
        # As they will be read again, so that an answer is the same before and after a restart.
        contents = {digest: pack_vector(vector) for digest, vector in zip(tellings, made, strict=True)}
        await self.store.save(contents, self._clock())
        self._matrix.vectors.add({digest: unpack_vector(content) for digest, content in contents.items()})
        self._missing_count -= len(wanted)
        self.progress.notify()

    async def _sweep(self) -> None:
        now = self._clock()
        if self._swept_at is None or now - self._swept_at > _SWEEP_INTERVAL:
            self._swept_at = now
            await self.store.delete_unused(now - VECTOR_LIFETIME)

    def _report(self, why: str) -> None:
        """Once for as long as it is the same: a search asks often. That nobody has set it up is no reason to warn."""
        if self._problem != why:
            level = logging.INFO if why == self.encoder.unavailable_reason() else logging.WARNING
            log.log(level, "Search goes by words alone: %s", why)
        self._problem, self._was_unable = why, why == self.encoder.unavailable_reason()
