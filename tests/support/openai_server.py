#!/usr/bin/env python3
"""A stand-in for a server of OpenAI's API, well behaved or not, for tests of `headroom observe`.

    openai_server.py [--fault NAME] [--tls CERT KEY] ...

Listens on a free port of 127.0.0.1, prints it, and writes each body of /v1/completions as a line of
JSON to --log. It answers with as many tokens as were asked for, without waiting, or with --ttft-ms
and --itl-ms at that pace; with --slots N so many at a time. Faults are in FAULTS.
"""
import argparse
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = """none no_models two_models html no_metrics bad_metrics garbage_event not_events no_done
no_tokens dies_in_answer dies_for_good error_500 error_event no_usage wrong_usage early_end
refuses_ids refuses_ignore_eos no_tokenizer adds_bos hangs endless_line needs_key""".split()


class State:
    def __init__(self, options):
        self.fault = options.fault
        self.after = options.after
        self.split = options.split
        self.ttft_s = options.ttft_ms / 1000
        self.itl_s = options.itl_ms / 1000
        self.log = open(options.log, "w", encoding="utf-8") if options.log else None
        self.lock = threading.Lock()
        self.slots = threading.Semaphore(options.slots)
        self.completions = 0  # probes and warm-up included
        self.waiting = 0
        self.running = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    state = None
    is_dead = False  # broke off in the middle of an answer

    def log_message(self, *_):
        pass

    def has_fault(self, *names):
        return self.state.fault in names

    def answer(self, body, status=200, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.has_fault("html"):
            return self.answer(b"<html>hello</html>", kind="text/html")
        if self.path == "/v1/models" and not self.has_fault("no_models"):
            names = ["tiny", "other"] if self.has_fault("two_models") else ["tiny"]
            return self.answer({"object": "list", "data": [{"id": name} for name in names]})
        if self.path == "/version":
            return self.answer({"version": "0.33.0"})
        if self.path == "/metrics" and not self.has_fault("no_metrics"):
            return self.answer(self.metrics().encode(), kind="text/plain")
        return self.answer({"detail": "Not Found"}, 404)

    def metrics(self):
        if self.has_fault("bad_metrics"):
            return "this is { no metric\n"
        label = '{engine="0",model_name="tiny"}'
        return (
            f"vllm:num_requests_running{label} {self.state.running}\n"
            f"vllm:num_requests_waiting{label} {self.state.waiting}\n"
            f"vllm:kv_cache_usage_perc{label} 0.25\n"
            f"vllm:num_preemptions_total{label} 2\n"
            f"vllm:prefix_cache_queries_total{label} {64 * self.state.completions}\n"
            f"vllm:prefix_cache_hits_total{label} {16 * self.state.completions}\n"
        )

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        request = json.loads(self.rfile.read(length))
        if self.path == "/tokenize" and not self.has_fault("no_tokenizer", "refuses_ids"):
            words = request["prompt"].split()
            return self.answer({"tokens": [500 + len(w) * 40 + ord(w[0]) for w in words]})
        if self.path != "/v1/completions":
            return self.answer({"detail": "Not Found"}, 404)
        if self.has_fault("needs_key") and self.headers.get("Authorization") != "Bearer secret":
            return self.answer({"error": {"message": "no key"}}, 401)
        if self.has_fault("refuses_ids") and not isinstance(request["prompt"], str):
            return self.answer({"error": {"message": "prompt: expected a string"}}, 400)
        if self.has_fault("refuses_ignore_eos") and "ignore_eos" in request:
            return self.answer({"error": {"message": "unrecognized: ignore_eos"}}, 400)
        self.complete(request)

    def complete(self, request):
        state = self.state
        with state.lock:
            state.completions += 1
            state.waiting += 1
            number = state.completions
            if state.log:
                state.log.write(json.dumps(request) + "\n")
                state.log.flush()
        with state.slots:
            with state.lock:
                state.waiting -= 1
                state.running += 1
            try:
                self.stream(request, state.fault if number > state.after else "none")
            except (BrokenPipeError, ConnectionResetError):
                pass
            finally:
                with state.lock:
                    state.running -= 1

    def send(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, **fields):
        self.send("data: " + json.dumps({"id": "x", "model": "tiny", **fields}) + "\n\n")

    def counts(self, request, tokens):
        prompt = request["prompt"]
        count = len(prompt) if isinstance(prompt, list) else 3 + 2 * len(prompt.split())
        if self.has_fault("adds_bos"):
            count += 1
        if self.has_fault("wrong_usage"):
            tokens //= 2
        return {"prompt_tokens": count, "completion_tokens": tokens, "total_tokens": count + tokens}

    def stream(self, request, fault):
        if fault == "error_500":
            return self.answer({"error": {"message": "out of memory"}}, 500)
        if fault == "dies_for_good":
            self.server.socket.close()
            self.close_connection = True
            return self.connection.close()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        tokens = request["max_tokens"]
        if fault == "early_end":
            tokens = max(1, tokens // 2)
        if self.state.split:
            self.send(": a comment\n\n")
        if fault != "no_tokens":
            self.tokens(tokens, fault)
        if self.is_dead:
            return None
        if fault != "no_usage" and request.get("stream_options", {}).get("include_usage"):
            self.event(choices=[], usage=self.counts(request, tokens))
        if fault != "no_done":
            self.send("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        return None

    def tokens(self, tokens, fault):
        due = time.monotonic() + self.state.ttft_s
        for i in range(tokens):
            time.sleep(max(0.0, due - time.monotonic()))
            due += self.state.itl_s
            if i == tokens // 2 and self.stop_short(fault):
                return
            text = "data: " + json.dumps({"choices": [{"index": 0, "text": " a"}]}) + "\n\n"
            for piece in (text[:20], text[20:]) if self.state.split else (text,):
                self.send(piece)

    # Whether the answer ends here, badly.
    def stop_short(self, fault):
        if fault == "garbage_event":
            self.send("data: {not json\n\n")
        elif fault == "not_events":
            self.send("Internal Server Error\n")
        elif fault == "error_event":
            self.event(error={"message": "engine dead"})
        elif fault == "endless_line":
            for _ in range(40):
                self.send("data: " + "x" * 60000)
        elif fault == "hangs":
            time.sleep(30)
        elif fault == "dies_in_answer":
            self.is_dead = self.close_connection = True
            self.connection.close()
        return self.is_dead


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", default="none", choices=FAULTS)
    parser.add_argument("--after", type=int, default=0, help="completions before the fault begins")
    parser.add_argument("--split", action="store_true", help="events in two pieces, and a comment")
    parser.add_argument("--ttft-ms", type=float, default=0)
    parser.add_argument("--itl-ms", type=float, default=0)
    parser.add_argument("--slots", type=int, default=1000)
    parser.add_argument("--log")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"))
    options = parser.parse_args()
    Handler.state = State(options)
    server = Server(("127.0.0.1", 0), Handler)
    if options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*options.tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except (OSError, ValueError):
        pass  # dies_for_good closed the socket


if __name__ == "__main__":
    main()
