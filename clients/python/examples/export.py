"""Exports a thread as Markdown: python export.py THREAD FILE.

Exports are HTTP, not part of the protocol. The daemon's local socket needs no token.
"""

import http.client
import socket
import sys
from pathlib import Path

from acpd_client import default_data_dir


class LocalConnection(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(default_data_dir() / "acpd.sock"))


def export(thread_id: str, file: Path) -> None:
    connection = LocalConnection("localhost")
    connection.request("GET", f"/api/threads/{thread_id}/export?format=md")
    response = connection.getresponse()
    # The daemon streams the export, so a connection that breaks in between raises IncompleteRead here.
    body = response.read()
    if response.status != 200:
        sys.exit(f"{thread_id} cannot be exported: {body.decode()}")
    file.write_bytes(body)
    print(f"{len(body)} bytes in {file}")


export(sys.argv[1], Path(sys.argv[2]))
