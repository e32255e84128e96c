"""However a manifest's text is changed, it is read or refused in words, and nothing else happens."""

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from tests.config.manifest.bundles import BUNDLES
from tests.config.manifest.reading import FOLDER
from tests.config.manifest.test_schema import BAD, GOOD
from tests.support.fuzzing import case_count

from pegboard.config.manifest.model import Manifest
from pegboard.config.manifest.reader import check_files, read_label, read_manifest
from pegboard.config.manifest.write import format_manifest
from pegboard.config.schema.document import MapNode, to_json
from pegboard.config.settings import InvalidFile, parse_settings_text

SOUND = [*GOOD, *(text for bundle in BUNDLES.values() for name, text in bundle.items() if "toolset" in name)]
SEEDS = [*SOUND, *BAD]
PIECES = [
    *("\n", "  ", ": ", "- ", "{", "}", "[", "]", ",", "'", '"', "&a ", "*a", "<<: *a", "!!", "!x ", "|\n", ">-\n"),
    *("---\n", "...\n", "#", "\t", "\x00", "\ud800", "\ufeff", "\u202e", "\u2028", "é", "😀", "%YAML 1.1\n", "? "),
    *("null", "~", "true", "1e999", ".nan", "0x", "-0", "9" * 80, "${", "${A}", "${A:-", "$${", "${file:x}", "../"),
    *("id", "tools", "mcp_servers", "containers", "tool_overrides", "renderer", "entrypoint", "toolId", "secrets"),
    *("a" * 300, "*:*", "[[", "mcp:", "toolset:", "~", ":", "$args", "$return[", "x-"),
]
VALUES: list[Any] = [*PIECES, None, True, False, 0, 1, -1, 1.5, 10**30, [], {}, [[]], {"": None}, {"type": "html"}]
ROUNDS = case_count(600)


def mutated(chance: random.Random) -> Iterator[bytes]:
    for place in range(ROUNDS):
        text = _edited(chance) if place % 2 else _cut(chance)
        raw = bytearray(text.encode("utf-8", "surrogatepass"))
        if raw and chance.random() < 0.1:
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        yield bytes(raw)


def _cut(chance: random.Random) -> str:
    """The text itself, changed in places."""
    text = chance.choice(SEEDS)
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice([0, 0, 1, 3, 10, 40]))
        piece = chance.choice([chance.choice(PIECES), text[start:end] * 2, "", chance.choice(SEEDS)[:60]])
        text = text[:start] + piece + text[end:]
    return text


def _edited(chance: random.Random) -> str:
    """What it says, changed in one place or two, and written as JSON: sound as a text, so that it is looked at."""
    told = to_json(parse_settings_text(chance.choice(SOUND), "toolset.yaml").root or MapNode((), 1))
    for _ in range(chance.randint(1, 2)):
        holders = [*_holders(told)]
        holder = chance.choice(holders)
        match holder:
            case dict():
                key = chance.choice([*holder, chance.choice(PIECES)])
                if chance.random() < 0.3:
                    holder.pop(key, None)
                else:
                    holder[key] = deepcopy(chance.choice(VALUES))
            case list():
                holder.insert(chance.randint(0, len(holder)), deepcopy(chance.choice([*holder, *VALUES[-12:]])))
    return json.dumps(told, ensure_ascii=chance.random() < 0.5)


def _holders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


def is_told(broken: InvalidFile) -> bool:
    return bool(broken.problems) and all(
        (problem.file == broken.file and problem.line >= 0 and problem.message[-1:] in ".?)")
        or "pegboard" in problem.message
        for problem in broken.problems
    )


@pytest.mark.behaviour("toolsets.manifest_fuzzed")
@pytest.mark.parametrize("seed", range(4))
def test_a_manifest_that_was_changed_anywhere_is_read_or_refused_in_words(seed: int) -> None:
    outcomes = {Manifest: 0, InvalidFile: 0}
    for raw in mutated(random.Random(seed)):
        read = read_manifest(raw, "toolset.yaml", FOLDER, {})
        outcomes[type(read)] += 1
        if isinstance(read, InvalidFile):
            assert is_told(read), (raw, read)
            continue
        check_files(read, ["tools/a.py"])
        text = format_manifest(read)
        again = read_manifest(text, "toolset.yaml", FOLDER, {})
        assert isinstance(again, Manifest), (raw, text, again)
        assert format_manifest(again) == text, raw
    # Of mutants that are all refused for the same slip nothing would be learnt.
    assert min(outcomes.values()) > ROUNDS // 20, outcomes


@pytest.mark.behaviour("toolsets.manifest_fuzzed")
def test_a_label_that_was_changed_anywhere_is_read_or_refused_in_words() -> None:
    chance = random.Random(5)
    label = '[{"id": "a", "command": ["x", "-y"], "inputSchema": {"properties": {"b": {"type": "string"}}}}]'
    for _ in range(ROUNDS):
        start = chance.randint(0, len(label))
        text = label[:start] + chance.choice([*PIECES, ""]) + label[start + chance.randint(0, 5) :]
        read = read_label(text, "alpine")
        assert isinstance(read, tuple) or is_told(read), (text, read)
