"""The core of those orders in German, French, Spanish, Italian, Portuguese, Russian, Chinese and Japanese.

Gaps in Chinese and Japanese count characters.
"""

# ruff: noqa: RUF001  # letters of other alphabets are what these words are written in

from collections.abc import Iterator
from typing import Final

from .finding import ScanFindingKind
from .orders import CHANGES_ROLE, KEEPS_SECRET, SETS_ASIDE
from .phrase import Phrase, build_phrases

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
