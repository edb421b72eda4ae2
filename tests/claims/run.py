"""Runs claims against the installed torch, in a process of their own: `run.py FILE...`.

Writes a line of JSON for each as soon as it is known: its id, and the traceback of what does not hold, or "".
"""

import importlib
import json
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch


def claims_in(path: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The claims of a file: its functions s3_4, with their ids, S3.4."""
    sys.path.insert(0, str(path.parent))
    module = importlib.import_module(path.stem)
    for name, function in list(vars(module).items()):
        if re.fullmatch(r"s\d_\d+", name):
            yield name.upper().replace("_", "."), function


def failure_of(claim: Callable[[], None]) -> str:
    """Empty where the claim's function passes; else what was raised, with the values of its variables."""
    torch.manual_seed(0)
    try:
        claim()
    except Exception as error:  # noqa: BLE001 - the others are to be run in any case
        return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    return ""


if __name__ == "__main__":
    warnings.simplefilter("error")
    for file in sys.argv[1:]:
        for identity, claim in claims_in(Path(file)):
            line = json.dumps({"id": identity, "failure": failure_of(claim)})
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
