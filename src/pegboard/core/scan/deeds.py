"""The words for what an order is about: rules and what sets them aside, silence, deceit, secrets.

Written as in `speech`.
"""

# ruff: noqa: RUF001  # letters of other alphabets are what these words are written in

from collections.abc import Mapping
from typing import Final

from .sense import WordSense

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
