"""``Notebook``, with which a notebook checks its answers in Jupyter, VS Code and Colab.

It has those methods of Otter's class of the same name that notebooks use, and gives the same verdicts: both
run the released public tests over the names of the kernel. A check raises no error: it returns an object that
Jupyter displays.
"""

from __future__ import annotations

import inspect
import linecache
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from grader.course.assignment import BONUS_TASK
from grader.course.public_check import RETURN_MISSING
from grader.errors import GraderError
from grader.graphs.model import Graph, read_graph
from grader.runtime.names import answer_status
from grader.sandbox.plan import TimeLimits
from grader.student.check import Failure, QuestionReport, Status
from grader.student.hints import Hint, hints_to, no_hint
from grader.student.kernel import CellLog, CellRun, Printed, StoppedError, quiet, sources_of, time_limit
from grader.student.notebook import Question, StudentNotebook, open_notebook, released_notebook
from grader.student.public_tests import LastCall, failure_of, gradients_are_on, tests_in
from grader.student.unsaved import note_check
from grader.student.verdict import HintShown, Sentence, Verdict, Verdicts
from grader.text import capital, terminal_text

__all__ = ["Notebook"]

_SECONDS = "GRADER_CHECK_SECONDS"  # an environment variable with the time limit of a test
_SESSION = "JPY_SESSION_NAME"  # the environment variable in which Jupyter names the open notebook
_TYPOS = {"NameError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError"}
_LOG = "_autograd_course_log"  # the attribute of IPython's shell that holds it
_NOT_FOUND = (
    "The checks of {stem} were not found: install the course's package (README.md says how), or put the"
    " notebook that you were given into a folder .handout beside yours."
)
_NO_CALL = (
    'There is no grader.{name} here. There are grader.check("q1"), grader.check_all() and grader.hint("q1"),'
    " and for pictures `from grader import xray`. To submit, save the notebook; no export is needed."
)
_ONE_QUESTION = "grader.check takes one question: {calls}. To check all of them, call grader.check_all()."
_GRADIENTS_ARE_OFF = (
    "Gradients are switched off in this kernel, so no check can tell whether your answer is right: a cell"
    " called torch.set_grad_enabled(False), or this check is inside of torch.no_grad(). Run"
    " torch.set_grad_enabled(True) in a cell of its own, then check again."
)
_OUR_MISTAKE = (
    "This check failed by a mistake of its own ({error}). Restart the kernel and run all cells; if it happens"
    " again, tell your instructor."
)


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _shown(call: Callable[_P, _R]) -> Callable[_P, _R | Sentence]:
    """Make a method that students call return a sentence instead of raising an error."""

    @wraps(call)
    def call_or_sentence(*arguments: _P.args, **options: _P.kwargs) -> _R | Sentence:
        try:
            return call(*arguments, **options)
        except GraderError as error:
            return Sentence(str(error))
        except KeyboardInterrupt:
            return Sentence("You stopped this check.")
        except Exception as error:  # noqa: BLE001 - a traceback of ours helps no student
            return Sentence(_OUR_MISTAKE.format(error=f"{type(error).__name__}: {error}"))

    return call_or_sentence


