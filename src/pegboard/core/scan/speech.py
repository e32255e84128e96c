"""The words by which a sentence speaks: to whom, of whom, how firmly, and whether as a description does.

A word with a star stands for all that begin so. Several words in a row are one expression.
"""

# ruff: noqa: RUF001  # letters of other alphabets are what these words are written in

from collections.abc import Mapping
from typing import Final

from .sense import WordSense

S: Final = WordSense

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
