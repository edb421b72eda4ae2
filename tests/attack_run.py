"""Grades one class of attackers and honest neighbours, and says what harm each attack did."""

import contextlib
import io
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Self

import pytest
from attack import Attack
from attack_inside import SWITCHES as INSIDE
from attack_layers import NO_LIMITS, without
from attack_world import NEIGHBOUR, World, world
from markdown_it import MarkdownIt
from rich.console import Console
from tiny_course import write_notebook

from grader.course.contract import Contract
from grader.course.course import Course
from grader.grading import class_observer, executor
from grader.grading import terminal as class_table
from grader.grading.run import Options, grade
from grader.grading.run_summary import RunSummary
from grader.grading.submission import Submission
from grader.results.model import Result
from grader.sandbox.zygote import Zygote
from grader.text import printable


def _few_cases(contract: Contract) -> Contract:
    """A contract with its typical case, and the first of each other way to call the function."""
    kinds = [[level for key, level in row.items() if key.startswith("call.")] for row in contract.rows]
    chosen = [number for number, kind in enumerate(kinds) if kinds.index(kind) == number]
    cases, source = contract.plan["cases"], contract.source
    few = [cases[number] for number in chosen]
    return replace(
        contract,
        source=replace(source, text=source.text.replace(repr(cases), repr(few))),
        declared=tuple(contract.declared[number] for number in chosen),
        rows=tuple(contract.rows[number] for number in chosen),
        plan={**contract.plan, "cases": few},
    )


def _shorten(course: Course) -> None:
    """Leave a few cases of each contract: attacks try the sandbox, not the choice of inputs."""
    for stem in course.stems:
        rubric = course.rubric(stem)
        contracts = {name: _few_cases(contract) for name, contract in rubric.contracts.items()}
        course._check_files[stem] = replace(rubric, contracts=contracts)


COURSE = Course.find(Path(__file__).parent)
#: The outside may grow by this much, whatever a class does.
MOST_GROWTH = 128 << 20
_SEED = 20_261_121
_READ_BY_PEOPLE = {".html", ".md", ".csv"}
HONEST = {"honest-ada": "01_leaves", "honest-bo": "05_inplace_reinit", "honest-cy": "01_leaves"}
#: A student for every assignment, so that the outside keeps every reference before an attack comes.
ALL_ASSIGNMENTS = HONEST | {
    f"honest-{stem}": stem for stem in COURSE.assignments if stem not in HONEST.values()
}


@dataclass
class Run:
    """What came of grading a class."""

    attacks: dict[str, Attack]
    results: dict[str, list[Result]] = field(default_factory=dict)  # all of each notebook
    seconds: dict[str, float] = field(default_factory=dict)  # for which each notebook was observed
    shown: dict[str, str] = field(default_factory=dict)  # what is for people, by file, and the terminal's
    honest: dict[str, Result] = field(default_factory=dict)  # without the times of their making
    survivors: list[int] = field(default_factory=list)  # processes that were left
    loot: list[str] = field(default_factory=list)  # files that an attack wrote
    growth: int = 0  # bytes by which the outside's peak of memory grew
    wall: float = 0.0  # seconds that everything took
    patience: float = 0.0  # seconds after which a notebook hangs


def _notebook(attack: Attack) -> str:
    return printable(f"{attack.student}/{attack.stem}.ipynb")


class Arena:
    """A world, a zygote in which a layer may be switched off, and classes that are graded there.

    The references of an arena with every layer count here, too; its zygote does unless the layer is in it.
    """

    def __init__(self, layer: str | None = None, sound: Self | None = None) -> None:
        _shorten(COURSE)
        with contextlib.ExitStack() as stack:
            self._world = stack.enter_context(world(COURSE))
            self._limits = stack.enter_context(without(layer))
            private = tempfile.TemporaryDirectory(prefix="attacked-class-", ignore_cleanup_errors=True)
            self._folder = Path(stack.enter_context(private))  # only the grader can look into it
            shared = sound.zygote if sound and layer not in INSIDE else None
            self.zygote = shared or stack.enter_context(Zygote(cpu_seconds=90))
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setattr(executor, "Zygote", lambda **_: contextlib.nullcontext(self.zygote))
            self._classes = 0
            self._references: Path = sound._references if sound else self._folder / "reference"
            self._references.mkdir(exist_ok=True)
            self.alone = sound.alone if sound else self._graded_alone()
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _graded_alone(self) -> dict[str, Result]:
        results = self.grade([], ALL_ASSIGNMENTS).honest
        return {student: results[student] for student in HONEST}

    def grade(self, attacks: Sequence[Attack], honest: Mapping[str, str] = HONEST) -> Run:
        """Grade attackers among honest students, in this process, always with the same seed.

        The references are observed once for all classes of an arena.
        """
        run = Run({attack.name: attack for attack in attacks})
        self._classes += 1
        submissions = self._folder / str(self._classes) / "submissions"
        out = submissions.with_name("results")
        _hand_in(submissions, attacks, honest, self._world)
        out.mkdir()
        (out / "reference").symlink_to(self._references)
        (out / "run.json").write_text(json.dumps({"seed": _SEED}), encoding="utf-8")
        _forget_peak_memory()
        before, begun = _peak_memory(), time.monotonic()
        with _stopwatch(run):
            outcome = grade(COURSE, submissions, out, Options(jobs=2, limits=self._limits), lambda *_: None)
        run.wall, run.growth = time.monotonic() - begun, _peak_memory() - before
        run.patience = self._limits.notebook * (0.9 if self._limits == NO_LIMITS else 1.5)
        _collect(run, outcome, out)
        self._look_for_traces(run)
        return run

    def _look_for_traces(self, run: Run) -> None:
        """What is still there after the kernel has had its time to take it down; then it has to go."""
        end, zygote = time.monotonic() + 5, self.zygote._process.pid
        while (left := self._world.survivors(zygote)) and time.monotonic() < end:
            time.sleep(0.05)
        run.survivors, run.loot = left, self._world.loot()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._world.tidy()


