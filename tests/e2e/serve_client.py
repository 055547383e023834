#!/usr/bin/env python3
"""Clients of `headroom serve` for tests/e2e/serve.sh; the standard library only.

    serve_client.py URL load REQUESTS SECONDS    streams at random times; writes what each client
                                                 saw to client.json, by index of its arrival
    serve_client.py URL api                      asserts on answers and errors
    serve_client.py URL garbage SEED             sends what is no request, and what clients do that
                                                 go; the server still answers afterwards
"""
import http.client
import json
import random
import socket
import ssl
import struct
import sys
import threading
import time
from urllib.parse import urlparse


class Api:
    def __init__(self, url):
        self.host = urlparse(url).hostname
        self.port = urlparse(url).port
        # Trusts what SSL_CERT_FILE holds.
        self.tls = ssl.create_default_context() if urlparse(url).scheme == "https" else None

    def connect(self):
        if self.tls:
            connection = http.client.HTTPSConnection(self.host, self.port, timeout=60,
                                                     context=self.tls)
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def call(self, method, path, body=None, headers=None):
        connection = self.connect()
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, data, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def post(self, path, body):
        status, text = self.call("POST", path, body)
        return status, json.loads(text)

    def stream(self, path, body, connection=None):
        """Yields (time, event) of a stream; [DONE] as None."""
        connection = connection or self.connect()
        connection.request("POST", path, json.dumps({**body, "stream": True}))
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.getheader("Content-Type").startswith("text/event-stream")
        while True:
            line = answer.readline()
            now = time.monotonic()
            if not line:
                return
            if line.startswith(b"data: "):
                text = line[6:].strip()
                yield now, None if text == b"[DONE]" else json.loads(text)


