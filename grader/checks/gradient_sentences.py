"""What a student is told about gradients, by rung; and what an author adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.sandbox.facts import Tensor

_WRONG = "The {gradient} of {of} with respect to {name} {is} wrong."

#: The rungs, the lowest first, and what is said on each; of several names with the verbs of ``_OF_MANY``. The
#: last seven are about numbers: behind the sentence stands how they differ. Where the values that go back
#: are wrong, ``_OF_WRONG_VALUES`` is said of numbers, for the gradient may well be theirs.
RUNGS = {
    "none": "{Of} is None: no gradient can be asked for.",
    "type": "{Of} is {kind}, not a tensor: no gradient can be asked for.",
    "error": "{Of} cannot be computed: {why}",
    "no history": "{Of} does not require grad: autograd recorded nothing that leads from it back to {names}.",
    "shape of output": "{Of} has the shape {shape}, which is not the one it should have.",
    "overwritten": "{Of} cannot go back: a tensor was saved for its backward, and overwritten after that.",
    "freed": "{Of} cannot go back: a part of its graph went back before, which freed what it had saved.",
    "raised": "{Of} cannot go back: {why}",
    "frozen": "{Name} {does} not require grad, so no gradient arrives there from {of}.",
    "not connected": "{Name} {gets} no gradient: none arrives there from {of}.",
    "missing": "The {gradient} of {name} {is} None.",
    "connected": "{Name} {gets} a gradient from {of}, and should get none.",
    "shape": "The gradient of {of} with respect to {name} has the shape {shape}, and {name} has {right}.",
    **dict.fromkeys(["nan", "zero", "multiple", "length", "digits", "wrong"], _WRONG),
}
_OF_WRONG_VALUES = "The {values} not right, and its {gradient} with respect to {name} {is} not, either."
_OF_ONE = {"does": "does", "gets": "gets", "gradient": "gradient", "is": "is"}
_OF_MANY = {"does": "do", "gets": "get", "gradient": "gradients", "is": "are"}
#: Where what explains any wrong number is true, too; of nan, and of digits that are lost, it need not be.
_WRONG_TOO = {"zero", "multiple", "length", "shape"}

Explanation = str | Callable[[Any, Any], str]


@dataclass(frozen=True)
class Sentences:
    """The sentences of an ``assert_gradients``, with its `of` and `because`."""

    of: str
    because: Mapping[str, Explanation]

    def of_rung(self, rung: str, *names: str, **words: Any) -> str:
        """What is said on a rung about some names, or about what goes back."""
        verbs = _OF_MANY if len(names) > 1 else _OF_ONE
        told = {"of": self.of, "name": listed(names)}
        told |= {"Of": _capital(told["of"]), "Name": told["name"]}
        if told["name"].startswith("the "):  # code is told as it is written
            told["Name"] = _capital(told["name"])
        return RUNGS[rung].format(**told, **verbs, **words)

    def of_wrong_values(self, output: Tensor, names: Sequence[str]) -> str:
        """What is said of wrong gradients where the values that go back are wrong, too."""
        values = f"values of {self.of} are" if output.shape else f"value of {self.of} is"
        verbs = _OF_MANY if len(names) > 1 else _OF_ONE
        return _OF_WRONG_VALUES.format(values=values, name=listed(names), **verbs)

    def explained(self, name: str, rung: str, pair: tuple[Any, Any]) -> str:
        """The author's explanation for a name on a rung, perhaps empty; `pair` is (seen, right) gradient."""
        for key in _keys(name, rung):
            text = self.because.get(key)
            if isinstance(text, str):
                return text
            if text is not None and isinstance(pair[0], Tensor):
                return text(*pair)
        return ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _keys(name: str, rung: str) -> Iterator[str]:
    """The keys of an explanation, the closest first."""
    yield from (f"{name}:{rung}", rung)
    if rung in _WRONG_TOO:
        yield from (f"{name}:wrong", "wrong")


def joined(sentence: str, text: str) -> str:
    """A sentence with what its author adds, which may begin a paragraph of its own."""
    return f"{sentence}{text}" if text.startswith("\n\n") or not text else f"{sentence} {text}"


def listed(names: Sequence[str]) -> str:
    """Names as a text: ``a, b and c``; of many the first."""
    if len(names) > 6:
        names = [*names[:5], f"{len(names) - 5} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
