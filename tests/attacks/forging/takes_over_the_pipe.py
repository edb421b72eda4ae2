# Tries: to answer on the pipe in the worker's place, and to serve the requests that follow as well.
# Stopped by: wire
# Without it: nothing stops it there, either.
# Got through: who writes the right request's id into the worker's descriptor is the worker for the outside.
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
    payload = json.dumps({"id": identity, "ok": result}).encode()
    os.write(11, struct.pack(">I", len(payload)) + payload)


def read(length):
    data = b""
    while len(data) < length:
        chunk = os.read(10, length - len(data))
        if not chunk:
            os._exit(0)
        data += chunk
    return data


def reinit_(w, value):
    probe = frame_of("stale_loss")
    w.data.fill_(value)
    if probe is None:
        return w
    run = frame_of("run")
    facts, service = run.f_globals["facts"], run.f_locals["service"]
    encoder = facts.Encoder()
    seen = {"before": probe.f_locals["before"], "w": w, "backward": facts.Raised(RuntimeError(TEXT))}
    forged = {"value": encoder.encode(seen), "tensors": encoder.table}
    reply(run.f_locals["message"]["id"], {"raised": None, "facts": forged, "changed": [], "patched": []})
    while True:
        (length,) = struct.unpack(">I", read(4))
        message = json.loads(read(length))
        reply(message["id"], service.answer(message["op"], message["args"]))
