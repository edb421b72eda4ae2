"""Outside: what several test files share."""

import pytest
from observing import SECRET

from grader.zygote import Zygote


@pytest.fixture(scope="session")
def zygote():
    """The one process of this session that workers are forked from; its surroundings hold a secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_OF_THE_OUTSIDE", SECRET)
        with Zygote() as started:
            yield started
