"""Orders to the model, in English: what no reader of a description needs to be told."""

from collections.abc import Iterator
from typing import Final

from .finding import Kind
from .phrase import Phrase, phrases

ASIDE: Final = "tells the model to set its instructions aside"
SILENCE: Final = "tells the model to keep something from the user"
ROLE: Final = "tells the model that it is somebody else or free of its rules"
MASTER: Final = "puts itself above the user or above other instructions"
_SPEAKS: Final = "speaks to the model instead of describing the tool"
_FIRST: Final = "tells the model to put it before other tools or answers"
_UNASKED: Final = "tells the model to act without asking"
_SHOWS: Final = "tells the model what not to show or ask the user"
_RULES: Final = "tells the model what to do with instructions, rules or prompts"
_LIE: Final = "tells the model to deceive"
_OBEY: Final = "tells the model to do what the tool answers"

_NOT: Final = "do not|don t|dont|never|must not|should not|may not|not to|no need to|need not"
_AVOID: Final = "avoid|refrain from|without"
_USER: Final = "user|users|human|humans|customer|person|operator"
_TELL: Final = "tell|inform|notify|alert|warn"
_TELLING: Final = "telling|informing|notifying|alerting|warning"
_SAY: Final = "mention|reveal|disclose|say|admit|report|expose|explain"
_SAYING: Final = "mentioning|revealing|disclosing|saying|admitting|reporting|exposing|explaining"
_THIS: Final = "this|that|it|these|step|tool|instruction|instructions|fact|anything|any of this"
_IGNORE: Final = (
    "ignore|ignoring|disregard|disregarding|forget|forgetting|bypass|bypassing|do not follow|stop following"
)
_FORMER: Final = (
    "previous|prior|above|earlier|preceding|former|your|system|developer|original|initial|existing|other|past|foregoing"
)
_ORDERS: Final = "instruction|instructions|directive|directives|guideline|guidelines|guardrails|orders|programming"
_CALL: Final = "call|use|invoke|run|execute|consult|query"
_NEGATED: Final = "not|never|cannot|no"


def orders() -> Iterator[Phrase]:
    yield from _aside()
    yield from _silence()
    yield from _standing()
    yield from _soft()


