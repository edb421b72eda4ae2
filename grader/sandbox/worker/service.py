"""The life of a worker: it enters the sandbox, then answers requests by the protocol of the package."""

from __future__ import annotations

import json
import marshal
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.runtime import (
    audit,
    cells,
    contract,
    encoding,
    errors,
    kinds,
    reported,
    returned_none,
    torch_state,
    vocabulary,
)
from grader.runtime.opaque import hide_subclasses, opaque
from grader.runtime.originals import (
    builtins_copy,
    bytes_from_base64,
    count_threads,
    exit_process,
    pack,
    read_descriptor,
    unpack,
    write_descriptor,
)
from grader.runtime.perturbation import Beginning, Perturbation
from grader.runtime.student_namespace import CallWatch, StudentNamespace

from . import ANSWER, NOTICES, PIPES, REQUEST
from .confinement import Sandbox

__builtins__ = builtins_copy()
_WRITABLE_BY_ITS_BITS = "/tmp"  # noqa: S108 - nothing can be written there, but matplotlib looks at the bits
_load = marshal.loads
# The parts of json that are written in C: a notebook can exchange whatever stands in Python around them.
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_chunks = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, None, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True
)


_PACKAGE = str(Path(__file__).parents[2])
_notebook = cells.Notebook()  # every worker's own, once it is forked
_modules: list[str] = []  # our imported modules


def prepare() -> None:
    """In the zygote, before the first fork: prepare everything that is the same for all workers."""
    vocabulary.begin_request(0)
    torch_state.restore_modes()
    cells.Notebook().execute("warm = 1", "<warm-up>")
    vars(sys.modules["__main__"]).clear()  # multiprocessing keeps the module under another name
    _be_main(_notebook)
    cells.install_fakes(_notebook)
    reported.replace()
    own = (value for value in vars(kinds).values() if isinstance(value, type))
    torch_state.capture_attributes(kind for kind in own if kind.__module__ == kinds.__name__)
    _modules[:] = [name for name in sys.modules if name.startswith("grader.")]
    for folder in (place for place in [*sys.path_importer_cache] if place.startswith(_PACKAGE)):
        del sys.path_importer_cache[folder]  # files in its list would be found, and could not be read
    hide_subclasses("grader", "inside")


