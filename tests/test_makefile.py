"""`make` sets up .venv with the build of PyTorch that suits the machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CPU = "https://download.pytorch.org/whl/cpu"

#: Stands in for Python: it makes a .venv of itself, notes what pip is asked for, and may refuse an index.
PYTHON = """\
#!/bin/sh
case "$*" in
  "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  "-m pip install"*) echo "$*" >> pip.txt
    case "$*" in *"--index-url $REFUSED torch") exit 1 ;; esac ;;
esac
"""


def executable(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def set_up(folder, *variables, refused="nothing"):
    """Run `make` for a .venv: what it says, and the indexes that torch is asked of."""
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).touch()
    executable(folder / "bin/python3", PYTHON)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["make", "-s", ".venv/.ready", *variables],
        cwd=folder,
        env={"PATH": path, "REFUSED": refused},
        capture_output=True,
        text=True,
        check=True,
    )
    *torch, _ = (folder / "pip.txt").read_text(encoding="utf-8").splitlines()
    assert all(line.endswith(" torch") for line in torch)
    indexes = [line.partition("--index-url ")[2].removesuffix(" torch") or "default" for line in torch]
    return done.stdout, indexes


@pytest.mark.parametrize(
    ("variables", "refused", "indexes", "said"),
    [
        (["HAS_GPU=false"], "nothing", [CPU], "PyTorch's CPU build was taken"),
        (["HAS_GPU=false"], CPU, [CPU, "default"], f"could not be fetched from {CPU}"),
        (["HAS_GPU=true"], "nothing", ["default"], "There is an NVIDIA GPU"),
        (["TORCH_INDEX=https://a.org/x"], "nothing", ["https://a.org/x"], "comes from https://a.org/x"),
    ],
)
def test_torch_is_taken_from_the_index_that_suits(variables, refused, indexes, said, tmp_path):
    """Without a GPU from the CPU index if that answers; a sentence says which build it became."""
    output, asked = set_up(tmp_path, *variables, refused=refused)
    assert asked == indexes
    assert said in output


def test_a_gpu_is_found_by_its_driver(tmp_path):
    executable(tmp_path / "bin/nvidia-smi", "#!/bin/sh\n")
    assert set_up(tmp_path)[1] == ["default"]


def test_an_index_that_was_asked_for_is_not_replaced(tmp_path):
    """Where TORCH_INDEX cannot be reached, `make` fails, so that nobody gets another build unknowingly."""
    with pytest.raises(subprocess.CalledProcessError):
        set_up(tmp_path, "TORCH_INDEX=https://a.org/x", refused="https://a.org/x")
