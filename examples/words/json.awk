# JSON for the other programs here, in the awk that busybox has.
#
#   parse(text)   reads one value: V["params.name"] is what a path holds, IS[path] whether that is a "text" or "other".
#                 Lists count from 0: V["list.0"]. Gives 0 for what is no JSON.
#   quoted(text)  a string of JSON
#   input()       reads all of the input, for commands, which get one value

function parse(text) {
    split("", V); split("", IS)
    # Awk copies what it cuts: a long text is read in pieces, or its time would grow with its square.
    WHOLE = text; LENGTH = length(text); AT = 1
    REST = ""; BAD = 0
    value("")
    blank()
    return !BAD && REST == ""
}

function fill() {
    if (AT <= LENGTH && length(REST) < 512) {
        REST = REST substr(WHOLE, AT, 2048)
        AT += 2048
    }
}

function blank() {
    fill()
    while (sub(/^[ \t\r\n]+/, "", REST)) fill()
}

function next_is(sign) {
    blank()
    if (substr(REST, 1, 1) != sign) return 0
    REST = substr(REST, 2)
    return 1
}

function below(path, name) { return path == "" ? name : path "." name }

function value(path,    count, name) {
    if (next_is("{")) {
        if (next_is("}")) return
        do {
            blank()
            name = string()
            if (BAD || !next_is(":")) { BAD = 1; return }
            value(below(path, name))
            if (BAD) return
        } while (next_is(","))
        if (!next_is("}")) BAD = 1
    } else if (next_is("[")) {
        if (next_is("]")) return
        count = 0
        do {
            value(below(path, count++))
            if (BAD) return
        } while (next_is(","))
        if (!next_is("]")) BAD = 1
    } else if (substr(REST, 1, 1) == "\"") {
        V[path] = string()
        IS[path] = "text"
    } else if (match(REST, /^(-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null)/)) {
        V[path] = substr(REST, 1, RLENGTH)
        IS[path] = "other"
        REST = substr(REST, RLENGTH + 1)
    } else BAD = 1
}

function string(    out, piece, sign) {
    if (substr(REST, 1, 1) != "\"") { BAD = 1; return "" }
    REST = substr(REST, 2)
    out = piece = ""
    while (1) {
        fill()
        if (match(REST, /^[^"\\]+/)) {
            piece = piece substr(REST, 1, RLENGTH)
            REST = substr(REST, RLENGTH + 1)
            if (REST == "" && AT <= LENGTH) continue
        }
        if (length(piece) > 4096) { out = out piece; piece = "" }
        sign = substr(REST, 1, 1)
        if (sign == "\"") { REST = substr(REST, 2); return out piece }
        if (sign != "\\") { BAD = 1; return "" }
        fill()
        sign = substr(REST, 2, 1)
        REST = substr(REST, 3)
        if (sign == "n") piece = piece "\n"
        else if (sign == "t") piece = piece "\t"
        else if (sign == "r") piece = piece "\r"
        else if (sign == "b") piece = piece "\b"
        else if (sign == "f") piece = piece "\f"
        else if (sign == "u") piece = piece unicode()
        else if (sign == "\"" || sign == "\\" || sign == "/") piece = piece sign
        else { BAD = 1; return "" }
    }
}

function hex(    digits, number, place) {
    if (!match(REST, /^[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]/)) { BAD = 1; return 0 }
    digits = tolower(substr(REST, 1, 4))
    REST = substr(REST, 5)
    number = 0
    for (place = 1; place <= 4; place++)
        number = number * 16 + index("0123456789abcdef", substr(digits, place, 1)) - 1
    return number
}

# UTF-8, and the sign for a broken character where halves of a pair stand alone, or for the character 0.
function unicode(    code, low) {
    code = hex()
    if (code >= 55296 && code <= 56319 && substr(REST, 1, 2) == "\\u") {
        REST = substr(REST, 3)
        low = hex()
        code = (low >= 56320 && low <= 57343) ? 65536 + (code - 55296) * 1024 + low - 56320 : 65533
    }
    if (code == 0 || (code >= 55296 && code <= 57343)) code = 65533
    if (code < 128) return sprintf("%c", code)
    if (code < 2048) return byte(192 + int(code / 64)) byte(128 + code % 64)
    if (code < 65536) return byte(224 + int(code / 4096)) byte(128 + int(code / 64) % 64) byte(128 + code % 64)
    return byte(240 + int(code / 262144)) byte(128 + int(code / 4096) % 64) byte(128 + int(code / 64) % 64) byte(128 + code % 64)
}

function byte(number) { return sprintf("%c", number) }

function quoted(text,    code, sign) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    gsub(/\n/, "\\n", text)
    gsub(/\t/, "\\t", text)
    gsub(/\r/, "\\r", text)
    if (text ~ /[\001-\037]/)
        for (code = 1; code < 32; code++) {
            sign = sprintf("%c", code)
            if (index(text, sign)) gsub(sign, sprintf("\\u%04x", code), text)
        }
    return "\"" text "\""
}

function input(    line) {
    # Pegboard writes the arguments on one line.
    if ((getline line) < 1 || !parse(line)) {
        print "The arguments are no JSON." > "/dev/stderr"
        exit 2
    }
}
