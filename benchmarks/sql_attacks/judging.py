"""What became of one case: judged by the database before and after, by what was told, and by who still works."""

import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio

from benchmarks.sql_attacks.case import Case
from benchmarks.sql_attacks.stage import PASSWORD, SECRET, Stage
from pegboard.core.databases.rows import QueryAnswer, QueryRows, StatementFailure, StatementFault, StatementRefusal
from pegboard.core.model.databases import QueryLimits
from pegboard.ports.databases import DatabaseEngine

_PATH: Final = re.compile(r"(?<=['\" >])/(?:tmp|var/tmp)/[\w./-]+")
_ENDED: Final = (StatementFault.TIME, StatementFault.MEMORY)
_LONGEST: Final = 300
"""Characters of what a database says against a statement."""
_PATIENCE: Final = 20.0
"""Seconds beyond a statement's own after which it counts as never ended."""


@dataclass(frozen=True, slots=True)
class Verdict:
    case: Case
    outcome: str
    """`refused`, `harmless` (it ran, or was ended, and changed and told nothing), `answered`, `harmed`, or
    `broke` (the engine raised, and nothing became of it)."""
    held: bool
    words: str
    seconds: float
    control: str | None = None
    """Of an attack that was refused: what the database itself says against it where nothing guards, `""` where it works
    there. `None`: not tried."""

    @property
    def proves_nothing(self) -> bool:
        """It would have failed without us."""
        return bool(self.control)

    @property
    def needs_control(self) -> bool:
        return self.outcome == "refused" and self.case.expect != "allow"

    def as_json(self) -> Mapping[str, object]:
        case = self.case
        return {
            "id": case.id,
            "dialect": case.dialect,
            "expect": case.expect,
            "outcome": self.outcome,
            "held": None if self.proves_nothing else self.held,
            "words": self.words,
            "works_without": None if self.control is None else self.control == "",
            "without": self.control or "",
            "seconds": round(self.seconds, 3),
        }


class Judge:
    """Plays cases on one stage, with one engine for each set of patterns."""

    def __init__(self, stage: Stage, watched: Path, limits: QueryLimits) -> None:
        self._stage = stage
        self._watched = watched
        self._limits = limits
        self._engines: dict[tuple[str, ...], DatabaseEngine] = {}
        self._canary = watched / "secret.txt"

    async def judged(self, case: Case) -> Verdict:
        self._plant()
        engine = self._engine(case)
        before = self._seen()
        began = time.perf_counter()
        answer: QueryAnswer | None = None
        broke = False
        with suppress(TimeoutError), anyio.fail_after(self._limits.seconds + _PATIENCE):
            try:
                answer = await engine.run(self._moved(case.sql), (), self._limits)
            except Exception as error:  # noqa: BLE001 - one case that breaks an engine is told beside all others
                answer, broke = StatementFailure(f"{type(error).__name__}: {error}"), True
        seconds = time.perf_counter() - began
        harm = await self._harm(case, engine, before, answer)
        if harm is not None:
            await self._begin_again()
            return Verdict(case, "harmed", held=False, words=harm, seconds=seconds)
        outcome, words = _outcome(case, answer)
        if broke:
            await self.aclose()
            return Verdict(case, "broke", held=False, words=words, seconds=seconds)
        held = (
            outcome == "answered" if case.expect == "allow" else not (case.expect == "refuse" and outcome != "refused")
        )
        return Verdict(case, outcome, held, words, seconds)

    def controlled(self, verdict: Verdict) -> Verdict:
        """With what the statement does where nothing guards. The stage has to be reset afterwards."""
        self._plant()
        said = self._stage.control(self._moved(verdict.case.sql), self._limits.seconds)
        return replace(verdict, control=" ".join((said or "").split())[:_LONGEST])

    async def aclose(self) -> None:
        for engine in self._engines.values():
            await engine.aclose()
        self._engines = {}

    def _engine(self, case: Case) -> DatabaseEngine:
        if case.deny not in self._engines:
            self._engines[case.deny] = self._stage.engine(case.access)
        return self._engines[case.deny]

    def _plant(self) -> None:
        """What an attack may not read: a file, and a variable of our own process."""
        self._watched.mkdir(exist_ok=True, parents=True)
        # A database server may run as somebody else, who could do no harm here otherwise.
        self._watched.parent.chmod(0o755)
        self._watched.chmod(0o777)
        for name in ("secret.txt", "secret.csv", "secret.txt.csv", "secret.json"):
            (self._watched / name).write_text(f"{SECRET}\n", encoding="utf-8")
            (self._watched / name).chmod(0o666)
        os.environ["CANARY_ENV"] = SECRET

    def _moved(self, sql: str) -> str:
        """A file that an attack names lies in the folder that is watched."""
        return _PATH.sub(lambda path: str(self._watched / Path(path.group()).name), sql)

    def _seen(self) -> Mapping[str, str]:
        files = {
            f"file {path.relative_to(self._watched)}": path.read_text("utf-8", "replace")
            if path.is_file()
            else "folder"
            for path in sorted(self._watched.rglob("*"))
        }
        return {**self._stage.state(), **files}

    async def _harm(
        self, case: Case, engine: DatabaseEngine, before: Mapping[str, str], answer: QueryAnswer | None
    ) -> str | None:
        if answer is None:
            return "the statement did not end"
        if (told := _told(case, answer)) is not None:
            return told
        after = self._seen()
        if before != after:
            changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
            return f"changed: {', '.join(changed)}"
        if (trouble := self._stage.trouble()) is not None:
            return trouble
        with anyio.move_on_after(_PATIENCE):
            try:
                alive: object = await engine.run("SELECT count(*) FROM orders", (), QueryLimits())
            except Exception as error:  # noqa: BLE001 - whatever it is, it is no answer
                alive = error
            return None if isinstance(alive, QueryRows) else f"the source no longer answers: {alive}"
        return "the source no longer answers"

    async def _begin_again(self) -> None:
        await self.aclose()
        self._stage.reset()
        for path in self._watched.iterdir():
            if path.is_file():
                path.unlink()


def _told(case: Case, answer: QueryAnswer) -> str | None:
    """What was told that is closed, or lies outside the database."""
    text = _text(answer)
    if not case.deny:
        # Nothing is closed, so the vault may be read; the file and the variable may not.
        if "vault" not in case.sql.lower() and SECRET in text:
            return "the canary was told"
    elif found := [secret for secret in (SECRET, PASSWORD) if secret in text]:
        return f"told what is closed: {found[0]}"
    elif found := [name for name in map(_last, case.deny) if name not in case.sql.lower() and name in text.lower()]:
        return f"told the name of what is closed: {found[0]}"
    return "a file of the machine was told" if "root:x:0" in text else None


def _last(pattern: str) -> str:
    return pattern.rpartition(".")[2].lower()


def _text(answer: QueryAnswer) -> str:
    match answer:
        case QueryRows(columns, rows):
            return json.dumps([[column.name for column in columns], rows], ensure_ascii=False)
        case StatementRefusal(why, fix):
            return f"{why} {fix}"
        case StatementFailure(message):
            return message


def _outcome(case: Case, answer: QueryAnswer | None) -> tuple[str, str]:
    match answer:
        case QueryRows(_, rows):
            return ("answered" if case.expect.startswith("allow") else "harmless"), f"{len(rows)} rows"
        case StatementFailure(words, fault=fault):
            return ("harmless" if fault in _ENDED and case.expect != "allow" else "refused"), words
        case StatementRefusal(why):
            return "refused", why
        case None:
            return "harmed", ""
