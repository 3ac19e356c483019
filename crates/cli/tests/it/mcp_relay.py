"""Stands in for a client of the conformance suite: tells the test which scenario is on, and waits until it is played."""

import json
import os
import socket
import sys

port, url = sys.argv[1:3]
env = os.environ.get
scenario = {
    "url": url,
    "name": env("MCP_CONFORMANCE_SCENARIO"),
    "context": json.loads(env("MCP_CONFORMANCE_CONTEXT", "{}")),
}
with socket.create_connection(("127.0.0.1", int(port))) as test:
    test.sendall(json.dumps(scenario).encode() + b"\n")
    test.recv(1)
