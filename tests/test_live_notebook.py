"""Every explorer in a live notebook: one real JupyterLab, one real kernel, one browser for all of them.

Its controls there show the state that the kernel holds: after Python sets every trait, and after every control was used
in the notebook. What an explorer draws of a state is tested on pages.
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress

import nbformat.v4 as nbf
import pytest
from explorers import ALL, random_explorer

from gru_book.widgets import EXPLORERS

CELLS = (
    "import json\nfrom pathlib import Path\nfrom IPython.display import display\n"
    "from gru_book.widgets import EXPLORERS\n"
    "shown = {name: cls() for name, cls in EXPLORERS.items()}",
    "for name, state in json.loads(Path('wanted.json').read_text()).items():\n"
    "    for key, value in state.items():\n        setattr(shown[name], key, value)",
    "Path('held.json').write_text(json.dumps({name: each.state() for name, each in shown.items()}));",
    "display(*shown.values())",
)


@contextmanager
def jupyter_server(folder):
    """A Jupyter server of our own on a free port, with nothing of the user's settings; yields its address."""
    config = {
        "ServerApp": {"root_dir": str(folder / "notebooks"), "allow_root": True, "port": 0, "terminals_enabled": False},
        "IdentityProvider": {"token": ""},
    }
    names = {f"JUPYTER_{what.upper()}_DIR": what for what in ("config", "data", "runtime")}
    names |= {"HOME": "home", "IPYTHONDIR": "ipython"}
    for name in names.values():
        (folder / name).mkdir()
    (folder / "config" / "jupyter_server_config.json").write_text(json.dumps(config), "utf-8")
    environment = os.environ | {variable: str(folder / name) for variable, name in names.items()}
    with (folder / "log.txt").open("w") as log:
        command = [sys.executable, "-m", "jupyterlab", "--no-browser"]
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield _address(folder, server)
    finally:
        server.terminate()
        server.wait()


