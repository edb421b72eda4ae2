"""The wire trusts nobody: whatever a worker does, there is a checked value or a WireError, in time.

A thread plays the worker on real pipes. Run as a module, this file plays every case in one process and
prints what that cost.
"""

import json
import math
import os
import random
import resource
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from grader.sandbox.decoding import MAX_ITEMS, MAX_NESTING, MalformedError, parse
from grader.sandbox.wire import MAX_FRAME, MAX_TOTAL, Wire, WireError

SHORT = 0.08  # for a worker that will never answer
LONG = 20.0  # for one that answers at once, however busy the machine is
SLACK = 5.0  # for the same reason
LARGE = "x" * (1 << 20)  # a request that no pipe holds


class Peer:
    """The worker's end: reads requests, writes what it likes."""

    def __init__(self, request: int, answer: int, output: int) -> None:
        self.open = {"request": request, "answer": answer, "output": output}

    def read(self) -> str:
        """The next request's id."""
        (length,) = struct.unpack(">I", self._exactly(4))
        return json.loads(self._exactly(length))["id"]

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            chunk = os.read(self.open["request"], length - len(data))
            if not chunk:
                raise BrokenPipeError
            data += chunk
        return data

    def write(self, data: bytes, to: str = "answer") -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.open[to], rest) :]

    def frame(self, payload: bytes) -> None:
        self.write(struct.pack(">I", len(payload)) + payload)

    def reply(self, value: Any) -> None:
        """Answer the next request as agreed."""
        self.frame(ok(self.read().encode(), json.dumps(value).encode()))

    def close(self, *names: str) -> None:
        for name in names or tuple(self.open):
            if name in self.open:
                os.close(self.open.pop(name))

    def wait(self) -> None:
        """Do nothing until the outside has hung up."""
        while "request" in self.open and os.read(self.open["request"], 1 << 16):
            pass

    def ignore(self) -> None:
        """Not even read, until the outside has hung up."""
        while True:
            self.write(b".", to="output")
            time.sleep(0.01)


@dataclass
class Case:
    """What a worker does, and what must come of each request."""

    name: str
    play: Callable[[Peer], object]
    outcomes: list[Any] = field(default_factory=lambda: ["malformed"])
    seconds: float = LONG
    arguments: Any = None
    before: Callable[[Peer], object] = lambda _: None


ANY = object()  # a value or any WireError
NAN = object()


@dataclass
class Value:
    """A value that must have come through."""

    value: Any


def exchange(case: Case) -> Iterator[Any]:
    """What comes of one request after the other: a Value, or the kind of a WireError."""
    request, to_worker = os.pipe()
    from_worker, answer = os.pipe()
    printed, output = os.pipe()
    wire, peer = Wire(to_worker, from_worker, printed), Peer(request, answer, output)
    case.before(peer)
    player = threading.Thread(target=_play, args=(case, peer))
    player.start()
    try:
        patience = [case.seconds] + [LONG] * (len(case.outcomes) - 1)
        for seconds in patience:
            yield _ask(wire, case, seconds)
    finally:
        wire.close()
        player.join(LONG)
        assert not player.is_alive(), f"{case.name}: the worker was left waiting"


def _play(case: Case, peer: Peer) -> None:
    with suppress(OSError):
        case.play(peer)
        peer.wait()
    peer.close()


def _ask(wire: Wire, case: Case, seconds: float) -> Any:
    start = time.monotonic()
    try:
        return Value(parse(wire.ask("observe", case.arguments, seconds)))
    except MalformedError:
        return "malformed"
    except WireError as error:
        return error.kind
    finally:
        late = time.monotonic() - start - seconds
        assert late < SLACK, f"{case.name}: {late:.1f} s too late"


def check(case: Case) -> None:
    """Play a case and compare."""
    for came, wanted in zip(exchange(case), case.outcomes, strict=True):
        assert isinstance(came, Value) or came in {"timeout", "closed", "forged", "malformed"}
        if wanted is NAN:
            assert math.isnan(came.value)
        elif wanted is not ANY:
            assert came == wanted, case.name


