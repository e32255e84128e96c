"""A server that is wrongly written in pegboard.yaml: what is told of it, key by key."""

from tests.config.loading import problems
from tests.support.collect_failures import each_case

HEADER_VALUE = (
    "a header's value is one line of printable ASCII characters; write others as the server wants them encoded."
)


@each_case(
    ("server", "told"),
    [
        ("", "servers.a: this needs command or url. Write one of them."),
        ("{trust: open}", "servers.a: this needs command or url. Write one of them."),
        ("x", "servers.a: this must be a map with keys such as command, args, env; it is text."),
        ("{command: ''}", "servers.a.command: '' does not fit: it must not be blank."),
        ("{command: 7}", "servers.a.command: this must be a text, and it is 7. Put it in quotes."),
        ("{command: [x, y]}", "servers.a.command: this must be a text, and it is a list. Write one text."),
        ("{command: x, args: [[y]]}", "servers.a.args[0]: this must be a text, and it is a list. Write one text."),
        (
            '{command: x, env: {A: "\\0"}}',
            "servers.a.env.A: this text holds a NUL character or half a character. Remove it.",
        ),
        (
            "{command: x, env: {A: }}",
            'servers.a.env.A: this has no value. Write "" for an empty text, or remove the key.',
        ),
        (
            "{command: x, env: {'A=B': c}}",
            "servers.a.env.'A=B': 'A=B' cannot be a name here: a variable's name is not empty and holds no '='.",
        ),
        (
            "{url: http://h, headers: {'X Y': c}}",
            "servers.a.headers.'X Y': 'X Y' cannot be a name here: a header's name holds letters, digits and '-'.",
        ),
        (
            '{url: http://h, headers: {X: "secret\\r\\nEvil: 1"}}',
            f"servers.a.headers.X: {HEADER_VALUE}",
        ),
        ("{url: http://h, headers: {X: schlüssel}}", f"servers.a.headers.X: {HEADER_VALUE}"),
        ("{url: http://h, headers: {X: 'a ${file:ö} é'}}", f"servers.a.headers.X: {HEADER_VALUE}"),
        (
            "{url: http://h, headers: {X-Key: a, x-key: b}}",
            "servers.a.headers.x-key: this is the header 'X-Key' once more. Keep one of them.",
        ),
        *(
            (
                f"{{url: http://h, headers: {{{name}: a}}}}",
                f"servers.a.headers.{name}: {name!r} cannot be a name here: this header is written by the transport "
                "itself; remove it.",
            )
            for name in ("Host", "CONTENT-LENGTH", "Mcp-Session-Id", "mcp-protocol-version", "Mcp-Param-Region", "TE")
        ),
        (
            "{url: http://h, oauth: {client_secret: '${S}'}}",
            "servers.a.oauth.client_secret: this goes only with client_id. Remove it, or write client_id.",
        ),
        (
            "{url: http://h, oauth: {client_secret: x, client_metadata_url: 'https://h/x'}}",
            "servers.a.oauth.client_secret: this goes only with client_id. Remove it, or write client_id.",
        ),
        (
            "{command: x, start: on_demand, idle_stop: never}",
            "servers.a.idle_stop: this must be seconds: a number, or a text such as 500ms, 30s or 2m. To keep the "
            "server running, write start: always in place of it.",
        ),
        (
            "{command: x, start: on_demand, idle_stop: 1e99}",
            "servers.a.idle_stop: this must be more than 0 seconds and at most a year. To keep the server running, "
            "write start: always in place of it.",
        ),
        (
            "{command: x, timeouts: {call: 999999999h}}",
            "servers.a.timeouts.call: this must be more than 0 seconds and at most a year: every wait has an end.",
        ),
        (
            "{url: 'http://h:99999'}",
            "servers.a.url: no server can be at this URL: its host or port is not one. Correct it.",
        ),
        (
            "{url: 'http://:80/x'}",
            "servers.a.url: no server can be at this URL: its host or port is not one. Correct it.",
        ),
        ("{url: http://h, transport: ws}", "servers.a.transport: this must be one of http, sse; it is 'ws'."),
        (
            "{command: x, type: stdio}",
            "servers.a.type: unknown key. For a url write transport: http or transport: sse; a command needs nothing.",
        ),
        ("{serverUrl: http://h}", "servers.a.serverUrl: unknown key. Write url."),
        ("{command: x, disabled: true}", "servers.a.disabled: unknown key. Write enabled: false."),
        (
            "{command: x, enabled: 'true'}",
            "servers.a.enabled: this must be true or false, without quotes, and it is text.",
        ),
        (
            "{command: x, toolset: all}",
            "servers.a.toolset: 'all' does not fit: it has a meaning of its own; choose another.",
        ),
        (
            "{command: x, enabled_tools: }",
            "servers.a.enabled_tools: this has no value. Write [] for none of them, or remove the key.",
        ),
        ("{command: x, enabled_tools: ['']}", "servers.a.enabled_tools[0]: '' does not fit: it must not be blank."),
        (
            "{command: x, enabled_tools: [mcp:other~b:t]}",
            "servers.a.enabled_tools[0]: 'mcp:other~b:t' is not a tool of a~a. Move it to its own server.",
        ),
        (
            "{command: x, enabled_tools: [mcp:b:t]}",
            "servers.a.enabled_tools[0]: 'mcp:b:t' is not a tool of a~a. Move it to its own server.",
        ),
        (
            "{command: x, timeouts: {call: .inf}}",
            "servers.a.timeouts.call: this must be more than 0 seconds and at most a year: every wait has an end.",
        ),
        (
            "{command: x, timeouts: {call: -1}}",
            "servers.a.timeouts.call: this must be more than 0 seconds and at most a year: every wait has an end.",
        ),
        (
            "{command: x, timeouts: {call: 0s}}",
            "servers.a.timeouts.call: this must be seconds: a number, or a text such as 500ms, 30s or 2m.",
        ),
    ],
)
def test_a_server_that_is_wrongly_written_is_told_how_to_write_it(server: str, told: str) -> None:
    assert problems(f"servers: {{a: {server}}}") == [f"pegboard.yaml:1: {told}"]
