"""A browser for tests: the system's Chromium, driven by Playwright, without a network.

Playwright's loop stays the running one of its thread while a browser is open, so a browser lives as long as
one module's tests: whoever uses asyncio in another module is not disturbed.
"""

import os
import shutil
from contextlib import ExitStack, contextmanager

import pytest

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage"]  # a container has neither user namespaces nor room


def missing(reason):
    """Skip where there is no browser; fail where one was promised."""
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(f"REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(f"pages are not looked at: {reason}")


def installed():
    """Where the system's browser is, or None."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


@pytest.fixture(scope="module")
def browser():
    """The browser of a module's tests."""
    path = installed()
    if path is None:
        missing(f"none of {', '.join(_BROWSERS)} is installed")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everybody has it
    except ImportError:
        missing("Playwright is not installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield chromium
        chromium.close()


@contextmanager
def opened(browser, path, **options):
    """A page of its own that shows a file; what the browser complains of, and what it asked for beside it.

    Args:
        browser: the fixture.
        path: the file.
        options: of Playwright's ``new_context``, such as ``color_scheme="dark"``.
    """
    complaints = []
    address = path.as_uri()
    with browser.new_context(offline=True, **options) as context:
        page = context.new_page()
        page.on("console", lambda said: said.type in {"error", "warning"} and complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked.url != address and complaints.append(asked.url))
        page.goto(address)
        yield page, complaints


@pytest.fixture
def visit(browser):
    """Open files; the test fails if one of them says an error or asks for anything but itself."""
    with ExitStack() as pages:
        every = []

        def visit(path, **options):
            page, complaints = pages.enter_context(opened(browser, path, **options))
            every.append(complaints)
            return page

        yield visit
        assert not any(every), every