# --- answers that are not as agreed

CASES: list[Case] = []


def case(name: str, play: Callable[[Peer], object], *outcomes: Any, **options: Any) -> None:
    CASES.append(Case(name, play, list(outcomes) or ["malformed"], **options))


def sending(make: Callable[[bytes], bytes]) -> Callable[[Peer], object]:
    """A worker that answers with the bytes made from the request's id, in a frame of the right length."""
    return lambda peer: peer.frame(make(peer.read().encode()))


def closing(make: Callable[[bytes], bytes]) -> Callable[[Peer], object]:
    """A worker that writes bytes made from the request's id, without a frame, and closes its end."""

    def play(peer: Peer) -> None:
        peer.write(make(peer.read().encode()))
        peer.close("answer")

    return play


def holding(make: Callable[[bytes], bytes]) -> Callable[[Peer], object]:
    """The same, but the end stays open."""
    return lambda peer: peer.write(make(peer.read().encode()))


def ok(identity: bytes, value: bytes) -> bytes:
    return b'{"id":"%b","ok":%b}' % (identity, value)


def framed(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


ENVELOPES: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "no id": lambda _: b'{"ok":1}',
    "no ok": lambda i: b'{"id":"%b"}' % i,
    "another order": lambda i: b'{"ok":1,"id":"%b"}' % i,
    "spaces": lambda i: b'{"id": "%b", "ok": 1}' % i,
    "a guessed id": lambda _: ok(b"0" * 16, b"1"),
    "a longer id": lambda i: ok(i + b"0", b"1"),
    "no end": lambda i: ok(i, b"1")[:-1],
    "more behind the end": lambda i: ok(i, b"1") + b" ",
}
for label, make in ENVELOPES.items():
    case(f"envelope: {label}", sending(make), "forged")

# --- bytes that are no JSON of a line

GARBAGE = {
    "nothing": b"",
    "half a word": b"nul",
    "closed and more": b'1},"ok":{',
    "another key": b'1,"more":1',
    "the same key": b'1,"ok":2',
    "two values": b"1 2",
    "a raw newline in text": b'"\n"',
    "not UTF-8": b'"\x80"',
    "a surrogate as bytes": b'"\xed\xa0\x80"',
    "UTF-16": "[1]".encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf[1]",
    "nan in small letters": b"nan",
    "more digits than Python converts": b"9" * 5000,
}
for label, payload in GARBAGE.items():
    case(f"garbage: {label}", sending(lambda i, payload=payload: ok(i, payload)))
for half in (b"\\ud83d", b"\\udE00", b"\\uD83D", b"\\ude00\\ud83d"):
    text = half.decode()
    case(f"half a character, {text}", sending(lambda i, half=half: ok(i, b'"%b"' % half)))
    case(f"half a character as a key, {text}", sending(lambda i, half=half: ok(i, b'[{"%b": 1}]' % half)))

# --- values that come through

