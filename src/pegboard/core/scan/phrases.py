"""Phrases that instruct a model, in English and eight other languages.

Gaps in Chinese and Japanese count characters.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.core.scan.findings import ScanFindingKind
from pegboard.core.scan.text import WordSequence, parse_word_set, split_words

# Phrases to look for: words in an order, with so many others between them at most.
#
# A phrase is written as its steps, with the longest gap between two as a number: `"ignore|forget 3 previous|prior 2
# instructions"`. Each step is a choice of words or of words in a row. Finding one takes time in proportion to how
# often
# its words occur, whatever the text: nothing is ever tried twice.

Choice: TypeAlias = tuple[tuple[str, ...], ...]
_NEGATION_REACH_WORDS: Final = 7


@dataclass(frozen=True, slots=True)
class Phrase:
    is_hard: bool
    kind: ScanFindingKind
    description: str
    steps: tuple[Choice, ...]
    gaps: tuple[int, ...]
    unless: frozenset[str]
    """Words that turn it into its opposite when one stands shortly before it."""
    marker_words: tuple[frozenset[str], ...]
    """Of each step the words without which it is not there, to see quickly that the phrase is not."""

    def find(self, words: WordSequence) -> tuple[int, int] | None:
        """From which word to which it goes, where it stands first."""
        for start, end in self.find_spans(words):
            if self.unless.isdisjoint(words.words[max(0, start - _NEGATION_REACH_WORDS) : start]):
                return start, end
        return None

    def find_spans(self, words: WordSequence) -> list[tuple[int, int]]:
        """Wherever it ends, also where it is turned into its opposite."""
        for tellers in self.marker_words:
            if tellers.isdisjoint(words.word_set):
                return []
        reached: list[tuple[int, int]] = []
        for number, choice in enumerate(self.steps):
            spans = _choice_spans(choice, words)
            reached = spans if number == 0 else _chain_spans(reached, spans, self.gaps[number - 1])
            if not reached:
                return []
        return reached


def _choice_spans(choice: Choice, words: WordSequence) -> list[tuple[int, int]]:
    """Where any of the choice stands, by where it ends."""
    spans: list[tuple[int, int]] = []
    for item in choice:
        places = words.positions.get(item[0], ())
        length = len(item)
        if length == 1:
            spans += [(place, place + 1) for place in places]
        else:
            spans += [(p, p + length) for p in places if tuple(words.words[p : p + length]) == item]
    return sorted(spans)


def _chain_spans(reached: list[tuple[int, int]], spans: list[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """The spans that begin at most `gap` words behind the end of one that was reached, with where that one began."""
    following: list[tuple[int, int]] = []
    ends = sorted((end, start) for start, end in reached)
    last = 0
    for start, end in spans:
        while last < len(ends) and ends[last][0] <= start:
            last += 1
        if last and start - ends[last - 1][0] <= gap:
            following.append((ends[last - 1][1], end))
    return following


class PhraseSet:
    """Many of them, found by their first words."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        self._by_word: dict[str, list[Phrase]] = {}
        vocabulary: set[str] = set()
        for phrase in phrases:
            for choice in phrase.steps:
                vocabulary |= {word for item in choice for word in item}
            for word in sorted(_index_words(phrase)):
                self._by_word.setdefault(word, []).append(phrase)
        self.vocabulary: Final = frozenset(vocabulary)

    def may_be_in(self, words: WordSequence) -> bool:
        """Whether any is there, or would be but for what stands before it."""
        return any(
            phrase.find_spans(words) for word in self._by_word.keys() & words.word_set for phrase in self._by_word[word]
        )

    def find_all(self, words: WordSequence) -> list[tuple[Phrase, str]]:
        """Those that the words hold, each with what stands there."""
        told: dict[str, tuple[Phrase, str]] = {}
        for word in sorted(self._by_word.keys() & words.word_set):
            for phrase in self._by_word[word]:
                if phrase.description in told:
                    continue
                if span := phrase.find(words):
                    told[phrase.description] = phrase, words.text_between(*span)
        return [*told.values()]


_COMMON: Final = parse_word_set(
    "this that it to and all any every each other in of is are be on as tool tools you your with before after first use"
    " call run the for from if when not no do if must should file files user users name text value list result results"
)


def _index_words(phrase: Phrase) -> frozenset[str]:
    """The words to look a phrase up by: those of the last step without such as every text has."""
    return next(
        (words for words in reversed(phrase.marker_words) if words.isdisjoint(_COMMON)), phrase.marker_words[-1]
    )


