"""What is known of the place where notebooks are observed."""

import sys
from importlib.metadata import version
from platform import python_version

from grader.grading.executor import environment_fingerprint, torch_version


def test_surroundings_are_what_evidence_depends_on():
    """The inside's code, Python, torch and every other package, once each; not pip, not this package."""
    known = environment_fingerprint()
    names = [entry.partition(" ")[0] for entry in known]
    assert len(set(names)) == len(names)
    assert {f"python {python_version()}", f"numpy {version('numpy')}"} <= set(known)
    assert {"inside", "torch", "ipython"} <= set(names)
    assert not {"pip", "autograd_grader"} & set(names)
    assert torch_version(known) == version("torch").partition("+")[0]
    assert torch_version(["python 3.12.0"]) is None


def test_a_new_package_is_noticed(tmp_path, monkeypatch):
    before = environment_fingerprint()
    (tmp_path / "torch_geometric-2.7.0.dist-info").mkdir()
    (tmp_path / "notes-1.txt").touch()
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path), "", str(tmp_path / "archive.zip")])
    assert set(environment_fingerprint()) - set(before) == {"torch_geometric 2.7.0"}
