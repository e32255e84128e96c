"""What the names of tables and columns are short for: people ask in whole words, and those who name columns do not.

The usual ones are listed. One without vowels needs no list: it is short for any word that has its letters in order.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

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

_VOWELS: Final = frozenset("aeiou")
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
    return len(word) >= _MIN_LENGTH and word.isascii() and word.isalpha() and _VOWELS.isdisjoint(word[1:].casefold())


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
    return single[:1] + "".join(letter for letter in single[1:] if letter not in _VOWELS)
