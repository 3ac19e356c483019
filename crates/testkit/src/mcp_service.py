"""A service of the Model Context Protocol over HTTP that demands a sign-in, and gives it to everybody.

mcp_service.py: prints its port and runs until its input ends.
"""
import base64
import hashlib
import http.server
import json
import sys
import threading
import urllib.parse

TOKEN = "token-for-tests"
codes = {}


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
        else:
            self.reply(405)

    def do_POST(self):
        body = self.read()
        if self.path == "/register":
            wanted = json.loads(body)
            self.reply(201, {**wanted, "client_id": "client-for-tests"})
        elif self.path == "/token":
            asked = dict(urllib.parse.parse_qsl(body))
            digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            if codes.pop(asked.get("code"), None) == challenge:
                self.reply(200, {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600})
            else:
                self.reply(400, {"error": "invalid_grant"})
        elif self.headers.get("Authorization") != "Bearer " + TOKEN:
            where = self.base() + "/.well-known/oauth-protected-resource"
            self.reply(401, None, [("WWW-Authenticate", 'Bearer resource_metadata="%s"' % where)])
        else:
            self.answer(json.loads(body))

    def answer(self, message):
        key, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if key is None:
            return self.reply(202)
        results = {
            "initialize": {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}},
                           "serverInfo": {"name": "service", "version": "1"}},
            "tools/list": {"tools": [{"name": "whoami", "description": "Says who is signed in",
                                      "inputSchema": {"type": "object", "properties": {}}}]},
            "tools/call": {"content": [{"type": "text", "text": "you are signed in"}]},
            "ping": {},
        }
        if method in results:
            return self.reply(200, {"jsonrpc": "2.0", "id": key, "result": results[method]})
        self.reply(200, {"jsonrpc": "2.0", "id": key, "error": {"code": -32601, "message": "not known: " + method}})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
