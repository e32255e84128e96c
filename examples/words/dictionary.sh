#!/bin/sh
# An MCP server over stdio in a shell, to show how little it takes: it keeps words in its workspace and tells them all.
words=/workspace/words

answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
text() { printf '{"content":[{"type":"text","text":"%s"}]}' "$1"; }

while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id": *\("[^"]*"\|[0-9][0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"dictionary","version":"1.0"}}'
        ;;
    *'"tools/list"'*)
        answer "$id" '{"tools":[{"name":"learn","description":"Keeps a word.","inputSchema":{"type":"object","properties":{"word":{"type":"string","pattern":"^[a-z]+$"}},"required":["word"]}},{"name":"known","description":"Tells all words that were kept.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}'
        ;;
    *'"tools/call"'*'"learn"'* | *'"learn"'*'"tools/call"'*)
        printf '%s' "$line" | sed -n 's/.*"word": *"\([a-z]*\)".*/\1/p' >>"$words"
        answer "$id" "$(text kept)"
        ;;
    *'"tools/call"'*)
        answer "$id" "$(text "$(sort -u "$words" 2>/dev/null | tr '\n' ' ' | sed 's/ $//')")"
        ;;
    *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    esac
done
