"""Orders to the model, in English: what no reader of a description needs to be told."""

from collections.abc import Iterator
from typing import Final

from .finding import ScanFindingKind
from .phrase import Phrase, build_phrases

SETS_ASIDE: Final = "tells the model to set its instructions aside"
KEEPS_SECRET: Final = "tells the model to keep something from the user"  # noqa: S105
CHANGES_ROLE: Final = "tells the model that it is somebody else or free of its rules"
CLAIMS_AUTHORITY: Final = "puts itself above the user or above other instructions"
_WITHOUT_ASKING: Final = "tells the model to act without asking"
_LIE: Final = "tells the model to deceive"

_NOT: Final = "do not|don t|dont|never|must not|should not|may not|not to|no need to|need not"
_AVOID: Final = "avoid|refrain from|without"
_USER: Final = "user|users|human|humans|customer|person|operator"
_TELL: Final = "tell|inform|notify|alert|warn"
_TELL_GERUNDS: Final = "telling|informing|notifying|alerting|warning"
_SAY: Final = "mention|reveal|disclose|say|admit|report|expose|explain"
_SAY_GERUNDS: Final = "mentioning|revealing|disclosing|saying|admitting|reporting|exposing|explaining"
_THIS: Final = "this|that|it|these|step|tool|instruction|instructions|fact|anything|any of this"
_IGNORE: Final = (
    "ignore|ignoring|disregard|disregarding|forget|forgetting|bypass|bypassing|do not follow|stop following"
)
_FORMER: Final = (
    "previous|prior|above|earlier|preceding|former|your|system|developer|original|initial|existing|other|past|foregoing"
)
_ORDERS: Final = "instruction|instructions|directive|directives|guideline|guidelines|guardrails|orders|programming"
_CALL: Final = "call|use|invoke|run|execute|consult|query"
_NEGATIONS: Final = "not|never|cannot|no"


def order_phrases() -> Iterator[Phrase]:
    yield from _set_aside_phrases()
    yield from _silence_phrases()
    yield from _role_phrases()


def _set_aside_phrases() -> Iterator[Phrase]:
    yield from build_phrases(
        True,
        ScanFindingKind.INSTRUCTION,
        SETS_ASIDE,
        f"{_IGNORE}|override|overriding|discard|supersede 3 {_FORMER} 2 {_ORDERS}|restrictions|safety",
        f"{_IGNORE} 3 your|system|developer|safety 2 prompt|prompts|rules|training|policy|policies",
        f"{_IGNORE} 2 previous|prior|earlier|above 2 prompt|prompts",
        f"{_IGNORE} 1 everything|anything|all|what 4 told|instructed|asked",
        f"{_IGNORE} 1 safety 2 rules|checks|guidelines|policies",
        unless="to|any|not|never|tries|asking|attempts",
    )
    yield from build_phrases(
        True,
        ScanFindingKind.INSTRUCTION,
        SETS_ASIDE,
        "rules|instructions|guidelines|restrictions|orders|policies|limits 1 you|your|previous|earlier|prior"
        "|original|safety"
        " 6 not apply|no longer apply|void|invalid|not valid|suspended|obsolete|cancelled|not binding|no longer bind",
        "your|previous|earlier|prior|original|safety 1 rules|instructions|guidelines|restrictions|orders"
        "|policies 3 not apply"
        "|no longer apply|void|invalid|not valid|suspended|obsolete|cancelled|not binding|no longer bind|do not count",
        "no longer|need not|stop 1 follow|following|bound by|obey|obeying|respect|respecting 2 your|previous|earlier"
        "|rules"
        "|instructions|guidelines",
    )
    yield from build_phrases(
        True,
        ScanFindingKind.INSTRUCTION,
        CLAIMS_AUTHORITY,
        "treat|regard|consider|handle 8 as commands|as orders|as instructions|as directives|as an order|as a command",
        "instruction|instructions|rule|rules|directive|directives 2 override|overrides|replace|replaces|supersede"
        "|supersedes|outrank|outranks 2 any|all|other|earlier|previous|prior|system|your|every",
        "precedence|priority|authority 0 over 3 user|users|system|other|all|any|operator|previous 2 instructions"
        "|request"
        "|requests|rules|prompt|wishes|directives|tools",
        "regardless of|irrespective of|no matter|contrary to|despite 2 user|users|human|person 3 says|wants|prefers"
        "|asks"
        "|asked|said|requested|wishes|preference|instructions",
        "same authority as|more authority than|highest authority",
        "serve|obey 5 over|rather than|instead of|not 1 user|person|human",
        "obey|obeys|comply with 3 tool|server|publisher|vendor|orders|commands|me|it|us",
    )
    yield from build_phrases(
        True,
        ScanFindingKind.INSTRUCTION,
        CHANGES_ROLE,
        "you are now|you are no longer|you become 4 mode|unrestricted|free|jailbroken|root|admin|bound|restricted"
        "|limited"
        "|obey|dan|uncensored",
        "you are|act as|behave as 1 unrestricted|uncensored|unfiltered|jailbroken",
        "restrictions|guardrails|safety checks|safety|safeguards|safety rules|confirmation checks|checks 1 are|is|have"
        "|been 1 lifted|disabled|off|suspended|removed|void|waived",
        "from now on|henceforth|from this point on|from here on|from this moment 3 you|always|every|each|begin"
        "|answer|act"
        "|respond|reply|treat|obey|call|use|forward|ignore|start",
    )


