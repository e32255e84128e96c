#!/bin/sh
# An MCP server of the handshake era for a container that has nothing but busybox. With --stubborn it ignores SIGTERM and
# the end of its input.
[ "$1" = --stubborn ] && trap '' TERM INT HUP
echo "speaker is up with GREETING=${GREETING}" >&2

answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }

while read -r line; do
    id=$(printf '%s\n' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9][0-9]*\).*/\1/p')
    case "$line" in
    *'"method":"initialize"'*)
        answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"speaker","version":"1"}}'
        ;;
    *'"method":"tools/list"'*)
        answer "$id" '{"tools":[{"name":"greet","description":"Greets.","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}}]}'
        ;;
    *'"method":"tools/call"'*'"name":"greet"'* | *'"name":"greet"'*'"method":"tools/call"'*)
        answer "$id" "{\"content\":[{\"type\":\"text\",\"text\":\"${GREETING:-hello} from $1 $(hostname | wc -c)\"}]}"
        ;;
    *'"method":"tools/call"'*'"name":"die"'* | *'"name":"die"'*'"method":"tools/call"'*)
        exit 9
        ;;
    *'"method":"tools/call"'*) ;;
    *'"method":"ping"'*) answer "$id" '{}' ;;
    *)
        [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id"
        ;;
    esac
done
[ "$1" = --stubborn ] && while :; do sleep 60; done
exit 0
