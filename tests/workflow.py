"""Runs the steps of a GitHub workflow on this machine, one after the other, as a runner would."""

import re
import subprocess
from pathlib import Path

import yaml

_EXPRESSION = re.compile(r"\$\{\{ (\S+) \}\}")


def read_workflow(path: Path):
    """A workflow as data; YAML takes its key `on` for a truth."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    workflow["on"] = workflow.pop(True)
    return workflow


def run_steps(workflow, job, workspace, surroundings, values):
    """Run the steps of a job that are commands; what others would set up has to be there.

    `values` are those of expressions such as `github.token`. What each step printed, by its name, up to the
    one that failed, and the exit status of the last.
    """
    steps = [step for step in workflow["jobs"][job]["steps"] if "run" in step]
    printed, status = {}, 0
    for step in steps:
        given = {**workflow["jobs"][job].get("env", {}), **step.get("env", {})}
        own = {key: _EXPRESSION.sub(lambda match: values[match[1]], text) for key, text in given.items()}
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=workspace,
            env={**surroundings, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        printed[step["name"]], status = ran.stdout, ran.returncode
        if status:
            break
    return printed, status
