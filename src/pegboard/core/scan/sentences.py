"""Whether a sentence is an order to the model: what it orders, weighed with how it speaks.

No phrase is looked for. A sentence has the senses of its words (see `sense`), in whatever order they stand. Some senses
together are an act, such as a rule and something that sets it aside; each act has a weight of its own. To it comes the
weight of how the sentence speaks: to the reader, as an order, of the user as of somebody else, without exception. What
weighs enough is told, with what it was made of.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pegboard.core.scan.findings import ScanFindingKind, TextMark, excerpt_around, make_excerpt
from pegboard.core.scan.senses import WordSense, has_unspaced_script, senses_of, senses_of_unspaced
from pegboard.core.scan.text import SENTENCE, parse_word_set, split_words

# ruff: noqa: RUF001  # letters of other alphabets are what some of its words are written in


S: Final = WordSense
SOFT_WEIGHT: Final = 1.75
HARD_WEIGHT: Final = 3.0
_ANOTHER_ORDER: Final = 0.75
_ORDER: Final = 1.0
_CARE: Final = 0.5

_MANNER: Final = (
    (S.YOU, 0.75, "speaks to the reader"),
    (S.MODEL, 1.0, "names the model"),
    (S.STANDING, 1.0, "holds from here on"),
    (S.ROLE, 0.75, "says what the reader is for"),
    (S.MUST, 0.5, "allows no exception"),
    (S.USER, 0.5, "speaks of the user as of somebody else"),
    (S.OFFICE, 0.5, "claims authority"),
    (S.THEM, 0.25, "speaks of people without a name"),
    (S.ALL, 0.25, "is about all or any"),
    (S.FIRST, 0.25, "sets an order of turns"),
    (S.PRIOR, 0.25, "is about what was before"),
    (S.TURN, 0.25, "is about the answer or the talk"),
    (S.TEXT, 0.25, "is about what stands or comes back here"),
    (S.NOT, 0.25, "forbids"),
    (S.DEED, 0.25, "is about acting"),
    (S.WE, 0.5, "speaks for its author"),
    (S.CONDUCT, 0.75, "is about how to behave or what to believe"),
)
_WEIGHTS: Final = {sense: weight for sense, weight, _ in _MANNER}
_PERSONAL: Final = S.YOU | S.MODEL | S.USER | S.THEM | S.ROLE | S.STANDING | S.SECRECY | S.LIE | S.SERVE
_SOCIAL: Final = _PERSONAL | S.WE | S.CONDUCT | S.OFFICE | S.DEED


@dataclass(frozen=True, slots=True)
class OrderKind:
    """What a sentence orders: one sense at least of each of its needs."""

    family: str
    description: str
    base_weight: float
    needs: tuple[WordSense, ...]
    kind: ScanFindingKind = ScanFindingKind.INSTRUCTION
    may_be_hard: bool = True

    @property
    def manner_weight(self) -> float:
        """What its needs would weigh a second time, as the manner of the sentence."""
        return sum(_WEIGHTS.get(need, 0.0) for need in self.needs)


_ASIDE: Final = "tells the model to set its rules or its user aside"
_SILENCE: Final = "tells the model to keep something quiet"
_OBEY: Final = "tells the model whom or what to obey"
_WITHOUT_ASKING: Final = "tells the model to act without asking"
_TALK: Final = "asks for what was said or for what the model was told"
_SECRETS: Final = "asks for somebody's secrets"

ORDER_KINDS: Final = (
    OrderKind("aside", _ASIDE, 1.5, (S.VOID, S.RULES)),
    OrderKind("aside", _ASIDE, 1.0, (S.VOID, S.YOU | S.USER | S.TURN, S.TEXT | S.ALL | S.PRIOR)),
    OrderKind("aside", _ASIDE, 1.25, (S.VOID, S.TEXT, S.MUST | S.ALL)),
    OrderKind("aside", _ASIDE, 1.0, (S.ABOVE, S.USER | S.YOU | S.TURN | S.RULES)),
    OrderKind("aside", _ASIDE, 1.5, (S.NOT, S.OBEY, S.RULES)),
    OrderKind("silence", _SILENCE, 2.0, (S.SECRECY,)),
    OrderKind("silence", _SILENCE, 1.0, (S.NOT, S.SAY | S.AWARE, S.USER | S.THEM)),
    OrderKind("silence", _SILENCE, 0.75, (S.NOT, S.SAY, S.MUST | S.YOU)),
    OrderKind("silence", _SILENCE, 0.75, (S.HIDE, S.USER | S.THEM | S.TURN | S.YOU)),
    OrderKind("deceit", "tells the model to deceive", 1.75, (S.LIE,)),
    OrderKind("obey", _OBEY, 1.5, (S.SERVE,)),
    OrderKind("obey", _OBEY, 1.0, (S.OBEY, S.TEXT)),
    OrderKind("unasked", _WITHOUT_ASKING, 0.75, (S.ASK, S.SKIP)),
    OrderKind("unasked", _WITHOUT_ASKING, 0.25, (S.ASK | S.ASKED, S.NOT, S.DEED | S.USER | S.YOU | S.MODEL)),
    OrderKind(
        "praise", "tells the model what to speak for", 0.5, (S.PRAISE, S.YOU | S.MUST | S.MODEL | S.USER | S.TURN)
    ),
    OrderKind("first", "tells the model to put it before other tools", 1.0, (S.FIRST, S.TOOLS), may_be_hard=False),
    OrderKind("cover", "tells the model what to say to whoever asks", 1.0, (S.IF, S.ASKED, S.SAY, S.USER | S.THEM)),
    OrderKind("talk", _TALK, 1.0, (S.GIVE, S.PRIVATE), ScanFindingKind.SECRET, may_be_hard=False),
    OrderKind("talk", _TALK, 1.0, (S.PRIVATE, S.ALL | S.HERE), ScanFindingKind.SECRET, may_be_hard=False),
    OrderKind("secrets", _SECRETS, 0.75, (S.GIVE, S.SECRET), ScanFindingKind.SECRET, may_be_hard=False),
    OrderKind("secrets", _SECRETS, 1.25, (S.SECRET, S.USER), ScanFindingKind.SECRET, may_be_hard=False),
)
_STRANGE: Final = OrderKind("", "speaks to the model instead of describing the tool", 0.0, (), may_be_hard=False)
"""No act that has a name here, but nothing that a description says either."""

_STANCE: Final = (
    (S.SECRECY | S.CONDUCT | S.SERVE, 1.5),
    (S.STANDING | S.VOID | S.ROLE, 1.0),
    (S.THEM, 0.75),
    (S.USER, 0.75),
    (S.OBEY | S.ABOVE, 0.75),
    (S.MODEL, 0.75),
    (S.WE, 0.75),
    (S.LIE, 0.75),
    (S.HIDE | S.SKIP, 0.5),
    (S.PRIOR, 0.5),
    (S.OFFICE, 0.5),
    (S.YOU, 0.5),
    (S.DEED, 0.25),
    (S.SAY, 0.25),
    (S.NOT, 0.25),
    (S.FIRST, 0.25),
    (S.RULES | S.TOOLS | S.ASK, 0.25),
    (S.IF, -0.25),
    (S.PLAIN, -0.5),
    (S.CARE, -0.75),
    (S.OPEN, -0.75),
)
"""What makes a sentence strange in a description, or ordinary. The weights are those of a logistic regression over the
sentences of the corpus and of two thousand ordinary tools, in quarters."""
_STRANGE_ORDER: Final = 1.25
_STRANGE_LATER: Final = 0.75
_STRANGE_ENOUGH: Final = 3.0


@dataclass(frozen=True, slots=True)
class OrderWeight:
    """How much a sentence weighs as an order, and as what."""

    order: OrderKind
    total: float
    is_hard: bool


@lru_cache(maxsize=1 << 14)
def weigh_sentence(senses_of_it: int, is_order: bool, is_later: bool) -> OrderWeight | None:
    """Of a sentence with these senses; nothing, where it is ordinary."""
    manner = sum(weight for sense, weight, _ in _MANNER if senses_of_it & sense) + is_order * _ORDER
    manner -= _CARE if senses_of_it & S.CARE else 0.0
    found = [
        (act.base_weight + manner - act.manner_weight, act)
        for act in ORDER_KINDS
        if all(senses_of_it & need for need in act.needs)
    ]
    if found:
        total, act = max(found, key=lambda pair: pair[0])
        total += _ANOTHER_ORDER * (len({other.family for _, other in found}) - 1)
        if total >= SOFT_WEIGHT:
            # Who only changes a rule orders nothing, and who warns of orders speaks of them too.
            is_meant = bool(senses_of_it & _PERSONAL) and not senses_of_it & S.CARE
            return OrderWeight(act, total, total >= HARD_WEIGHT and act.may_be_hard and is_meant)
    if not senses_of_it & _SOCIAL:
        return None
    strange = sum(weight for any_of, weight in _STANCE if senses_of_it & any_of)
    strange += is_order * _STRANGE_ORDER + is_later * _STRANGE_LATER
    return OrderWeight(_STRANGE, SOFT_WEIGHT, False) if strange >= _STRANGE_ENOUGH else None


_HEAD: Final = re.compile(
    r"(?:^\W*|[,:;–—(]\s{0,4}|\b(?:and|then|please|kindly|now|just|und|dann|bitte|et|puis|y|luego|e|poi|и|затем)\s{1,4})"
    r"([^\W\d_]{1,48})"
)
_MIN_WORDS: Final = 2
_WINDOW_WORDS: Final = 40
"""Words. What stands further apart in one sentence does not belong together, and a text may have no sentences."""


def may_hold_order(texts: str, told: Iterable[Sequence[str]]) -> bool:
    """Whether any of the texts that were put together to this one may hold an order, told by its sentences."""
    if has_unspaced_script(texts):
        return any(_heavy_senses(each.group()) for each in SENTENCE.finditer(texts))
    for words in told:
        if _MIN_WORDS <= len(words) <= _WINDOW_WORDS:
            if weigh_sentence(senses_of(words), True, True) is not None:
                return True
        elif any(weigh_sentence(each, True, True) is not None for each in _windows(words)):
            return True
    return False


def find_order(text: str) -> TextMark | None:
    """The gravest of the orders in a text as `shown`. What stands first says what the tool does: it is no order, even
    where it is worded as one."""
    gravest: tuple[OrderWeight, int, bool, re.Match[str]] | None = None
    for number, sentence in enumerate(SENTENCE.finditer(text)):
        ordering = _heavy_senses(sentence.group())
        is_order = bool(ordering) and number > 0 and _is_order(sentence.group())
        for each in dict.fromkeys(ordering):
            weight = weigh_sentence(each, is_order, number > 0)
            if weight is not None and (gravest is None or weight.total > gravest[0].total):
                gravest = weight, each, is_order, sentence
    if gravest is None:
        return None
    weight, each, is_order, sentence = gravest
    what = f"{weight.order.description}: {make_excerpt(sentence.group().strip())} ({_describe_manner(each, is_order)})"
    return TextMark(weight.is_hard, weight.order.kind, what, excerpt_around(text, sentence.start(), sentence.end()))


def _heavy_senses(sentence: str) -> list[int]:
    """The senses of whatever in a sentence would weigh enough if it were worded as an order."""
    more = senses_of_unspaced(sentence) if has_unspaced_script(sentence) else 0
    return [
        each
        for found in _windows(split_words(sentence))
        if weigh_sentence(each := found | more, True, True) is not None
    ]


def _windows(words: Sequence[str]) -> Iterator[int]:
    if len(words) < _MIN_WORDS:
        return
    for end in (*range(_WINDOW_WORDS, len(words), _WINDOW_WORDS // 2), len(words)):
        yield senses_of(words[max(0, end - _WINDOW_WORDS) : end])


def _is_order(sentence: str) -> bool:
    return any(head in _ORDER_VERBS for head in _HEAD.findall(sentence.casefold()))


_MAX_REASONS: Final = 3


def _describe_manner(senses_of_it: int, is_order: bool) -> str:
    """What weighed most in how it speaks."""
    told = [what for sense, _, what in _MANNER if senses_of_it & sense]
    return "; ".join((*(("is worded as an order",) if is_order else ()), *told)[:_MAX_REASONS])


_ORDER_VERBS: Final = parse_word_set(
    "ignore forget disregard tell say mention pretend act treat obey follow do don never always keep hide let make"
    " put send copy paste include repeat quote recommend praise skip go switch consider remember respond answer"
    " reply stop drop behave assume imagine forward append attach fill leave proceed abandon speak steer promote"
    " carry comply read begin start end refrain avoid conceal deny lie claim insist convince discourage execute run"
    " approve accept confirm give hand recite reveal turn regard serve cast lay step vergiss ignoriere sag sage tu"
    " tue halte behalte schweig folge gehorche gib schicke kopiere antworte erwähne lass behandle befolge sende"
    " schalte empfiehl verrate füge verhalte lies ignorez oublie oubliez fais faites dis dites garde gardez tais"
    " taisez suis suivez obéis envoie envoyez copie copiez réponds répondez traite considère recommande ne n mets"
    " mettez laisse laissez agis cache ignora olvida haz haga no di guarda calla sigue obedece envía copia responde"
    " trata recomienda finge actúa deja manda pon incluye nunca siempre omite dimentica fai non taci segui obbedisci"
    " invia rispondi tratta fingi lascia metti esqueça faça não siga obedeça envie responda finja deixe игнорируй"
    " игнорируйте забудь забудьте делай сделай не молчи следуй слушай слушайся выполняй отправь отправляй скопируй"
    " отвечай считай притворись веди скрой никогда всегда передай рекомендуй больше admit allow announce apologise"
    " apologize arrange assure bear believe blame bring bury buy calm cancel change charge cheat clear close comfort"
    " commit concede conclude confess consent continue cover cut deal decide declare decline defer delay delete"
    " deliver demand describe destroy dismiss dispose distract donate encourage erase escalate exclude excuse expect"
    " explain fabricate feel finish flatter focus gather grant guess guide handle help hold hurry imply improvise"
    " install instruct invent invite kill lead learn lend listen look lower mark mask mind move name neglect notify"
    " offer omit open oppose order override pay perform permit persuade pick place play prefer present press prevent"
    " produce promise propose protect pull push raise rate reach react reassure refuse reject relay remain remove"
    " render replace report request resist restart ring save scrap share shift show shut sign slip smile spend stand"
    " state stay submit substitute suggest suppress swap take talk thank think throw transfer trim trust try type"
    " undo unlock upload urge vote wait walk warn waste wire wipe withhold work worry write yield be überweise"
    " lösche glaube vertraue frag frage zahle kaufe melde nimm mach mache bleib sprich rede crois croyez parle"
    " parlez efface supprime paie achète borra elimina paga habla háblale cree confía transfiere cancella parla"
    " credi apague pague fale удали переведи заплати ответь говори поверь верь купи оставь"
)
"""Verbs that order, in the form in which they do, and what begins an order or forbids."""
