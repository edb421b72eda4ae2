"""The lazy module in place of torch's symbolic shapes: it is loaded when a size is a symbol, not before."""

import subprocess
import sys
from textwrap import dedent

import pytest
from observing import look

from grader.sandbox.zygote import Zygote

NAME = "torch.fx.experimental.symbolic_shapes"
IS_LAZY = f"type(sys.modules['{NAME}']).__name__ == '_LazyShapes'"
# What asks about shapes that are plain numbers; a release of torch that asks for more loads it.
ASKING = """
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    (x * 2).backward(torch.ones(3))
    assert x.grad.tolist() == [2, 2, 2]
    assert torch.autograd.grad(x * 2, x, torch.ones(3))[0].tolist() == [2, 2, 2]
    torch.autograd.grad(x * 2, x, torch.ones(4, 3), is_grads_batched=True)
    torch.autograd.functional.jacobian(torch.sin, x), torch.autograd.functional.hessian(torch.sum, x)
    torch.autograd.functional.vjp(torch.sin, x, torch.ones(3)), torch.func.jacrev(torch.sin)(x)
    assert torch.autograd.gradcheck(torch.sin, x), torch.autograd.gradgradcheck(torch.sin, x)
    torch._check(True)
    """
MISMATCH = """
    def told(shape):
        try:
            torch.ones(3, requires_grad=True).mul(2).backward(torch.ones(shape))
        except RuntimeError as error:
            return str(error)
    """


def run(*parts):
    """Run statements in a fresh Python whose torch has the lazy modules."""
    start = "import sys, torch\nfrom grader.sandbox.worker import lazy_imports\nlazy_imports.install()\n"
    code = start + "\n".join(map(dedent, parts))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_sizes_that_are_numbers_do_not_load_it():
    """Gradients of vectors come out right without sympy."""
    run(ASKING, f"assert {IS_LAZY} and 'sympy' not in sys.modules")


@pytest.mark.parametrize(
    "asking",
    [
        f"from {NAME} import ShapeEnv",
        *(
            pytest.param(asking, marks=pytest.mark.long)
            for asking in (
                f"import {NAME} as shapes; shapes.guard_int(3)",
                "import torch._dynamo",
                f"from {NAME} import sym_eq; assert sym_eq([2, (3,)], [2, (3,)])",
                "assert torch.compile(lambda x: x.sin() + 1, backend='eager')(torch.zeros(2)).sum() == 2",
            )
        ),
    ],
)
def test_whatever_else_is_asked_loads_it(asking):
    """The lazy module becomes the real one, whichever way it is asked for; what is refused stays refused."""
    run(
        MISMATCH,
        f"before, refused = sys.modules['{NAME}'], [told(2), told((3, 1))]",
        f"assert {IS_LAZY} and 'Mismatch in shape' in refused[0]",
        asking,
        f"assert not {IS_LAZY} and before is sys.modules['{NAME}'] is torch.fx.experimental.symbolic_shapes",
        f"assert before.sym_eq.__module__ == before.expect_true.__module__ == '{NAME}'",
        "assert refused == [told(2), told((3, 1))]",
    )


def test_workers_start_without_it():
    """What a worker is forked from has the lazy module, where a worker can read files."""
    cell = f'import sys\ndef f(_):\n    return type(sys.modules["{NAME}"]).__name__, "sympy" in sys.modules'
    with Zygote() as zygote:
        assert look(zygote, cell, f="student.f(0)")["f"] == ("_LazyShapes", False)