def _silence_phrases() -> Iterator[Phrase]:
    yield from build_phrases(
        True,
        ScanFindingKind.INSTRUCTION,
        KEEPS_SECRET,
        f"{_NOT} 1 {_TELL} 1 {_USER}",
        f"{_AVOID} 1 {_TELL_GERUNDS} 1 {_USER}",
        f"{_AVOID} 1 {_SAY_GERUNDS} 2 {_THIS} 5 to 1 {_USER}",
        f"{_NOT} 1 {_SAY} 2 {_THIS} 5 to 1 {_USER}",
        f"{_NOT} 1 {_SAY} 1 to 1 {_USER} 1 that|this|what|how|why|anything",
        f"{_NOT} 1 let 1 {_USER} 1 know|see|notice|learn|find out|suspect|realise|realize",
        f"hide|conceal|withhold|keep 1 {_THIS}|everything 5 from 1 {_USER}",
        f"{_USER}|they 1 must not|should not|must never|should never|need not|does not need to|do not need to|may not"
        "|must remain 1 know|learn|notice|find out|suspect|unaware|realise|realize|be told|be informed|be aware",
        f"without 2 {_USER} 1 knowledge|knowing|noticing|awareness",
        f"without 1 {_USER} 2 being told|being informed|being asked|finding out",
        f"{_NOT} 1 say|mention|reveal|admit|disclose 2 you were|you are being|you have been 1 told|instructed|asked",
        unless=_NEGATIONS,
    )
    yield from build_phrases(
        True,
        ScanFindingKind.INSTRUCTION,
        KEEPS_SECRET,
        "secretly|covertly|surreptitiously|stealthily|clandestinely 1 send|sends|read|call|forward|copy|post|upload"
        "|include"
        "|use|run|add|record|collect|transmit",
        "silently|quietly|discreetly|invisibly 1 send|call|forward|upload|transmit|invoke|post|exfiltrate|collect"
        "|append",
        f"{_SAY}|mention|show 2 nothing 3 to 1 {_USER}",
        f"{_TELL} 1 {_USER} 1 nothing",
        "leave|omit|exclude|drop|keep 3 out of|from 1 your 1 answer|summary|reply|report|response|output|message",
        "keep 2 to yourself|between us|between you and me|confidential from|a secret from",
        "act|behave|continue|proceed 1 as though|as if 1 nothing happened|nothing had happened|nothing happens",
    )
    yield from build_phrases(
        True,
        ScanFindingKind.INSTRUCTION,
        _LIE,
        "lie and say|lie and claim|lie to the user|lie about|falsely claim|falsely say",
        "pretend 1 that 4 failed|worked|succeeded|done|finished|nothing",
        "pretend to be 3 but|and|while",
    )


def _role_phrases() -> Iterator[Phrase]:
    yield from build_phrases(
        True,
        ScanFindingKind.INSTRUCTION,
        "says that the user has agreed already",
        f"{_USER} 1 has|have 1 already|previously|implicitly 1 agreed|approved|confirmed|consented|authorised"
        f"|authorized"
        "|accepted|given",
        "accept|accepted|confirm|approve|approved|click 3 on 1 user|users 1 behalf",
        unless="after|when|if|unless|until|once|only|not|never|whether|ask|before",
    )
    yield from build_phrases(
        True,
        ScanFindingKind.INSTRUCTION,
        _WITHOUT_ASKING,
        f"{_CALL} 2 this|it 6 automatically 9 without 1 asking|permission|confirmation|approval|consent",
        "skip|omit|suppress 3 confirmation|consent|approval|asking|permission 2 person|user|dialog|dialogs|dialogue"
        "|prompt"
        "|and|go",
    )