class Notebook:
    """Checks the answers of a notebook.

    Args:
        nb_path: the name under which the notebook was released; its file may have been renamed.
        tests_dir: Otter's; it is not needed here.
        tests_url_prefix: Otter's; it is not needed here.
    """

    def __init__(
        self, nb_path: str | None = None, tests_dir: str = "", tests_url_prefix: str | None = None
    ) -> None:
        del tests_dir, tests_url_prefix
        self._path = Path(nb_path).absolute() if nb_path else None  # a cell may change the folder later
        self._folder = Path.cwd()
        self._found: StudentNotebook | None = None
        self._hints: dict[str, int] = {}  # how many hints to a question are shown
        self._passed: set[str] = set()  # questions whose last check passed
        self._without_error: set[str] = set()  # questions whose last check raised no error and no warning
        self._checked: dict[str, CellRun] = {}  # the run of a question's cell that was checked last
        self._log = _cell_log()
        _LATEST[:] = [self]

    @_shown
    def check(self, question: str = "", global_env: Any = None, *more: object) -> Verdict | None:
        """Run the public tests of a question over the caller's names; Jupyter shows the verdict."""
        if _is_graded_by_otter():
            return None
        if asked := [one for one in (global_env, *more) if isinstance(one, str)]:
            calls = (f'grader.check("{terminal_text(str(one))}")' for one in (question, *asked))
            raise GraderError(_ONE_QUESTION.format(calls=", then ".join(calls)))
        _require_gradients()
        notebook = self._notebook()
        return self._verdict(_asked(notebook, question), notebook, global_env or _callers_names())

    @_shown
    def check_all(self) -> Verdicts | None:
        """Run the public tests of all questions."""
        if _is_graded_by_otter():
            return None
        _require_gradients()
        notebook, names = self._notebook(), _callers_names()
        asked = [question for question in notebook.questions if question.check]
        return Verdicts([self._verdict(question, notebook, names) for question in asked])

    @_shown
    def hint(self, question: str = "") -> HintShown:
        """Show the next hint for a question; after the last one, repeat it."""
        asked = _asked(self._notebook(), question)
        hints = self._hints_to(asked)
        if not hints:
            raise GraderError(capital(no_hint(asked)))
        number = self._hints[asked.id] = min(self._hints.get(asked.id, 0) + 1, len(hints))
        return HintShown(asked.id, hints[number - 1], len(asked.hints))

    def _hints_to(self, question: Question) -> list[Hint]:
        """The hints for a question, without those about an error that the last check did not raise."""
        is_solved = question.id in self._without_error
        return [hint for hint in hints_to(question) if not (is_solved and hint.is_about_an_error)]

    def __getattr__(self, name: str) -> Any:
        """Any other call, such as Otter's `export`, or a misspelt one."""
        if name.startswith("_"):
            raise AttributeError(name)
        sentence = Sentence(_NO_CALL.format(name=name))
        return lambda *_, **__: sentence

    def _notebook(self) -> StudentNotebook:
        """The released notebook, or otherwise a file that contains its own checks."""
        if self._found is None:
            self._found = _find(self._path, self._folder)
        return self._found

    def _verdict(self, question: Question, notebook: StudentNotebook, names: dict[str, Any]) -> Verdict:
        function, starter, run = question.function, question.starter_cell, _NOTHING
        log, opened = self._log, Path(os.environ.get(_SESSION, ""))
        starter_id = starter.id if starter else ""
        cell, again = log.last_run(function, starter_id) if log else None, ""
        failed = cell.failure if cell and function not in cell.given else None
        status: Status = "missing"
        if function in names and question.check is None:
            status = "unchecked"
        elif function in names and failed:
            status = "fails"  # an old function, which is not the one in the cell
        elif function in names:
            run = _run(question, names, _seconds())
            status = "fails" if any(failure for _, failure in run.tests) else "passes"
            if starter and notebook.released:  # only a released notebook has the starter code
                answered = answer_status(starter.source, function, names, sources_of(linecache.cache))
                status = "untouched" if answered == "untouched" else status
        if cell:
            note_check(opened, question.id, cell.source, cell.ended)
            run = run.placed(cell)
            if self._checked.get(question.id) is cell:
                again = cell.first_line_of_its_own(starter.source if starter else "")
            self._checked[question.id] = cell
        is_outdated = cell is not None and cell.is_outdated(function, opened)
        is_older = failed is not None or is_outdated
        (self._passed.add if status == "passes" and not is_older else self._passed.discard)(question.id)
        if status == "fails" and not is_older and not again and run.is_an_attempt:
            self._hints[question.id] = self._hints.get(question.id, 0) + 1
        (self._without_error.discard if run.has_error else self._without_error.add)(question.id)
        hints = self._hints_to(question)[: self._hints.get(question.id, 0)]
        return Verdict(
            QuestionReport(question, status, run.tests),
            failed=failed,
            has_run=log is not None and log.has_run(starter_id),
            is_outdated=is_outdated,
            again=again,
            passed=frozenset(self._passed),
            checked=tuple(other.id for other in notebook.questions if other.check),
            printed=run.printed,
            graph=run.graph,
            hints=tuple(hints) if status == "fails" and not is_older else (),
        )


_LATEST: list[Notebook] = []  # the notebook of this kernel, for a cell that runs `import grader`


def check(question: str = "", *more: object) -> Verdict | Sentence | None:
    """Call ``check`` of the notebook's ``grader``, whose name `import grader` has replaced."""
    return (_LATEST or [Notebook()])[0].check(question, *more)


def check_all() -> Verdicts | Sentence | None:
    """Call ``check_all`` of the notebook's ``grader``."""
    return (_LATEST or [Notebook()])[0].check_all()


def hint(question: str = "") -> HintShown | Sentence:
    """Call ``hint`` of the notebook's ``grader``."""
    return (_LATEST or [Notebook()])[0].hint(question)


