#!/usr/bin/env python3
"""A door in front of a gateway: passes on what comes, as it comes, and shows the token for it. The
conformance suite of the Model Context Protocol cannot show one.

  mcp_conformance_door.py PORT_OF_THE_GATEWAY TOKEN      prints the port it listens on
"""

import http.client
import http.server
import sys

PORT, TOKEN = int(sys.argv[1]), sys.argv[2]


class Door(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        gateway = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        gateway.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in ("authorization", "connection"):
                gateway.putheader(name, value)
        gateway.putheader("authorization", f"Bearer {TOKEN}")
        gateway.endheaders(body)
        answer = gateway.getresponse()
        told = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)
        gateway.close()

    do_GET = do_POST = do_DELETE = do_OPTIONS = pass_on

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    door = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Door)
    print(door.server_address[1], flush=True)
    door.serve_forever()
