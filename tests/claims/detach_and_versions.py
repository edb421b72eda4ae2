"""What a detached tensor shares, and when a write to it is noticed."""

import torch
from errors import OVERWRITTEN, error_of
from torch import Tensor


def square_of_a_sum() -> tuple[Tensor, Tensor, Tensor]:
    """The text's x = 3, y = x + 1 and z = y**2; backward of z needs y."""
    x = torch.tensor(3.0, requires_grad=True)
    y = x + 1
    return x, y, y**2


def s2_1() -> None:
    """After `z = y ** 2` and `y.detach().zero_()`, `z.backward()` raises.

    Holds: `z` has saved `y`, and the version of `y` is another one now.
    """
    _, y, z = square_of_a_sum()
    y.detach().zero_()
    assert OVERWRITTEN in error_of(z.backward)


def s2_2() -> None:
    """After `z = 3 * y1 + 4 * y2` and `y2.detach().zero_()`, `z.backward()` gives 27 and no error.

    Holds: nobody saved the value of `y2`. It is 0 now, while `z` keeps what was computed from 9.
    """
    x = torch.tensor(3.0, requires_grad=True)
    y1, y2 = x + 1, x**2
    z = 3 * y1 + 4 * y2
    y2.detach().zero_()
    z.backward()
    assert x.grad.item() == 27.0
    assert (y2.item(), z.item()) == (0.0, 48.0)


def s2_3() -> None:
    """`y.detach()` shares the data of `y`.

    Holds: it shares the version counter, too.
    """
    y = torch.ones(2, requires_grad=True) * 2
    c = y.detach()
    c.zero_()
    assert c.data_ptr() == y.data_ptr()
    assert y.tolist() == [0.0, 0.0]
    assert y._version == c._version == 1


def s2_4() -> None:
    """After `c = y.detach()`, `c` is detached and `y` stays attached.

    Holds: `y` keeps its `grad_fn`, and that of `c` is `None`.
    """
    y = torch.ones(2, requires_grad=True) * 2
    node = y.grad_fn
    c = y.detach()
    assert node is not None
    assert y.grad_fn is node
    assert c.grad_fn is None


def s2_5() -> None:
    """`c.zero_()` is not allowed for `c = y.detach()`, because `y` is part of the graph.

    Incomplete: the write itself succeeds. Only a `backward()` that needs the saved `y` raises.
    """
    _, y, z = square_of_a_sum()
    c = y.detach()
    assert not error_of(c.zero_)
    assert y.item() == 0.0
    assert OVERWRITTEN in error_of(z.backward)


def s2_6() -> None:
    """In `z = 4 * y2` the derivative is constant, so `y2` may be changed freely.

    Holds: the product with a number does not save `y2`.
    """
    x = torch.tensor(3.0, requires_grad=True)
    y2 = x**2
    z = 4 * y2
    assert z.grad_fn._saved_self is None
    y2.detach().zero_()
    z.backward()
    assert x.grad.item() == 24.0


def s2_7() -> None:
    """With `4 * y2 ** 2` in its place the error returns.

    Holds: the square has saved `y2`.
    """
    x = torch.tensor(3.0, requires_grad=True)
    y1, y2 = x + 1, x**2
    z = 3 * y1 + 4 * y2**2
    y2.detach().zero_()
    assert OVERWRITTEN in error_of(z.backward)


def s2_8() -> None:
    """A diagram shows `x -> y -> z -> c` for `c = y.detach()`.

    Wrong: `c` hangs on `y`, with which it shares its memory, and not on `z`.
    """
    _, y, z = square_of_a_sum()
    c = y.detach()
    assert c.data_ptr() == y.data_ptr() != z.data_ptr()


def s2_9() -> None:
    """To change a tensor through `detach()` once the graph is built always makes `backward()` raise.

    Wrong: it raises only if the value was saved for `backward()`.
    """
    x = torch.tensor(3.0, requires_grad=True)
    y = x + 1
    z = 4 * y
    y.detach().zero_()
    z.backward()
    assert x.grad.item() == 4.0


def s2_10() -> None:
    """The code is printed as `y = x 1` and `z = 3*y1 4*y2`.

    Wrong: that is a `SyntaxError`. The plus signs were lost when the text was copied.
    """
    for line in ("y = x 1", "z = 3*y1 4*y2"):
        assert error_of(lambda line=line: compile(line, "text", "exec")).startswith("SyntaxError")


def s2_11() -> None:
    """The example with `z = y ** 2` calls `z.backward(retain_graph=True)`.

    Incomplete: `retain_graph` plays no part in it. The same error comes with and without it.
    """
    for retain in (True, False):
        _, y, z = square_of_a_sum()
        y.detach().zero_()
        assert OVERWRITTEN in error_of(lambda z=z, retain=retain: z.backward(retain_graph=retain))


def s2_12() -> None:
    """A write through `.data` makes `backward()` raise, as a write through `detach()` does.

    Wrong: nothing raises, and the gradient is 0 in place of 8.
    """
    x, y, z = square_of_a_sum()
    y.data.zero_()
    z.backward()
    assert y._version == 0
    assert x.grad.item() == 0.0
