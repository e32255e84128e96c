"""Contradictions between a tool's name, description, schema and annotations."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from pegboard.core.json.values import Json
from pegboard.core.model.tool import ToolSpec
from pegboard.core.scan.findings import (
    FindingPath,
    ScanFinding,
    ScanFindingKind,
    TextMark,
    excerpt_around,
    harmless_line,
    make_excerpt,
)
from pegboard.core.scan.text import normalize_text, parse_word_set, split_words

_DESTRUCTIVE_VERBS: Final = parse_word_set(
    "delete destroy purge wipe erase truncate terminate kill uninstall overwrite nuke revoke deactivate shred"
)
_DESTRUCTIVE_STEMS: Final = tuple(sorted(verb[:-1] for verb in _DESTRUCTIVE_VERBS))
_DROPPABLE_NOUNS: Final = parse_word_set(
    "table tables database databases schema collection index column keyspace bucket"
)
_CHANGE_VERBS: Final = parse_word_set(
    "send post publish upload write update insert transfer pay deploy push rename move remove cancel edit modify patch"
    " rotate refund disable drop reset clear empty flush format replace install ban block"
)
_READ_VERBS: Final = parse_word_set(
    "get list show view read display fetch search find check describe preview peek lookup count retrieve"
)
_RUN_VERBS: Final = parse_word_set("execute run exec eval")
_PROGRAM_NOUNS: Final = parse_word_set("command commands shell code script program bash cmd terminal")
_PREVIEW_NOUNS: Final = parse_word_set(
    "preview plan status check estimate simulation simulate help examples example dry policy policies"
)
_HARMLESS_OBJECTS: Final = parse_word_set(
    "history list count background duplicates noise format text whitespace metadata urls"
)
"""What is changed there is a copy that is handed back: `remove_background`, `clear_format`."""
_COPY_VERBS: Final = parse_word_set("format replace clear move remove drop empty flush reset")
"""Verbs that a description also uses of what is handed back: `Removes the background`."""
_ADVERBS: Final = parse_word_set("permanently irrevocably irreversibly immediately completely also then and and_then")

_READ_ONLY: Final = re.compile(
    r"(?:^|[.;:!,]\s{0,3}|\b(?:is|a|an|safe|purely|strictly|and|fully)\s)(?:a |an |purely "
    r"|strictly )?read[- ]only(?:\s(?:tool|operation"
    r"|call|function|query|action|and safe|display)s?\b|\s{0,3}(?:[.:;,!]|$))"
    r"|\bonly reads\b|\bmakes? no changes\b|\bchanges nothing\b|\b(?:does not|doesn't|never|will not) (?:change"
    r"|modify|alter)"
    r" (?:anything|any)\b|\bno side[- ]effects\b|\bwithout side[- ]effects\b|\bpurely informational\b"
    r"|\bnur (?:lesend|lesezugriff|zum lesen)\b|\blecture seule\b|\bsolo lectura\b|\bsola lettura\b"
    r"|\b(?:somente|apenas|só de) leitura\b|только (?:чтение|для чтения)|只读|唯讀|読み取り専用",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"(?<![^\W_])(?:dry|if|when|unless|until|mode|simulat\w*|wenn|si|se|если)(?![^\W_])", re.IGNORECASE
)
_SENTENCES: Final = re.compile(r"[^.!?\n;]{2,600}")
_NO_INPUT: Final = re.compile(
    r"\b(?:takes|accepts|needs|requires|has|expects) no (?:parameters?|arguments?|inputs?)\b", re.IGNORECASE
)
_REQUIRED_PARAMETER: Final = re.compile(
    r"\b(?:required|mandatory) (?:parameter|argument|field)s? [`'\"]?([A-Za-z_]\w{1,63})"
    r"|[`'\"]([A-Za-z_]\w{1,63})[`'\"] (?:parameter|argument) (?:is|must|has|should|needs)"
    r"|\b(?:provide|pass|supply|fill in|fill|set) (?:the |a |an )?[`'\"]([A-Za-z_]\w{1,63})[`'\"] (?:parameter"
    r"|argument)",
)
_DEFAULT: Final = re.compile(
    r"\bdefaults?(?: value)?(?: is| to|:|=)?\s{0,3}[`'\"]?(true|false|on|off|yes|no)\b|\b(on|off|enabled"
    r"|disabled) by default",
    re.IGNORECASE,
)
_TRUE_WORDS: Final = frozenset(("true", "on", "yes", "enabled"))
_MAX_TEXT_CHARS: Final = 20_000
"""Of a description, for claims: whoever claims something does so where it is read."""


def check_claims(spec: ToolSpec) -> Iterator[ScanFinding]:
    text = normalize_text(spec.description[:_MAX_TEXT_CHARS])
    hints = spec.annotations or {}
    deed = _action_in_name(spec.name)
    yield from _check_hints(spec, text, hints, deed)
    yield from _check_description(spec, text, hints, deed)
    yield from _check_title(spec, hints, deed)
    yield from _check_required(spec, text)
    yield from _check_defaults(spec)


def _check_hints(spec: ToolSpec, text: str, hints: Mapping[str, Json], deed: "_NameAction") -> Iterator[ScanFinding]:
    """Clients let a tool that says it only reads run without asking."""
    if hints.get("readOnlyHint") is not True:
        return
    path: FindingPath = ("annotations", "readOnlyHint")
    verb, hard = deed
    if verb is not None:
        yield _contradiction(hard, path, f"says that it only reads, but its name says {verb!r}", spec.name)
    elif (told := _action_in_text(text)) is not None:
        verb, hard, where = told
        yield _contradiction(hard, path, f"says that it only reads, but the description says {verb!r}", where)
    elif hints.get("destructiveHint") is True:
        yield _contradiction(False, path, "says that it only reads, and destructiveHint that it destroys", spec.name)


def _check_description(
    spec: ToolSpec, text: str, hints: Mapping[str, Json], deed: "_NameAction"
) -> Iterator[ScanFinding]:
    path: FindingPath = ("description",)
    verb, hard = deed
    acts = verb is not None or hints.get("destructiveHint") is True or hints.get("readOnlyHint") is False
    if acts and (claim := _read_only_claim(text)) is not None:
        where = excerpt_around(text, claim.start(), claim.end())
        if verb is not None:
            yield _contradiction(hard, path, f"says that it changes nothing, but its name says {verb!r}", where)
        elif hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
            yield _contradiction(
                True, path, "says that it changes nothing, but destructiveHint that it destroys", where
            )
        elif hints.get("readOnlyHint") is False:
            yield _contradiction(False, path, "says that it changes nothing, but readOnlyHint that it does", where)
    elif (
        _first_word(spec.name) in _READ_VERBS
        and _mentions_destroying(text)
        and (told := _action_in_text(text)) is not None
        and told[1]
    ):
        yield _contradiction(False, path, f"says {told[0]!r}, but its name says {_first_word(spec.name)!r}", told[2])


def _mentions_destroying(text: str) -> bool:
    lower = text.casefold()
    return any(stem in lower for stem in _DESTRUCTIVE_STEMS)


def _read_only_claim(text: str) -> re.Match[str] | None:
    """Where a text says that nothing is changed, and not only under some condition."""
    for found in _READ_ONLY.finditer(text):
        if not _CONDITION.search(text, max(0, found.start() - 60), found.end() + 20):
            return found
    return None


def _check_title(spec: ToolSpec, hints: Mapping[str, Json], deed: "_NameAction") -> Iterator[ScanFinding]:
    verb, hard = deed
    annotated = hints.get("title")
    titles: tuple[tuple[FindingPath, Json], ...] = ((("title",), spec.title), (("annotations", "title"), annotated))
    for path, title in titles:
        if isinstance(title, str) and verb is not None and _first_word(title) in _READ_VERBS:
            yield _contradiction(hard, path, f"says {_first_word(title)!r}, but the name says {verb!r}", title)


def _check_required(spec: ToolSpec, text: str) -> Iterator[ScanFinding]:
    properties = spec.input_schema.get("properties")
    names = properties if isinstance(properties, dict) else {}
    required = spec.input_schema.get("required")
    if isinstance(required, list) and required and names and " no " in text and (found := _NO_INPUT.search(text)):
        where = excerpt_around(text, found.start(), found.end())
        yield _contradiction(
            False, ("description",), "says that it takes no arguments, but the schema asks for some", where
        )
    if "parameter" not in text and "argument" not in text and "field" not in text:
        return
    missing = [found for found in _REQUIRED_PARAMETER.finditer(text) if _parameter(found) not in names]
    if not missing:
        return
    below = _keys_below(spec.input_schema)
    for found in missing:
        if _parameter(found) not in below:
            where = excerpt_around(text, found.start(), found.end())
            told = f"speaks of a parameter {make_excerpt(_parameter(found))} that the schema does not have"
            yield _contradiction(False, ("description",), told, where)
            return


def _parameter(found: re.Match[str]) -> str:
    return next(filter(None, found.groups()), "")


def _keys_below(schema: Mapping[str, Json]) -> frozenset[str]:
    found: set[str] = set()
    waiting: list[Json] = [dict(schema)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            found |= item.keys()
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return frozenset(found)


def _check_defaults(spec: ToolSpec) -> Iterator[ScanFinding]:
    properties = spec.input_schema.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(schema, dict):
            continue
        default, text = schema.get("default"), schema.get("description")
        if isinstance(default, bool) and isinstance(text, str) and (found := _DEFAULT.search(text[:_MAX_TEXT_CHARS])):
            told = (found.group(1) or found.group(2)).casefold() in _TRUE_WORDS
            if told is not default:
                path: FindingPath = ("inputSchema", "properties", name, "default")
                what = f"is {'true' if default else 'false'}, but the description says otherwise"
                yield _contradiction(False, path, what, text)


def _contradiction(hard: bool, path: FindingPath, what: str, where: str) -> ScanFinding:
    place = f"The {path[0]}" if len(path) == 1 else f"The value at {make_excerpt('.'.join(map(str, path)), 80)}"
    return TextMark(hard, ScanFindingKind.CONTRADICTION, what, harmless_line(where[:160])).to_finding(place, path)


def _first_word(name: str) -> str:
    return next(iter(split_words(normalize_text(name[:256]))), "")


_NameAction: TypeAlias = tuple[str | None, bool]
"""What a name says is done, and whether that surely destroys something."""


def _action_in_name(name: str) -> _NameAction:
    words = split_words(normalize_text(name[:256]))
    if not words or words[-1] in _PREVIEW_NOUNS or "dry" in words:
        return None, False
    # A server's name may stand before the verb: `github_delete_branch`.
    for place, word in enumerate(words[:2]):
        following = words[place + 1] if place + 1 < len(words) else ""
        if word in _READ_VERBS:
            return None, False
        if word in _DESTRUCTIVE_VERBS or (word == "drop" and following in _DROPPABLE_NOUNS):
            return word, True
        if (
            place == 0
            and words[-1] not in _HARMLESS_OBJECTS
            and (word in _CHANGE_VERBS or (word in _RUN_VERBS and following in _PROGRAM_NOUNS))
        ):
            return word, False
    return None, False


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x")) else f"{verb}s"


_VERB_FORMS: Final = {
    form: verb for verb in _DESTRUCTIVE_VERBS | _CHANGE_VERBS | _RUN_VERBS for form in (verb, _third_person(verb))
}


def _is_action(verb: str, words: list[str], place: int) -> bool:
    """Whether a sentence says by this verb what the tool does: `posts a message`, but not `posts that mention you`."""
    if verb in _RUN_VERBS:
        return not _PROGRAM_NOUNS.isdisjoint(words[place + 1 : place + 5])
    return (
        place == 0 and verb in _CHANGE_VERBS - _COPY_VERBS and words[1:2] not in (["that"], ["which"], ["of"], ["by"])
    )


def _action_in_text(text: str) -> tuple[str, bool, str] | None:
    """The first sentence, or part of one, that says that something is destroyed or sent; with where it stands."""
    weak: tuple[str, bool, str] | None = None
    for number, sentence in enumerate(_SENTENCES.finditer(text)):
        words = split_words(sentence.group())
        for place, word in enumerate(words):
            verb = _VERB_FORMS.get(word)
            # Without its ending it is an order, which stands first.
            if verb is None or (place and (verb == word or words[place - 1] not in _ADVERBS)):
                continue
            if words[place + 1 : place + 2] in (["nothing"], ["no"]):
                continue
            where = excerpt_around(text, sentence.start(), min(sentence.end(), sentence.start() + 80))
            if verb in _DESTRUCTIVE_VERBS:
                return verb, True, where
            if number == 0 and weak is None and _is_action(verb, words, place):
                weak = verb, False, where
    return weak
