"""Search by meaning over the board: vectors read from the store or made in the background, asked beside a query.

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

from pegboard.core.ids import Source, ToolId
from pegboard.ports import CannotEncode, Clock, Digest, Encoder, Vector, VectorsAway, VectorStore

from .bell import Bell, Listener
from .cancellation import contained

if TYPE_CHECKING:
    from pegboard.search.semantic import Meaning, Read, Shelf
    from pegboard.search.upkeep import Said, TakenApart

log = logging.getLogger(__name__)

KEPT: Final = timedelta(days=30)
"""How long a vector is kept that no gateway uses."""
MOST_MISSING: Final = 0.1
"""The share of tools that may lack a vector; with more, all are found by their words alone."""
_SWEPT: Final = timedelta(days=1)
_REMEMBERED: Final = 1_024
"""Queries and their clauses."""
_READ: Final = 4_000
_MADE: Final = 64
"""Vectors that are made before they are kept: what a killed process loses."""
_ROUND: Final = 8
"""Batches before the board is looked at again. What may not leave this machine is looked at before each."""
_SETTLING: Final = 0.5
_FIRST_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 300.0
_REST: Final = 10.0
"""Seconds for which an encoder that failed is not asked about queries."""


@dataclass(frozen=True, slots=True)
class State:
    model: str
    is_remote: bool
    tools: int
    """That are to be read."""
    vectors: int
    """Of these."""
    trouble: str | None
    """Why it does not go on, if it does not."""

    @property
    def is_ready(self) -> bool:
        """Whether a search of the whole board goes by meaning too."""
        return self.trouble is None and self.tools > 0 and self.tools - self.vectors <= MOST_MISSING * self.tools


@dataclass(frozen=True)
class Readable:
    """The board as it is to be read: what each source lists, and which tools are open."""

    listed: "Mapping[Source, TakenApart]"
    open: frozenset[ToolId]
    """Asked for only where texts leave this machine."""

    def is_same(self, other: "Readable") -> bool:
        """Whether nothing was listed or judged anew."""
        return (
            self.open == other.open
            and self.listed.keys() == other.listed.keys()
            and all(listed is other.listed[source] for source, listed in self.listed.items())
        )


class Meanings:
    def __init__(self, encoder: Encoder, kept: VectorStore, clock: Clock, *, settling: float = _SETTLING) -> None:
        self.encoder = encoder
        self.kept = kept
        self.progressed = Bell()
        self._clock = clock
        self._settling = settling
        self._shelf: Shelf | None = None
        self._tools = 0
        self._lacking = 0
        """Of these, how many have no vector yet."""
        self._digests: dict[int, tuple[TakenApart, tuple[Digest, ...]]] = {}
        self._looked_up: set[Digest] = set()
        self._looked_through: tuple[Readable, Mapping[Digest, Said]] | None = None
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._woken = Listener()
        self._loaded = anyio.Event()
        self._trouble: str | None = None
        """Why tools are not read."""
        self._was_unable = False
        """Whether that was for want of an encoder: once there is one, it is no trouble any more."""
        self._unheard: str | None = None
        """Why the last query was not."""
        self._resting = 0.0
        self._swept: datetime | None = None

    def beside(self) -> "Meanings":
        """For other texts, by the same encoder and into the same store."""
        return Meanings(self.encoder, self.kept, self._clock, settling=self._settling)

    def wake(self) -> None:
        """Somebody searches: from now on the board is read. What did not go on is tried again."""
        if self._shelf is None or self._trouble is not None:
            self._woken.ring()

    def state(self) -> State:
        traits, there = self.encoder.traits, max(0, self._tools - self._lacking)
        trouble = self.encoder.trouble() or (None if self._was_unable else self._trouble) or self._unheard
        return State(traits.name, traits.is_remote, self._tools, there, trouble)

    async def asked(self, query: str) -> "Meaning | None":
        """The meaning of a query, beside those of the board; nothing while there is none to be had in good time."""
        if self.encoder.trouble() is not None:
            return None
        traits = self.encoder.traits
        with anyio.move_on_after(traits.patience):
            # The first who searches waits for what is kept, and for no more.
            await self._loaded.wait()
        shelf = self._shelf
        if not self._loaded.is_set() or shelf is None or not len(shelf.vectors):
            return None
        vector: Vector | None = None
        with anyio.move_on_after(traits.patience) as patience:
            vector = await self._vector(query)
        if patience.cancelled_caught:
            self._rest(f"A query was not read within {traits.patience:g} s, and was answered by its words alone.")
        if vector is None:
            return None
        from pegboard.search.semantic import Meaning

        return Meaning(vector, shelf, traits.floor, MOST_MISSING, await self._clauses(query))

    async def _clauses(self, query: str) -> "tuple[Vector, ...]":
        """The vectors of a query's clauses; none where they would have to leave this machine, or take too long."""
        from pegboard.search.text import clauses_of

        traits = self.encoder.traits
        clauses = [] if traits.is_remote else clauses_of(query)
        vectors: list[Vector | None] = []
        with anyio.move_on_after(traits.patience):
            vectors = [await self._vector(clause) for clause in clauses]
        return tuple([vector for vector in vectors if vector is not None])

    async def _vector(self, query: str) -> "Vector | None":
        known = self._queries.get(query)
        if known is None:
            if anyio.current_time() < self._resting:
                return None
            try:
                known = await self.encoder.query(query)
                self._compare(known)
            except CannotEncode as error:
                self._rest(str(error))
                return None
            self._unheard = None
            self._queries[query] = known
            if len(self._queries) > _REMEMBERED:
                self._queries.popitem(last=False)
        self._queries.move_to_end(query)
        return known

    def _compare(self, vector: "Vector") -> None:
        width = None if self._shelf is None else self._shelf.vectors.width
        if width is not None and vector.shape != (width,):
            raise CannotEncode(
                f"{self.encoder.traits.name} reads a query as {len(vector)} numbers, and read the tools as {width}: "
                "it is another model now. Name it in search.embeddings as what it is, and the tools are read anew."
            )

    def _rest(self, why: str) -> None:
        """Or everybody would wait for one that does not answer."""
        self._resting = anyio.current_time() + _REST
        if self._unheard != why:
            log.warning("%s", why)
        self._unheard = why

    async def run(self, changed: Bell, board: Callable[[], Awaitable[Readable]]) -> None:
        """From the first search on: after every change of the board, what it says anew is read."""
        await self._woken.wait()
        pause = _FIRST_PAUSE
        with changed.listen() as bell:
            # Whoever wakes us later rings the same bell.
            self._woken = bell
            while True:
                if await self._read(board):
                    pause = _FIRST_PAUSE
                    await bell.wait()
                else:
                    with anyio.move_on_after(pause):
                        await bell.wait()
                    pause = min(2 * pause, _LONGEST_PAUSE)
                await anyio.sleep(self._settling)

    async def _read(self, board: Callable[[], Awaitable[Readable]]) -> bool:
        try:
            with contained():
                # Before the board is looked at: on a large one that takes its time, and whoever searches by words alone
                # would pay for it each time.
                self._is_able()
                while not await self._read_some(await board()):
                    pass
                await self._sweep()
        except (CannotEncode, VectorsAway) as error:
            self._tell(str(error))
            return False
        except Exception:  # a supervised task: search by words must not end with it
            log.exception("Reading tools for search by meaning failed")
            self._trouble, self._was_unable = "Reading tools failed; see the log.", False
            return False
        finally:
            self._loaded.set()
            self.progressed.ring()
        self._trouble = None
        return True

    def _is_able(self) -> None:
        if (trouble := self.encoder.trouble()) is not None:
            raise CannotEncode(trouble, lasting=True)

    async def _read_some(self, board: Readable) -> bool:
        """Whether all is read."""
        self._is_able()
        missing = await anyio.to_thread.run_sync(self._missing, board)
        assert self._shelf is not None
        vectors = self._shelf.vectors
        await self._load([digest for digest in missing if digest not in self._looked_up])
        self._looked_up.update(missing)
        self._loaded.set()
        self.progressed.ring()
        rest = [digest for digest in missing if digest not in vectors]
        batches = 1 if self.encoder.traits.is_remote else _ROUND
        for start in range(0, min(len(rest), batches * _MADE), _MADE):
            await self._make({digest: missing[digest] for digest in rest[start : start + _MADE]})
        return not missing

    def _missing(self, board: Readable) -> "Mapping[Digest, Said]":
        """What the board says that has no vector here. Digests are worked out once for each part."""
        from pegboard.search.semantic import Shelf

        shelf = self._shelf or Shelf()
        if self._looked_through is not None and self._looked_through[0].is_same(board):
            rest = {digest: said for digest, said in self._looked_through[1].items() if digest not in shelf.vectors}
            if rest:
                self._looked_through = board, rest
                return rest
        self._digests = {id(listed.part): self._digested(listed) for listed in board.listed.values()}
        shelf.take([self._reading(listed, board) for listed in board.listed.values()])
        shelf.tidy()
        said = [
            (digest, telling)
            for listed in board.listed.values()
            for digest, telling in zip(shelf.reads[id(listed.part)].digests, listed.tellings, strict=True)
            if digest is not None
        ]
        lacking = [(digest, telling) for digest, telling in said if digest not in shelf.vectors]
        self._shelf, self._tools, self._lacking = shelf, len(said), len(lacking)
        missing = dict(lacking)
        self._looked_through = board, missing
        return missing

    def _digested(self, listed: "TakenApart") -> "tuple[TakenApart, tuple[Digest, ...]]":
        from pegboard.search.semantic import digest_of, text_of

        known = self._digests.get(id(listed.part))
        if known is not None and known[0].part is listed.part:
            return known
        model = self.encoder.traits.model
        return listed, tuple([digest_of(model, text_of(telling.document)) for telling in listed.tellings])

    def _reading(self, listed: "TakenApart", board: Readable) -> "Read":
        from pegboard.search.semantic import Read

        digests = self._digests[id(listed.part)][1]
        if self._shelf is not None and not self.encoder.traits.is_remote:
            known = self._shelf.reads.get(id(listed.part))
            if known is not None and known.part is listed.part:
                return known
        if not self.encoder.traits.is_remote:
            return Read(listed.part, digests)
        sent = [telling.key in board.open for telling in listed.tellings]
        return Read(listed.part, tuple([digest if may else None for digest, may in zip(digests, sent, strict=True)]))

    async def _load(self, digests: Sequence[Digest]) -> None:
        from pegboard.search.semantic import unpacked

        assert self._shelf is not None
        vectors = self._shelf.vectors
        for start in range(0, len(digests), _READ):
            kept = await self.kept.read(digests[start : start + _READ], self._clock())
            await anyio.to_thread.run_sync(
                lambda some: vectors.add({digest: unpacked(content) for digest, content in some.items()}), kept
            )

    async def _make(self, wanted: "Mapping[Digest, Said]") -> None:
        from pegboard.search.semantic import packed, text_of, unpacked

        assert self._shelf is not None
        # Another replica may have been quicker.
        await self._load([*wanted])
        tellings = {digest: telling for digest, telling in wanted.items() if digest not in self._shelf.vectors}
        made: Sequence[Vector] = await self.encoder.documents([text_of(each.document) for each in tellings.values()])
        # As they will be read again, so that an answer is the same before and after a restart.
        contents = {digest: packed(vector) for digest, vector in zip(tellings, made, strict=True)}
        await self.kept.keep(contents, self._clock())
        self._shelf.vectors.add({digest: unpacked(content) for digest, content in contents.items()})
        self._lacking -= len(wanted)
        self.progressed.ring()

    async def _sweep(self) -> None:
        now = self._clock()
        if self._swept is None or now - self._swept > _SWEPT:
            self._swept = now
            await self.kept.sweep(now - KEPT)

    def _tell(self, why: str) -> None:
        """Once for as long as it is the same: a search asks often. That nobody has set it up is no reason to warn."""
        if self._trouble != why:
            level = logging.INFO if why == self.encoder.trouble() else logging.WARNING
            log.log(level, "Search goes by words alone: %s", why)
        self._trouble, self._was_unable = why, why == self.encoder.trouble()
