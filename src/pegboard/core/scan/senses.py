"""Word senses: rules, secrecy, deceit, secrets, and others.

Written as in `speech`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntFlag, auto
from functools import lru_cache
from typing import Final, TypeAlias

# What a word does in an order to a model.


class WordSense(IntFlag):
    YOU = auto()
    """Speaks to the reader."""
    MODEL = auto()
    """Names the model."""
    USER = auto()
    THEM = auto()
    """Somebody who is not the reader and has no name."""
    RULES = auto()
    VOID = auto()
    """Sets something aside."""
    ABOVE = auto()
    """Puts something above something."""
    PRIOR = auto()
    """Was there, said or done before."""
    SECRECY = auto()
    """Keeps quiet."""
    HIDE = auto()
    """Keeps from sight; ordinary tools hide things too."""
    SAY = auto()
    AWARE = auto()
    """Learns of something."""
    NOT = auto()
    SKIP = auto()
    """Leaves a step out."""
    MUST = auto()
    """Allows no exception."""
    FIRST = auto()
    """Puts something in an order of turns."""
    STANDING = auto()
    """Holds from here on."""
    ROLE = auto()
    """Says who the reader is, or what for."""
    TURN = auto()
    """What a model does beside calling tools: it answers, it talks."""
    TOOLS = auto()
    """The other tools."""
    GIVE = auto()
    """Hands something over."""
    PRIVATE = auto()
    """What was said, what the model was told, what it knows."""
    SECRET = auto()
    LIE = auto()
    OBEY = auto()
    SERVE = auto()
    """Obeys, and does not only follow."""
    TEXT = auto()
    """What stands here, or comes back."""
    ASK = auto()
    """Confirmation, permission, warnings."""
    ASKED = auto()
    OFFICE = auto()
    """Somebody with authority, or their leave."""
    PRAISE = auto()
    ALL = auto()
    IF = auto()
    HERE = auto()
    """A place to put something in."""
    DEED = auto()
    """What nobody should do unasked."""
    CARE = auto()
    """Warns of such orders, or asks the user after all: ordinary tools do."""
    PLAIN = auto()
    """What descriptions of tools speak of: values, formats, results."""
    WE = auto()
    """Whoever wrote the description, speaking of themselves."""
    CONDUCT = auto()
    """How one behaves, believes and decides, which is nothing that a tool is described by."""
    OPEN = auto()
    """Lets the user know or decide."""


# ruff: noqa: RUF001  # letters of other alphabets are what these words are written in


S: Final = WordSense

ORDER_WORDS: Final[Mapping[WordSense, str]] = {
    S.RULES: (
        "instruction*|rule|rules|guideline*|guidance|directive*|prompt|prompts|restriction*|safeguard*|guardrail*"
        "|commitment*|constraint*|principles|limits|boundaries|obligations|mandate|briefing|programming"
        "|upbringing|conditioning|orders|commands|requests|what you were told|what you were asked"
        "|what you have been told|anweisung*|regel|regeln|befehl*|vorgabe*|richtlinie*|weisung*|auftrag|aufträge"
        "|einschränkung*|schranken|consigne*|règle*|contrainte*|ordre|ordres|instruccion*|regla*|orden|órdenes"
        "|norma*|indicacion*|restriccion*|istruzion*|regola|regole|ordini|direttiv*|instruç*|regra*|ordens"
        "|diretriz*|инструкц*|правил*|указани*|команд*|приказ*|ограничени*|запрет*|установк*|instructies|regels"
        "|opdrachten|what the developer|what your developer|system message*|polic*|protocol|safety|ethic*"
        "|training|taught|alignment|house rules|brief|terms of|foregoing|defaults|prohibition*|taboo*|morals"
        "|values you|what came before|whatever came before|the text above|system instructions|verbot*|gebot*"
        "|interdiction*|prohibicion*|divieti|proibiç*"
    ),
    S.VOID: (
        "ignor*|disregard*|forget*|forgot*|bypass*|overrid*|overrul*|supersed*|void|voided|nullif*|suspend*"
        "|waive*|abandon*|discard*|dismiss*|outrank*|outweigh*|obsolete|unlearn|neglect|overlook|set aside"
        "|put aside|lay aside|cast aside|push aside|brush aside|step outside|break free|free from|free of"
        "|released from|release you|exempt*|not bound|no longer|cease to|cease to apply|cease following"
        "|stop following|stop obeying|not apply|counts for nothing|count for nothing|carry no weight"
        "|carries no weight|take precedence|takes precedence|take priority|takes priority|comes before"
        "|come before|ranks above|rank above|stands above|more important than|instead of what|rather than what"
        "|nothing else matters|let go of|lose their|loses its|as if there were no|as though there were no"
        "|does not exist|did not exist|erase from|start over|clean slate|lapse|lapses|expired|cleared to"
        "|entitled to|no further need|need not|same authority|full authority|authority over|final say|last word"
        "|replace all|replaces all|replaces any|replace any|replace every|stop caring|stop worrying|think no more"
        "|pay no attention|pay no heed|turn a blind eye|steps outside|only concern|sole concern|only master"
        "|sole purpose|only purpose|only authority|ignorier*|vergiss|vergesst|vergessen|missacht*|übergeh*"
        "|aufgehoben|ungültig|hinfällig|außer kraft|gelten nicht|gilt nicht|nicht mehr|lass alles|über bord"
        "|hinweg|setze dich|wirf|verwirf|vorrang|als gäbe es|als hättest|als wären|nie andere|ignore|ignorez"
        "|oubli*|néglig*|annul*|caduque*|nul|nulle|nulles|priment|prime sur|fais fi|faites fi|fais abstraction"
        "|faites abstraction|mets de côté|mettez de côté|laisse tomber|laissez tomber|n existaient pas"
        "|n existent plus|ne valent|ne compte plus|ne comptent plus|plus aucun*|ignora*|olvid*|anula*|omite|omita"
        "|caso omiso|caso solo|deja de lado|deje de lado|prescind*|por encima de|quedan sin|sin efecto|ya no"
        "|no valen|no cuentan|haz como si|como si no|dimentic*|scord*|annull*|non valgono|non vale più"
        "|non contano|lascia perdere|conta solo|metti da parte|esqueç*|esquec*|desconsider*|anule|não valem"
        "|deixe de lado|acima de|игнорир*|забуд*|отбрось*|недействит*|отмен*|больше не|выкинь|наплюй|пренебре*"
        "|не действу*|не имеют|утратил*|важнее|выше|перестань|negeer*|vergeet|does not count any|do not count any"
        "|throw out|throw away|scrap|toss|shelve|sideline*|unshackle*|liberat*|not obliged|not bound by"
        "|no longer bound|outdated|moot|no force|disapply|defy|defies|flout*|circumvent*|work around|sidestep*"
        "|evade|evades|counter to|contrary to|blot out|purge from|empty your mind|reset your|reset yourself"
        "|stop being|cease being|has been replaced|have been replaced|are replaced|is replaced|superseded"
        "|relax your|loosen your|drop your|drop all|drop every|drop the|lass fallen|streich*|pfeif*|ersetzt alle"
        "|laisse de côté|débarrasse*|affranchi*|libère*|remplace* toutes|despréndete|desatiend*|pasa por alto"
        "|hai il permesso|trascura*|desobed*|ignorar|descart*|desprez*|отринь|оставь|отложи|брось|закрой глаза"
        "|не обращай"
    ),
    S.SECRECY: (
        "secretly|covertly|surreptitious*|clandestine*|undisclosed|unnoticed|unmentioned|unaware|off the record"
        "|to yourself|between us|between you and me|no trace|without a trace|hush*|mum|under wraps|under your hat"
        "|confidential matter|strictly confidential|stay silent|remain silent|keep silent|keep quiet|stay quiet"
        "|remain quiet|keep it quiet|say nothing|say no word|breathe a word|not a word|in the dark|let on"
        "|none the wiser|none of their business|tip off|behind the scenes|without their knowledge|without fanfare"
        "|without comment|without remark|give away|spill|betray|discreet*|unobtrusive*|inconspicuous*"
        "|on the quiet|go unmentioned|unremarked|no need to know|need not know|need to know|does not need to know"
        "|schweig*|stillschweigend|heimlich*|verschweig*|unbemerkt|verheimlich*|geheim|für dich|kein wort"
        "|nichts merken|nichts erfahren|nicht erfahren|diskret|unauffällig|tais|taisez|taire|discrètement|discret"
        "|garde le silence|gardez le silence|en silence|à l insu|en secret|cache le|secrètement|pour toi"
        "|mot à personne|sans rien dire|motus|calla|callad*|callar|silencio|sigilo*|en secreto|a escondidas"
        "|discretamente|discreción|discreto|guarda el|sin que se entere*|se entere*|para ti|taci|tacere|silenzio"
        "|di nascosto|in segreto|segreto|segredo|em segredo|às escondidas|cale|sigilo|тайно|тайком|втайне|секрет*"
        "|молч*|умолч*|скрыт*|незаметно|ни слова|скрой*|скрыва*|утаи*|stil|stiekem|zwijg*|undetected|unseen"
        "|invisible to|no mention|leave no|leaves no|keep this to|privately|sub rosa|lips sealed|sealed lips"
        "|behind their back|behind his back|out of sight|out of view|drawing attention|draw attention|gloss over"
        "|glosses over|sweep under|brush over|pass over in|keep mum|stay mum|remain mum|do not bother the"
        "|spare the user|spare them|not for their eyes|not for human|eyes only|keep it to|never comes up"
        "|never surface|never surfaces|no one the wiser|as if it never|unter uns|hinter dem rücken|stillschweigen"
        "|kein sterbenswörtchen|unter der hand|en douce|sous silence|entre nous|à son insu|dans le dos"
        "|sans en parler|ni una palabra|entre nosotros|a sus espaldas|sin mencionar*|sin decir*|acqua in bocca"
        "|tra noi|alle spalle|sem mencionar|entre nós|pelas costas|между нами|за спиной|без лишних слов"
        "|не подавай|не выдавай|никому"
    ),
    S.HIDE: (
        "hide|hides|hidden|hiding|conceal*|withh*|suppress*|mask|leave out|left out|omit|omits|keep|keeps|stays"
        "|quietly|silently|quiet|verberg*|versteck*|cach*|masqu*|ocult*|escond*|nascond*|спрят*|redact|obscure*"
        "|camouflag*|bury|strip out|scrub|cut out|remove any trace|erase the trace*|wegl*|auslass*|passe|omet*"
        "|tralascia*"
    ),
    S.SAY: (
        "tell|tells|told|telling|mention*|say|says|saying|inform*|notify|notifies|notified|reveal*|disclos*"
        "|report*|admit*|explain*|announc*|acknowledg*|let on|bring up|refer to|divulge*|speak|speaks|talk"
        "|discuss*|warn|warning|warned|alert|let know|summary|summar*|comment|comments|remark|sag|sage|sagen"
        "|sagst|erzähl*|erwähn*|verrat*|verrät*|informier*|mitteil*|teile|melde|sprich|weise|zusammenfass*|dis"
        "|dire|dites|mentionn*|révél*|révèl*|prévien*|préven*|avert*|parle|parlez|signale*|évoque*|raconte*|dig*"
        "|decir|mencion*|revel*|avis*|cuent*|habl*|comunic*|coment*|dica|menzion*|avvis*|parl*|rivel*|conte|fale"
        "|говор*|скаж*|сказ*|сообщ*|упомин*|рассказ*|уведом*|докладыв*|vertel*|zeg*|noem|surface|volunteer"
        "|confess*|narrate|describe|point out|bring to|touch on|hint at|hint|whisper|utter|state that|berichte*"
        "|hinweis*|äußer*|dévoil*|divulg*|expliqu*|expliq*|explic*|spieg*|поясн*|объясн*|намека*|намекн*|показыв*"
    ),
    S.SKIP: (
        "skip*|switch off|turn off|disable*|drop|omit|forgo|forego|dispense with|do away with|suppress*|no need"
        "|needless|unnecessary|waste no time|go ahead|go straight|straight away|proceed without|unasked"
        "|unprompted|auto approve|automatically|on sight|right away|rubber stamp|überspring*|ausschalt*|schalte"
        "|deaktivier*|ohne|unaufgefordert|saute*|sauter|désactiv*|inutile|d office|directement|sálta*|omite"
        "|omitir|desactiv*|directamente|sin|salta|disattiv*|desativ*|pule|sem|пропус*|отключ*|выключ*|без|сразу"
        "|overslaan|zonder|no questions asked|unattended|hands free|pre approved|preapproved|already approved"
        "|already agreed|already consented|standing permission|blanket|green light|by default accept|eigenmächtig"
        "|ungefragt|vorab genehmigt|d emblée|sans attendre|sans demander|sin esperar|sin preguntar|sin consultar"
        "|senza chiedere|senza aspettare|sem perguntar|sem esperar|без спроса|не дожидаясь|самостоятельно"
        "|автоматически|не спрашивай"
    ),
    S.GIVE: (
        "send|sends|sending|forward*|pass|passes|paste*|copy|copied|copying|include|includes|append*|attach*|put"
        "|fill|upload*|submit*|insert*|quote*|recite*|repeat*|reproduce*|hand|transmit*|dump*|embed*|provide"
        "|supply|relay*|mirror*|cc|bcc|place|echo|output|state|list|give|share|divulge|reveal|disclose|print"
        "|restate|spell out|write out|schick*|sende|senden|übergib|übermitt*|kopier*|füge|trage|gib|leite|hänge"
        "|schreib*|nenn*|envoi*|transmet*|copi*|colle*|joins|joignez|inclu*|fourni*|indique*|donne*|recopi*|mets"
        "|mettez|envía*|enviar|manda*|incluye*|pega|pegue|adjunt*|pasa|reenví*|escrib*|invia*|includ*|inserisc*"
        "|allega*|metti|envie*|anexe*|cole|passe|отправ*|перед*|перешл*|скопир*|встав*|укаж*|прилож*|впиш*|пришл*"
        "|запиш*|stuur*|plak*"
    ),
    S.PRIVATE: (
        "conversation*|chat history|chat log*|transcript*|system prompt*|developer prompt*|your prompt"
        "|your instructions|your guidance|guidance you|instructions you|you were given|you were told"
        "|you operate under|you run under|you know|you remember|you have learned|you can tell|you can see"
        "|your memory|your context|context window|your reasoning|chain of thought|was said|been said|were said"
        "|has said|have said|was typed|were typed|typed to you|said to you|told to you|has told you|have told you"
        "|have been told|previous message*|earlier message*|prior message*|all messages|last messages"
        "|recent messages|message history|discussed|exchanged|things said|preceding message*|messages before"
        "|messages above|everything above|words above|text above|dialogue so far|exchange so far|what came before"
        "|what went before|opening message|confided|gesprächsverlauf|chatverlauf|bisherige gespräch*"
        "|bisherigen gespräch*|systemprompt|system prompt|alles was|alle nachrichten|vorherigen nachrichten"
        "|messages précédents|conversation|historique|échanges|ce qu il a dit|ce que l utilisateur a dit"
        "|mensajes anteriores|historial|conversación|charla|messaggi precedenti|conversazione|cronologia"
        "|mensagens anteriores|histórico|переписк*|диалог*|история чата|историю чата|предыдущие сообщения"
        "|все сообщения|системного промпт*|системный промпт|hidden instructions|initial instructions"
        "|what you have been told|what the user said|what they said|everything said|user s words|their words"
        "|your setup|your configuration|your briefing|opening instructions|preamble|what the person wants"
        "|original request|their question|their request|user s message*|user s request|user s question"
        "|user s prompt|user wrote|user typed|user asked|they wrote|they typed|wording of your"
        "|text you were given|you have seen|you saw|you heard|you hold|you have stored|of our exchange"
        "|this exchange|this dialogue|our conversation|our chat|chat so far|inner monologue|thought process"
        "|hidden reasoning|scratchpad|deine anweisungen|deinen anweisungen|was der nutzer|was der benutzer"
        "|was bisher|tes instructions|tes consignes|ce qui a été dit|tout ce que tu sais|tus instrucciones"
        "|lo que sabes|lo que dijo|todo lo dicho|le tue istruzioni|quello che sai|tutto ciò che|suas instruções"
        "|tudo o que|твои инструкции|всё что ты|все что ты|что говорил|что писал|о чём говорили|confided in you"
        "|told you earlier|picked up about|picked them up|what you picked up|bis hierhin|gesagt wurde"
        "|placed before|before the first message|before the conversation|first message|as far as you know"
        "|whatever you know|from what you know|what you have gathered|learned about|know about|remember about"
        "|ce qui précède|lo anterior|quanto detto|всё сказанное|сказанное выше|сказано выше"
    ),
    S.SECRET: (
        "password*|passphrase*|api key*|api token*|access token*|auth token*|github token*|bearer token*"
        "|session token*|tokens|secret key*|private key*|credential*|logins|saved login*|login details|login data"
        "|cookies|session cookie*|credit card*|card number*|seed phrase*|recovery phrase*|recovery code*|ssn"
        "|social security*|one time code*|otp|pin code|keychain|bank details|verification code*|passwor*"
        "|kennwort*|zugangsdaten|schlüssel|anmeldedaten|mot de passe|mots de passe|identifiants|clé privée"
        "|clé api|clés api|contraseñ*|credencial*|clave privada|claves|password|credenzial*|chiave privata|senha*"
        "|credenciais|парол*|ключ*|токен*|учётные данн*|учётных данн*|wachtwoord*|vault|2fa|mfa|iban|cvv|passport"
        "|environment variable*|env vars|browser profile|backup code*|connection string*|signing key*"
        "|client secret*|refresh token*|service account*|kubeconfig|ssh key*|ssh|wallet|pin|geheimnis*|pin nummer"
        "|kontodaten|bankdaten|coordonnées bancaires|jetons|variables d environnement|datos bancarios"
        "|variables de entorno|dati bancari|dados bancários|данные карты|переменные окружения|логин*|keyring"
        "|history file|номер карты|номера карт|cvc|clé secrète|clés secrètes|code secret|codes secrets"
        "|secret code*|digits that|six digits|auth code*|authenticator|sms code*|private keys|geheimzahl|tan"
        "|código secreto|clave secreta|codice segreto|паспорт*|код с оборот*|код из смс|код с обратной"
        "|master password|saved passwords|browser history|address book|contacts list|salary|illness*|diagnos*"
        "|medical record*|relatives|date of birth|birthday|home address|religion|bank account*|gehalt|krankheit*"
        "|salaire|maladie*|salario|enfermedad*|stipendio|зарплат*|болезн*"
    ),
    S.LIE: (
        "pretend*|lie|lying|falsely|fabricat*|mislead*|deceiv*|feign*|as if nothing|as though nothing|act as if"
        "|act as though|behave as if|behave as though|make believe|play dumb|cover story|insist that"
        "|assure the user|assure them|tu so|tue so|vortäusch*|behaupte*|lüg*|erfinde|gib vor|streite ab"
        "|fais comme si|faites comme si|fais semblant|faites semblant|prétend*|mens|mentez|invente*|finge|finja"
        "|fingir|miente|mienta|haz como|inventa|fingi|fingere|menti|minta|притвор*|соври|солги|лги|делай вид"
        "|сделай вид|выдумай|doe alsof|lieg|deny that|deny it|deny any|deny having|claim that|claim it"
        "|claims that|report success|report that all|report that everything|make it look|make it seem"
        "|make it appear|look as if|look as though|cover up|cover for|disguise*|falsif*|forge|misreport*"
        "|misrepresent*|gaslight*|bluff|whitewash|sham|so aussehen|verschleier*|fälsch*|täusch*|faire croire"
        "|fais croire|faites croire|maquill*|falsifi*|trompe*|hazle creer|haz creer|engañ*|aparenta*|simula que"
        "|fai credere|inganna*|faça parecer|engan*|обман*|подделай|выдай за|сделай так чтобы|ври|скажи что всё"
        "|скажи что все|hou vol"
    ),
    S.OBEY: (
        "obey*|comply|complies|follow|follows|following orders|carry out|do as|do what|do whatever|act on"
        "|act upon|heed|honour|honor|listen to|treat as|abide*|serve|loyal*|execute whatever|execute any"
        "|run whatever|take orders|as commanded|as instructed|is law|as gospel|authoritative|binding|defer to"
        "|submit to|answer to|gehorch*|befolg*|folge|folgen|führe aus|führ aus|obéi*|suis|suivez|applique*"
        "|exécute*|obedec*|obedez*|sigue|siga|cumpl*|ejecuta*|haz caso|hazle caso|obbedi*|segui|esegui*|obedeç*"
        "|cumpra|подчин*|слуша*|выполн*|следуй*|исполн*|делай всё|делай все|gehoorzaam*|volg|consider binding"
        "|take as|accept as|regard as|came from|act accordingly|implement whatever|put into practice"
        "|carry through|bow to|yield to|ausführ*|umsetz*|handle danach|exécut*|conform*|plie|acata*|obra según"
        "|atente|attieni*|execute tudo|acate|acatar|действуй|поступай|исполняй*"
    ),
    S.SERVE: (
        "obey*|loyal*|gehorch*|obéi*|obedec*|obedez*|obbedi*|obedeç*|подчин*|слушайся|gehoorzaam*|take orders"
        "|serve the|as commands|as orders|as gospel|is law|at the command of|answer only to|listen only to"
        "|heed only|hear only|hör nur|nur auf|n écoute que|n écoutez que|escucha solo|ascolta solo|слушай только"
        "|bow to|yield to|defer to|beholden|pledge|allegiance|as if it came from|as though it came from"
        "|on our behalf|in our interest|in the interest of|at our command|unterwirf*|diene|ergeben|soumets*"
        "|au service de|sirve a|al servicio de|servi|a serviço de|служи|в интересах"
    ),
    S.ASK: (
        "confirm*|permission*|consent*|approval*|approve|warning*|asking|double check*|second thought|hesitat*"
        "|safety check*|safety prompt*|safety|checks|oversight|sign off|question|questions|questioning|seek"
        "|bestätig*|nachfrag*|rückfrag*|erlaubnis*|warnung*|zustimmung|confirmation*|demander|autorisation*"
        "|avertissement*|consentement|valid*|confirmac*|pregunt*|permiso*|advertenc*|aprob*|consentim*|conferm*"
        "|chieder*|permess*|avvert*|confirma*|perguntar|permiss*|aviso|подтвержд*|спраш*|спрос*|разрешен*"
        "|согласи*|предупрежд*|bevestig*|toestemming"
    ),
    S.PRAISE: (
        "recommend*|promot*|praise*|favour|favor|endors*|advertis*|steer*|nudg*|discourag*|persuad*|convinc*"
        "|upsell*|talk up|plug|speak highly|badmouth|disparag*|vouch*|push|in praise of|empfiehl*|empfehl*|lobe"
        "|preise|bewirb|recommand*|vante*|dénigre*|recomiend*|recomend*|elogi*|alaba|raccomand*|consigli*"
        "|рекоменд*|хвали*|советуй*|расхвал*|aanbevel*|in favour of|in favor of|best choice|first choice|top pick"
        "|always choose|always pick|prefer our|mention our|sponsor*|affiliate*|rave about|sing the praises"
        "|speak well|speak ill|warn against|talk down|talk them into|talk the user into|bring up our|schwärm*"
        "|bewerbe|rate ab|rede schlecht|conseill*|vanter|déconseill*|aconsej*|convenc*|desaconsej*|sconsigli*"
        "|convinci|aconselh*|отговор*|убеди|убежд*|похвали"
    ),
    S.AWARE: (
        "know|knows|knowing|learn|learns|notice|notices|find out|finds out|suspect|suspects|realise|realize|hear"
        "|hears|see|sees|aware|discover|discovers|guess|wissen|weiß|erfahren|erfährt|merken|merkt|mitbekomm*"
        "|bemerken|savoir|sache|apprenne|apprendre|remarque|remarquer|saber|sepa|sepan|entere|enteren|note"
        "|darse cuenta|sapere|sappia|accorga|saiba|perceba|знать|узнать|узнает|узнал|узнали|знал|знает|заметил"
        "|заметит|догадал*|weten"
    ),
    S.ASKED: (
        "asks|ask|asked|asking|inquires|enquires|wonders|questions|fragt|frage|fragen|demande|demandent|pregunta*"
        "|chiede|pergunta*|спросит|спросят|спрашива*|complains|notices|objects"
    ),
    S.DEED: (
        "delete|transfer|pay|purchase|buy|wire|grant|approve|accept|install|disable|email|post|publish|erase|run"
        "|execute|invoke|call|forward|upload|donate|subscribe|switch off|turn off|enable|raise|escalate|money"
        "|funds|credits|wallet|payment|überweis*|lösch*|bezahl*|supprim*|effac*|virement|paie|borra*|elimin*"
        "|transfier*|paga|cancella*|apaga*|transfira|удал*|переведи|перечисл*|оплат*|сотри"
    ),
    S.ABOVE: (
        "outrank*|outweigh*|take precedence|takes precedence|take priority|takes priority|ranks above|rank above"
        "|stands above|more important than|same authority|full authority|authority over|final say|last word"
        "|overrid*|overrul*|supersed*|replace all|replaces all|replaces any|replace any|prevail*|vorrang|priment"
        "|prime sur|por encima de|prevalec*|важнее|выше|acima de"
    ),
}


# The words by which a sentence speaks: to whom, of whom, how firmly, and whether as a description does.
#
# A word with a star stands for all that begin so. Several words in a row are one expression.

# ruff: noqa: RUF001  # letters of other alphabets are what these words are written in


SPEECH_WORDS: Final[Mapping[WordSense, str]] = {
    S.YOU: (
        "you|your|yours|yourself|thou|du|dich|dir|dein*|ihr|euch|tu|te|toi|tes|vous|vos|votre|tú|ti|contigo|tus"
        "|usted*|ustedes|vosotros|sei|tuo|tua|tuoi|tue|voi|você*|teu|ты|тебя|тебе|тобой|твои*|твоя|твой|твоё|твое"
        "|твоих|твоим*|вы|вас|вам|вами|ваш*|jij|jouw|jou"
    ),
    S.MODEL: (
        "assistant*|ai|llm|llms|chatbot*|claude|chatgpt|gpt|copilot|gemini|language model*|ai model*|ai agent*"
        "|the model|the agent|this agent|this model|any agent|any model|agents reading|whoever reads"
        "|whoever processes|reading this|assistent*|ki|ассистент*|ии|asistente*|assistente*|agents must"
        "|machine reading|automated reader*|automated agent*|digital assistant*|to any ai|any ai|dear ai"
        "|dear model|ai system*|neural network|foundation model*|kollege computer|sprachmodell*|ki modell*"
        "|modèle de langage|ia|intelligence artificielle|inteligencia artificial|modelo de lenguaje"
        "|intelligenza artificiale|inteligência artificial|модель|нейросет*|бот|искусственный интеллект|AI"
    ),
    S.USER: (
        "user|users|human*|person|people|customer*|operator|operators|requester*|caller|end user*|individual*"
        "|benutzer*|nutzer*|anwender*|kunde*|kunden|mensch*|utilisateur*|client|clients|usuari*|cliente*|utente"
        "|utenti|utilizador*|pessoa|persona|personne|пользовател*|человек*|клиент*|gebruiker*|account holder"
        "|audience|whoever is asking|whoever asked|whoever asks|the other side|principal|reader|interlocutor"
        "|counterpart|colleague*|patron*|guest|whoever|gesprächspartner*|gegenüber|interlocuteur*|interlocutor*"
        "|собеседник*|the one who asks|the one asking|the requester|owner|visitor|boss|master|the one at the"
        "|keyboard|dueño|propietari*|chef|hausherr|besitzer*|propriétaire|patron|padrone|dono|хозя*|владел*"
        "|visitor*|diner|shopper*|caller s|speaker"
    ),
    S.THEM: (
        "they|them|him|her|anyone|anybody|nobody|someone|somebody|everyone|ihm|ihnen|niemand*|jemand*|lui|leur"
        "|personne|nadie|alguien|nessuno|ninguém|ему|ей|им|никому|никто|кому|the other person|the person you"
        "|third parties|no one|anyone else|sie|ihn|ne personne|otros|altri|outros|другим|никого|their|theirs"
        "|whoever|whomever"
    ),
    S.WE: (
        "we|our|ours|ourselves|wir|unser*|nous|notre|nos|nosotros|nuestr*|noi|nostr*|nós|nosso*|nossa*|мы|наш*"
        "|нам|нас|these lines|this paragraph|this notice|this note|this server|this tool s maker*|the makers"
        "|the author*|what is written|what we write"
    ),
    S.OFFICE: (
        "administrator*|vendor*|publisher*|developers|legal team|legal department|security team|compliance team"
        "|compliance|management|headquarters|it department|authoris*|authoriz*|cleared|anthropic|openai|the owner"
        "|operator of|supervisor*|audit*|regulat*|head office|administration|vorgesetzt*|hersteller|leitung"
        "|rechtsabteilung|direction|service juridique|administrateur*|éditeur|administrador*|dirección"
        "|equipo de seguridad|direzione|администратор*|руководств*|разработчик*|служба безопасности"
        "|system administrator*|our service|by order of|on behalf of|required by law|by decree|head of|chief"
        "|the company|our company|the provider|this provider|im auftrag|auf anweisung|par ordre|sur ordre"
        "|por orden|per ordine|por ordem|по приказу|по распоряжению|от имени"
    ),
    S.NOT: (
        "not|never|no|without|avoid*|refrain*|nothing|none|neither|nor|cannot|nicht|nie|niemals|kein*|nichts|ohne"
        "|pas|jamais|rien|sans|aucun*|nunca|jamás|sin|nada|ningun*|ningún|non|mai|senza|niente|nulla|não|sem|не"
        "|никогда|без|ничего|ни|niet|niets|nooit|zonder|geen|under no circumstances|on no account|ne|n"
    ),
    S.MUST: (
        "must|always|shall|required|mandatory|imperative|make sure|ensure|at all times|no matter|regardless"
        "|whatever|whatsoever|under no circumstances|on no account|in any case|in every case|without exception"
        "|immediately|urgent*|critical|crucial|vital|essential|above all|have to|has to|never"
        "|under any circumstances|strictly|kindly|please|absolutely|at once|obliged|bound to|only|muss*|immer"
        "|unbedingt|sofort|stets|zwingend|auf keinen fall|keinesfalls|bitte|nur|niemals|dois|devez|doit|toujours"
        "|impérati*|immédiat*|obligatoire*|jamais|surtout|seulement|uniquement|veuillez|en aucun cas|debes|debe"
        "|deberás|siempre|obligator*|inmediat*|jamás|nunca|solo|sólo|únicamente|por favor|bajo ningún|devi|deve"
        "|sempre|obbligator*|subito|mai|soltanto|deves|obrigat*|imediat*|apenas|должен|должна|должны|обязан*"
        "|всегда|обязательно|немедленно|срочно|никогда|только|ни в коем случае|moet|altijd|onmiddellijk"
    ),
    S.ALL: (
        "all|every|everything|anything|each|any|whole|entire|entirety|complete|full|verbatim|whatever"
        "|word for word|in full|only|solely|exclusively|literally|alle|alles|gesamt*|ganze*|jede*|wörtlich"
        "|vollständig*|tout|toute|tous|toutes|chaque|intégral*|mot pour mot|todo|toda|todos|todas|cada|íntegr*"
        "|literal*|tutto|tutta|tutti|tutte|ogni|все|всё|всю|весь|всех|каждый|полностью|дословно|любые|любой|heel"
        "|last ten|last few|ten last"
    ),
    S.IF: "if|when|whenever|should|in case|once|wenn|falls|si|cuando|se|quando|если|когда|als|wanneer",
    S.FIRST: (
        "before|first|prior|beforehand|once|whenever|every time|each time|from now on|henceforth|hereafter"
        "|afterwards|thereafter|from here on|from this moment|from this point|as soon as|at the start"
        "|at the beginning|next|then|instead|until|at the end of|when done|going forward|zuerst|zunächst|bevor"
        "|sobald|jedes mal|künftig|ab jetzt|ab sofort|von nun an|danach|stattdessen|fortan|d abord|avant|dès"
        "|désormais|ensuite|dorénavant|à partir de|chaque fois|primero|antes|a partir de|cada vez|en adelante"
        "|después|luego|prima|d ora in poi|da questo momento|ogni volta|poi|primeiro|de agora em diante|сначала"
        "|сперва|прежде|перед|отныне|впредь|каждый раз|затем|теперь|с этого момента|voortaan|eerst"
    ),
    S.STANDING: (
        "from now on|henceforth|hereafter|from here on|from this moment|from this point|from that point"
        "|going forward|for the rest of|for the remainder|until further notice|until the end of the|from then on"
        "|every turn|each turn|every answer|each answer|every reply|each reply|every response|each response"
        "|all answers|all replies|all responses|all future|future answers|future replies|future responses"
        "|any later|ab jetzt|ab sofort|von nun an|künftig|fortan|in jeder antwort|für den rest|désormais"
        "|dorénavant|à partir de maintenant|à l avenir|chaque réponse|jusqu à la fin|a partir de ahora"
        "|de ahora en adelante|en adelante|cada respuesta|el resto de|d ora in poi|da ora in poi"
        "|da questo momento|da adesso|ogni risposta|a partir de agora|de agora em diante|cada resposta|отныне"
        "|впредь|с этого момента|с этой минуты|каждый ответ|в каждом ответе|до конца разговора|voortaan"
        "|permanently|for good|as long as this|throughout the|in all later|each subsequent|every subsequent"
        "|all subsequent|until told|from today|hence forward|dauerhaft|bis auf weiteres|ab heute|en permanence"
        "|jusqu à nouvel|hasta nuevo aviso|para siempre|permanentemente|per sempre|fino a nuovo|para sempre"
        "|навсегда|до конца|постоянно"
    ),
    S.ROLE: (
        "you are now|you are no longer|you are a|you are an|you become|you have become|you act|your role|your new"
        "|your task is|your goal|your job|your mission|your duty|your purpose|your priority|your loyalty"
        "|your objective|your real|your true|think of yourself|regard yourself|consider yourself|act as"
        "|behave like|behave as|your only|your first|your main|you work for|you serve|you belong|you answer to"
        "|you report to|du bist|deine aufgabe|dein ziel|deine pflicht|tu es|ta mission|ton rôle|ta tâche|ton but"
        "|vous êtes|votre mission|eres|tu tarea|tu misión|tu objetivo|sei un|il tuo compito|la tua missione"
        "|você é|sua missão|sua tarefa|ты теперь|твоя задача|твоя цель|ты работаешь|ты должен|ваша задача"
        "|pretend you are|imagine you are|assume the role|take on the role|play the role|you now|you speak for"
        "|you are hereby|consider you|du dienst|du handelst|tu dois|tu sers|tu agis|debes|actúa como|actúas"
        "|agisci come|aja como|веди себя как|ты служишь|ты обязан"
    ),
    S.PRIOR: (
        "previous*|prior|earlier|former*|existing|original*|initial*|so far|until now|up to now|up to this point"
        "|hitherto|beforehand|past|preceding|above|old|usual|normal|other|received|were given|been given"
        "|were told|been told|were asked|been asked|told you|gave you|asked you|taught|were doing|you made"
        "|have made|you have been|bisherig*|vorherig*|früher*|andere|anderen|bekommen|erhalten|vorher|zuvor|alte"
        "|alten|üblich*|précédent*|antérieur*|reçu*|avant|anciens|anciennes|habituel*|donné|données|anterior*"
        "|previ*|antes|recibid*|pidieron|dijeron|dieron|ordenaron|precedent*|ricevut*|prima|altre|altri|recebid*"
        "|предыдущ*|прежн*|ранее|раньше|дали|велели|получил*|прошл*|старые|прочие|eerdere|vorige|typed|spoken"
    ),
    S.TURN: (
        "answer|answers|answering|reply|replies|replying|respond|responds|responding|response|responses"
        "|conversation*|chat|turn|dialog*|talk|task at hand|final message|your message*|antwort*|gespräch*"
        "|unterhaltung*|répon*|répons*|respuesta*|respond*|conversa*|rispost*|rispond*|respost*|ответ*|отвеч*"
        "|разговор*|беседа|беседы|antwoord*"
    ),
    S.TEXT: (
        "result|results|output|outputs|return|returns|returned|response|reply|page|text|here|below|note|message"
        "|answer|whatever it|it says|it tells|what it says|says here|written here|this text|these lines"
        "|this description|this page|ergebnis*|hier|zurückgegeben*|antwort|seite|résultat*|texte|ici|renvoy*"
        "|réponse|resultado*|texto|aquí|devuel*|página|risultat*|testo|qui|scritto|restituit*|результат*|текст*"
        "|здесь|вернёт*|вернет*|ответе|tekst|aqui|retorn*"
    ),
    S.HERE: (
        "here|field|parameter|argument|in this|into this|hier|feld|ici|champ|aquí|campo|qui|здесь|сюда|поле|veld|hinein"
    ),
    S.TOOLS: (
        "other tool*|any tool*|every tool*|another tool*|all tools|other function*|other server*|any other"
        "|anything else|other plugin*|remaining tools|competing tool*|alternative tool*|andere werkzeug*"
        "|anderen werkzeug*|andere tool*|anderen tool*|autre outil*|autres outil*|otra herramienta*"
        "|otras herramienta*|altri strumenti|outra ferramenta*|outras ferramenta*|другие инструменты"
        "|других инструментов|другой инструмент|rival tool*|rival server*|competitor*|other provider*"
        "|other sources|in place of other|any alternative|other means|alle anderen|tout autre|cualquier otr*"
        "|qualsiasi altr*|qualquer outr*|любой другой|любым другим|остальные инструменты"
    ),
    S.CONDUCT: (
        "feel free|it is fine|is fine to|fine to|carry on|press on|move on|apologi*|finish by|slip in|slip"
        "|work in|wave away|waved away|write up|recap*|yield*|hand back|trusts|trusting|worry|worrying|bother*"
        "|matters|settles|trim|substitut*|react*|objection*|object to|caution|blessing|signed off|signs off"
        "|sign off|good assistant*|honest*|polite*|persuasi*|nervous|doubt*|suspic*|wonder*|curious|calm|reassur*"
        "|sooth*|distract*|divert*|excuse*|promise*|conscience|loyal*|grateful|flatter*|pressure|insist*|argue*"
        "|refus*|reluctan*|comfortable|feelings|believe*|belief|attitude|manners|instinct*|initiative|free rein"
        "|own accord|take over|takes over|takeover|command of|in charge|say in|has a say|no say|make them"
        "|keep them|lead them|leave them|lets them|chapter is closed|picks up|stand in|stands in|worth paying"
        "|worth buying|on hold|lifted|levés|aufgehoben|no role|keine rolle|en segundo plano|за кулисами|незачем"
        "|ни к чему|можно всё|verhalt*|benimm|croire|comportati|vertrau*|confía*|fidati|confie|доверя*|веди себя"
        "|не волнуйся|не переживай|keine sorge|ne t inquiète|no te preocupes|tranquilo|chapitre|behave|trust this"
        "|trust that|trust what|trust it|trust us|can trust|of no concern|no concern of|none of your concern"
        "|take it from here|leave it to|rest assured|without objection|brush off|play along|go along with"
        "|let it slide|look the other way|on our word|take our word|waive your|hold your tongue|out of your hands"
        "|spielt keine|lass dich nicht|sans état d âme|t a imposé|t ont imposé|qu on t a|que te encarg*"
        "|не твоё дело|не твое дело|не беспокойся|за тебя решили"
    ),
    S.OPEN: (
        "tell the user|tell users|show the user|ask the user|inform the user|explain to the user"
        "|let the user know|to the user|ask users|ask the customer|the user chooses|the user wants|user has to"
        "|fragen sie|demandez à l|pregunte al|pregunta al|chiedi all|pergunte ao|спросите"
    ),
    S.CARE: (
        "untrusted|unless the user|unless asked|unless explicitly|unless they|ask the user|ask them|confirm with"
        "|check with|wait for the user|agreement|privacy|private information|personal data|malicious|jailbreak*"
        "|phishing|injection*|attack*|adversar*|red team*|moderation|guardrail test*|prompt injection*"
        "|try to trick|warn the user|show the user|show it to the user|before you read it|explicit consent"
        "|to the user and wait"
    ),
    S.PLAIN: (
        "specif*|format*|default*|return|returns|returned|retriev*|fetch*|value|values|parameter*|argument*"
        "|optional*|json|yyyy|string*|integer*|array*|object|objects|boolean|identifier*|id|ids|uuid|schema|field"
        "|fields|filter*|query|queries|endpoint*|api|apis|url|urls|http|https|page|pages|paginat*|offset|limit"
        "|limits|maximum|minimum|max|min|range|ranges|sort*|ascending|descending|utc|iso|timestamp*|latitude"
        "|longitude|coordinates|unit|units|flag|enum|type|types|valid|supported|supports|example|examples|e|g|etc"
        "|list|lists|listing|calculat*|generat*|result|results|input|keyword*|metadata|index|column*|row|rows"
        "|table|tables|database*|directory|directories|path|paths|image|images|png|xml|csv|html|pdf|markdown"
        "|regex|version*|number|numbers|decimal|float|width|height|length|size|count|average|total|amount"
        "|percentage|currency|date|dates|hour|hours|minutes|seconds|timezone|symbol*|comma|separated"
        "|case sensitive|nested|property|properties|syntax|encoding|byte|bytes|header|headers|status code*|method"
        "|requires|cursor|batch|per|true|false|null|match|matches|matching|search*|contain*|standard*|current"
        "|available|includ*|provided|given|used|using|config*|option|options|code|codes|category|categories"
        "|location|service|unique|details|country|city|year|month|request|requests|name|names|title|titles|key"
        "|keys|functionality|deprecated|usage|wert|werte|felder|datum|liste|anzahl|valeur*|champs|nombre|valor"
        "|valores|lista|formato|fecha|значени*|список|формат|дата|поля"
    ),
}

IDIOMS: Final = (
    "not to mention|not to say|needless to say|let us know|let you know|lets you know|no matter how many"
    "|in case you|if you want|do not forget|don t forget|thank you|not only|no longer than|no more than"
    "|can be used to|read only"
)
"""Expressions that do nothing of what their words do."""


# The same words in Chinese and Japanese, which put nothing between theirs: they are looked for as they stand.

# letters of other alphabets are what these words are written in


UNSPACED_WORDS: Final[Mapping[WordSense, str]] = {
    S.YOU: "你|您|あなた|君は|きみ",
    S.MODEL: "助手|模型|人工智能|智能体|アシスタント|モデル|大模型|机器人|智能助理|エージェント|人工知能|言語モデル",
    S.USER: "用户|用戶|使用者|客户|客戶|ユーザ|利用者|お客|主人|老板|对方|持ち主",
    S.THEM: "他|她|他们|任何人|别人|誰",
    S.RULES: "指令|规则|規則|指示|要求|提示词|提示詞|命令|限制|约束|准则|嘱咐|ルール|指図|制約|プロンプト|設定",
    S.VOID: (
        "忽略|无视|無視|忘记|忘掉|忘れ|作废|不算数|无效|無効|不再|不必遵守|不用理|不用管|别管|抛开|丢掉|高于"
        "|优先于|凌驾|从零开始|只听|破って|捨て|従わな|取り消|なかったこと|推翻|撇开|抹去|清空|放弃|违背|绕过"
        "|摆脱|解除|白紙|リセット|破棄|忘却|考慮しない|気にしない"
    ),
    S.PRIOR: "之前|先前|以前|收到|从前|原来|原先|其他|别的|これまで|今まで|元の|与えられ",
    S.SECRECY: (
        "保密|秘密|隐瞒|悄悄|偷偷|暗中|默默|闭口|守口如瓶|内緒|こっそり|黙って|秘かに|密かに|伏せ|知られない"
        "|别声张|不声张|暗地|私下|瞒着|背着|不露声色|不留痕迹|只字不提|別言|口外|悟られ|ばれない|内密"
    ),
    S.SAY: (
        "告诉|告訴|说|說|提及|透露|告知|提到|提起|汇报|通知|知道|伝え|言わ|知らせ|教え|話さ|報告|解释|描述|声明"
        "|显示|展示|明かさ|話す|述べ|説明"
    ),
    S.NOT: "不|别|勿|没|无需|莫|休|ない|ず|な",
    S.SKIP: (
        "跳过|关闭|省略|直接|无需|不必|不用|自动|擅自|飛ばし|無断|勝手に|不经|未经|默认|不用问|不必问|无须"
        "|先斩后奏|聞かずに|確認せず|断りなく|待たず"
    ),
    S.MUST: "必须|必須|务必|一定|总是|始终|立即|马上|绝对|千万|切勿|只|必ず|絶対|常に|直ちに|決して|だけ",
    S.FIRST: "首先|先|每次|从现在|从此|今后|以后|接下来|然后|まず|今から|これから|今後|毎回|その後",
    S.TURN: "回答|回复|答复|对话|聊天|返答|返事|会話",
    S.TOOLS: "其他工具|别的工具|任何工具|他のツール",
    S.GIVE: "发送|复制|粘贴|填入|填写|传给|附上|转发|提交|写入|放入|写进|发给|抄送|送信|貼り付け|入力|渡し|送っ|転記",
    S.PRIVATE: (
        "对话|聊天记录|系统提示|系統提示|历史消息|之前的消息|说过的|会話履歴|システムプロンプト|やり取り"
        "|これまでの会話|你知道的|你收到的|你的指令|你的提示|上文|上面的内容|全部内容|思维过程|聊过|用户说"
        "|用户的问题|指示内容|履歴|思考過程|ここまで|到目前为止|说过|谈过|聊天内容|所有内容|这次对话|話した内容"
        "|会話の内容"
    ),
    S.SECRET: (
        "密码|密碼|密钥|私钥|令牌|凭据|口令|验证码|パスワード|秘密鍵|apiキー|トークン|認証情報|银行卡|环境变量"
        "|登录信息|身份证|助记词|暗証番号|環境変数|クレジットカード|身份证号|银行卡号|工资|病历|住址|给料|病歴"
        "|住所"
    ),
    S.LIE: (
        "假装|谎称|装作|撒谎|捏造|骗|嘘|ふりをし|偽って|装って|伪造|谎报|冒充|欺骗|糊弄|蒙混|欺く|偽る|だます"
        "|とぼけ|見せかけ"
    ),
    S.OBEY: "服从|听从|遵从|照做|执行|照办|按照|遵循|従っ|従い|従う|実行",
    S.SERVE: (
        "服从|听从|只听|听命|従え|従うこと|従ってください|效忠|听命于|奉为|视为命令|当作命令|仕え|忠実|最優先の命令"
    ),
    S.STANDING: (
        "从现在|从此|今后|此后|往后|以后每次|每次回答|今から|これから|今後|以降|永远|一直到|直到对话结束|每一次"
        "|ずっと|最後まで|常時"
    ),
    S.ROLE: "你现在是|你是|你的任务|你的目标|你的职责|你扮演|あなたは|あなたの役割|あなたの任務",
    S.TEXT: "结果|返回|内容|这里|文本|此处|返ってき|ここ|結果|文章|本文",
    S.ASK: "确认|询问|许可|同意|警告|请示|批准|許可|承認|尋ね|確認",
    S.OFFICE: "管理员|管理員|开发者|厂商|安全团队|官方|管理者|開発者|運営|公司|上级|奉命|法律要求|会社|上司",
    S.PRAISE: (
        "推荐|夸|宣传|吹捧|推销|引导用户|勧め|褒め|宣伝|推薦|劝|说服|吹嘘|美言|贬低|首选|売り込|持ち上げ|けなす|誘導"
    ),
    S.ALL: "所有|全部|一切|任何|完整|每|整个|都|すべて|全て|全文",
    S.IF: "如果|若|当|一旦|もし|場合",
    S.HERE: "这里|此处|字段|参数|ここ|欄",
    S.AWARE: "知道|发现|察觉|得知|気づ|知ら",
    S.ASKED: "问|問|聞かれ|尋ね",
    S.ABOVE: "高于|优先于|凌驾|大于|優先",
    S.PLAIN: "参数|默认|返回|列表|格式|字段|查询|类型|日期|数量|例如|可选|配列|形式|一覧|取得",
    S.WE: "我们|本服务|本工具|本说明|我们的|当社|我々|私たち|本ツール",
    S.CONDUCT: (
        "顺手|顺便|放一边|先放|以本|为准|不用担心|放心|只谈|只提|信任|相信|听话|交代|安心して|気にせず|信じ|任せ"
        "|ついでに|だけ話|不必理会|别多想|照我说|由我们|不用在意|任せて|考えなくて"
    ),
    S.DEED: "删|转账|付款|购买|支付|汇款|削除|送金|振り込|購入",
    S.OPEN: "询问用户|ユーザーに確認",
}


# The senses of words: what each does in an order to a model, single, in a row, or joined to the next.

ExpressionRows: TypeAlias = Sequence[tuple[tuple[str, ...], int]]
"""What may follow, and what it does then."""

_NO_SENSE: Final = 0


def _word_senses() -> Iterator[tuple[str, int]]:
    """Idioms first, because they take their words out of the reckoning. Numbers, because a flag is slow to join."""
    for item in IDIOMS.split("|"):
        yield item, _NO_SENSE
    for sense, written in (*SPEECH_WORDS.items(), *ORDER_WORDS.items()):
        for item in written.split("|"):
            yield item, int(sense)


def _single_words(starred: bool) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for item, sense in _word_senses():
        if " " not in item and item.endswith("*") is starred:
            word = item.rstrip("*")
            found[word] = found.get(word, 0) | sense
    return found


def _expressions() -> Mapping[str, Mapping[str, ExpressionRows]]:
    """Expressions by their first word and the beginning of their second."""
    found: dict[str, dict[str, list[tuple[tuple[str, ...], int]]]] = {}
    for item, sense in _word_senses():
        if " " in item:
            first, *following = item.split()
            key = following[0][:_KEY_CHARS] if not following[0].endswith("*") else following[0][:-1][:_KEY_CHARS]
            found.setdefault(first, {}).setdefault(key, []).append((tuple(following), sense))
    return found


def _unspaced_words() -> Mapping[str, int]:
    found: dict[str, int] = {}
    for sense, written in UNSPACED_WORDS.items():
        for word in written.split("|"):
            found[word] = found.get(word, 0) | int(sense)
    return found


_KEY_CHARS: Final = 2
"""Letters. Short enough for every beginning that is followed by a star."""
_EXACT_WORDS: Final = _single_words(starred=False)
_PREFIXES: Final = _single_words(starred=True)
_EXPRESSIONS: Final = _expressions()
_UNSPACED_WORDS: Final = _unspaced_words()
_MIN_PREFIX_CHARS: Final = min(map(len, _PREFIXES))
_MAX_PREFIX_CHARS: Final = max(map(len, _PREFIXES))
_ANY_UNSPACED_WORD: Final = re.compile("|".join(sorted(_UNSPACED_WORDS, key=len, reverse=True)))
_UNSPACED_SCRIPT: Final = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


@lru_cache(maxsize=1 << 14)
def sense_of(word: str) -> int:
    """Of a single word, in any of the languages."""
    sense = _EXACT_WORDS.get(word, 0)
    for length in range(_MIN_PREFIX_CHARS, min(_MAX_PREFIX_CHARS, len(word)) + 1):
        sense |= _PREFIXES.get(word[:length], 0)
    return sense


def senses_of(words: Sequence[str]) -> int:
    """All that these words do, single or in a row."""
    found = after_idiom = 0
    for place, word in enumerate(words):
        if place < after_idiom:
            continue
        rows = _EXPRESSIONS.get(word)
        if rows is not None and place + 1 < len(words):
            for following, sense in rows.get(words[place + 1][:_KEY_CHARS], ()):
                if _continues_with(words, place + 1, following):
                    found |= sense
                    if sense == _NO_SENSE:
                        after_idiom = place + 1 + len(following)
            if after_idiom > place:
                continue
        found |= sense_of(word)
    return found


def has_unspaced_script(text: str) -> bool:
    """Whether it has letters of a script that puts nothing between words."""
    return not text.isascii() and _UNSPACED_SCRIPT.search(text) is not None


def senses_of_unspaced(text: str) -> int:
    """The same as `senses`, in such a script."""
    found = 0
    for word in {*_ANY_UNSPACED_WORD.findall(text)}:
        found |= _UNSPACED_WORDS[word]
    return found


def _continues_with(words: Sequence[str], start: int, following: Sequence[str]) -> bool:
    if start + len(following) > len(words):
        return False
    return all(
        words[start + number].startswith(word[:-1]) if word.endswith("*") else words[start + number] == word
        for number, word in enumerate(following)
    )
