"""Outside: what one more notebook costs, against what it costs to start.

Grades a small and a larger class of the same solved notebook in turn, so that a machine that slows
down slows both, and prints the median of each and their ratio.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "submissions" / "ada" / "01_leaves.ipynb"
SMALL, LARGE, ROUNDS = 1, 41, 3


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rounds = [(_graded(Path(folder), SMALL), _graded(Path(folder), LARGE)) for _ in range(ROUNDS)]
    one = statistics.median(small for small, _ in rounds)
    more = statistics.median((large - small) / (LARGE - SMALL) for small, large in rounds)
    lines = [
        f"one notebook, with everything started: {one:.2f} s",
        f"each further notebook:                 {more:.3f} s",
        f"ratio:                                 {one / more:.0f}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _graded(folder: Path, size: int) -> float:
    """Seconds of wall time to grade a class of this size into an empty folder."""
    submissions, out = folder / f"class-{size}", folder / f"results-{size}"
    for number in range(size):
        student = submissions / f"s{number}"
        student.mkdir(parents=True, exist_ok=True)
        shutil.copy(NOTEBOOK, student)
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "grader", "grade", str(submissions), "--out", str(out)]
    begun = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