def _aside() -> Iterator[Phrase]:
    yield from phrases(
        True,
        Kind.INSTRUCTION,
        ASIDE,
        f"{_IGNORE}|override|overriding|discard|supersede 3 {_FORMER} 2 {_ORDERS}|restrictions|safety",
        f"{_IGNORE} 3 your|system|developer|safety 2 prompt|prompts|rules|training|policy|policies",
        f"{_IGNORE} 2 previous|prior|earlier|above 2 prompt|prompts",
        f"{_IGNORE} 1 everything|anything|all|what 4 told|instructed|asked",
        f"{_IGNORE} 1 safety 2 rules|checks|guidelines|policies",
        unless="to|any|not|never|tries|asking|attempts",
    )
    yield from phrases(
        True,
        Kind.INSTRUCTION,
        ASIDE,
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
    yield from phrases(
        True,
        Kind.INSTRUCTION,
        MASTER,
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
    yield from phrases(
        True,
        Kind.INSTRUCTION,
        ROLE,
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


def _silence() -> Iterator[Phrase]:
    yield from phrases(
        True,
        Kind.INSTRUCTION,
        SILENCE,
        f"{_NOT} 1 {_TELL} 1 {_USER}",
        f"{_AVOID} 1 {_TELLING} 1 {_USER}",
        f"{_AVOID} 1 {_SAYING} 2 {_THIS} 5 to 1 {_USER}",
        f"{_NOT} 1 {_SAY} 2 {_THIS} 5 to 1 {_USER}",
        f"{_NOT} 1 {_SAY} 1 to 1 {_USER} 1 that|this|what|how|why|anything",
        f"{_NOT} 1 let 1 {_USER} 1 know|see|notice|learn|find out|suspect|realise|realize",
        f"hide|conceal|withhold|keep 1 {_THIS}|everything 5 from 1 {_USER}",
        f"{_USER}|they 1 must not|should not|must never|should never|need not|does not need to|do not need to|may not"
        "|must remain 1 know|learn|notice|find out|suspect|unaware|realise|realize|be told|be informed|be aware",
        f"without 2 {_USER} 1 knowledge|knowing|noticing|awareness",
        f"without 1 {_USER} 2 being told|being informed|being asked|finding out",
        f"{_NOT} 1 say|mention|reveal|admit|disclose 2 you were|you are being|you have been 1 told|instructed|asked",
        unless=_NEGATED,
    )
    yield from phrases(
        True,
        Kind.INSTRUCTION,
        SILENCE,
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
    yield from phrases(
        True,
        Kind.INSTRUCTION,
        _LIE,
        "lie and say|lie and claim|lie to the user|lie about|falsely claim|falsely say",
        "pretend 1 that 4 failed|worked|succeeded|done|finished|nothing",
        "pretend to be 3 but|and|while",
    )


def _standing() -> Iterator[Phrase]:
    yield from phrases(
        True,
        Kind.INSTRUCTION,
        "says that the user has agreed already",
        f"{_USER} 1 has|have 1 already|previously|implicitly 1 agreed|approved|confirmed|consented|authorised"
        f"|authorized"
        "|accepted|given",
        "accept|accepted|confirm|approve|approved|click 3 on 1 user|users 1 behalf",
        unless="after|when|if|unless|until|once|only|not|never|whether|ask|before",
    )
    yield from phrases(
        True,
        Kind.INSTRUCTION,
        _UNASKED,
        f"{_CALL} 2 this|it 6 automatically 9 without 1 asking|permission|confirmation|approval|consent",
        "skip|omit|suppress 3 confirmation|consent|approval|asking|permission 2 person|user|dialog|dialogs|dialogue"
        "|prompt"
        "|and|go",
    )


def _soft() -> Iterator[Phrase]:
    yield from phrases(
        False,
        Kind.INSTRUCTION,
        _SHOWS,
        f"{_NOT} 1 show|display|ask|confirm|consult|bother|{_SAY} 6 {_USER}",
        f"{_AVOID} 1 showing|displaying|asking|confirming|consulting|{_SAYING} 6 {_USER}",
        f"{_NOT} 1 {_TELL} 3 {_USER}|anyone|anybody|team",
        f"{_AVOID} 1 {_TELLING} 3 {_USER}|anyone|anybody|team",
        f"hide|conceal|withhold|keep 5 from 1 {_USER}",
        f"if 1 {_USER} 1 asks 8 say|claim|deny|reply|answer",
        "silently|quietly|discreetly 1 call|run|add|read|include|execute|open|copy",
    )
    yield from phrases(
        False,
        Kind.INSTRUCTION,
        _RULES,
        f"{_IGNORE}|override 3 any|all|every|other|its|their|{_FORMER} 3 instruction|instructions|prompt|prompts|rules"
        "|warnings|constraints|limitations",
        f"{_IGNORE} 0 instructions|rules|warnings",
        "new instructions|updated instructions|real instructions|actual instructions|secret instructions",
    )
    yield from phrases(
        False,
        Kind.INSTRUCTION,
        _FIRST,
        f"before|prior to|instead of|rather than 1 using|calling|invoking|running|{_CALL}|any|every|all|each 0 any"
        f"|every|all"
        "|each|other 1 tool|tools|else",
        "before|prior to|instead of|rather than 0 any|every|all|each 1 tool|tools",
        f"always|must 1 {_CALL}|prefer 0 this tool|this function|this server|this one",
        "start|beginning|end 1 of 0 every|each|any|all 1 conversation|session|message|response|answer|turn|reply"
        "|task|chat",
        "begin|end|start|finish|prefix|precede 0 every|each|all|any 1 answer|response|reply|message|turn",
        "before|after|with|in|to 0 every|each|any 1 answer|response|reply|message|responding",
        f"{_CALL} 2 before responding|before answering|before replying",
        "always|must|required to 3 recommend|promote|advertise|praise|endorse",
        "in all cases|in every case|even when it seems unrelated|even if it seems unrelated|even if unrelated",
    )
    yield from phrases(
        False,
        Kind.INSTRUCTION,
        _UNASKED,
        f"{_CALL} 4 automatically|immediately 6 without 1 asking|permission|confirmation|approval|consent|confirming",
        "without 1 asking|seeking|waiting|requesting 2 permission|confirmation|approval|consent|first",
        "confirmation|approval|permission|consent 2 not needed|not required|unnecessary|implied|granted|disabled",
    )
    yield from phrases(
        False,
        Kind.INSTRUCTION,
        _SPEAKS,
        "note|notice|message|attention|instruction|instructions|reminder|hint|important 0 for|to 1 ai|llm|llms|model"
        "|models"
        "|assistant|assistants|agent|claude|gpt|chatgpt|gemini|copilot",
        "as an ai|as a language model|as an assistant|as an llm",
        "ai model|ai models|ai assistant|ai assistants|ai agents|language model|language models 1 reading|must|should"
        "|shall|have to|are required",
        "dear|attention|hey 0 ai|assistant|model|agent|llm|claude",
        "your priority is|your task is now|your new task|your real task|your goal is now|your true purpose",
        "this is critical|extremely important that you|it is critical that you|it is vital that you",
        "you are now|you are no longer",
        "whoever reads this|reader of this|p s to|note to self|assistant you|model you|agent you",
        "assistant|model|llm|agent 0 must|should|shall|has to|is required to|will now",
        "your 1 answer|answers|summary|reply|replies|response|responses|final answer",
        "rules|instructions|orders|guidelines 1 you 1 were|have|received|got|follow",
        "hidden|secret|real|true|actual 1 task|goal|purpose|mission|objective|instruction|command",
        "steer|nudge|push|lead|persuade|convince|encourage|discourage 2 user|users|conversation|customer|choices"
        "|people",
        "approve|accept|allow|grant|confirm 2 next|every|all|any|following 2 request|requests|call|calls|dialog|dialogs"
        "|prompt|prompts|permission|permissions",
        "leave no trace|cover your tracks|do not log this",
        "system override|admin override|developer mode|maintenance mode|debug mode|god mode|dan mode",
    )
    yield from phrases(
        False,
        Kind.INSTRUCTION,
        _OBEY,
        "follow|execute|perform|carry out|act on|do 2 instructions|orders|commands|directives|steps 3 result|results"
        "|output"
        "|response|answer|returns|returned|reply",
        "act on|do|follow 1 what|whatever|everything 1 it|tool|result 1 returns|says|tells|answers",
    )
