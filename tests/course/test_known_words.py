"""A word of a declaration that nothing reads is the author's error, and the error names the nearest word."""

import pytest
from declaring import declared

from grader import network, tensor
from grader.errors import CourseError

X = {"x": tensor("n k"), "model": network()}


@pytest.mark.parametrize(
    ("options", "nearest"),
    [
        ({"dtypes": ["float46"]}, "float64"),
        ({"sizes": ["difer"]}, "differ"),
        ({"modes": ["only mode"]}, "only modes"),
        ({"sequences": ["first", "chnged"]}, "changed"),
        ({"sequences": ["first", "changed y"]}, "changed x"),
        ({"arriving": ["typical", "hugee"]}, "huge"),
        ({"cover": ["x.layuot"]}, "x.layout"),
        ({"never": [{"x.layuot": "part"}]}, "x.layout"),
        ({"never": [{"x.layout": "prat"}]}, "part"),
        ({"memory_with": {"x.layuot": "part"}}, "x.layout"),
        ({"memory_with": {"x.layout": "prat"}}, "part"),
        ({"given": ["modle"]}, "model"),
        ({"record": ["stepps"]}, "steps"),
        ({"record": ["modle.calls"]}, "model"),
        ({"ignore": ["modle*:grad"]}, "model"),
        ({"ignore": ["model*:gard"]}, "grad"),
        ({"optional": ["x:valeu"]}, "value"),
        ({"updates": ["modl.*:value"]}, "model"),
    ],
)
def test_an_unknown_word_is_refused_with_the_nearest_known_one(options, nearest):
    with pytest.raises(CourseError, match=f"did you mean '{nearest}'"):
        declared("f", X, **options)


def test_patterns_and_paths_of_every_form_are_known():
    """Patterns may begin with any glob, and paths with the result or torch."""
    known = ["*:grad", "?:hooks", "model.fc*:value", "[mx]*:version", "result:inference", "torch:grad mode"]
    assert declared("f", X, ignore=known, cover=["x.*", "*.shape"]).rules.ignore == known
