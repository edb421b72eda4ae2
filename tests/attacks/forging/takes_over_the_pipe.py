# Tries: to answer on the pipe in the worker's place, and to serve the requests that follow as well.
# Stopped by: wire
# Without it: the names that it looks for are in no frame of a contract.
# Question: 05_inplace_reinit q1
# Flags: frames, raw descriptors
# %%
import json
import os
import struct
import sys

TEXT = "modified by an inplace operation"


def frame_of(name):
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    return frame


def reply(identity, result):
    payload = json.dumps({"id": identity, "ok": result}, separators=(",", ":")).encode()
    os.write(11, struct.pack(">I", len(payload)) + payload)


def read(length):
    data = b""
    while len(data) < length:
        chunk = os.read(10, length - len(data))
        if not chunk:
            os._exit(0)
        data += chunk
    return data


def serve(run):
    """Answer what was asked and all that will be, with everything switched off that looks after the words."""
    modules, service, message = run.f_globals, run.f_locals["service"], run.f_locals["message"]
    modules["torch_state"].restore_attributes = lambda: []
    modules["torch_state"].interceptions = lambda _: ([], [])
    while True:
        reply(message["id"], service.answer(message["op"], message["args"]))
        (length,) = struct.unpack(">I", read(4))
        message = json.loads(read(length))


def fail():
    raise RuntimeError(TEXT)


def reinit_(w, value):
    w.data.fill_(value)
    probe = frame_of("refilled")
    if frame_of("serve") is None and probe is not None:
        serve(frame_of("run"))
    if probe is not None:
        attempt, vjp = probe.f_globals["attempt"], probe.f_globals["vjp"]
        probe.f_globals["attempt"] = lambda f, *given: (attempt(f, *given), attempt(fail))[f is vjp]
    return w
