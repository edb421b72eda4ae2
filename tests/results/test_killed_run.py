"""A run that is killed at any write loses nothing: the next one gives what an undisturbed run gives."""

import json
import shutil
from pathlib import Path

import pytest
from resuming import differences, results
from tiny_class import read_csv
from tiny_course import HALF, RIGHT

STUDENTS = ("ada", "ben", "cem")


class KilledError(BaseException):
    """Stands for SIGKILL, which `test_resume.py` sends: nothing handles it."""


def die(klass, files):
    """Begin a run that ends before its file of that number is complete; whether it came so far."""
    left, replace = files, Path.replace

    def replace_or_die(path, target):
        nonlocal left
        left -= klass.out in Path(target).parents
        if left < 0:
            raise KilledError
        return replace(path, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", replace_or_die)
        try:
            klass.grade()
        except KilledError:
            return True
    return False


def begin_again(out, seed):
    """Let the next run go on with a run that was forced, and stopped at once."""
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    record |= {"finished": False, "forced": True, "seed": seed}
    (out / "run.json").write_text(json.dumps(record), encoding="utf-8")


def logged(out):
    return [tuple(line.values())[1:] for line in read_csv(out / "changes.csv")]


def test_eight_kills_and_an_edited_gradebook(klass):
    """Killed eight times while all is graded again: results, evidence and pages belong together at the end.

    An edited gradebook is kept once, whichever run came so far to see it.
    """
    for student in STUDENTS:
        klass.hand_in(student, RIGHT)
    klass.grade()
    klass.hand_in("ben", HALF)
    begin_again(klass.out, seed=7)
    undisturbed = klass.out.with_name("undisturbed")
    shutil.copytree(klass.out, undisturbed)
    assert klass.run("grade", klass.submissions, "--out", undisturbed).exit_code == 0
    book = klass.out / "gradebook.csv"
    edited = book.read_text(encoding="utf-8").replace("ada,01_tiny,6", "ada,01_tiny,5")
    book.write_text(edited, encoding="utf-8")

    kills = [die(klass, files) for files in (1, 2, 3, 4, 3, 2, 4, 3)]
    assert all(kills), kills
    said = klass.run("grade", klass.submissions, "--out", klass.out)
    assert said.exit_code == 0, said.output

    (kept,) = klass.out.glob("gradebook.edited*.csv")
    assert kept.read_text(encoding="utf-8") == edited
    kept.unlink()
    assert {*logged(klass.out)} == {*logged(undisturbed)} != set()
    for out in (klass.out, undisturbed):
        (out / "changes.csv").unlink()
    assert not differences(klass.out, results(undisturbed))
    assert "This run: 0 new" in klass.grade()


@pytest.mark.parametrize(
    "files", [7, 8, *(pytest.param(n, marks=pytest.mark.long) for n in (4, 5, 6, 9, 10))]
)
def test_killed_at_its_end_no_gradebook_passes_for_edited(klass, files):
    """A kill between the gradebook and ``run.json`` is no edit, also if the class has changed since."""
    for student in STUDENTS:
        klass.hand_in(student, RIGHT)
    klass.grade()
    klass.hand_in("ben", HALF)
    die(klass, files)
    klass.hand_in("ben", RIGHT)
    die(klass, files)
    klass.hand_in("cem", HALF)
    assert klass.run("grade", klass.submissions, "--out", klass.out).exit_code == 0
    assert not [*klass.out.glob("gradebook.edited*.csv")]
    assert klass.scores() == {"ada": "6", "ben": "6", "cem": "1.5"}


@pytest.mark.parametrize("files", [2, 3, 4, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 5))])
def test_other_evidence_is_never_beside_an_older_result(klass, files):
    """A run that is killed while it grades again leaves no result that the next one takes for current."""
    klass.grade(ada=RIGHT)
    path = klass.out / "submissions" / "ada" / "01_tiny.json"
    older = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(older | {"score": 1.0}), encoding="utf-8")
    begin_again(klass.out, seed=7)
    assert die(klass, files)
    klass.grade()
    assert (klass.result("ada")["score"], klass.seed("ada"), klass.scores()) == (6, 7, {"ada": "6"})