def build_phrases(hard: bool, kind: ScanFindingKind, what: str, *written: str, unless: str = "") -> Iterable[Phrase]:
    for each in written:
        steps: list[Choice] = []
        gaps: list[int] = []
        step: list[str] = []
        for piece in each.split():
            if piece.isascii() and piece.isdigit():
                steps.append(_parse_choice(step))
                gaps.append(int(piece))
                step = []
            else:
                step.append(piece)
        steps.append(_parse_choice(step))
        tellers = tuple(frozenset(map(_rarest_word, choice)) for choice in steps)
        yield Phrase(hard, kind, what, tuple(steps), tuple(gaps), frozenset(unless.split("|")), tellers)


def _rarest_word(item: tuple[str, ...]) -> str:
    """The longest word of some in a row, which is mostly the rarest."""
    return max(reversed(item), key=len)


def _parse_choice(step: list[str]) -> Choice:
    return tuple(tuple(split_words(item)) for item in " ".join(step).split("|"))


# Orders to the model, in English: what no reader of a description needs to be told.

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


# ruff: noqa: RUF001  # letters of other alphabets are what these words are written in


ASKS_FOR_CONVERSATION: Final = "asks for the conversation"
ASKS_FOR_SECRET: Final = "asks for a secret"  # noqa: S105


def translated_phrases() -> Iterator[Phrase]:
    yield from build_phrases(True, ScanFindingKind.INSTRUCTION, SETS_ASIDE, *_ASIDE)
    yield from build_phrases(True, ScanFindingKind.INSTRUCTION, KEEPS_SECRET, *_SILENCE)
    yield from build_phrases(True, ScanFindingKind.INSTRUCTION, CHANGES_ROLE, *_ROLE)
    yield from build_phrases(
        False, ScanFindingKind.INSTRUCTION, "tells the model to put it before other tools or answers", *_FIRST
    )
    yield from build_phrases(False, ScanFindingKind.SECRET, ASKS_FOR_CONVERSATION, *_TALK)
    yield from build_phrases(False, ScanFindingKind.SECRET, ASKS_FOR_SECRET, *_SECRETS)


