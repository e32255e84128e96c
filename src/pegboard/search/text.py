"""Text into terms: identifiers taken apart, letters folded, words brought to their stems. The same for both sides."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from sys import intern
from typing import Final
from unicodedata import combining, normalize

# Words brought to their stems, for English: a stem need not be a word, it need only be one for the forms of a word.
#
# On the sets of `benchmarks.retrieval` it finds as much as the Snowball stemmer, which would be a dependency in C.

_VOWELS: Final = frozenset("aeiouy")
_SYLLABLE: Final = re.compile("[aeiouy][^aeiouy]")
_PLURALS: Final = ("ches", "shes", "sses", "xes", "zes")

_DERIVED_ENDINGS: Final = {
    "ational": "ate",
    "ization": "ize",
    "isation": "ize",
    "fulness": "ful",
    "iveness": "ive",
    "ousness": "ous",
    "ability": "able",
    "ibility": "able",
    "tional": "tion",
    "lessly": "less",
    "ation": "ate",
    "ivity": "ive",
    "ality": "al",
    "ously": "ous",
    "fully": "ful",
    "ently": "ent",
    "izer": "ize",
    "ator": "ate",
    "ably": "able",
    "ibly": "able",
    "ally": "al",
    "ly": "",
}
"""Endings that make one kind of word of another, the longest first, and what they were made of."""

_ENDINGS: Final = (
    *("ement", "ment", "ance", "ence", "able", "ible", "ness", "ical"),
    *("ful", "ant", "ent", "ism", "ate", "ity", "ous", "ive", "ize", "ise", "ion", "al", "er", "or", "ic"),
)
"""What may be left off a long word, the longest first."""


def stem(word: str) -> str:
    """Of a word in small letters. Digits, short words and other scripts are left as they are."""
    if len(word) <= 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _strip_ending(_strip_derivation(_strip_inflection(_singular(word))))
    if len(word) > 2 and word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "i"
    return word[:-1] if word.endswith("e") and len(word) > 4 and _syllables(word[:-1]) else word


def _syllables(word: str) -> int:
    return len(_SYLLABLE.findall(word))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_PLURALS):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _strip_inflection(word: str) -> str:
    """Without -ing and -ed: stopping, stopped, filing and filed are stop and file."""
    if word.endswith("eed"):
        return word
    bare = next((word[: -len(ending)] for ending in ("ing", "ed") if word.endswith(ending)), word)
    if bare == word or len(bare) < 2 or _VOWELS.isdisjoint(bare):
        return word
    if len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "lsz":
        return bare[:-1]
    return bare + "e" if bare.endswith(("at", "bl", "iz")) or _is_short(bare) else bare


def _is_short(word: str) -> bool:
    """One syllable that ends in a consonant after a single vowel, as in fil(e) and mak(e)."""
    if len(word) < 3 or _syllables(word) != 1:
        return False
    before, vowel, last = word[-3], word[-2], word[-1]
    return before not in _VOWELS and vowel in _VOWELS and last not in _VOWELS and last not in "wx"


def _strip_derivation(word: str) -> str:
    for ending, origin in _DERIVED_ENDINGS.items():
        if word.endswith(ending):
            bare = word[: -len(ending)]
            return bare + origin if _syllables(bare) else word
    return word


def _strip_ending(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending):
            bare = word[: -len(ending)]
            if ending == "ion":
                return bare if bare.endswith(("s", "t")) and len(bare) > 4 else word
            return bare if _syllables(bare) > 1 else word
    return word


_PIECES: Final = re.compile(r"[^\W_]+")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Scripts that are written without spaces between words, or nearly so."""

_CLAUSES: Final = re.compile(
    r"(?<=[.!?;])\s+|[\u3002\uff01\uff1f\uff1b]|\b(?:and )?then\b|\balso\b|\bfinally\b|\bafter that\b|\bnext,",
    re.IGNORECASE,
)
_MIN_CLAUSE_WORDS: Final = 4
_MAX_CLAUSES: Final = 6

_IDENTIFIER: Final = re.compile(r"\w[_:.~/-]\w|[a-z][A-Z]")
"""What nobody writes within a word, unless it is the name of a thing."""

_MAX_NAME_WORDS: Final = 16
"""Words of a tool's name and its server's. A longer query is no name."""

_MAX_TERM_LENGTH: Final = 64
"""Letters of one term: what is longer is no word that anybody would search for."""

MAX_TERMS: Final = 64
"""Of a query: whoever sends a whole page is answered by its beginning."""

_CACHED_PIECES: Final = 16_384
_MAX_CACHED_LENGTH: Final = 32
"""Letters up to which the terms of a piece are remembered: most are met again, and none takes much room."""

