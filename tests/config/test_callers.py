"""What only a caller can say, in pegboard.yaml: where it may stand, and where it is an error."""

import pytest
from tests.config.loading import only_server, problems

from pegboard.core.model.server import Http


@pytest.mark.behaviour("per_caller.own_credentials")
def test_a_header_of_a_server_keeps_its_reference_to_what_callers_send() -> None:
    text = "servers: {a: {url: http://h, headers: {Authorization: 'Bearer ${request:X-Token}'}}}"
    assert only_server(text).connection == Http("http://h", headers={"Authorization": "Bearer ${request:X-Token}"})


@pytest.mark.behaviour("per_caller.only_in_headers")
def test_what_only_a_caller_can_say_is_refused_where_all_callers_share_one_value() -> None:
    text = """\
        servers:
          shared:
            command: run-${request:X-Token}
            args: ["--token", "${request:X-Token}"]
            env: {TOKEN: "${request:X-Token}"}
            start: always
            idle_stop: 5m
          elsewhere: {url: "http://h/${request:X-Token}", headers: {A: "${request:}"}}
        store: sqlite:///${request:X-Token}
        """
    shared = (
        "${request:X-Token} stands for a header of each caller's own request, and this is shared by all callers. "
        "Use it under headers of a server with a url, or write ${NAME} for one value for all."
    )
    assert problems(text) == [
        f"pegboard.yaml:3: servers.shared.command: {shared}",
        f"pegboard.yaml:4: servers.shared.args[1]: {shared}",
        f"pegboard.yaml:5: servers.shared.env.TOKEN: {shared}",
        "pegboard.yaml:7: servers.shared.idle_stop: this goes only with start: on_demand. Write that too, or remove"
        " this.",
        f"pegboard.yaml:8: servers.elsewhere.url: {shared}",
        "pegboard.yaml:8: servers.elsewhere.headers.A: a header of the caller's request is written ${request:X-Name}, "
        "with letters, digits, '-' and '_'.",
        f"pegboard.yaml:9: store: {shared}",
    ]
