"""``assert_gradients``: says on which rung a gradient stands, from none at all to a wrong number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from grader.checks.check import WithoutHintError, describe, raised
from grader.checks.closeness import have_all_digits
from grader.checks.comparison import FEW_DIGITS, assert_close, because, is_close, require_facts
from grader.checks.diagnosis import diagnose
from grader.checks.difference import difference_of
from grader.checks.gradient_sentences import Explanation, Sentences, joined, listed
from grader.checks.observation import Sides, is_gradients
from grader.sandbox.facts import Raised, Tensor

OVERWRITTEN = "modified by an inplace operation"
FREED = "backward through the graph a second time"

_OF_NUMBERS = {"not_finite": "nan", "zero": "zero", "multiple": "multiple", "length": "length"}


def assert_gradients(  # noqa: PLR0913 - each is asked for by some check
    seen: Any,
    expected: Any = None,
    *,
    of: str,
    only: Iterable[str] = ("*",),
    but: Iterable[str] = (),
    because: Mapping[str, Explanation] | None = None,
    others: Mapping[str, Any] | None = None,
    none_is_zero: bool = True,
    all_digits: bool = False,
) -> None:
    """Fail unless the gradients that the word ``gradients`` returned are those of the reference.

    Args:
        seen: the facts of ``gradients``, or gradients by name in a dict; or a probe or a case of such,
            without `expected`.
        expected: the same of the reference.
        of: what goes back, as a student knows it: "the penalty".
        only: the names that are compared, with ``*`` as in file names.
        but: names that are not compared.
        because: an explanation by rung (the keys of ``RUNGS``), or by ``name:rung``, which stands behind the
            rung's sentence: a text, or a function that returns it, of the seen gradient, a tensor, and the
            right gradient. It may end with a blank line and a hint, or begin with the blank line. That of
            "wrong" also stands on other rungs of wrong numbers, but for "nan" and "digits". Names that got no
            gradient, or should have got none, share a sentence if they have the same text.
        others: facts that the student may have taken instead, as for ``assert_close``.
        none_is_zero: no gradient is as good as a gradient of zeros, and the other way round.
        all_digits: gradients of float64 are right to more digits than a float32 holds.

    Raises:
        AssertionError: the first rung that fails, of the first name.
        TypeError: the expected facts are no gradients.
    """
    if expected is None and isinstance(seen, Sides):
        seen, expected = seen
    require_facts(others or {})
    right = _Gradients.of_fact(expected)
    if right is None or isinstance(right.gradients, Raised):
        raise TypeError(
            f"assert_gradients needs what gradients(...) gives, and {describe(expected)} is expected"
        )
    ladder = _Ladder(of, because or {}, others or {}, none_is_zero=none_is_zero, all_digits=all_digits)
    wanted = {
        name: gradient
        for name, gradient in right.gradients.items()
        if name not in right.frozen and _is_named(name, only, but)
    }
    gradients = _Gradients.of_fact(seen)
    if gradients is None:
        ladder.fail("none" if seen is None else "type", kind=describe(seen))
    else:
        ladder.climb(gradients, right, wanted)


def _is_named(name: str, only: Iterable[str], but: Iterable[str]) -> bool:
    return any(fnmatchcase(name, p) for p in only) and not any(fnmatchcase(name, p) for p in but)


@dataclass(frozen=True)
class _Gradients:
    """Gradients by name, or an error; and the output that went back, if it `is_known`."""

    gradients: Any
    output: Any = None
    is_known: bool = False
    frozen: tuple[str, ...] = ()

    @classmethod
    def of_fact(cls, fact: Any) -> _Gradients | None:
        if is_gradients(fact):
            gradients = fact["gradients"] if isinstance(fact["gradients"], dict | Raised) else {}
            frozen = fact["frozen"] if isinstance(fact["frozen"], list) else ()
            return cls(gradients, fact["output"], is_known=True, frozen=tuple(map(str, frozen)))
        return cls(fact) if isinstance(fact, dict | Raised) else None


class _Ladder:
    """Compares gradients rung by rung."""

    def __init__(
        self,
        of: str,
        because: Mapping[str, Explanation],
        others: Mapping[str, Any],
        *,
        none_is_zero: bool,
        all_digits: bool,
    ) -> None:
        self._sentences, self._others = Sentences(of, because), others
        self._none_is_zero, self._all_digits = none_is_zero, all_digits

    def climb(self, seen: _Gradients, right: _Gradients, wanted: Mapping[str, Any]) -> None:
        """Fail on the first rung that does not hold."""
        if seen.is_known:
            self._compare_output(seen.output, right.output, wanted)
        if isinstance(seen.gradients, Raised):
            self._fail_with_error(seen.gradients)
        wrong = [
            name
            for name, gradient in wanted.items()
            if not self._is_right(seen.gradients.get(name), gradient)
        ]
        if not wrong:
            return
        self._compare_arrival(wrong, seen, wanted)
        self._compare_all(wrong, seen, right, len(wanted))
        for name in wrong:
            self._compare_numbers(name, seen, right)

    def _compare_output(self, output: Any, right: Any, wanted: Mapping[str, Any]) -> None:
        if output is None:
            self.fail("none")
        if isinstance(output, Raised):
            self.fail("error", why=diagnose(output))
        if not isinstance(output, Tensor):
            self.fail("type", kind=describe(output))
        needed = [name for name, gradient in wanted.items() if not self._is_right(None, gradient)]
        if needed and not output.requires_grad:
            self.fail("no history", names=listed(needed))
        if isinstance(right, Tensor) and output.shape != right.shape:
            self.fail("shape of output", shape=output.shape)

    def _fail_with_error(self, error: Raised) -> None:
        if raised(error, RuntimeError, OVERWRITTEN):
            self.fail("overwritten")
        if raised(error, RuntimeError, FREED):
            self.fail("freed")
        self.fail("raised", why=diagnose(error))

    def _compare_arrival(self, names: Iterable[str], seen: _Gradients, wanted: Mapping[str, Any]) -> None:
        """Fail for the names that got no gradient, or should get none, for the same reason as the first."""
        alike: dict[tuple[str, str], list[str]] = {}
        for name in names:
            gradient, rung = seen.gradients.get(name), ""
            if gradient is None:
                rung = ("frozen" if name in seen.frozen else "not connected") if seen.is_known else "missing"
            elif wanted[name] is None:
                rung = "connected"
            if rung:
                text = self._sentences.explained(name, rung, (gradient, None))
                alike.setdefault((rung, text), []).append(name)
        for (rung, text), those in alike.items():
            raise AssertionError(joined(self._sentences.of_rung(rung, *those), text))

    def _compare_all(self, names: list[str], seen: _Gradients, right: _Gradients, number: int) -> None:
        """Fail if all gradients are wrong by the same factor, because then what goes back is wrong."""
        numbers, expected = (_numbers([side.gradients[name] for name in names]) for side in (seen, right))
        if len(names) < max(2, number) or numbers is None or expected is None:
            return
        difference = difference_of(numbers, expected, {})
        if difference is not None and difference.kind in {"multiple", "length"}:
            sentence = self._of_wrong_numbers(difference.kind, names, seen, right)
            pair = seen.gradients[names[0]], right.gradients[names[0]]
            text = self._sentences.explained("*", difference.kind, pair)
            raise AssertionError(joined(because(sentence, f"of each, {difference.clause}"), text))

    def _compare_numbers(self, name: str, seen: _Gradients, right: _Gradients) -> None:
        pair = gradient, expected = seen.gradients[name], right.gradients[name]
        difference = difference_of(gradient, expected, self._others)
        if isinstance(gradient, Tensor) and gradient.shape != expected.shape:
            self._fail_with_shape(name, pair, difference.clause if difference else "")
        rung = _OF_NUMBERS.get(difference.kind, "wrong") if difference else "wrong"
        sentence = self._of_wrong_numbers(rung, [name], seen, right)
        text = self._sentences.explained(name, rung, pair)
        if is_close(gradient, expected):
            text = self._sentences.explained(name, "digits", pair)
            raise WithoutHintError(joined(because(sentence, FEW_DIGITS), text))
        try:
            assert_close(gradient, expected, sentence, self._others)
        except AssertionError as error:
            fits = rung == "nan" and "\n\n" in text  # this hint was written for just this
            raise (AssertionError if fits else type(error))(joined(str(error), text)) from None

    def _of_wrong_numbers(self, rung: str, names: Sequence[str], seen: _Gradients, right: _Gradients) -> str:
        """The sentence about wrong gradients and, if they are wrong, the values that go back."""
        output, expected = seen.output, right.output
        are_known = all(isinstance(fact, Tensor) and fact.value is not None for fact in (output, expected))
        if not are_known or is_close(replace(output, dtype=expected.dtype), expected):
            return self._sentences.of_rung(rung, *names)
        return self._sentences.of_wrong_values(output, names)

    def _fail_with_shape(self, name: str, pair: tuple[Tensor, Tensor], clause: str) -> None:
        """Show the expected shape: it is the differentiated tensor's, which the student knows."""
        sentence = self._sentences.of_rung("shape", name, shape=pair[0].shape, right=pair[1].shape)
        message = f"{sentence[:-1]}: {clause}." if clause else sentence
        raise WithoutHintError(joined(message, self._sentences.explained(name, "shape", pair)))

    def _is_right(self, gradient: Any, right: Any) -> bool:
        if self._none_is_zero and (gradient is None or right is None):
            return _is_nothing(gradient) and _is_nothing(right)
        if not is_close(gradient, right):
            return False
        is_double = self._all_digits and isinstance(right, Tensor) and right.dtype == "torch.float64"
        return not is_double or have_all_digits(gradient.value, right.value or ())

    def fail(self, rung: str, **words: Any) -> None:
        """Fail with the sentence of a rung that is about no name."""
        raise AssertionError(
            joined(self._sentences.of_rung(rung, **words), self._sentences.explained("", rung, (None, None)))
        )


def _is_nothing(gradient: Any) -> bool:
    return gradient is None or (
        isinstance(gradient, Tensor) and gradient.value is not None and not any(gradient.value)
    )


def _numbers(gradients: list[Any]) -> list[float] | None:
    """The numbers of all gradients in a row; None if some cannot be read."""
    if not all(isinstance(gradient, Tensor) and gradient.value is not None for gradient in gradients):
        return None
    return [number for gradient in gradients for number in gradient.value]