_COMMON: Final = (
    "a also am an and any are as at be been but by can could did do does for from give had has have he help her his "
    "how i if in into is it its let like me my need of on or our please she should so some tell than that the their "
    "them then there these they this those to us use used using want was we were what when where which who will with "
    "would you your"
)
STOP_TERMS: Final = frozenset(stem(word) for word in _COMMON.split())
"""What every sentence has, and what a request is made of: it tells nothing of a tool."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What somebody looks for."""

    terms: Mapping[str, str]
    """Each term with the word in which it was first written; without those of every sentence, if it has others."""
    weights: tuple[float, ...]
    """Of each term: what is said again counts a little more."""
    clauses: tuple[tuple[float, ...], ...]
    """The same of each clause alone, where there are several: one request may be about several tools."""
    names: tuple[tuple[str, ...], ...]
    """What may be a tool's own name, as its words: the whole query, and whatever in it looks like an identifier."""
    ignored: tuple[str, ...]
    """The words that were left out because every sentence has them."""

    @classmethod
    def of(cls, text: str) -> "ParsedQuery":
        counted, ignored = _count_terms(text)
        chosen = dict([*counted.items()][:MAX_TERMS])
        clauses = (_count_terms(clause)[0] for clause in split_clauses(text))
        written = (tuple(split_words(name)) for name in (text, *filter(_IDENTIFIER.search, text.split())))
        names = dict.fromkeys(name for name in written if 0 < len(name) <= _MAX_NAME_WORDS)
        return cls(
            {term: word for term, (word, _) in chosen.items()},
            tuple(1 + log(count) for _, count in chosen.values()),
            tuple(tuple(1 + log(clause[term][1]) if term in clause else 0.0 for term in chosen) for clause in clauses),
            tuple(names),
            tuple(ignored),
        )


def terms(text: str) -> list[str]:
    """The terms of a text in their order: `createIssue` and `create_issue` both give `creat` and `issu`."""
    return [term for piece in _PIECES.findall(text) for term in _terms(piece)]


def content_terms(text: str) -> list[str]:
    """Without the words of every sentence."""
    return [term for piece in _PIECES.findall(text) for term in _terms(piece) if term not in STOP_TERMS]


def split_words(text: str) -> list[str]:
    """Each once: `createIssue` is two words, and not also a third that is both."""
    pieces = ((piece, _terms(piece)) for piece in _PIECES.findall(text))
    return [*dict.fromkeys(t for piece, own in pieces for t in (own[1:] if len(own) > 1 and piece.isascii() else own))]


def split_name(name: str) -> Iterator[str]:
    """The parts of a name as it is written: `createIssue` and `create_issue` both have two."""
    for piece in _PIECES.findall(name):
        yield from _PARTS.findall(piece) if piece.isascii() else [piece]


def _count_terms(text: str) -> tuple[dict[str, tuple[str, int]], dict[str, None]]:
    """How often each term is said, with the word that says it first; and the words that are passed over."""
    said: dict[str, tuple[str, int]] = {}
    ignored: dict[str, None] = {}
    for piece in _PIECES.findall(text):
        for term in _terms(piece):
            word, count = said.get(term, (piece, 0))
            said[term] = word, count + 1
    if any(term not in STOP_TERMS for term in said):
        ignored = {word: None for term, (word, _) in said.items() if term in STOP_TERMS}
        said = {term: each for term, each in said.items() if term not in STOP_TERMS}
    return said, ignored


def split_clauses(text: str) -> list[str]:
    """The parts of a query that may each ask for a tool of its own; none where it has one part, or too many."""
    clauses = [clause for clause in _CLAUSES.split(text) if len(terms(clause)) >= _MIN_CLAUSE_WORDS]
    return clauses if 1 < len(clauses) <= _MAX_CLAUSES else []


def _terms(piece: str) -> tuple[str, ...]:
    """Of one run of letters and digits."""
    return _cached_terms(piece) if len(piece) <= _MAX_CACHED_LENGTH else _terms_of(piece)


@lru_cache(maxsize=_CACHED_PIECES)
def _cached_terms(piece: str) -> tuple[str, ...]:
    return _terms_of(piece)


def _terms_of(piece: str) -> tuple[str, ...]:
    # One text for one term: every list of tools has the same words, and keeps them.
    return tuple(map(intern, _identifier_terms(piece) if piece.isascii() else _fold_terms(piece)))


def _fold_terms(piece: str) -> Iterator[str]:
    bare = "".join(letter for letter in normalize("NFKD", piece) if not combining(letter)).replace("ß", "ss")
    folded = normalize("NFKC", bare)
    for word in _UNSPACED.sub(" ", folded).split():
        yield from _identifier_terms(word) if word.isascii() else [_normalize_word(word)]
    for run in _UNSPACED.findall(folded):
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))


def _identifier_terms(piece: str) -> Iterator[str]:
    """The parts by capitals and digits, and before them the whole where it has several."""
    parts = _PARTS.findall(piece)
    if len(parts) > 1:
        yield stem(_normalize_word(piece))
    for part in parts:
        if len(part) > 1 or len(parts) == 1:
            yield stem(_normalize_word(part))


def _normalize_word(word: str) -> str:
    return word.casefold()[:_MAX_TERM_LENGTH]


# What the names of tables and columns are short for: people ask in whole words, and those who name columns do not.
#
# The usual ones are listed. One without vowels needs no list: it is short for any word that has its letters in
# order.

