"""The frames that a worker sends: one byte for the kind, 8 for the length, then the content."""

import json
import struct
from typing import BinaryIO


class FrameWriter:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def send(self, kind: bytes, content: bytes) -> None:
        self._stream.write(kind + struct.pack("<Q", len(content)))
        self._stream.write(content)
        self._stream.flush()

    def document(self, kind: bytes, document: object) -> None:
        self.send(kind, json.dumps(document).encode())

    def error(self, error_kind: str, message: str) -> None:
        """The last frame; `error_kind` is a kind of halfstep.Error."""
        self.document(b"E", {"kind": error_kind, "message": message})
