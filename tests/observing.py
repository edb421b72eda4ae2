"""Observes cells that a test made up, by requests it made up."""

from dataclasses import dataclass
from textwrap import dedent, indent

from grader.notebooks.reader import Cell
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe
from grader.sandbox.plan import ObservationPlan, Request, TimeLimits

QUICK = TimeLimits(cell=1, question=2, notebook=20)
# Long enough to be found in memory by its halves; stands in the environment of this process.
SECRET = "the-outside-keeps-this-" + "to-itself-whatever-a-notebook-does"  # whole in no file


@dataclass(frozen=True)
class Seen:
    """Evidence, by the short names tests use."""

    evidence: Evidence

    def __getitem__(self, name):
        """The answer to the request of this name."""
        return self.evidence.outcome(name)

    @property
    def status(self):
        return self.evidence.names

    @property
    def raised(self):
        """The cells that failed: what they raised (class and text), or why they were left out."""
        return {
            cell.cell: cell.fault or f"{cell.raised.type}: {cell.raised.text}" for cell in self.evidence.cells
        }


def request(name, body, *, seed=1, seconds=5.0, **options):
    """A request as it is sent; `body` are its statements, or the expression it returns."""
    lines = dedent(body).strip()
    if "\n" not in lines and not lines.startswith(("return", "raise")):
        lines = f"return {lines}"
    return Request(name, f"def {name}(student):\n{indent(lines, '    ')}", seed, seconds, **options)


def look(zygote, cells, *, limits=QUICK, stubs=None, demonstrations=(), questions=None, **requests):
    """Observe cells (a text or several), some of them perhaps as they were handed out.

    `requests` gives for each function a request, several, or the expression that the one request of the
    function's name returns. Stubs take no argument where none are given. `questions` has the ids
    of functions.
    """
    cells = [cells] if isinstance(cells, str) else cells
    numbered = [Cell(number, cell) for number, cell in enumerate(cells, start=1)]
    asked = {name: _requests(name, given) for name, given in requests.items()}
    stubs = {name: f"def {name}():\n    ..." for name in asked} | (stubs or {})
    plan = ObservationPlan(stubs, asked, tuple(demonstrations), questions or {})
    return Seen(observe(zygote, numbered, plan, limits))


def _requests(name, given):
    if isinstance(given, str):
        return (request(name, given),)
    return (given,) if isinstance(given, Request) else tuple(given)