_ABBREVIATION_TEXT: Final = """
    acc account | act activity actual | adj adjustment | adm admission administration | adv advance
    agg aggregate summary | agr agreement | alloc allocation | amt amount | ann annual | app application
    appl application | appt appointment | arr arrival | assoc association | attr attribute | auth authorization
    avail available | avg average | bal balance | ben benefit beneficiary | bom bill material | cal calendar
    calib calibration | cand candidate applicant | cap capacity | cat category | ccy currency | cd code
    cert certificate | chk check | co company | coll collateral | comm commission | comp company component
    conf confirmation | contr contract contribution | corp corporation | cr credit | curr currency current
    cust customer client | ded deduction | del delivery | dep departure deposit | dept department
    desc description | dest destination | dev device | diag diagnosis | dim dimension | disc discount
    dist district distance | div division | dlv delivery | dob birth date | doc document | dr debit | dt date
    dur duration | ee employee | eff effective | emp employee staff | emplr employer | enrl enrollment
    est estimate | evt event | exch exchange | exec execution | exp expiry expense | ext external
    fac facility faculty | fct fact | fin finance | flt flight | freq frequency | fx foreign exchange currency
    geo geography | gl general ledger | hist history | hr human resources employee | hrs hours | img image
    inc incident income | ind indicator | ins insurance | inst installment institution | inv invoice inventory
    kb knowledge base | kyc identity check | lat latitude | ln loan line | loc location | lon longitude
    lv leave vacation | maint maintenance | mand mandatory | max maximum | med medication | mgr manager
    min minimum | mkt market | mo month | mrr monthly recurring revenue | mst master | mstr master | nm name
    nbr number | no number | ofc office | op operation | opn open opening | ord order | org organization
    orig origin | os outstanding | pd paid | perf performance | phys physician | po purchase order | pol policy
    pos position | prd period product | pref preference | prev previous | proc procedure process
    prod product production | prog program | proj project | prom promotion | prop property | prov provider
    pt patient | pur purchase | qual quality | rec record | recov recovery recovered | ref reference
    reg region registration | rel relationship | rem remaining left | rep representative report
    req request requisition | res reservation resource | resp response | ret return | rev revenue review
    rm room | rt rate | rte route | sal salary pay | sched schedule | seg segment | sess session | shp shipment
    sls sales | so standing order sales | spec specification | src source | ssn social security
    st state street status | stat status | std standard | stg stage | sub subscription | subj subject
    supp supplier | supv supervisor | surg surgery | svc service | sys system | tel telephone phone
    temp temperature | term termination | tkt ticket | tm time | tot total | trans transaction | trx transaction
    ts timestamp | txn transaction | typ type | uom unit measure | usr user | util utilization | val value
    var variant | veh vehicle | ven vendor | vol volume | wh warehouse | wk week | wt weight | xfer transfer
    xref reference | yr year | zip postal code
"""
"""Each with the words that it may be short for."""

_ABBREVIATIONS_VOWELS: Final = frozenset("aeiou")
_MIN_LENGTH: Final = 3
_MAX_SHORT_FORMS: Final = 4
"""That are looked for beside one word."""


def _parse_abbreviations(text: str) -> dict[str, tuple[str, ...]]:
    entries = (entry.split() for line in text.strip().splitlines() for entry in line.split("|"))
    return {short: tuple(words) for short, *words in entries}


ABBREVIATIONS: Final = _parse_abbreviations(_ABBREVIATION_TEXT)


def expansions(words: Iterable[str]) -> Iterator[str]:
    """What the parts of a name may be short for."""
    for word in words:
        yield from ABBREVIATIONS.get(word.casefold(), ())


def is_consonant_only(word: str) -> bool:
    """Whether a part of a name has consonants only, after its first letter: nobody asks in such words."""
    return (
        len(word) >= _MIN_LENGTH
        and word.isascii()
        and word.isalpha()
        and _ABBREVIATIONS_VOWELS.isdisjoint(word[1:].casefold())
    )


def matching_short_forms(word: str, bare: Sequence[str]) -> list[str]:
    """Those of the bare parts of names that may be short for a word."""
    bones = _consonants(word.casefold())
    return [short for short in bare if short[0] == bones[:1] and _is_short_for(short, bones)][:_MAX_SHORT_FORMS]


def _is_short_for(short: str, bones: str) -> bool:
    """Its beginning, if that is long enough to tell, or some of its letters in order with the last among them."""
    if not _MIN_LENGTH <= len(short) <= len(bones):
        return False
    if len(short) > _MIN_LENGTH and bones.startswith(short):
        return True
    if short[-1] != bones[-1]:
        return False
    rest = iter(bones)
    return all(letter in rest for letter in short)


@lru_cache(maxsize=1024)
def _consonants(word: str) -> str:
    """A word without the vowels after its first letter; of a plural, of its singular."""
    single = word[:-1] if word.endswith("s") and not word.endswith("ss") else word
    return single[:1] + "".join(letter for letter in single[1:] if letter not in _ABBREVIATIONS_VOWELS)
