"""``assert_gradients``: finds the first problem of gradients, from a missing gradient to a wrong number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from grader.contracts.check import describe, raised
from grader.contracts.comparison import (
    FEW_DIGITS,
    HINT_OF_DIGITS,
    because,
    because_varying,
    compare,
    is_close,
    require_single_values,
)
from grader.contracts.diagnosis import finding_of
from grader.contracts.difference import Difference, difference_of, is_fully_precise, rounding_of
from grader.contracts.finding import FailedCheckError, Finding, diagnosis_and_hint, wrong
from grader.contracts.observation import is_gradients
from grader.sandbox.values import Raised, Tensor
from grader.text import capital, code, series

OVERWRITTEN = "modified by an inplace operation"
FREED = "backward through the graph a second time"

#: The problems with numbers, by the kind of difference.
_OF_NUMBERS = {"not_finite": "nan", "zero": "zero", "multiple": "multiple", "length": "length"}


_WRONG = "The {gradient} of {of} with respect to {name} {is} wrong."

#: The rungs, the lowest first, and their sentences. The last seven are about numbers: behind the sentence
#: stands how they differ. If the values that go back are wrong, too, ``_OF_WRONG_VALUES`` takes their place,
#: because the gradient may be right for these values. Behind "error" and "raised" the error is explained.
RUNGS = {
    "none": "{Of} is None, so it has no gradients.",
    "type": "{Of} is {kind}, not a tensor, so it has no gradients.",
    "error": "{Of} cannot be computed",
    "no history": "{Of} does not require grad: the autograd graph does not connect it to {names}.",
    "shape of output": "{Of} has shape {shape} instead of {right}.",
    "overwritten": "`backward()` on {of} fails: a tensor that autograd had saved was overwritten.",
    "freed": "`backward()` on {of} fails: an earlier backward pass freed saved tensors of its graph.",
    "raised": "`backward()` on {of} fails",
    "gone": "After your call, the caller's objects no longer include {name}, so {of} gives {it} no gradient.",
    "frozen": "{Name} {does} not require grad, so {of} gives {it} no gradient.",
    "not connected": "{Name} {gets} no gradient from {of}: the graph does not connect them.",
    "missing": "The {gradient} of {name} {is} None.",
    "connected": "{Name} {gets} a gradient from {of}, but must not.",
    "shape": "The gradient of {of} with respect to {name} has shape {shape}, but {name} has shape {right}.",
    **dict.fromkeys(["nan", "zero", "multiple", "length", "digits", "wrong"], _WRONG),
}
_OF_WRONG_VALUES = "The {values} wrong, and so {is} its {gradient} with respect to {name}."
_OF_ONE = {"does": "does", "gets": "gets", "gradient": "gradient", "is": "is", "it": "it"}
_OF_MANY = {"does": "do", "gets": "get", "gradient": "gradients", "is": "are", "it": "them"}
#: Problems for which the explanation of "wrong" also holds. For nan and lost digits it may not.
_WRONG_TOO = {"zero", "multiple", "length", "shape"}

Explanation = str | Callable[[Any, Any], str]


def assert_gradients(  # noqa: PLR0913 - each is asked for by some check
    seen: Any,
    expected: Any,
    *,
    of: str,
    only: Iterable[str] = ("*",),
    but: Iterable[str] = (),
    because: Mapping[str, Explanation] | None = None,
    others: Mapping[str, Any] | None = None,
    none_is_zero: bool = True,
    full_precision: bool = False,
) -> None:
    """Fail unless the result of the word ``gradients`` equals that of the reference.

    Args:
        seen: the result of ``gradients``, or gradients by name in a dict.
        expected: the same of the reference.
        of: the backpropagated value, in a student's words: "the penalty".
        only: the names that are compared, with ``*`` as in file names.
        but: names that are not compared.
        because: explanations by problem (the keys of ``RUNGS``), or by ``name:problem``, which are added to
            the problem's sentence. Each is a text, or a function that returns one from the observed gradient,
            a tensor, and the right gradient. It may end with a blank line and a hint, or begin with the blank
            line. The explanation of "wrong" also serves other problems with numbers, except "nan" and
            "digits". Names with a missing or superfluous gradient share a sentence if they have the same
            text.
        others: wrong results that may have been observed, as for ``assert_close``.
        none_is_zero: accept None instead of a gradient of zeros, and zeros instead of None.
        full_precision: float64 gradients must be right to more digits than a float32 holds.

    Raises:
        FailedCheckError: the first problem, of the first name that has it.
        TypeError: `expected` is not a result of ``gradients``.
    """
    require_single_values(others or {})
    right = _Gradients.of_observation(expected)
    if right is None or isinstance(right.gradients, Raised):
        raise TypeError(
            f"assert_gradients needs what gradients(...) gives, and {describe(expected)} is expected"
        )
    ladder = _Ladder(
        of, because or {}, others or {}, none_is_zero=none_is_zero, full_precision=full_precision
    )
    wanted = {
        name: gradient
        for name, gradient in right.gradients.items()
        if name not in right.frozen and _is_named(name, only, but)
    }
    gradients = _Gradients.of_observation(seen)
    if gradients is None:
        ladder.fail("none" if seen is None else "type", kind=describe(seen))
    else:
        ladder.climb(gradients, right, wanted)


def _is_named(name: str, only: Iterable[str], but: Iterable[str]) -> bool:
    return any(fnmatchcase(name, p) for p in only) and not any(fnmatchcase(name, p) for p in but)


@dataclass(frozen=True)
class _Gradients:
    """Gradients by name, or an error; and the output that was backpropagated, if it `is_known`."""

    gradients: Any
    output: Any = None
    is_known: bool = False
    frozen: tuple[str, ...] = ()

    @classmethod
    def of_observation(cls, seen: Any) -> _Gradients | None:
        if is_gradients(seen):
            gradients = seen["gradients"] if isinstance(seen["gradients"], dict | Raised) else {}
            frozen = seen["frozen"] if isinstance(seen["frozen"], list) else ()
            return cls(gradients, seen["output"], is_known=True, frozen=tuple(map(str, frozen)))
        return cls(seen) if isinstance(seen, dict | Raised) else None


class _Ladder:
    """Looks for one problem after the other."""

    def __init__(
        self,
        of: str,
        because: Mapping[str, Explanation],
        others: Mapping[str, Any],
        *,
        none_is_zero: bool,
        full_precision: bool,
    ) -> None:
        self._of, self._because, self._others = of, because, others
        self._none_is_zero, self._full_precision = none_is_zero, full_precision

    def climb(self, seen: _Gradients, right: _Gradients, wanted: Mapping[str, Any]) -> None:
        """Fail with the first problem."""
        if seen.is_known:
            self._compare_output(seen.output, right.output, wanted)
        if isinstance(seen.gradients, Raised):
            self._fail_to_go_back(seen.gradients)
        wrong_ones = [
            name
            for name, gradient in wanted.items()
            if not self._is_right(seen.gradients.get(name), gradient)
        ]
        if wrong_ones:
            raise FailedCheckError(partial(self._of_wrong_ones, wrong_ones, seen, right, wanted))

    def _of_wrong_ones(
        self, names: list[str], seen: _Gradients, right: _Gradients, wanted: Mapping[str, Any]
    ) -> Finding:
        return (
            self._of_arrival(names, seen, wanted)
            or self._of_all(names, seen, right, len(wanted))
            or self._of_numbers(names[0], seen, right)
        )

    def _compare_output(self, output: Any, right: Any, wanted: Mapping[str, Any]) -> None:
        if output is None:
            self.fail("none")
        if isinstance(output, Raised):
            self._fail_with_error("error", output)
        if not isinstance(output, Tensor):
            self.fail("type", kind=describe(output))
        needed = [name for name, gradient in wanted.items() if not self._is_right(None, gradient)]
        if needed and not output.requires_grad:
            self.fail("no history", names=listed(needed))
        if isinstance(right, Tensor) and output.shape != right.shape:
            self.fail("shape of output", shape=output.shape, right=right.shape)

    def _fail_to_go_back(self, error: Raised) -> None:
        if raised(error, RuntimeError, OVERWRITTEN):
            self.fail("overwritten")
        if raised(error, RuntimeError, FREED):
            self.fail("freed")
        self._fail_with_error("raised", error)

    def _of_arrival(
        self, names: Iterable[str], seen: _Gradients, wanted: Mapping[str, Any]
    ) -> Finding | None:
        """The finding about all names that have a missing or superfluous gradient for the same reason."""
        alike: dict[tuple[str, str], list[str]] = {}
        for name in names:
            gradient, rung = seen.gradients.get(name), ""
            if gradient is None and not seen.is_known:
                rung = "missing"
            elif gradient is None and name not in seen.gradients:
                rung = "gone"
            elif gradient is None:
                rung = "frozen" if name in seen.frozen else "not connected"
            elif wanted[name] is None:
                rung = "connected"
            if rung:
                text = self._explained(name, rung, (gradient, None))
                alike.setdefault((rung, text), []).append(name)
        for (rung, text), those in alike.items():
            sentence = joined(self._sentence(rung, *those), text)
            return wrong(sentence, group=f"{rung} {listed(those)}", is_none=rung == "missing").finding
        return None

    def _of_all(self, names: list[str], seen: _Gradients, right: _Gradients, number: int) -> Finding | None:
        """The finding if one factor explains all gradients: then the backpropagated value is wrong."""
        numbers, expected = (_numbers([side.gradients[name] for name in names]) for side in (seen, right))
        if len(names) < max(2, number) or numbers is None or expected is None:
            return None
        difference = difference_of(numbers, expected, {})
        if difference is not None and difference.kind in {"multiple", "length"}:
            sentence = self._of_wrong_numbers(names, seen, right)
            of_each = replace(difference, place="each of them")
            pair = seen.gradients[names[0]], right.gradients[names[0]]
            text = self._explained("*", difference.kind, pair)
            message = joined(because(sentence, of_each), text)
            return wrong(message, group=f"{difference.kind} of all").finding
        return None

    def _of_numbers(self, name: str, seen: _Gradients, right: _Gradients) -> Finding:
        """The finding about wrong numbers."""
        pair = gradient, expected = seen.gradients[name], right.gradients[name]
        difference = compare(gradient, expected, self._others) or Difference(
            FEW_DIGITS, "digits", says_all=True
        )
        sentence = self._of_wrong_numbers([name], seen, right)
        if difference.error is not None:
            return finding_of(difference.error, "raised", sentence, name)
        rung = difference.kind if difference.kind in RUNGS else _OF_NUMBERS.get(difference.kind, "wrong")
        text = f"\n\n{HINT_OF_DIGITS}" if rung == "digits" else self._explained(name, rung, pair)
        if rung == "shape":  # the message may show the right shape: it is that of the differentiated tensor
            sentence = self._sentence(rung, name, shape=gradient.shape, right=expected.shape)
            how = difference_of(gradient, expected, self._others)
            message = f"{sentence[:-1]}; {how.clause}." if how else sentence
        else:
            message = because(sentence, difference)
        message, hint = joined(message, text), diagnosis_and_hint(text)[1]
        is_about_it = rung == "digits" or (rung == "nan" and hint is not None)
        keeps_hint = is_about_it or not difference.says_all
        varying = because_varying(sentence, difference)
        finding = wrong(
            message if keeps_hint else diagnosis_and_hint(message)[0],
            group=f"{rung} {name}",
            takes_hint=not difference.says_all,
        ).finding
        return replace(finding, varying=varying and diagnosis_and_hint(joined(varying, text))[0])

    def _of_wrong_numbers(self, names: Sequence[str], seen: _Gradients, right: _Gradients) -> str:
        """The sentence about wrong gradients and, if it is wrong, about the backpropagated value."""
        output, expected = seen.output, right.output
        are_known = all(isinstance(t, Tensor) and t.value is not None for t in (output, expected))
        if not are_known or is_close(replace(output, dtype=expected.dtype), expected):
            return self._sentence("wrong", *names)
        values = f"values of {self._of} are" if output.shape else f"value of {self._of} is"
        verbs = _OF_MANY if len(names) > 1 else _OF_ONE
        return _OF_WRONG_VALUES.format(values=values, name=listed(names), **verbs)

    def _is_right(self, gradient: Any, right: Any) -> bool:
        if self._none_is_zero and (gradient is None or right is None):
            return _is_nothing(gradient) and _is_nothing(right)
        if not is_close(gradient, right):
            return False
        is_double = self._full_precision and isinstance(right, Tensor) and right.dtype == "torch.float64"
        return not is_double or is_fully_precise(gradient.value, right.value or (), rounding_of(right))

    def fail(self, rung: str, **words: Any) -> None:
        """Fail with the sentence of a problem that concerns no single name."""
        text = self._explained("", rung, (None, None))
        raise wrong(joined(self._sentence(rung, **words), text), group=rung, is_none=rung == "none")

    def _fail_with_error(self, rung: str, error: Raised) -> None:
        """Fail with an error, and explain it."""
        finding = finding_of(error, "raised", self._sentence(rung), rung)
        text, hint = diagnosis_and_hint(self._explained("", rung, (None, None)))
        message = f"{finding.sentence} {text}".strip()
        raise FailedCheckError(replace(finding, sentence=message, hint=hint))

    def _sentence(self, rung: str, *names: str, **words: Any) -> str:
        """The sentence of a problem about some names, or about the backpropagated value."""
        verbs = _OF_MANY if len(names) > 1 else _OF_ONE
        name = listed(names)
        first = capital(name) if name.startswith("the ") else name  # code keeps its capitals
        nouns = {"of": self._of, "Of": capital(self._of), "name": name, "Name": first}
        return RUNGS[rung].format(**nouns, **verbs, **words)

    def _explained(self, name: str, rung: str, pair: tuple[Any, Any]) -> str:
        """The author's explanation, or ""; `pair` is the observed and the right gradient."""
        keys = [f"{name}:{rung}", rung, *([f"{name}:wrong", "wrong"] if rung in _WRONG_TOO else [])]
        for key in keys:  # the most specific first
            text = self._because.get(key)
            if isinstance(text, str):
                return text
            if text is not None and isinstance(pair[0], Tensor) and pair[0].value is not None:
                return text(*pair)
        return ""


def _is_nothing(gradient: Any) -> bool:
    return gradient is None or (
        isinstance(gradient, Tensor) and gradient.value is not None and not any(gradient.value)
    )


def _numbers(gradients: list[Any]) -> list[float] | None:
    """The numbers of all gradients as one list; None if some cannot be read."""
    if not all(isinstance(gradient, Tensor) and gradient.value is not None for gradient in gradients):
        return None
    return [number for gradient in gradients for number in gradient.value]


def joined(sentence: str, text: str) -> str:
    """A sentence with an author's addition, which may begin a new paragraph."""
    return f"{sentence}{text}" if text.startswith("\n\n") or not text else f"{sentence} {text}"


def listed(names: Sequence[str]) -> str:
    """Names as in "`a`, `b` and `c`"; if there are many, the first five and the number of the others."""
    texts = [code(name) for name in names]
    return series(texts if len(texts) <= 6 else [*texts[:5], f"{len(texts) - 5} more"])
