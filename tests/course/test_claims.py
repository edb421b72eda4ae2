"""Every claim about PyTorch, of texts and of the notebooks themselves, is run and taught in the course."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_course import SOURCE

from grader.course.notebook_source import read_assignment

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "claims"
WRITER = runpy.run_path(str(ROOT / "docs" / "claims.py"))
TEXTS = WRITER["claims_by_text"](FOLDER)
CLAIMS = {claim.id: claim for claims in TEXTS.values() for claim in claims}

UNTRUE = """
import warnings

def s9_1():
    seen = 3
    assert seen == 4

def s9_2():
    warnings.warn('odd')

def s9_3():
    pass
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """What does not hold, by the ids of the claims; torch stays out of this process, which forks."""
    untrue = tmp_path_factory.mktemp("claims") / "untrue.py"
    untrue.write_text(UNTRUE, encoding="utf-8")
    claimed = [path for path in FOLDER.glob("*.py") if re.search(r"(?m)^def s\d", path.read_text("utf-8"))]
    command = [sys.executable, str(FOLDER / "run.py"), str(untrue), *map(str, claimed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    lines = map(json.loads, done.stdout.splitlines())
    return {line["id"]: line["failure"] for line in lines}, done.stderr


@pytest.fixture(scope="module")
def taught():
    return WRITER["places"](read_assignment(path) for path in sorted((ROOT / "solutions").glob("*.py")))


@pytest.mark.parametrize("identity", CLAIMS)
def test_torch_does(outcome, identity):
    failures, stderr = outcome
    claim = CLAIMS[identity]
    assert identity in failures, f"{identity} was not run: {stderr}"
    assert not failures[identity], (
        f"{identity}, {claim.text!r}: this torch does not do what tests/claims/ says ({claim.truth!r}).\n"
        f"{failures[identity]}\nChange the claim's function, and the notebook that teaches it."
    )


def test_a_claim_that_does_not_hold_is_named(outcome):
    failures, _ = outcome
    assert "seen = 3" in failures["S9.1"]
    assert "UserWarning: odd" in failures["S9.2"]
    assert failures["S9.3"] == ""


def test_no_claim_is_missing():
    """The claims of each text are numbered without a gap: 14, 19, 12, 25, 28 and 16."""
    numbers = [int(claim.id.partition(".")[2]) for claims in TEXTS.values() for claim in claims]
    assert numbers == [number for size in (14, 19, 12, 25, 28, 16) for number in range(1, size + 1)]


def test_every_claim_is_taught(taught):
    """A text of a master is tagged with the id of each claim, and with no other."""
    assert taught.keys() == CLAIMS.keys(), "tag the text of a master that teaches it: `claim ID`"


def test_the_page_is_current():
    current = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert current == WRITER["page"](ROOT), "run: python docs/claims.py"


TAGGED = """
# %% [markdown] tags=["claim S3.4"]
# Told before the first section.

# %% [markdown]
# ## A section

# %%
1 + 1

# %% [markdown] tags=["claim S3.4", "claim S4.1"]
# Told below its heading.
"""


def places_in(folder, text):
    """Where a master with this text behind its title teaches claims."""
    master = folder / "01_tiny.py"
    title, blank, rest = SOURCE.partition("\n\n")
    master.write_text(title + text + blank + rest, encoding="utf-8")
    return WRITER["places"](iter([read_assignment(master)]))


def test_a_place_is_the_nearest_heading_above(tmp_path):
    """A claim may be taught in several sections, and at the beginning of a notebook."""
    notebook = "[01_tiny](../assignments/01_tiny.ipynb)"
    above, below = f"{notebook}: the beginning", f"{notebook}: A section"
    assert places_in(tmp_path, TAGGED) == {"S3.4": [above, below], "S4.1": [below]}


def test_a_text_with_a_heading_within_has_no_place(tmp_path):
    """It would be unclear to which of two sections it belongs."""
    text = '\n\n# %% [markdown] tags=["claim S3.4"]\n# Told.\n#\n# ## A section\n'
    with pytest.raises(ValueError, match="split the cell"):
        places_in(tmp_path, text)


def test_a_claim_says_what_is_true_of_it(tmp_path):
    (tmp_path / "claimed.py").write_text('def s9_1():\n    """Pigs fly."""\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"S9\.1: state the claim in the docstring"):
        WRITER["claims_by_text"](tmp_path)