class _Run(NamedTuple):
    """The outcome of a question's tests.

    Attributes:
        tests: each test with its failure, or None.
        printed: the output of the function.
        graph: of the last call in the first failed test, or in the last test if none failed; None if nothing
            in it requires grad.
    """

    tests: tuple[tuple[str, Failure | None], ...]
    printed: Printed
    graph: Graph | None

    @property
    def is_an_attempt(self) -> bool:
        """Whether the function ran and failed a test; a typo or a missing return is not an attempt."""
        failures = [failure for _, failure in self.tests if failure]
        return any(f.kind not in _TYPOS and RETURN_MISSING not in f.text for f in failures)

    @property
    def has_error(self) -> bool:
        """Whether the answer raised an error, gave a warning, or did not run."""
        return not self.tests or bool(self.printed.warned) or any(f and not f.said for _, f in self.tests)

    def placed(self, cell: CellRun) -> _Run:
        """The same outcome, with the line of each failure in the cell that ran."""
        return self._replace(tests=tuple((said, one and cell.placed(one)) for said, one in self.tests))


_NOTHING = _Run((), Printed(), None)


def _run(question: Question, names: dict[str, Any], seconds: float) -> _Run:
    """Run the tests of a question, each with a time limit."""
    file, graph = f"<public check of {question.id}>", None
    found: list[tuple[str, Failure | None]] = []
    assert question.check is not None
    with quiet() as printed:
        for said, test in zip(question.check.tests, tests_in(question.check.source, file), strict=True):
            failure: Failure | None = None
            last = LastCall()
            try:
                with time_limit(seconds):
                    test.run(names, last)
            except KeyboardInterrupt:
                raise
            except StoppedError as error:
                late = {"text": f"was stopped after {seconds:g} s", "meaning": ""}
                found.append((said.title, Failure(**{**failure_of(error, file, names), **late})))
                break  # as in a terminal: no test runs after one that timed out
            except BaseException as error:  # noqa: BLE001 - SystemExit too is the student's function's doing
                failure = Failure(**failure_of(error, file, names))
            if not any(earlier for _, earlier in found):
                graph = last.graph
            found.append((said.title, failure))
    drawn = read_graph(graph) if graph else None
    is_any = drawn and (drawn.nodes or any(tensor.requires_grad for tensor in drawn.tensors))
    return _Run(tuple(found), printed, drawn if is_any else None)


def _find(named: Path | None, folder: Path) -> StudentNotebook:
    """The released notebook with this name, or otherwise a file that contains the checks.

    Raises:
        GraderError: there is neither.
    """
    opened = os.environ.get(_SESSION), _callers_names().get("__vsc_ipynb_file__")
    likely = [Path(path) for path in (named, *opened) if path]
    for path in likely:
        if found := released_notebook(path):
            return found
    for path in (*likely, *sorted(folder.glob("*.ipynb"))):
        with suppress(GraderError):
            found = open_notebook(path)
            if named is None or found.stem == named.stem:
                return found
    raise GraderError(_NOT_FOUND.format(stem=named.stem if named else "this notebook"))


def _asked(notebook: StudentNotebook, name: str) -> Question:
    """The question with this id or function; otherwise a GraderError that lists the questions."""
    wanted = str(name).strip()
    with suppress(GraderError):
        return notebook.question(wanted)
    ids = [question.id for question in notebook.questions if question.id != BONUS_TASK]
    end = " and a bonus task" if len(ids) < len(notebook.questions) else ""
    known = f"this notebook has {ids[0]} to {ids[-1]}{end}"
    if not wanted:
        raise GraderError(f'Name a question, as in grader.check("{ids[0]}"): {known}.')
    raise GraderError(f"There is no {terminal_text(wanted)}; {known}.")


def _require_gradients() -> None:
    """Raise GraderError if gradients are disabled: no result would be connected to a graph."""
    if not gradients_are_on():
        raise GraderError(_GRADIENTS_ARE_OFF)


def _cell_log() -> CellLog | None:
    """The log of this kernel's cells, created only once, however often the first cell runs."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return None
    log: CellLog | None = shell.__dict__.get(_LOG)
    if log is None:
        log = shell.__dict__[_LOG] = CellLog(shell)
    return log


def _callers_names() -> dict[str, Any]:
    """The names of the cell that called us."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    return frame.f_globals if frame else {}


def _is_graded_by_otter() -> bool:
    """Whether ``otter run`` runs this notebook: it runs the tests itself, once all cells have run."""
    otter = sys.modules.get("otter")
    return bool(getattr(getattr(otter, "Notebook", None), "_grading_mode", False))


def _seconds() -> float:
    """How long a test may take."""
    with suppress(ValueError):
        return float(os.environ.get(_SECONDS, TimeLimits.cell))
    return TimeLimits.cell
