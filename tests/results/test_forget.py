"""A student who is forgotten: nothing about them stays in the results, and nothing of the others goes."""

import shutil

from tiny_course import HALF, RIGHT


def forget(klass, name):
    return klass.run("forget", name, "--out", klass.out)


def test_nothing_about_a_forgotten_student_stays(klass):
    """Each file that is removed is listed; what the others have stays, and the next run completes it."""
    klass.grade(ada=RIGHT, kim=RIGHT)
    klass.grade(ada=HALF, kim=HALF)
    book = klass.out / "gradebook.csv"
    book.write_text(book.read_text(encoding="utf-8").replace(",", ";"), encoding="utf-8")
    klass.grade()
    before = set(klass.files())
    of_ada = klass.files("submissions/ada", "feedback/ada", "evidence/ada", "reference")
    ended = forget(klass, "kim")
    assert ended.exit_code == 0, ended.output
    assert not [path for path, content in klass.files().items() if b"kim" in content or "kim" in path.parts]
    assert klass.files("submissions/ada", "feedback/ada", "evidence/ada", "reference") == of_ada
    told = {line.removeprefix("removed ") for line in ended.stdout.splitlines()}
    gone = {str(path.relative_to(klass.out)) for path in before - set(klass.files())}
    assert told == gone | {"changes.csv: 1 line", "gradebook.edited.csv: 1 line"}
    shutil.rmtree(klass.submissions / "kim")
    out = klass.grade()
    assert "This run: 0 new" in out
    assert "changed" not in out
    assert klass.scores() == {"ada": "1.5"}


def test_a_forgotten_student_without_a_submission_leaves_no_trace(klass):
    """A student of the roster who is excused has a page, and rows of tables; all of them go."""
    klass.hand_in("ada", RIGHT)
    (klass.submissions / "roster.csv").write_text("student\nada\nkim\n", encoding="utf-8")
    excused = "student,assignment,question,points,comment\nkim,01_tiny,,excused,ill\n"
    (klass.submissions / "adjustments.csv").write_text(excused, encoding="utf-8")
    klass.grade()
    assert klass.run_record()["excused"] == [["kim", "01_tiny"]]
    assert forget(klass, "kim").exit_code == 0
    assert not [path for path, content in klass.files().items() if b"kim" in content or "kim" in path.parts]


def test_nobody_is_forgotten_by_mistake(klass):
    klass.grade(kim=RIGHT)
    before = klass.files()
    for name in ("kin", "..", ""):
        ended = forget(klass, name)
        assert ended.exit_code == 2
        assert ended.stderr.startswith("grader: ")
    assert klass.files() == before
    assert "is not a results folder" in klass.run("forget", "kim", "--out", klass.out / "none").stderr


def test_a_student_is_found_by_the_roster(klass):
    klass.hand_in("kl22", RIGHT)
    (klass.submissions / "roster.csv").write_text("student,name\nkl22,Kim Lee\n", encoding="utf-8")
    klass.grade()
    assert forget(klass, "Kim Lee").exit_code == 0
    assert not (klass.out / "submissions" / "kl22").exists()


def test_without_results_nothing_outside_is_removed(klass):
    (klass.out / "submissions").mkdir(parents=True)
    kept = klass.out.parent / "kept.html"
    kept.write_text("mine", encoding="utf-8")
    for name in ("..", "../../kept", "/"):
        assert forget(klass, name).exit_code == 2
    assert kept.exists()
