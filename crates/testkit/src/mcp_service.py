"""A service of the Model Context Protocol over HTTP that demands a sign-in, and gives it to everybody.

mcp_service.py [secret] [huge-list] [huge-call] [--endpoint URL]: prints its port and runs until its input ends.

secret: whoever registers gets a secret and has to show it from then on; tokens are good for a moment only.
huge-list, huge-call: it answers with twenty megabytes.
At /sse it is spoken to as before 2025; --endpoint is where it wants messages then.
"""
import base64
import hashlib
import http.server
import json
import queue
import sys
import threading
import urllib.parse

TOKEN = "token-for-tests"
SECRET = "secret-for-tests"
MODES = sys.argv[1:]
HUGE = "x" * 20_000_000
codes = {}
streams = []


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def base(self):
        return "http://127.0.0.1:%d" % self.server.server_port

    def reply(self, status, body=None, headers=()):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def read(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/.well-known/oauth-protected-resource"):
            self.reply(200, {"resource": self.base() + "/mcp", "authorization_servers": [self.base()]})
        elif path.startswith("/.well-known/oauth-authorization-server"):
            self.reply(200, {
                "issuer": self.base(), "authorization_endpoint": self.base() + "/authorize",
                "token_endpoint": self.base() + "/token", "registration_endpoint": self.base() + "/register",
                "response_types_supported": ["code"], "grant_types_supported": ["authorization_code"],
                "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"]})
        elif path == "/authorize":
            asked = dict(urllib.parse.parse_qsl(query))
            code = "code-%d" % len(codes)
            codes[code] = asked["code_challenge"]
            back = urllib.parse.urlencode({"code": code, "state": asked["state"], "iss": self.base()})
            self.reply(302, None, [("Location", asked["redirect_uri"] + "?" + back)])
        elif path == "/sse":
            if self.is_known():
                self.stream()
        else:
            self.reply(405)

    def is_known(self):
        if self.headers.get("Authorization") == "Bearer " + TOKEN:
            return True
        where = self.base() + "/.well-known/oauth-protected-resource"
        self.reply(401, None, [("WWW-Authenticate", 'Bearer resource_metadata="%s"' % where)])
        return False

    def stream(self):
        """Says everything over one stream, until nobody listens."""
        said = queue.Queue()
        streams.append(said)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        own = "/messages?stream=%d" % (len(streams) - 1)
        place = MODES[MODES.index("--endpoint") + 1] if "--endpoint" in MODES else own
        self.wfile.write(("event: endpoint\r\ndata: %s\r\n\r\n: a comment\n\n" % place).encode())
        while True:
            message = said.get()
            self.wfile.write(("event: message\ndata: %s\n\n" % json.dumps(message)).encode())

    def shows_secret(self, asked):
        if "secret" not in MODES:
            return True
        pair = base64.b64encode(("client-for-tests:" + SECRET).encode()).decode()
        return self.headers.get("Authorization") == "Basic " + pair or asked.get("client_secret") == SECRET

    def do_POST(self):
        body = self.read()
        if self.path == "/register":
            wanted = json.loads(body)
            secret = {"client_secret": SECRET} if "secret" in MODES else {}
            self.reply(201, {**wanted, "client_id": "client-for-tests", **secret})
        elif self.path == "/token":
            asked = dict(urllib.parse.parse_qsl(body))
            digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            if not self.shows_secret(asked):
                self.reply(401, {"error": "invalid_client"})
            elif asked.get("refresh_token") == "again" or codes.pop(asked.get("code"), None) == challenge:
                token = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
                if "secret" in MODES:
                    token.update({"expires_in": 1, "refresh_token": "again"})
                self.reply(200, token)
            else:
                self.reply(400, {"error": "invalid_grant"})
        elif not self.is_known():
            pass
        elif self.path.startswith("/messages?stream="):
            self.reply(202)
            answer = self.answer_to(json.loads(body))
            if answer:
                streams[int(self.path.partition("=")[2])].put(answer)
        else:
            answer = self.answer_to(json.loads(body))
            self.reply(200 if answer else 202, answer)

    def answer_to(self, message):
        key, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if key is None:
            return None
        results = {
            "initialize": {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}},
                           "serverInfo": {"name": "service", "version": "1"}},
            "tools/list": {"tools": [{"name": "whoami", "description": HUGE if "huge-list" in MODES else "Says who is signed in",
                                      "inputSchema": {"type": "object", "properties": {}}}]},
            "tools/call": {"content": [{"type": "text", "text": HUGE if "huge-call" in MODES else "you are signed in"}]},
            "ping": {},
        }
        if method in results:
            return {"jsonrpc": "2.0", "id": key, "result": results[method]}
        return {"jsonrpc": "2.0", "id": key, "error": {"code": -32601, "message": "not known: " + method}}


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
