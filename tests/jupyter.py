"""JupyterLab for tests: a server on loopback with folders of its own, and its notebooks in a browser's page.

Cells are run through JupyterLab's own application, whose promises say when a cell has ended, so that nothing
here waits for a time to pass. What is typed goes through the keyboard.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from browser import missing

ROOT = Path(__file__).resolve().parents[1]
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}

_TOKEN = "the-token-of-a-test"
_SECONDS = 120  # for anything on a busy machine: only what hangs takes longer
_FOLDERS = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
_SETTINGS = {  # of JupyterLab's extensions, that differ from their own
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # cells out of sight are on the page, too
}

_OPEN = """async path => {
    const app = window.jupyterapp;
    await app.restored;
    const how = {path, factory: "Notebook", kernel: {name: "python3"}};  // no dialog asks for a kernel
    const panel = await app.commands.execute("docmanager:open", how);
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.revealed;
    return panel;
}"""
_RUN = """async ([panel, place]) => {
    panel.content.activeCellIndex = place;
    await window.jupyterapp.commands.execute("notebook:run-cell");
    return true;
}"""
_HAS_RUN = """([panel, place, before]) => {
    const {model, node} = panel.content.widgets[place];
    const shown = [...node.querySelectorAll(".jp-OutputArea-output")];
    return model.executionCount > before && node.querySelector(".jp-InputPrompt").textContent !== "[*]:"
        && shown.length === model.outputs.length && shown.every(output => output.childNodes.length);
}"""
_WEARS = """theme => document.body.dataset.jpThemeName === theme
    && !document.getElementById("jupyterlab-splash")"""
_EXECUTE = """async ([panel, code]) => {
    const told = await panel.sessionContext.session.kernel.requestExecute({code, silent: true}).done;
    return told.content.status === "ok";
}"""


@contextmanager
def served(folder, home):
    """The address of a JupyterLab which shows a folder; its process and its kernels end when the block does.

    Args:
        folder: whose notebooks are opened.
        home: a folder for what Jupyter and its kernels keep.
    """
    if find_spec("jupyterlab") is None:
        missing("JupyterLab is not installed")
    for name, settings in _SETTINGS.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), encoding="utf-8")
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": 0,
        "ServerApp.root_dir": folder,
        "IdentityProvider.token": _TOKEN,
        "LabApp.user_settings_dir": home / "settings",
        "LabApp.workspaces_dir": home / "workspaces",
        "LabApp.extension_manager": "readonly",  # asks no index
    }
    flags = ["--no-browser", "--allow-root", "--expose-app-in-browser"]
    command = [sys.executable, "-m", "jupyterlab", *flags, *(f"--{key}={options[key]}" for key in options)]
    folders = {name: str(home / name.lower()) for name in _FOLDERS}
    environment = {**os.environ, **folders, "PYTHONPATH": str(ROOT)}
    with (home / "log.txt").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        yield _address(server, home)
    finally:
        server.terminate()  # it ends its kernels; they also end by themselves without it
        try:
            server.wait(_SECONDS)
        finally:
            server.kill()
            server.wait()


def _address(server, home):
    """Where a server answers, once it says so."""
    said = home / "jupyter_runtime_dir" / f"jpserver-{server.pid}.json"
    deadline = time.monotonic() + _SECONDS
    while True:
        if said.exists() and (text := said.read_text(encoding="utf-8")).endswith("}"):
            return f"{json.loads(text)['url']}lab?token={_TOKEN}"
        log = (home / "log.txt").read_text(encoding="utf-8")
        assert server.poll() is None, f"JupyterLab ended: {log}"
        assert time.monotonic() < deadline, f"JupyterLab did not start: {log}"
        time.sleep(0.05)


@contextmanager
def opened_lab(browser, address, folder):
    """A page with the JupyterLab that shows a folder."""
    with browser.new_context(viewport={"width": 1100, "height": 900}) as context:
        context.set_default_timeout(_SECONDS * 1000)
        page = context.new_page()
        page.goto(address)
        page.wait_for_function("window.jupyterapp !== undefined")
        yield Lab(page, folder)


class Lab:
    """JupyterLab in a page."""

    def __init__(self, page, folder):
        self.page = page
        self.folder = folder

    def open(self, path):
        """Open a notebook of the folder, in a kernel of its own."""
        notebook = json.loads(path.read_text(encoding="utf-8"))
        panel = self.page.wait_for_function(_OPEN, arg=str(path.relative_to(self.folder)))
        return OpenNotebook(self.page, panel, ["".join(cell["source"]) for cell in notebook["cells"]])

    def wear(self, theme):
        """Show everything in a theme, ``light`` or ``dark``."""
        name = THEMES[theme]
        self.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", name)
        self.page.wait_for_function(_WEARS, arg=name)


class OpenNotebook:
    """A notebook in JupyterLab, with a running kernel; a question is known by its check as handed out."""

    def __init__(self, page, panel, sources):
        self._page = page
        self._panel = panel
        checks = (place for place, source in enumerate(sources) if source.startswith("grader.check("))
        self._checks = {sources[place].split('"')[1]: place for place in checks}

    def answer(self, question):
        """The place of a question's answer."""
        return self._checks[question] - 1

    def check(self, question):
        """The place of a question's check."""
        return self._checks[question]

    def put(self, place, source):
        """Let a cell have a source."""
        put = "([panel, place, text]) => panel.content.widgets[place].model.sharedModel.setSource(text)"
        self._page.evaluate(put, [self._panel, place, source])

    def type(self, place, source):
        """Type over a cell's source, as students do: JupyterLab indents and closes brackets meanwhile."""
        self.cell(place).locator(".cm-content").click()
        self._page.keyboard.press("Control+A")
        self._page.keyboard.type(source)

    def run(self, place):
        """Run a cell to its end, and show what it gives."""
        with self._to_its_end(place):
            self._page.wait_for_function(_RUN, arg=[self._panel, place])
        return self.cell(place)

    def run_by_key(self, place):
        """Run by Shift+Enter the cell that has the focus, which is this, and select the next."""
        with self._to_its_end(place):
            self._page.keyboard.press("Shift+Enter")
        return self.cell(place)

    @contextmanager
    def _to_its_end(self, place):
        """Wait until a cell has run once more, and all it gives is on the page."""
        count = "([panel, place]) => panel.content.widgets[place].model.executionCount ?? 0"
        before = self._page.evaluate(count, [self._panel, place])
        yield
        self._page.wait_for_function(_HAS_RUN, arg=[self._panel, place, before])

    def execute(self, code):
        """Run code in the kernel that no cell holds."""
        self._page.wait_for_function(_EXECUTE, arg=[self._panel, code])

    def outputs(self, place):
        """The outputs of a cell, as a file holds them."""
        return self._of_model(place, "model.outputs.toJSON()")

    def is_trusted(self, place):
        """Whether JupyterLab shows a cell's outputs without removing anything from them."""
        return self._of_model(place, "model.trusted")

    def _of_model(self, place, expression):
        """The value of an expression about a cell's `model`."""
        look = (
            f"([panel, place]) => {{ const {{model}} = panel.content.widgets[place]; return {expression}; }}"
        )
        return self._page.evaluate(look, [self._panel, place])

    def cell(self, place):
        """A cell on the page."""
        panel = self._panel.evaluate("panel => panel.id")
        return self._page.locator(f"[id='{panel}'] .jp-Notebook .jp-Cell").nth(place)
