"""The autograd graph of a question's function as a page in the browser, for the key x of `watch`.

The page comes from this process, by loopback only: browsers that are confined themselves, as Ubuntu's Firefox
is, cannot read a temporary file.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
import webbrowser
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from grader.graphs.model import Graph
from grader.student.xray import XRay

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>X-ray: {title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }}
body {{ overflow-x: auto; }}
</style>
<h1>{title}</h1>
<p>What the function returned and what it was given, right after its last call in the public check.</p>
{picture}
</html>
"""


class XRayPage:
    """A page that shows one graph after the other, at an address that nobody else on this machine knows."""

    def __init__(self) -> None:
        self._content = b""
        self._address = ""

    def show(self, title: str, graph: Graph) -> str:
        """Open a graph in the browser; the sentence that says where it is."""
        picture = XRay("", graph).html()
        self._content = _PAGE.format(title=escape(title), picture=picture).encode()
        try:
            self._address = self._address or self._serve()
        except OSError as error:
            return f"The X-ray cannot be shown ({error.strerror}): draw it in the notebook, with xray(...)."
        if _has_browser() and webbrowser.open(self._address):
            return f"The X-ray is in your browser: {self._address}"
        return f"Open this address in your browser: {self._address}"

    def _serve(self) -> str:
        """Begin to give the page to browsers of this machine; its address, good until this process ends."""
        page, path = self, f"/{secrets.token_urlsafe(9)}"

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path != path:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(page._content)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(page._content)

            def log_message(self, *_: object) -> None:
                """Say nothing: the terminal is the student's."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """Say nothing of a browser that has gone."""

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}{path}"


def _has_browser() -> bool:
    """Whether a browser would open in a window: on a Linux without one Python would take lynx or w3m."""
    windows = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform in {"win32", "darwin"} or any(map(os.environ.get, windows))