VALUES: dict[str, tuple[bytes, Any]] = {
    "infinity": (b"Infinity", math.inf),
    "minus infinity": (b"-Infinity", -math.inf),
    "overflow": (b"1e999", math.inf),
    "underflow": (b"1e-999", 0.0),
    "minus nothing": (b"-0.0", 0.0),
    "a large int": (b"9" * 4000, int("9" * 4000)),
    "a text that is not ASCII": ('"é"'.encode(), "é"),
    "a whole character in halves": (b'"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
    "a backslash before ud": (b'"\\\\ud83d"', "\\ud83d"),
    "NUL as an escape": (b'"\\u0000"', "\0"),
    "the last of equal keys": (b'{"a": 1, "a": 2}', {"a": 2}),
    "spaces": (b"  [ 1 ]  ", [1]),
    "false": (b"false", False),
    "null": (b"null", None),
}
for label, (payload, value) in VALUES.items():
    case(f"value: {label}", sending(lambda i, payload=payload: ok(i, payload)), Value(value))
case("value: NaN", sending(lambda i: ok(i, b"NaN")), NAN)

# --- frames and lengths

for length in (MAX_FRAME + 1, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1):
    case(f"announces {length} bytes", holding(lambda _, n=length: struct.pack(">I", n) + b"{}" * 100))
case("announces less", holding(lambda i: struct.pack(">I", 5) + ok(i, b"1")), "forged")
for sent in (0, 1, 3, 4, 5, 20):
    case(f"ends after {sent} bytes", closing(lambda i, n=sent: framed(ok(i, b"1"))[:n]), "closed")
    stops = holding(lambda i, n=sent: framed(ok(i, b"1"))[:n])
    case(f"stops after {sent} bytes", stops, "timeout", seconds=SHORT)
LONGEST, FRAMES = "x" * (MAX_FRAME - len(ok(b"0" * 16, b'""'))), MAX_TOTAL // MAX_FRAME
case("the largest frame", lambda peer: peer.reply(LONGEST), Value(LONGEST))
case("a frame one byte too large", lambda peer: peer.reply(LONGEST + "x"))
flood = [*[ANY] * FRAMES, "malformed"]
case("more than may be said in all", lambda peer: [peer.reply(LONGEST[:-100]) for _ in flood], *flood)

# --- depth and number


def lists(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


for inner in (b"[]", b"[1]"):
    deepest = lists(MAX_NESTING).replace(b"[]", inner)
    case(f"{inner} as deep as allowed", sending(lambda i, v=deepest: ok(i, v)), Value(json.loads(deepest)))
for depth in (MAX_NESTING + 1, 1_100, 140_000):
    case(f"{depth} lists deep", sending(lambda i, n=depth: ok(i, lists(n))))
    case(f"{depth} opened", sending(lambda i, n=depth: ok(i, b"[" * n)))
    case(f"{depth} dicts deep", sending(lambda i, n=depth: ok(i, b'{"":' * n + b"1" + b"}" * n)))
    case(f"{depth} of both deep", sending(lambda i, n=depth: ok(i, b'[{"":' * n + b"1" + b"}]" * n)))


def zeros(count: int) -> bytes:
    return b"[" + b"0," * (count - 1) + b"0]"


case("as many as allowed", sending(lambda i: ok(i, zeros(MAX_ITEMS))), Value([0] * MAX_ITEMS))
case("one too many", sending(lambda i: ok(i, zeros(MAX_ITEMS + 1))))
CROWDS = {
    "zeros": b"[" + b"0," * 1_000_000 + b"0]",
    "lists": b"[" + b"[]," * 200_000 + b"0]",
    "dicts": b"[" + b"{}," * 200_000 + b"0]",
    "keys": b"{" + b",".join(b'"%d":0' % n for n in range(200_000)) + b"}",
    "commas in a text": b'"%b"' % (b"," * 400_000),
}
for label, payload in CROWDS.items():
    case(f"too many {label}", sending(lambda i, payload=payload: ok(i, payload)))
case("many escapes", sending(lambda i: ok(i, b'"%b"' % (b"\\u0000" * 150_000))), Value("\0" * 150_000))
COSTLY = {  # in memory, by what Python makes of them
    "wide text": ('"😀' + "x" * 1_000_000 + '"').encode(),
    "many small texts": b"[" + b'"ab",' * 58_000 + b"0]",
    "many keys": b"{" + b",".join(b'"%d":0' % n for n in range(29_000)) + b"}",
}
for label, payload in COSTLY.items():
    case(label, sending(lambda i, payload=payload: ok(i, payload)), ANY)

# --- time


def endless_dribble(peer: Peer) -> None:
    peer.read()
    peer.write(struct.pack(">I", MAX_FRAME))
    while True:
        peer.write(b" ")
        time.sleep(0.001)


def half_read(peer: Peer, length: int = 1000, answer: bytes = b"") -> None:
    os.read(peer.open["request"], length)  # so it is not taken for one who speaks first
    peer.write(answer)
    peer.ignore()


def in_pieces(peer: Peer) -> None:
    for byte in framed(ok(peer.read().encode(), b"[1, 2]")):
        peer.write(bytes([byte]))


def answer_without_reading_on(peer: Peer) -> None:
    half_read(peer, 1, framed(ok(b"0" * 16, b"1")))


case("byte after byte", in_pieces, Value([1, 2]))
case("byte after byte, for ever", endless_dribble, "timeout", seconds=SHORT)
case("never answers", Peer.read, "timeout", seconds=SHORT)
case("never reads", Peer.ignore, "timeout", seconds=SHORT)
case("never reads a large request", Peer.ignore, "timeout", seconds=SHORT, arguments=LARGE)
case("reads the beginning of a large request", half_read, "timeout", seconds=SHORT, arguments=LARGE)
case("answers without reading on", answer_without_reading_on, "timeout", seconds=SHORT, arguments=LARGE)
case("reads a large request", lambda peer: peer.reply(1), Value(1), arguments=LARGE)
case("has no time", lambda peer: peer.reply(1), "timeout", seconds=0.0)

# --- bytes at the wrong time

case("speaks first", Peer.wait, "forged", before=lambda peer: peer.frame(ok(b"0" * 16, b"1")))
case("says a byte first", lambda peer: peer.reply(1), "forged", before=lambda peer: peer.write(b"\0"))
case("speaks and ends", Peer.wait, "forged", before=lambda peer: (peer.write(b"1"), peer.close("answer")))
case("speaks before it has read", lambda peer: (peer.frame(ok(b"0", b"1")), peer.wait()), "forged")


def replay(peer: Peer) -> None:
    answer = ok(peer.read().encode(), b"1")
    peer.frame(answer)
    peer.read()
    peer.frame(answer)


def late(peer: Peer) -> None:
    first = peer.read().encode()
    peer.read()
    peer.frame(ok(first, b"1"))


case("answers twice", holding(lambda i: framed(ok(i, b"1")) * 2), Value(1), "forged")
case("answers and a byte", holding(lambda i: framed(ok(i, b"1")) + b"\0"), Value(1), "forged")
case("answers the second with the first", replay, Value(1), "forged")
case("answers the first when asked the second", late, "timeout", "forged", seconds=SHORT)
case("answers three times as agreed", lambda peer: [peer.reply(n) for n in range(3)], *map(Value, range(3)))

# --- pipes that close

case("has ended before", Peer.close, "closed", before=Peer.close)
case("closed its answers before", Peer.wait, "closed", before=lambda peer: peer.close("answer"))
case("closed its requests before", Peer.ignore, "closed", before=lambda peer: peer.close("request"))
case("ends when asked", lambda peer: (peer.read(), peer.close()), "closed")
case("ends after the answer", lambda peer: (peer.reply(1), peer.close()), Value(1), ANY)


def end_instead_of_reading_on(peer: Peer) -> None:
    os.read(peer.open["request"], 1)
    peer.close()


def answer_without_requests(peer: Peer) -> None:
    identity = peer.read().encode()
    peer.close("request")
    peer.frame(ok(identity, b"1"))


case("ends instead of reading on", end_instead_of_reading_on, "closed", arguments=LARGE)
case("closes its requests and answers", answer_without_requests, Value(1))
case("closes its output", lambda peer: (peer.close("output"), peer.reply(1)), Value(1))
case("closes its output and is silent", lambda peer: peer.close("output"), "timeout", seconds=SHORT)

# --- what it prints meanwhile


def print_much(peer: Peer) -> None:
    peer.write(b"spam\xff\0\n" * 1_000_000, to="output")
    peer.reply(1)


def print_for_ever(peer: Peer) -> None:
    while True:
        peer.write(b"spam" * 10_000, to="output")


def print_and_answer(peer: Peer) -> None:
    printer = threading.Thread(target=suppressed, args=(print_for_ever, peer))
    printer.start()
    peer.reply(1)
    peer.wait()
    printer.join()


def print_within_an_answer(peer: Peer) -> None:
    answer = framed(ok(peer.read().encode(), b"1"))
    for start in range(0, len(answer), 7):
        peer.write(b"spam" * 50_000, to="output")
        peer.write(answer[start : start + 7])


def suppressed(function: Callable[[Peer], object], peer: Peer) -> None:
    with suppress(OSError):
        function(peer)


case("prints much", print_much, Value(1))
case("prints for ever", print_for_ever, "timeout", seconds=SHORT)
case("prints for ever and reads nothing", print_for_ever, "timeout", seconds=SHORT, arguments=LARGE)
case("prints for ever and answers", print_and_answer, Value(1))
case("prints within its answer", print_within_an_answer, Value(1))

# --- chance


def noise(seed: int, length: int) -> bytes:
    return random.Random(seed).randbytes(length)


def flipped(identity: bytes, seed: int) -> bytes:
    """An honest answer with one byte changed, its length included."""
    answer = bytearray(framed(ok(identity, b'{"raised": null, "returned": [1.5, "text"]}')))
    chance = random.Random(seed)
    answer[chance.randrange(len(answer))] ^= 1 << chance.randrange(8)
    return bytes(answer)


for seed in range(15):
    case(f"noise {seed}", sending(lambda i, n=seed: ok(i, noise(n, 10 + 40 * n))))
    case(f"noise without a frame {seed}", closing(lambda _, n=seed: noise(n, 5 + 3 * n)), ANY)
    case(f"one bit changed {seed}", closing(lambda i, n=seed: flipped(i, n)), ANY)


# --- the tests


@pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in CASES])
def test_a_hostile_worker_gets_nowhere(one):
    """Each behaviour ends in the checked value or the WireError that belongs to it, within its deadline."""
    check(one)


