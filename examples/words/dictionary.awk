# An MCP server over stdio, to show how little it takes: one message a line in, one out. It keeps words in its workspace
# and tells them all. It needs json.awk.

function answer(result) { say("\"result\":" result) }
function refuse(code, words) { say("\"error\":{\"code\":" code ",\"message\":" quoted(words) "}") }
function say(rest) { print "{\"jsonrpc\":\"2.0\",\"id\":" ID "," rest "}"; fflush() }
function text(words) { answer("{\"content\":[{\"type\":\"text\",\"text\":" quoted(words) "}]}") }

function tools() {
    return "{\"tools\":[" \
        "{\"name\":\"learn\",\"description\":\"Keeps a word.\",\"inputSchema\":{\"type\":\"object\"," \
        "\"properties\":{\"word\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}},\"required\":[\"word\"]}}," \
        "{\"name\":\"known\",\"description\":\"Tells all words that were kept.\"," \
        "\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true}}]}"
}

function known(    seen, all, word) {
    while ((getline word < KEPT) > 0)
        if (!(word in seen)) {
            seen[word] = 1
            all = all (all == "" ? "" : " ") word
        }
    close(KEPT)
    return all
}

BEGIN { KEPT = "/workspace/words" }

{
    if (!parse($0)) { ID = "null"; refuse(-32700, "This line is no JSON."); next }
    # Notifications and answers get none.
    if (!("id" in V) || !("method" in V)) next
    ID = IS["id"] == "text" ? quoted(V["id"]) : V["id"]
    method = V["method"]
    name = V["params.name"]
    if (method == "initialize")
        answer("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"dictionary\",\"version\":\"1.0\"}}")
    else if (method == "ping") answer("{}")
    else if (method == "tools/list") answer(tools())
    else if (method != "tools/call") refuse(-32601, "There is no method " method " here.")
    else if (name == "known") text(known())
    else if (name == "learn") {
        print V["params.arguments.word"] >> KEPT
        close(KEPT)
        text("kept")
    } else refuse(-32602, "There is no tool " name " here. See tools/list.")
}
