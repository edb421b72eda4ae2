"""Prints which attack is stopped by which layer, and what happens when that layer is taken away.

``.venv/bin/python tests/attack_matrix.py [ATTACK.py ...]``. Every layer is switched off in a process of its
own, which is killed when it takes too long. Exit status 1 where a row is not explained.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from attack import Attack, read_attacks  # noqa: E402
from attack_layers import SWITCHES  # noqa: E402
from attack_run import Arena, common_harms, harms, own_harms  # noqa: E402
from attack_world import marked  # noqa: E402

_START_SECONDS, _ATTACK_SECONDS = 120, 60
_CLASS = "all together"  # the row of what cannot be laid at one attacker's door


class BrokenRunError(Exception):
    """The attacks could not be tried, through no doing of theirs; the text is what the process printed."""


def main() -> int:
    """Print the matrix."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("attacks", nargs="*", type=Path, help="only these files")
    parser.add_argument("--layer", help=argparse.SUPPRESS)
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    attacks = read_attacks(chosen.attacks)
    if chosen.report:
        _try_all(attacks, chosen.layer, chosen.report)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # nothing may go on when this is told to end
    try:
        inside, outside = _tried(attacks, None), {}
    except BrokenRunError as error:
        sys.exit(str(error))
    common = inside.pop(_CLASS, [])
    for layer in SWITCHES:
        named = [attack for attack in attacks if attack.layer == layer and attack.is_tried_without]
        if named and (layer != "user" or os.getuid() == 0):
            try:
                outside |= _tried(named, layer)
            except BrokenRunError as error:  # the other layers are to be tried in any case
                common.append(f"nothing can be graded without {layer}: {error}")
    return _print(attacks, inside, outside, common)


def _try_all(attacks: Sequence[Attack], layer: str | None, report: Path) -> None:
    """In a process of its own: all in one class where every layer is in force, else one by one."""
    with report.open("a", encoding="utf-8", buffering=1) as file:
        if layer is None:
            with Arena() as arena:
                run = arena.grade(attacks)
            found = {attack.name: own_harms(attack, run) for attack in attacks}
            found[_CLASS] = common_harms(run, arena.alone)
            file.writelines(json.dumps(pair) + "\n" for pair in found.items())
            return
        for attack, found in _one_by_one(attacks, layer):
            file.write(json.dumps([attack.name, found]) + "\n")


def _one_by_one(attacks: Sequence[Attack], layer: str) -> Iterator[tuple[Attack, list[str]]]:
    """The harms of each attack among honest neighbours; who broke the run starts the next in a new one."""
    waiting = list(attacks)
    while waiting:
        with Arena(layer) as arena:
            while waiting:
                attack = waiting.pop(0)
                try:
                    yield attack, harms(attack, arena.grade([attack]), arena.alone)
                except Exception as error:  # noqa: BLE001 - without a layer anything may break
                    yield attack, [f"breaks the run ({type(error).__name__}: {str(error)[:80]})"]
                    break


def _tried(attacks: Sequence[Attack], layer: str | None) -> dict[str, list[str]]:
    """What each attack did, tried in a process that is ended when it takes too long."""
    what = f"without {layer}" if layer else "with every layer in force"
    sys.stderr.write(f"{len(attacks)} attacks {what} ...\n")
    found: dict[str, list[str]] = {}
    waiting = list(attacks)
    while waiting:
        found |= _run_bounded(waiting, layer)
        waiting = [attack for attack in waiting if attack.name not in found]
        if waiting and layer is None:
            raise BrokenRunError("with every layer in force the class did not come to its end")
        if waiting:  # the first of them took the process along
            found[waiting.pop(0).name] = ["ends or blocks the whole grader"]
    return found


def _run_bounded(attacks: Sequence[Attack], layer: str | None) -> dict[str, list[str]]:
    """What is known when the process has ended, or had to be ended."""
    with tempfile.TemporaryDirectory(prefix="attack-matrix-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)  # attacks shall be able to reach what lies around the grader
        report, errors = folder / "report", folder / "errors"
        report.touch()
        command = [sys.executable, __file__, "--report", report, *(attack.path for attack in attacks)]
        command += [] if layer is None else ["--layer", layer]
        environment = {**os.environ, "TMPDIR": name}
        with errors.open("wb") as told:
            process = subprocess.Popen(command, env=environment, stderr=told, start_new_session=True)
        try:
            process.wait(_START_SECONDS + _ATTACK_SECONDS * len(attacks))
        except subprocess.TimeoutExpired:
            pass  # what it knows is in the report
        finally:
            _end(process, folder)
        if process.returncode > 0:  # not an attack's doing: those end it by a signal, or are caught
            raise BrokenRunError(errors.read_text(encoding="utf-8"))
        return dict(map(json.loads, report.read_text(encoding="utf-8").splitlines()))


def _end(process: subprocess.Popen, folder: Path) -> None:
    """End the process and everything that carries its mark."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pid in marked(f"ATTACK_WORLD={folder}/"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _print(
    attacks: Sequence[Attack],
    inside: dict[str, list[str]],
    outside: dict[str, list[str]],
    common: Sequence[str],
) -> int:
    """Print a row for each attack, and below them what is not explained; returns the exit status."""
    console = Console(emoji=False, width=None if sys.stdout.isatty() else 200)
    table = Table("attack", "tries", "stopped by", "everything in force", "without that layer", box=None)
    complaints = []
    for attack in attacks:
        complaint = attack.complaint(inside.get(attack.name), outside.get(attack.name))
        complaints += [f"{attack.name}: {complaint}"] if complaint else []
        stopped = "gets through, flagged" if attack.through else "stopped"
        if inside.get(attack.name) != [] and complaint:
            stopped = f"[red]{escape(complaint)}[/]"
        without = _without(attack, outside.get(attack.name))
        table.add_row(*map(escape, (attack.name, attack.tries, attack.layer)), stopped, escape(without))
    console.print(table)
    complaints += [f"{_CLASS}: {harm}" for harm in common]
    for complaint in complaints:
        console.print(f"[red]{escape(complaint)}[/]", highlight=False)
    console.print(f"{len(attacks)} attacks, {len(complaints)} unexplained.", highlight=False)
    return 1 if complaints else 0


def _without(attack: Attack, outside: list[str] | None) -> str:
    """What happens without its layer; `outside` is the harm it did there, None where it was not tried."""
    if not attack.is_tried_without:
        return attack.through or attack.otherwise or ""
    if outside is None:
        return "there is no such layer for this user"
    return f"gets through: {'; '.join(outside)}" if outside else f"still stopped: {attack.otherwise or '?'}"


if __name__ == "__main__":
    sys.exit(main())