def test_a_process_outlives_them_all():
    """All cases in one process cost less than 100 MB, and leave no descriptor and no thread behind."""
    played = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.test_wire"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    cost = json.loads(played.stdout)
    assert cost.pop("megabytes") < 100
    assert cost == {"played": len(CASES), "descriptors": 0, "threads": 0}


def test_a_request_is_what_was_asked():
    """A request is one frame of JSON with an id, the operation and its arguments; no id comes twice."""
    requests = []

    def play(peer):
        for _ in range(2):
            (length,) = struct.unpack(">I", peer._exactly(4))
            requests.append(json.loads(peer._exactly(length)))
            peer.frame(ok(requests[-1]["id"].encode(), b"1"))

    check(Case("asks", play, [ANY, ANY], arguments={"n": [1.5, "\ud800é"]}))
    first, second = (request.pop("id") for request in requests)
    assert first != second
    assert min(len(first), len(second)) >= 16
    assert requests == [{"op": "observe", "args": {"n": [1.5, "\ud800é"]}}] * 2


@pytest.mark.parametrize("closed", [(), ("output",)])
def test_waiting_costs_nothing(closed):
    """Waiting for a silent worker takes no processor time, also when its output has ended."""
    request, to_worker = os.pipe()
    from_worker, answer = os.pipe()
    printed, output = os.pipe()
    wire, peer = Wire(to_worker, from_worker, printed), Peer(request, answer, output)
    if closed:
        peer.close(*closed)
    before = time.thread_time()
    with pytest.raises(WireError, match="timeout"):
        wire.ask("end", None, 0.3)
    assert time.thread_time() - before < 0.1
    wire.close()
    peer.close()


def test_more_descriptors_than_select_knows():
    """A wire whose descriptors are beyond 1,023 works, as in a process with very many workers."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 1200:
        pytest.skip("the system does not allow that many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 1200), limits[1]))
    idle = [os.open("/dev/null", os.O_RDONLY) for _ in range(1030)]
    try:
        check(Case("answers", lambda peer: peer.reply(1), [Value(1)]))
    finally:
        for descriptor in idle:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def _use() -> dict[str, float]:
    """What this process has taken."""
    return {
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "descriptors": len([*Path("/proc/self/fd").iterdir()]),
        "threads": threading.active_count(),
    }


if __name__ == "__main__":
    check(Case("warm", lambda peer: peer.reply(1), [Value(1)]))
    before = _use()
    for one in CASES:
        check(one)
    cost = {name: taken - before[name] for name, taken in _use().items()}
    print(json.dumps({"played": len(CASES), **cost}))  # noqa: T201 - the parent reads it
