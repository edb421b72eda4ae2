"""Outside: what several test files share."""

from contextlib import nullcontext

import pytest
from browser import browser, visit  # noqa: F401 - fixtures
from observing import SECRET

from grader import doctor, mutation_testing, station
from grader.zygote import Zygote


@pytest.fixture(scope="session")
def zygote():
    """The one process of the whole test run that workers are forked from; its surroundings hold a secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_OF_THE_OUTSIDE", SECRET)
        with Zygote() as started:
            yield started


@pytest.fixture
def shared_zygote(zygote, monkeypatch):
    """Lets grading and the doctor use the one zygote instead of starting their own, seconds each time."""
    for module in (doctor, mutation_testing, station):
        monkeypatch.setattr(module, "Zygote", lambda **_: nullcontext(zygote))
    return zygote
