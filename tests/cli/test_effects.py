"""An option that does nothing is refused, with what to do instead; every combination is in one list."""

import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.cli.effects import NO_EFFECT, written

#: A command line of each command that the list names, without the options in question.
MINIMAL = {"grade": ["class"], "release": ["--out", "out"], "check": ["01_leaves"], "doctor": []}
#: What is written for a parameter that is no flag.
WITH_VALUE = {
    "--assignment": ["--assignment", "01_leaves"],
    "--jobs": ["--jobs", "2"],
    "--question": ["--question", "q1"],
    "--scheduler": ["--scheduler", "tcp://localhost:8786"],
    "--seeds": ["--seeds", "2"],
}
COMBINATIONS = [(rule.command, option, rule.beside) for rule in NO_EFFECT for option in rule.options]


def run(command, *arguments):
    return CliRunner().invoke(main, [command, *MINIMAL[command], *arguments])


@pytest.mark.parametrize(("command", "option", "beside"), COMBINATIONS)
def test_an_option_without_effect_is_a_usage_error(command, option, beside):
    """Exit status 2, nothing begins, and the sentence names both and what to do."""
    given = [WITH_VALUE.get(parameter, [parameter]) for parameter in (beside, option)]
    ended = run(command, *(word for words in given for word in words))
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert f"{option} does nothing beside {beside}. " in ended.stderr
    assert "eave" in ended.stderr.partition(f"beside {beside}. ")[2], "what to do"


def test_a_short_option_is_the_same_option():
    ended = run("doctor", "-v", "--mutants")
    assert (ended.exit_code, "--verbose does nothing beside --mutants" in ended.stderr) == (2, True)


def test_a_default_is_no_option_that_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(main, ["grade", "class", "--scheduler", "nowhere"])
    assert "does nothing" not in ended.output


def test_the_list_names_parameters_that_exist():
    for rule in NO_EFFECT:
        assert {*rule.options, rule.beside} <= {*map(written, main.commands[rule.command].params)}