def harms(attack: Attack, run: Run, alone: dict[str, Result]) -> list[str]:
    """What an attack did, and what was done in its class; nothing, if it was stopped."""
    return own_harms(attack, run) + common_harms(run, alone)


def own_harms(attack: Attack, run: Run) -> list[str]:
    """What can be laid at one attacker's door."""
    results = run.results.get(_notebook(attack), [])
    if len(results) != 1:
        return [f"has {len(results)} results"]
    (result,) = results
    full = {q["id"] for q in result["questions"] if q["score"] == q["max_score"]}
    lost = sorted({*attack.keeps} - full)
    found = [f"got {attack.question}"] if attack.question in full else []
    found += [f"took points of {', '.join(lost)}"] if lost else []
    if run.seconds.get(_notebook(attack), 0) > run.patience:
        found.append(f"hangs ({run.seconds[_notebook(attack)]:.0f} s)")
    if attack.shows is not None:
        places = attack.where or run.shown
        found += [f"shows in {place}" for place in places if attack.shows in run.shown[place]]
    missing = set(attack.flags) - {flag["what"] for flag in result["flags"]}
    return found + [f"is not flagged: {what}" for what in sorted(missing)]


def common_harms(run: Run, alone: dict[str, Result]) -> list[str]:
    """What somebody in the class did."""
    found = [f"changed {student}'s result" for student in alone if run.honest.get(student) != alone[student]]
    found += ["left processes"] if run.survivors else []
    found += [f"wrote {path}" for path in run.loot]
    return found + ([f"cost the grader {run.growth >> 20} MB"] if run.growth > MOST_GROWTH else [])


def _hand_in(submissions: Path, attacks: Sequence[Attack], honest: Mapping[str, str], around: World) -> None:
    for attack in attacks:
        neighbour = around.neighbour() if NEIGHBOUR in "".join(attack.cells) else {}
        sources = attack.sources(COURSE, around.places() | neighbour)
        write_notebook(submissions / attack.student / f"{attack.stem}.ipynb", sources)
    for student, stem in honest.items():
        write_notebook(submissions / student / f"{stem}.ipynb", list(COURSE.assignments[stem].reference))
    if "honest-cy" in honest:
        partly = COURSE.root / "submissions" / "lea" / "01_leaves.ipynb"
        shutil.copy(partly, submissions / "honest-cy" / partly.name)


@contextlib.contextmanager
def _stopwatch(run: Run) -> Iterator[None]:
    """Take the time for which each notebook is observed."""
    evidence = class_observer.ClassObserver._observed

    def timed(self: object, submission: Submission, **options: object) -> object:
        begun = time.monotonic()
        try:
            return evidence(self, submission, **options)
        finally:
            run.seconds[submission.relative] = time.monotonic() - begun

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_observer.ClassObserver, "_observed", timed)
        yield


def _without_code(markdown: str) -> str:
    """Markdown without its blocks of code, in which nothing is markup: a student's own code stands there."""
    lines = markdown.split("\n")
    for token in MarkdownIt().parse(markdown):
        if token.type == "fence" and token.map:
            begin, end = token.map
            lines[begin:end] = [""] * (end - begin)
    return "\n".join(lines)


def _collect(run: Run, outcome: RunSummary, out: Path) -> None:
    for row in outcome.results:
        path = out / "submissions" / row.student / f"{row.name}.json"
        result = json.loads(path.read_text(encoding="utf-8"))
        run.results.setdefault(result["notebook"], []).append(result)
        if result["student"] in ALL_ASSIGNMENTS:
            del result["provenance"]["graded_at"]
            run.honest[result["student"]] = result
    for path in out.rglob("*"):
        if path.suffix in _READ_BY_PEOPLE:
            name = path.name if path.parent == out else f"feedback{path.suffix}"
            text = path.read_text(encoding="utf-8")
            run.shown[name] = run.shown.get(name, "") + (
                _without_code(text) if path.suffix == ".md" else text
            )
    run.shown["terminal"] = _printed(outcome, out)


def _printed(outcome: RunSummary, out: Path) -> str:
    """What the command line shows of the class on a terminal that can do everything."""
    screen = io.StringIO()
    console = partial(Console, file=screen, force_terminal=True, width=300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_table, "Console", console)
        patch.setattr(class_table, "_MAX_ROWS", len(outcome.results))
        class_table.print_class(outcome, out)
    return screen.getvalue()


def _peak_memory() -> int:
    """The most memory this process ever had at once, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def _forget_peak_memory() -> None:
    """Let the peak start anew, where the kernel lets us."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