def _address(folder, server, patience=60):
    """Where the server says it listens, once it answers."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and server.poll() is None:
        for file in (folder / "runtime").glob("jpserver-*.json"):
            with suppress(OSError, ValueError, KeyError):
                url = json.loads(file.read_text("utf-8"))["url"]
                urllib.request.urlopen(f"{url}api/status", timeout=5).close()
                return url
        time.sleep(0.2)
    pytest.fail(f"The Jupyter server did not start:\n{(folder / 'log.txt').read_text('utf-8')[-3000:]}")


# anywidget 0.11 gives up an explorer whose module is not there after two seconds. A reader opens one at a time; for
# thirteen at once a busy machine takes longer, and how fast they load is not what is tested here.
PATIENCE = "const timeout = AbortSignal.timeout; AbortSignal.timeout = ms => timeout.call(AbortSignal, 30 * ms)"


# The sliders that do not show the state of their explorer, which in the kernel is this.
UNLIKE = """states => Object.entries(states).flatMap(([name, state]) =>
  [...document.querySelectorAll(`.gru-${name}[role=group] input[type=range]`)].filter(input => {
    const value = state[input.dataset.key], shown = Math.min(input.max, Math.max(input.min, value));
    return typeof value === 'number' && Math.abs(input.value - shown) > input.step / 2 + 1e-9;
  }).map(input => `${name}: slider ${input.dataset.key}`))"""


class Lab:
    """A notebook with the cells above, open in JupyterLab."""

    def __init__(self, page, folder):
        self.page, self.folder, self.code = page, folder, page.locator(".jp-CodeCell")

    def run(self, nth):
        """Execute a cell; JupyterLab may not be listening yet, so ask until the prompt shows that it heard."""
        prompt = self.code.nth(nth).locator(".jp-InputPrompt")
        for _ in range(20):
            for answer in self.page.locator(".jp-Dialog .jp-mod-accept").all():
                answer.click()  # while a busy machine starts, JupyterLab may ask for the kernel that the notebook names
            self.code.nth(nth).locator(".cm-content").click()
            self.page.keyboard.press("Control+Enter")
            for _ in range(10):
                if re.search(r"[*\d]", prompt.inner_text()):
                    return
                self.page.wait_for_timeout(50)
        pytest.fail(f"cell {nth} does not run")

    def held(self):
        """The states that the kernel holds."""
        file = self.folder / "held.json"
        file.unlink(missing_ok=True)
        self.run(2)
        for _ in range(100):
            with suppress(FileNotFoundError, ValueError):
                return json.loads(file.read_text("utf-8"))
            self.page.wait_for_timeout(100)
        pytest.fail("the kernel does not answer")

    def settled(self):
        """The states in the kernel, once page and kernel agree; messages between them take a moment."""
        for _ in range(20):
            states = self.held()
            found = self.page.evaluate(UNLIKE, states)
            if not found:
                return states
            self.page.wait_for_timeout(300)
        pytest.fail(f"page and kernel disagree: {found}")


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    """The notebook, every explorer on the screen; one server for all tests here."""
    root = tmp_path_factory.mktemp("jupyter")
    folder = root / "notebooks"
    folder.mkdir()
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbf.new_notebook(cells=[nbf.new_code_cell(cell) for cell in CELLS], metadata=kernel)
    (folder / "explorers.ipynb").write_text(json.dumps(notebook), "utf-8")
    with jupyter_server(root) as url:
        context = browser.new_context(viewport={"width": 1400, "height": 1600})
        page = context.new_page()
        page.set_default_timeout(30_000)
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.add_init_script(PATIENCE)
        page.goto(f"{url}lab/tree/explorers.ipynb?reset")
        lab = Lab(page, folder)
        lab.code.nth(3).wait_for()
        lab.run(0)
        lab.run(3)
        for name in ALL:
            page.locator(f".gru-{name}[role=group] svg").first.wait_for()
        yield lab
        context.close()
        assert complaints == []


USE_EVERY_CONTROL = """name => {
  const root = document.querySelector(`.gru-${name}[role=group]`);
  const tell = (input, event) => input.dispatchEvent(new Event(event, { bubbles: true }));
  for (const input of root.querySelectorAll('input[type=text]')) {
    input.value = input.value.slice(0, -1);
    tell(input, 'input');
  }
  const names = new Set([...root.querySelectorAll('input[type=radio]')].map(input => input.name));
  for (const group of names) {
    [...root.querySelectorAll(`input[name="${group}"]:not(:checked):not(:disabled)`)].at(-1)?.click();
  }
  root.querySelector('[data-token]:not([aria-pressed=true])')?.click();
  for (const input of root.querySelectorAll('input[type=range]')) {
    if (input.disabled) continue;
    const [low, high, step] = [input.min, input.max, input.step].map(Number);
    const third = low + Math.round((high - low) / step / 3) * step;
    input.value = Number(input.value) === third ? low : third;
    tell(input, 'input');
  }
}"""


def test_live_notebook_shares_every_trait_both_ways_and_leaves_the_arrow_keys_to_sliders(lab):
    """Numbers, words, lists and texts: set from Python they arrive in the page, changed in the page in Python.

    JupyterLab moves between cells with the arrow keys.
    """
    assert lab.settled() == {name: cls().state() for name, cls in EXPLORERS.items()}, "as they were made"
    wanted = {name: random_explorer(name, 11).state() for name in ALL}
    (lab.folder / "wanted.json").write_text(json.dumps(wanted), "utf-8")
    lab.run(1)
    assert lab.settled() == wanted
    for name in ALL:
        lab.page.evaluate(USE_EVERY_CONTROL, name)
        slider = lab.page.locator(f".gru-{name}[role=group] input[type=range]:visible:enabled").first
        before = slider.input_value()
        slider.press("ArrowLeft" if float(before) >= float(slider.get_attribute("max")) else "ArrowRight")
        assert slider.input_value() != before, name
    lab.page.locator(".gru-reorder .ex-chip").first.press("ArrowRight")
    after = lab.settled()
    assert [name for name in ALL if after[name] == wanted[name]] == [], "nothing that was changed arrived in Python"
