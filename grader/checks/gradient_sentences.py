"""The sentences about gradients, by rung, and an author's explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.sandbox.facts import Tensor

_WRONG = "The {gradient} of {of} with respect to {name} {is} wrong."

#: The rungs, the lowest first, and their sentences. The last seven are about numbers: behind the sentence
#: stands how they differ. If the values that go back are wrong, too, ``_OF_WRONG_VALUES`` takes their place,
#: because the gradient may be right for these values.
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
#: The rungs that the explanation of "wrong" also fits; of nan and lost digits it may be false.
_WRONG_TOO = {"zero", "multiple", "length", "shape"}

Explanation = str | Callable[[Any, Any], str]


@dataclass(frozen=True)
class Sentences:
    """The sentences of an ``assert_gradients``."""

    of: str
    because: Mapping[str, Explanation]

    def of_rung(self, rung: str, *names: str, **words: Any) -> str:
        """The sentence of a rung about some names, or about what goes back."""
        verbs = _OF_MANY if len(names) > 1 else _OF_ONE
        name = listed(names)
        capital = _capital(name) if name.startswith("the ") else name  # code stays as it is
        nouns = {"of": self.of, "Of": _capital(self.of), "name": name, "Name": capital}
        return RUNGS[rung].format(**nouns, **verbs, **words)

    def of_wrong_values(self, output: Tensor, names: Sequence[str]) -> str:
        """The sentence about wrong gradients of wrong values."""
        values = f"values of {self.of} are" if output.shape else f"value of {self.of} is"
        verbs = _OF_MANY if len(names) > 1 else _OF_ONE
        return _OF_WRONG_VALUES.format(values=values, name=listed(names), **verbs)

    def explained(self, name: str, rung: str, pair: tuple[Any, Any]) -> str:
        """The author's explanation for a name on a rung, or ""; `pair` is the seen and the right gradient."""
        keys = [f"{name}:{rung}", rung, *([f"{name}:wrong", "wrong"] if rung in _WRONG_TOO else [])]
        for key in keys:  # the closest first
            text = self.because.get(key)
            if isinstance(text, str):
                return text
            if text is not None and isinstance(pair[0], Tensor):
                return text(*pair)
        return ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def joined(sentence: str, text: str) -> str:
    """A sentence and what an author adds, which may begin a new paragraph."""
    return f"{sentence}{text}" if text.startswith("\n\n") or not text else f"{sentence} {text}"


def listed(names: Sequence[str]) -> str:
    """As in ``a, b and c``; of many names the first five and the number of the others."""
    if len(names) > 6:
        names = [*names[:5], f"{len(names) - 5} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
