"""The trusted end of the pipes to a worker, which treats all answers as untrusted.

A request and its answer are four bytes of length, then JSON. The length is capped before anything is read, an
answer begins with the id of its request, and every wait has a deadline. ``decoding.py`` caps items and depth
before it uses anything. What the worker prints is thrown away meanwhile, so that it never blocks. Any fault
ends the worker.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import struct
import time
from typing import Any

MAX_FRAME = 4 << 20
MAX_TOTAL = 16 << 20


class WireError(Exception):
    """The worker did not answer as agreed; `kind` is ``timeout``, ``closed``, ``forged`` or ``malformed``."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Wire:
    """A request pipe to a worker, an answer pipe from it, and the pipe of its output.

    It owns the three descriptors, and closes them.
    """

    def __init__(self, request: int, answer: int, output: int) -> None:
        self._request, self._answer, self._output = request, answer, output
        self.received = 0  # bytes of all answers
        for descriptor in (request, answer, output):
            os.set_blocking(descriptor, False)
        self._unasked = _poll((answer, select.POLLIN))
        self._writing = _poll((request, select.POLLOUT), (output, select.POLLIN))
        self._reading = _poll((answer, select.POLLIN), (output, select.POLLIN))

    def ask(self, operation: str, arguments: Any, seconds: float) -> str:
        """Send a request and wait for the JSON of its answer; WireError if none comes as agreed."""
        deadline = time.monotonic() + seconds
        for _, events in self._unasked.poll(0):
            raise WireError("forged" if events & select.POLLIN else "closed")
        name = secrets.token_hex(8)
        self._send({"id": name, "op": operation, "args": arguments}, deadline)
        answer, head = self._receive(deadline), f'{{"id":"{name}","ok":'
        if not (answer.startswith(head) and answer.endswith("}")):
            raise WireError("forged")
        return answer[len(head) : -1]

    def close(self) -> None:
        """Close the three pipes."""
        for descriptor in (self._request, self._answer, self._output):
            os.close(descriptor)

    def _send(self, message: Any, deadline: float) -> None:
        payload = json.dumps(message).encode()
        rest = memoryview(struct.pack(">I", len(payload)) + payload)
        while rest:
            try:
                rest = rest[os.write(self._request, rest) :]
            except BlockingIOError:
                self._wait(self._writing, self._request, deadline)
            except BrokenPipeError:
                raise WireError("closed") from None

    def _receive(self, deadline: float) -> str:
        self._wait(self._reading, self._answer, deadline)
        (length,) = struct.unpack(">I", self._read(4, deadline))
        if length > MAX_FRAME or self.received + length > MAX_TOTAL:
            raise WireError("malformed")
        try:
            return self._read(length, deadline).decode()
        except UnicodeDecodeError:
            raise WireError("malformed") from None

    def _read(self, length: int, deadline: float) -> bytes:
        received = bytearray()
        while len(received) < length:
            try:
                chunk = os.read(self._answer, min(length - len(received), 1 << 16))
            except BlockingIOError:
                self._wait(self._reading, self._answer, deadline)
                continue
            if not chunk:
                raise WireError("closed")
            received += chunk
        self.received += length
        return bytes(received)

    def _wait(self, poll: select.poll, descriptor: int, deadline: float) -> None:
        """Wait until a pipe is ready, and drain the worker's output."""
        while True:
            left = deadline - time.monotonic()
            ready = dict(poll.poll(left * 1000)) if left > 0 else {}
            if not ready:
                raise WireError("timeout")
            if self._output in ready and not self._drain():
                self._writing.unregister(self._output)
                self._reading.unregister(self._output)
            if descriptor in ready:
                return

    def _drain(self) -> bool:
        """Read and discard a piece of the output; False at the end of the stream."""
        try:
            return bool(os.read(self._output, 1 << 16))
        except BlockingIOError:
            return True


def _poll(*awaited: tuple[int, int]) -> select.poll:
    poll = select.poll()
    for descriptor, events in awaited:
        poll.register(descriptor, events)
    return poll