def load(api, requests, seconds):
    """Prompts begin with one of three texts, so that some of them share blocks."""
    dice = random.Random(7)
    seen = []
    lock = threading.Lock()

    def one(number, at, prompt, tokens):
        connection = api.connect()
        time.sleep(max(0.0, begin + at - time.monotonic()))
        body = {"prompt": prompt, "max_tokens": tokens, "ignore_eos": True, "priority": 0,
                "stream_options": {"include_usage": True}}
        sent = time.monotonic()
        times, usage, done, reason = [], None, False, None
        for now, event in api.stream("/v1/completions", body, connection):
            if event is None:
                done = True
            elif event["choices"]:
                times.append(now)
                reason = event["choices"][0]["finish_reason"] or reason
            else:
                usage = event["usage"]
        assert done and reason == "length", (done, reason)
        assert len(times) == tokens == usage["completion_tokens"], (len(times), tokens, usage)
        assert usage["prompt_tokens"] == len(prompt), usage
        with lock:
            seen.append({"sent": sent, "number": number, "tokens": tokens,
                         "prompt_tokens": len(prompt),
                         "ttft_ms": 1000 * (times[0] - sent),
                         "e2el_ms": 1000 * (times[-1] - sent)})

    threads = []
    begin = time.monotonic() + 0.3
    for number in range(requests):
        prompt = [100 + number % 3] * 400 + [1000 + number] * dice.randint(1, 200)
        threads.append(threading.Thread(
            target=one, args=(number, dice.uniform(0, seconds), prompt, dice.randint(1, 60))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == requests, len(seen)
    seen.sort(key=lambda one: one["sent"])
    with open("client.json", "w", encoding="utf-8") as file:
        json.dump(seen, file)


def check_answers(api):
    status, models = api.post("/tokenize", {"prompt": "a word or two"})
    assert status == 200 and models["count"] == 4 and len(models["tokens"]) == 4, models
    status, text = api.call("GET", "/v1/models")
    model = json.loads(text)["data"][0]
    assert status == 200 and model["id"] == "llama-3.1-8b", text

    status, whole = api.post("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 7,
                                                 "ignore_eos": True, "n": 2})
    assert status == 200 and len(whole["choices"]) == 2, whole
    assert [c["index"] for c in whole["choices"]] == [0, 1]
    assert all(c["finish_reason"] == "length" for c in whole["choices"]), whole
    assert whole["usage"] == {"prompt_tokens": 4, "total_tokens": 18, "completion_tokens": 14}
    # Filler text has as many tokens as were made.
    for choice in whole["choices"]:
        assert api.post("/tokenize", {"prompt": choice["text"]})[1]["count"] == 7, choice

    # Without a length the scenario's law says it; OpenAI's default holds for plain completions.
    assert api.post("/v1/completions", {"prompt": "x"})[1]["usage"]["completion_tokens"] <= 16
    chat = {"messages": [{"role": "system", "content": "Be brief."},
                         {"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}
    status, answer = api.post("/v1/chat/completions", chat)
    assert status == 200, answer
    assert answer["choices"][0]["finish_reason"] == "stop", answer
    assert answer["choices"][0]["message"]["role"] == "assistant"
    status, answer = api.post("/v1/chat/completions", {**chat, "max_completion_tokens": 3,
                                                       "min_tokens": 3})
    assert answer["usage"]["completion_tokens"] == 3, answer

    # A chat that goes on finds its beginning, answer included, in the prefix cache.
    turn = {"messages": [{"role": "user", "content": "word " * 300}], "max_tokens": 64,
            "ignore_eos": True}
    first = api.post("/v1/chat/completions", turn)[1]
    said = first["choices"][0]["message"]["content"]
    before = metric(api, "prefix_cache_hits_total")
    turn["messages"] += [{"role": "assistant", "content": said},
                         {"role": "user", "content": "and then?"}]
    answer = api.post("/v1/chat/completions", turn)[1]
    hits = metric(api, "prefix_cache_hits_total") - before
    # Blocks of 16; the answer's last token has never been computed.
    assert hits == (first["usage"]["total_tokens"] - 1) // 16 * 16, (hits, first["usage"])
    assert hits < answer["usage"]["prompt_tokens"], answer["usage"]

    events = [event for _, event in api.stream("/v1/chat/completions", {
        **chat, "max_tokens": 4, "ignore_eos": True, "n": 2,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True}})]
    assert events[-1] is None and events[-2]["usage"]["completion_tokens"] == 8, events[-2]
    for index in (0, 1):
        own = [e["choices"][0] for e in events[:-2] if e["choices"][0]["index"] == index]
        assert own[0]["delta"]["role"] == "assistant" and len(own) == 5, own
        assert [c["finish_reason"] for c in own] == [None] * 4 + ["length"], own

    text = api.call("GET", "/metrics")[1]
    for name in ("num_requests_running", "kv_cache_usage_perc", "time_to_first_token_seconds_sum",
                 "e2e_request_latency_seconds_bucket", "inter_token_latency_seconds_count"):
        assert f"vllm:{name}{{" in text, name

    status, page = api.call("GET", "/")
    assert status == 200 and "<title>headroom serve</title>" in page
    assert "http://" not in page and "https://" not in page  # nothing from elsewhere


def metric(api, name):
    for line in api.call("GET", "/metrics")[1].splitlines():
        if line.startswith(f"vllm:{name}{{"):
            return float(line.rsplit(" ", 1)[1])
    raise AssertionError(name)


def check_errors(api):
    def refused(status, text, path, body):
        found, answer = api.call("POST", path, body)
        error = json.loads(answer)["error"]
        assert found == status == error["code"] and text in error["message"], (body, answer)

    def completion(status, text, **fields):
        refused(status, text, "/v1/completions", {"prompt": "x", **fields})

    refused(400, "not valid JSON", "/v1/completions", b"{")
    refused(400, "not valid JSON", "/v1/completions", b'{"prompt": "\xff"}')
    refused(400, "not a JSON object", "/v1/completions", b"[]")
    refused(400, "prompt is missing", "/v1/completions", {})
    refused(400, "messages is missing", "/v1/chat/completions", {"prompt": "x"})
    refused(400, "a role in every message", "/v1/chat/completions", {"messages": [{}]})
    refused(400, "images and sound", "/v1/chat/completions",
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})
    completion(404, "llama-3.1-8b is served", model="gpt-4")
    completion(400, "expected an integer from 1 to 16384", max_tokens=0)
    completion(400, "expected an integer", max_tokens="many")
    completion(400, "expected an integer", max_tokens=1e3)
    completion(400, "expected an integer", n=2**70)
    completion(400, "the model takes 16384 in all", max_tokens=16384)
    completion(400, "16400 tokens", prompt=[5] * 16400)
    completion(400, "token ids from 0", prompt=[-1])
    completion(400, "prompt is empty", prompt="")
    completion(400, "prompt", prompt=[["x"]])
    completion(400, "min_tokens is 9", min_tokens=9, max_tokens=3)
    completion(400, "answers; at most", prompt=["x"] * 200, n=2)
    completion(400, "stream_options without stream", stream_options={})
    completion(400, "logprobs is not simulated", logprobs=2)
    completion(400, "true or false", stream="yes")
    assert api.call("GET", "/v1/nothing")[0] == 404
    assert api.call("GET", "/v1/completions")[0] == 405
    assert api.call("POST", "/health")[0] == 405
    assert api.call("GET", "/health", headers={"X-Long": "x" * 20000})[0] == 431
    connection = api.connect()
    connection.putrequest("POST", "/v1/completions")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413 and b"longer than" in answer.read()


def raw(api, data, wait=0.05):
    with socket.create_connection((api.host, api.port), timeout=30) as client:
        client.sendall(data)
        client.settimeout(wait)
        try:
            return client.recv(1 << 16)
        except (TimeoutError, ConnectionResetError):
            return b""


def random_json(dice, depth=0):
    kind = dice.randrange(9 if depth < 4 else 7)
    if kind == 7:
        return [random_json(dice, depth + 1) for _ in range(dice.randint(0, 4))]
    if kind == 8:
        return {dice.choice(["role", "content", "text", "type", "include_usage", "x"]):
                random_json(dice, depth + 1) for _ in range(dice.randint(0, 4))}
    return [None, True, dice.choice([0, -1, 1, 2, 2**31, -2**63, 2**64, 10**400]), 1e308, 0.5, "",
            dice.choice(["user", "\u0000", "\ud7ff" * 50, "abort"])][kind]


# Every field of every request, with any value: an answer or a reason, and never a server error.
def wrong_fields(api, dice):
    fields = ["model", "prompt", "messages", "max_tokens", "max_completion_tokens", "min_tokens",
              "ignore_eos", "n", "stream_options", "priority", "temperature", "stop", "logprobs",
              "echo", "add_special_tokens", "add_generation_prompt"]
    for _ in range(300):
        body = {"prompt": "x", "messages": [{"role": "user", "content": "x"}], "max_tokens": 2}
        for name in dice.sample(fields, dice.randint(1, 3)):
            body[name] = random_json(dice)
        path = dice.choice(["/v1/completions", "/v1/chat/completions", "/tokenize"])
        if "max_tokens" in body and body["max_tokens"] is None:
            body["max_tokens"] = 2
        status, text = api.call("POST", path, body)
        assert status in (200, 400, 404), (status, text, body)
        json.loads(text)
    for depth in (63, 65, 100000):
        assert api.call("POST", "/tokenize", b'{"x":' * depth + b"1" + b"}" * depth)[0] == 400


# Bodies in chunks, as they should be and not; and clients that send a request bit by bit.
def slow_and_chunked(api):
    head = b"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b'"count":2' in raw(api, head + b'5\r\n{"pro\r\nb\r\nmpt":"a b"}\r\n0\r\n\r\n', 2)
    for chunks in (b"zz\r\n", b"-1\r\n", b"ffffffffffffffff\r\nx", b"7fffffff\r\nx", b"5\r\nabcdefgh"):
        answer = raw(api, head + chunks, 0.1)
        assert answer == b"" or b" 400 " in answer or b" 413 " in answer, answer
    waiting = [socket.create_connection((api.host, api.port), timeout=30) for _ in range(200)]
    for byte in b"POST /v1/comp":
        for client in waiting:
            client.send(bytes([byte]))
    assert api.call("GET", "/health")[0] == 200
    for client in waiting:
        client.close()


def garbage(api, seed):
    dice = random.Random(seed)
    wrong_fields(api, dice)
    slow_and_chunked(api)
    request = (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 45\r\n\r\n"
               b'{"prompt": "a b c", "max_tokens": 3, "n": 1 }')
    for _ in range(150):
        data = bytearray(request)
        for _ in range(dice.randint(1, 8)):
            place = dice.randrange(len(data))
            kind = dice.randrange(3)
            if kind == 0:
                data[place] = dice.randrange(256)
            elif kind == 1:
                del data[place:place + dice.randint(1, 10)]
            else:
                data[place:place] = dice.randbytes(dice.randint(1, 10))
            if not data:
                data = bytearray(request)
        raw(api, bytes(data), 0.005)
    # Answers that nobody reads, and clients that go: with a reset, or by half.
    body = json.dumps({"prompt": [9] * 50, "max_tokens": 4000, "ignore_eos": True, "stream": True})
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    for kind in range(30):
        client = socket.create_connection((api.host, api.port))
        client.sendall((head + body).encode())
        if kind % 3 == 0:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif kind % 3 == 1:
            client.shutdown(socket.SHUT_WR)
            time.sleep(0.02)
        client.close()
    for _ in range(200):
        if json.loads(api.call("GET", "/load")[1])["server_load"] == 0:
            break
        time.sleep(0.05)
    assert json.loads(api.call("GET", "/load")[1])["server_load"] == 0
    # Two requests at once on one connection are answered one after the other.
    both = raw(api, b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n" * 2, 1)
    time.sleep(0.1)
    assert b"200 OK" in both, both
    assert api.call("GET", "/health")[0] == 200
    status, answer = api.post("/v1/completions", {"prompt": "still there?", "max_tokens": 2,
                                                  "ignore_eos": True})
    assert status == 200 and answer["usage"]["completion_tokens"] == 2, answer


def main():
    api = Api(sys.argv[1])
    what = sys.argv[2]
    if what == "load":
        load(api, int(sys.argv[3]), float(sys.argv[4]))
    elif what == "api":
        check_answers(api)
        check_errors(api)
    elif what == "garbage":
        garbage(api, int(sys.argv[3]))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