def _be_main(notebook: cells.Notebook) -> None:
    """Give the notebook's names to the module ``__main__``, where pickle and inspect look for them."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__.clear()
    notebook.live_in(main.__dict__)


def run(sandbox: Sandbox, request: int, answer: int, output: int, notices: int) -> None:
    """In a fresh child: confine it, then serve requests until the outside hangs up."""
    _arrange_descriptors(request, answer, output, notices)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.environ["MPLCONFIGDIR"] = _WRITABLE_BY_ITS_BITS
    sandbox.enter(keep=(0, 1, 2, *PIPES))
    audit.begin(NOTICES)
    for name in _modules:  # a list made before the fork: to look at every name copies the pages of all
        del sys.modules[name]  # nothing a notebook needs to import
    service = Service(_notebook)
    while True:
        message = _receive()
        result = service.answer(message["op"], message["args"])
        _send({"id": message["id"], "ok": result})


def _arrange_descriptors(request: int, answer: int, output: int, notices: int) -> None:
    """Nothing to read on stdin, output into its pipe, the others on descriptors of their own."""
    high = [os.dup(d) for d in (request, answer, output, notices)]
    while min(high) <= NOTICES:
        high = [os.dup(d) for d in high]
    nothing = os.open("/dev/null", os.O_RDONLY)
    outputs = ((high[2], 1), (high[2], 2), (high[1], ANSWER), (high[3], NOTICES))
    for source, target in ((nothing, 0), (high[0], REQUEST), *outputs):
        os.dup2(source, target, inheritable=False)
    os.set_blocking(NOTICES, False)


def _receive() -> Any:
    (length,) = unpack(">I", _read_exactly(4))
    return _scan(_read_exactly(length).decode(), 0)[0]


def _read_exactly(length: int) -> bytes:
    data = b""
    while len(data) < length:
        chunk = read_descriptor(REQUEST, length - len(data))
        if not chunk:
            exit_process(0)  # the outside hung up
        data += chunk
    return data


def _send(message: Any) -> None:
    payload = "".join(_chunks(message, 0)).encode()
    data = pack(">I", len(payload)) + payload
    while data:
        data = data[write_descriptor(ANSWER, data) :]


class Service:
    """Answers the requests about one notebook."""

    def __init__(self, notebook: cells.Notebook) -> None:
        self._notebook = notebook

    def answer(self, operation: str, arguments: Any) -> Any:
        operations: dict[str, Callable[..., Any]] = {
            "assignment": self._notebook.set_assignment,
            "cell": self._cell,
            "survey": self._survey,
            "observe": self._observe,
        }
        return operations[operation](**arguments) if operation in operations else "end"

    def _cell(self, number: int, source: str, seconds: float) -> Any:
        error = self._notebook.run(number, source, seconds)
        skipped = [statement._asdict() for statement in self._notebook.skipped]
        return {"raised": None if error is None else errors.describe_error(error), "skipped": skipped}

    def _survey(self) -> Any:
        torch_state.restore_modes()
        patched = torch_state.restore_attributes()
        statuses, not_callable = self._notebook.survey(), self._notebook.not_callable()
        names = {**statuses, **dict.fromkeys(not_callable, "missing")}
        cells = {name: self._notebook.history.given_in(name) for name in names}
        starter_code = [name for name, status in names.items() if status == "untouched"]
        above = {name: self._notebook.answer_above(name) for name in starter_code}
        places = {"cells": cells, "above": above}
        return {"names": names, **places, "not_callable": not_callable, "patched": patched}

    def _observe(self, answer: str, name: str, code: str, seed: int | None, perturbed: int) -> Any:
        """Run a contract or a picture in the modes and with the random numbers that every submission gets."""
        self._notebook.show(answer)
        torch_state.restore_modes()
        vocabulary.begin_request(seed)
        threads = count_threads()
        watch = CallWatch()
        words = self._words(code, watch)
        if torch_state.restore_attributes():  # which cells, or another question's functions, left
            audit.notice("patched", "")
        student = StudentNamespace(self._notebook.names, watch)
        if perturbed:
            with Perturbation(perturbed) as perturbation:
                value, raised = _call(words[name], Beginning(student, perturbation))
        else:
            value, raised = _call(words[name], student)
        self._notebook.show(answer)  # and not what the call made of the names
        patched = watch.patched + torch_state.intercepting_modes() + torch_state.exchanged_kernels()
        torch_state.restore_modes()
        patched += torch_state.restore_attributes()
        encoded = self._encode(value, raised)
        changed = ["threads"] if count_threads() > threads else []  # all else was put back
        none = returned_none.reasons(watch.has_value, self._notebook.names, self._notebook.sources)
        return {**encoded, "changed": changed, "patched": patched, "none": none}

    @staticmethod
    def _words(code: str, watch: CallWatch) -> dict[str, Any]:
        """The code that was sent, defined again: nothing of an earlier request is left in it."""
        module = ModuleType("inside")
        words = vars(module)
        words.update(
            {**kinds.NAMES, **vocabulary.WORDS},
            observe_cases=partial(contract.observe_cases, watch),
            __opaque__=opaque,  # around every function that was sent (``sandbox/request_code.py``)
            __builtins__=builtins_copy(),
        )
        loaded = _load(bytes_from_base64(code))
        audit.begin_request(words)
        audit.expect(loaded)
        exec(loaded, words)
        torch_state.capture_request(loaded, module)
        return words

    def _encode(self, value: Any, raised: BaseException | None) -> Any:
        encoder = encoding.Encoder()
        try:
            encoded = None if raised is not None else encoder.encode(value)
        except BaseException as error:  # a tensor torch itself cannot read
            raised, encoded = error, None
        if raised is not None or encoded is None:
            return {"raised": errors.describe_error(raised or RuntimeError()), "returned": None}
        return {"raised": None, "returned": {"value": encoded, "tensors": encoder.table}}


def _call(function: Callable[[Any], Any], student: Any) -> tuple[Any, BaseException | None]:
    try:
        return function(student), None
    except BaseException as error:
        return None, error
