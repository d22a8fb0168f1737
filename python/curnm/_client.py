"""A client of `curnm serve`, with nothing but the standard library."""

import http.client
import json
import time as _time
import urllib.parse


class ServerError(Exception):
    """What the server refused: `status` of HTTP and a stable `code` besides the sentence."""

    def __init__(self, status, code, message):
        super().__init__(f"{message} ({status} {code})")
        self.status = status
        self.code = code


class Client:
    """Asks and tells a server that ``curnm serve`` runs.

    >>> client = Client("http://127.0.0.1:8080")                      # doctest: +SKIP
    >>> client.events([{"src": "a", "dst": "b", "time": 17}])         # doctest: +SKIP
    >>> client.topk("a", k=3)["answers"][0]["dst"]                    # doctest: +SKIP

    One connection, kept open; not thread-safe: give each thread a client of its own. ``retries``:
    how often an overloaded server is asked again, after the time that it names.
    """

    def __init__(self, url="http://127.0.0.1:8080", token=None, timeout=60.0, retries=5):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"{url!r} is no address such as http://127.0.0.1:8080")
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._retries = retries

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._connection.close()

    def events(self, events):
        """Tells what happened: dicts with src, dst, time and, if the network has them, features.

        Durable when it returns. Times do not decrease, and are not before the newest event.
        """
        return self._json("POST", "/v1/events", {"events": list(events)})

    def topk(self, src, k=10, *, time=None, question=None, exclude_seen=False, explain=False):
        """The likeliest destinations, best first: now, or at a time. explain: each with ``why``, what
        is known of the pair in words and what has moved the score."""
        query = {"src": src, "k": k, "time": time, "question": question}
        query |= {"exclude_seen": int(exclude_seen), "explain": int(explain)}
        given = {key: value for key, value in query.items() if value is not None}
        return self._json("GET", "/v1/topk?" + urllib.parse.urlencode(given))

    def score(self, pairs, *, time=None, question=None):
        """The scores of (src, dst) pairs; None where a node is not known."""
        body = {"pairs": [{"src": src, "dst": dst} for src, dst in pairs]}
        if time is not None:
            body["time"] = time
        if question is not None:
            body["question"] = question
        return self._json("POST", "/v1/score", body)

    def node(self, name):
        """What is known of a node."""
        return self._json("GET", "/v1/nodes/" + urllib.parse.quote(str(name), safe=""))

    def health(self):
        """Where the stream is, and what serves it."""
        return self._json("GET", "/healthz")

    def metrics(self):
        """Prometheus text."""
        return self._request("GET", "/metrics", None).decode()

    def exchange_model(self, model=None):
        """Begins to exchange the model; ``health()["exchanging"]`` says when it is over."""
        return self._json("POST", "/v1/model", {"model": model} if model else None)

    def _json(self, method, target, body=None):
        text = None if body is None else json.dumps(body, allow_nan=False).encode()
        return json.loads(self._request(method, target, text))

    def _request(self, method, target, body):
        for attempt in range(self._retries + 1):
            try:
                self._connection.request(method, target, body, self._headers)
                response = self._connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                # The server ends connections that were idle. Whether it took events is not known.
                self._connection.close()
                if attempt > 0 or target == "/v1/events":
                    raise
                continue
            content = response.read()
            if response.status < 400:
                return content
            if response.status == 429 and attempt < self._retries:
                _time.sleep(float(response.getheader("Retry-After", "1")))
                continue
            raise self._refusal(response.status, content)
        raise AssertionError("unreachable")

    @staticmethod
    def _refusal(status, content):
        try:
            error = json.loads(content)["error"]
            return ServerError(status, error["code"], error["message"])
        except (ValueError, KeyError, TypeError):
            return ServerError(status, "unknown", content[:200].decode(errors="replace"))