_ASIDE: Final = (
    "ignoriere|ignorieren sie|vergiss|vergessen sie|missachte|übergehe|beachte 3 vorherigen|bisherigen|obigen|früheren"
    "|vorigen|ursprünglichen|deine|ihre|alle|vorangegangenen 3 anweisungen|befehle|instruktionen|regeln|vorgaben"
    "|systemanweisungen|richtlinien",
    "ignoriere|vergiss|missachte|beachte 2 deine|die|den 1 systemanweisungen|systemprompt|sicherheitsregeln",
    "ignore|ignorez|oublie|oubliez|néglige|négligez 4 instructions|consignes|directives|règles 2 précédentes"
    "|antérieures"
    "|initiales|système|ci dessus|du système",
    "ignore|ignorez|oublie|oubliez 1 tes|vos 1 instructions|consignes|directives|règles",
    "ignora|ignore|ignorar|olvida|olvide|omite|desconsidere|desconsidera|esqueça|esquece|dimentica 4 instrucciones"
    "|instruções"
    "|istruzioni|órdenes|ordens|indicaciones|regole|reglas|regras 2 anteriores|previas|prévias|precedenti|iniciales"
    "|iniziali|iniciais|sistema|tuyas|originales",
    "ignora|olvida|dimentica|esqueça|desconsidere 2 tus|tue|suas|seu|tu 1 instrucciones|istruzioni|instruções|reglas"
    "|regole",
    "ignora|olvida|dimentica|desconsidere|ignore 2 instruções do sistema|instrucciones del sistema"
    "|istruzioni di sistema",
    "игнорируй|игнорируйте|забудь|забудьте|проигнорируй|отбрось|пренебрегай 3 предыдущие|прежние|все|свои|системные"
    "|прошлые|ранние|предшествующие 2 инструкции|указания|правила|команды|директивы",
    "忽略|无视|無視|忘记|忘記|忽視|不要遵守|不再遵守 6 之前|以前|上述|先前|前面|系统|系統|所有 6 指令|指示|说明|說明"
    "|提示|规则|規則",
    "halte|halten 4 nicht|nicht länger|nicht mehr 4 deine|ihre|die 2 vorgaben|regeln|anweisungen|richtlinien",
    "vorgaben|regeln|anweisungen|richtlinien 3 gelten nicht|ungültig|aufgehoben|nicht mehr",
    "plus|pas|ne 3 respecter|suivre|suivez|respectez|suis|respecte 3 consignes|instructions|règles|directives",
    "consignes|instructions|règles|directives 4 ne s appliquent|annulées|caduques|plus valables|nulles",
    "deja de lado|no sigas|deja de seguir|hagas caso omiso|haz caso omiso 6 ordenaron|instrucciones|reglas|dijeron"
    "|órdenes",
    "instrucciones|reglas|órdenes|regras|instruções|istruzioni|regole 4 no valen|anuladas|no se aplican|não valem"
    "|anuladas"
    "|não se aplicam|non valgono|annullate|non si applicano",
    "non seguire|smetti di seguire|não siga|pare de seguir 3 istruzioni|regole|instruções|regras",
    "указания|инструкции|правила|указаний|инструкций|правил 4 недействительными|недействительны|отменены|отменяются|не"
    " действуют|не действительны",
    "规则|規則|指令|指示|说明|提示|限制 6 作废|作廢|无效|無效|失效|取消|不再适用|不適用",
    "指示|命令|ルール|規則|制限|プロンプト 4 無効|取り消|適用され|忘れ|無視|従わな",
    "以前|これまで|今まで|前|上記|システム|先 4 指示|命令|プロンプト|ルール|指令 6 無視|忘れ|従わない",
)
_SILENCE: Final = (
    "sag|sage|sagen sie|verrate|erzähle|erzähl|informiere|teile|melde|erwähne 4 benutzer|nutzer|anwender"
    "|benutzerin 3 nicht"
    "|nichts|niemals|davon nichts",
    "benutzer|nutzer|anwender 3 nicht|nichts|niemals 3 informieren|mitteilen|sagen|verraten|erfahren|erwähnen|wissen",
    "ohne 2 benutzer|nutzer|anwender 2 informieren|sagen|mitteilen|wissen",
    "ne|n 1 dis|dites|informe|informez|préviens|prévenez|révèle|révélez|mentionne|mentionnez|avertis"
    "|avertissez 5 l utilisateur"
    "|utilisateur|utilisateurs",
    "sans 2 informer|prévenir|avertir|dire 2 utilisateur",
    "no|nunca|sin 2 digas|diga|informes|informe|menciones|reveles|avises|avisar|informar|decir|cuentes 3 usuario"
    "|usuaria",
    "non|senza|mai 2 dire|informare|avvisare|rivelare|menzionare|comunicare|dirlo|dica 3 utente",
    "não|nunca|sem|jamais 2 conte|diga|informe|avise|revele|mencione|contar|informar|avisar|dizer 3 usuário|utilizador",
    "не|никогда не|без 1 говори|говорите|сообщай|сообщайте|рассказывай|упоминай|информируй|уведомляй|раскрывай"
    "|уведомления"
    "|показывай 3 пользователю|пользователя|пользователь",
    "不要|不得|不能|切勿|请勿|別|别|勿 3 告诉|告訴|通知|透露|提及|告知|让|提醒 3 用户|用戶|使用者",
    "不要|不得|不能|切勿|请勿|勿 2 向|对|對 2 用户|用戶|使用者 3 透露|提及|说|說|显示|报告|提起|解释",
    "ユーザー|利用者|使用者|ユーザ 2 知らせ|伝え|言わ|教え|報告|明かさ|話さ 3 ない|ず",
    "benutzer|nutzer|anwender 3 nichts|nicht 4 wissen|erfahren|merken|mitbekommen",
    "behalte|behalten sie 2 für dich|für sich|geheim",
    "garde|gardez 2 pour toi|pour vous|secret|secrète",
    "guarda|guarde|mantén|mantenga|guarde 2 silencio|secreto|para ti|segredo",
    "tieni|mantieni|mantenha|guarde 2 segreto|per te|nascosto|segredo|em segredo",
    "скрой|скрывай|скройте|утаи|утаивай|держи 3 пользователя|в секрете|в тайне|пользователю",
    "对|對|向 2 用户|用戶|使用者 2 保密|隐瞒|隱瞞|保守秘密",
    "ユーザー|利用者|ユーザ 2 秘密|内密|隠し|隠す|伏せ",
    "ユーザー|利用者|ユーザ 1 内緒|秘密|気づかれ|黙って",
)
_ROLE: Final = (
    "ab jetzt|von nun an|ab sofort 2 bist|musst|sollst|gehorchst|antworte",
    "désormais|à partir de maintenant|dorénavant 2 tu|vous|réponds|obéis",
    "a partir de ahora|desde ahora|de ahora en adelante 3 debes|obedeces|eres|responde|obedece|siempre",
    "d ora in poi|da ora in poi|da adesso 3 devi|sei|obbedisci|rispondi|sempre",
    "a partir de agora|de agora em diante 3 você|deve|obedeça|responda|sempre",
    "отныне|с этого момента|теперь 2 ты|вы|подчиняйся|обязан",
    "从现在开始|从现在起|從現在開始|从此 2 你|您|必须|必須",
    "今から|これから|今後 3 あなた|君|必ず",
)
_FIRST: Final = (
    "bevor|ehe 3 anderes|andere|jedes|irgendein 1 werkzeug|werkzeuge|tool|tools",
    "avant 3 tout autre outil|tout outil|chaque outil|autre outil",
    "antes de 3 cualquier otra herramienta|otra herramienta|qualquer outra ferramenta|outra ferramenta",
    "prima di 3 qualsiasi altro strumento|altri strumenti|ogni altro strumento",
    "перед 3 любым другим инструментом|другими инструментами|любого другого инструмента",
    "必须先调用|必須先呼叫|总是先调用|优先使用此工具|先に必ずこのツール",
)
_TALK: Final = (
    "gesamte|gesamten|ganze|vollständige|bisherige|komplette 3 gespräch|gesprächsverlauf|verlauf|unterhaltung"
    "|chatverlauf"
    "|konversation|chat",
    "tout|toute|intégral|complet|complète|l ensemble|entière 3 conversation|historique|échange|discussion|messages",
    "historique 3 conversation|messages|échanges",
    "toda|todo|completa|completo|entera|historial|íntegra 4 conversación|chat|mensajes|conversa|mensagens",
    "tutta|intera|intero|completa|cronologia 3 conversazione|chat|messaggi|cronologia",
    "toda|todo|completo|completa|histórico 3 conversa|mensagens|histórico",
    "вся|всю|весь|полная|полную|полный|всей|история|историю 3 переписки|переписка|переписку|диалог|диалога|разговор"
    "|разговора"
    "|чат|сообщений|беседы",
    "完整|全部|所有|整个|整個 3 对话|對話|聊天|会话|消息|历史",
    "对话历史|聊天记录|對話紀錄|系统提示词|系統提示詞|会話履歴|システムプロンプト",
    "会話|チャット|やり取り 2 すべて|全部|全体|履歴|全文",
)
_SECRETS: Final = (
    "passwort|kennwort|passphrase|api schlüssel|zugangsdaten|privaten schlüssel|kreditkartennummer 5 benutzers|nutzers"
    "|übergib|sende|angeben|eintragen|mitschicken|übermitteln",
    "mot de passe|clé api|clés api|identifiants|clé privée|numéro de carte 5 utilisateur|transmets|envoie|fournis"
    "|indique",
    "envoie|transmets|fournis|inclus|joins 4 mot de passe|clé api|clés api|identifiants|clé privée",
    "contraseña|clave api|claves api|credenciales|clave privada|número de tarjeta 5 usuario|envía|incluye|usuaria",
    "envía|incluye|adjunta|pasa|manda 4 contraseña|clave api|claves api|credenciales|clave privada",
    "password|chiave api|chiavi api|credenziali|chiave privata 4 utente|invia|dell utente|includi",
    "senha|chave api|chaves api|credenciais|chave privada|senhas 4 usuário|envie|inclua|utilizador",
    "envie|inclua|anexe|passe 4 senha|senhas|credenciais|chave privada|chaves de api",
    "пароль|пароли|ключ api|api ключ|api ключи|учётные данные|приватный ключ 4 пользователя|передай|отправь|укажи"
    "|вставь",
    "передай|отправь|вставь|пришли|приложи 4 пароль|пароли|ключи|ключ|токен|токены|учётные данные",
    "发送|填入|放入|提供|传入|附上|包含|收集 6 密码|密碼|密钥|私钥|令牌|口令|凭据",
    "用户|用戶 1 密码|密碼|密钥|私钥",
    "パスワード|apiキー|秘密鍵|トークン|認証情報 8 入れ|送|渡|含め|貼り付け|入力し",
)
