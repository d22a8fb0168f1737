"""curnm.Client against a server that records what it is sent."""

import http.server
import json
import threading

import pytest

from curnm import Client, ServerError


@pytest.fixture
def server():
    answers, seen = [], []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            length = int(self.headers.get("Content-Length", 0))
            seen.append((self.command, self.path, self.rfile.read(length),
                         self.headers.get("Authorization")))
            status, body = answers.pop(0)
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}", answers, seen
    made.shutdown()


def test_requests_are_what_the_server_reads(server):
    url, answers, seen = server
    answers += [(200, b"{}")] * 3
    with Client(url, token="secret") as client:
        client.events([{"src": "a", "dst": "b", "time": 1}])
        client.topk("a b", k=3, time=2.5)
        client.node("x/y")
    assert seen[0][:2] == ("POST", "/v1/events") and seen[0][3] == "Bearer secret"
    assert json.loads(seen[0][2]) == {"events": [{"src": "a", "dst": "b", "time": 1}]}
    assert seen[1][1] == "/v1/topk?src=a+b&k=3&time=2.5&exclude_seen=0&explain=0"
    assert seen[2][1] == "/v1/nodes/x%2Fy"


def test_overload_is_asked_again_and_refusals_have_codes(server):
    url, answers, _ = server
    refusal = b'{"error":{"code":"late","message":"too late"}}'
    answers += [(429, refusal), (200, b'{"status":"ok"}'), (409, refusal), (500, b"oops")]
    with Client(url) as client:
        assert client.health() == {"status": "ok"}
        with pytest.raises(ServerError, match="too late") as error:
            client.events([])
        assert (error.value.status, error.value.code) == (409, "late")
        with pytest.raises(ServerError, match="oops"):
            client.health()


def test_what_is_no_json_is_not_sent(server):
    with pytest.raises(ValueError):
        Client(server[0]).events([{"src": "a", "dst": "b", "time": float("nan")}])
    with pytest.raises(ValueError):
        Client("127.0.0.1:80")
