"""The built site on an address of this machine, compressed as hosts send it."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

_COMPRESSED = {".html", ".css", ".js", ".json", ".svg", ".xml"}


def compressed_size(path: Path) -> int:
    """How many bytes of a file travel."""
    text = path.read_bytes()
    return len(gzip.compress(text)) if path.suffix in _COMPRESSED else len(text)


class _Handler(SimpleHTTPRequestHandler):
    """Sends files with `Content-Encoding: gzip`, as every browser accepts, and keeps quiet."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def send_head(self) -> BytesIO | None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            self.send_error(404)
            return None
        body = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        if path.suffix in _COMPRESSED:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return BytesIO(body)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The folder at the address that this gives, until the end of the `with` block."""
    handler = partial(_Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
