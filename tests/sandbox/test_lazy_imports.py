"""The lazy modules in place of torch's compiler and symbolic shapes: they are loaded when asked for."""

import subprocess
import sys
from textwrap import dedent

import pytest
from observing import look, request

from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Zygote

PATIENT = TimeLimits(cell=60, question=120, notebook=240)
SHAPES = "torch.fx.experimental.symbolic_shapes"
DYNAMO_IS_LAZY = "type(torch._dynamo).__name__ == '_LazyModule'"
SHAPES_ARE_LAZY = f"type(sys.modules['{SHAPES}']).__name__ == '_LazyModule'"
# What the questions are about; a release of torch that asks for more loads a lazy module.
ASKING = {
    "every optimizer": """
        base = torch.optim.Optimizer
        classes = [each for each in vars(torch.optim).values() if isinstance(each, type) and each is not base]
        assert len(classes) > 10
        for optimizer in {each for each in classes if issubclass(each, base)}:
            w = torch.nn.Parameter(torch.ones(2, 3))
            w.grad = torch.ones(2, 3)
            if optimizer is torch.optim.SparseAdam:
                w.grad = w.grad.to_sparse()
            optimizer = optimizer([w])
            optimizer.step(lambda: w.sum())
            optimizer.zero_grad()
            optimizer.load_state_dict(optimizer.state_dict())
            assert not w.equal(torch.ones(2, 3)), optimizer
        """,
    "checkpoints": """
        from torch.utils.checkpoint import checkpoint
        for is_reentrant in (True, False):
            x = torch.ones(3, requires_grad=True)
            checkpoint(torch.exp, x, use_reentrant=is_reentrant).sum().backward()
            assert x.grad.allclose(x.exp())
        """,
    "torch.func": """
        from torch.func import grad, hessian, jacrev, jvp, vjp, vmap
        x = torch.rand(3)
        assert vmap(grad(torch.sin))(x).allclose(x.cos())
        assert jacrev(torch.sin)(x).allclose(vjp(torch.sin, x)[1](torch.ones(3))[0].diag())
        jvp(torch.sin, (x,), (x,)), hessian(lambda x: x.sin().sum())(x)
        """,
    "torch.autograd": """
        x = torch.rand(3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(torch.sin, x), torch.autograd.gradgradcheck(torch.sin, x)
        torch.autograd.functional.jacobian(torch.sin, x)
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, gradient):
                return gradient * 2
        Double.apply(x).sum().backward()
        """,
}
# The same about shapes that are plain numbers.
VECTORS = """
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    (x * 2).backward(torch.ones(3))
    assert x.grad.tolist() == [2, 2, 2]
    assert torch.autograd.grad(x * 2, x, torch.ones(3))[0].tolist() == [2, 2, 2]
    torch.autograd.grad(x * 2, x, torch.ones(4, 3), is_grads_batched=True)
    torch.autograd.functional.hessian(torch.sum, x)
    torch.autograd.functional.vjp(torch.sin, x, torch.ones(3)), torch.func.jacrev(torch.sin)(x)
    torch._check(True)
    """
COMPILING = """
    f = torch.compile(lambda x: x.sin() + 1, backend="eager")
    assert f(torch.zeros(2)).tolist() == [1, 1]
    """
MISMATCH = """
    def told(shape):
        try:
            torch.ones(3, requires_grad=True).mul(2).backward(torch.ones(shape))
        except RuntimeError as error:
            return str(error)
    """
REFUSED = "refused = [told(2), told((3, 1))]"
#: What holds when the shapes are loaded.
LOADED_SHAPES = (
    f"assert not {SHAPES_ARE_LAZY} and sys.modules['{SHAPES}'] is {SHAPES}",
    f"assert {SHAPES}.sym_eq.__module__ == {SHAPES}.expect_true.__module__ == '{SHAPES}'",
    "assert refused == [told(2), told((3, 1))]",
)
LONG = pytest.mark.long


def run(*parts):
    """Run statements in a fresh Python whose torch has the lazy modules."""
    start = "import sys, torch\nfrom grader.runtime import lazy_imports\nlazy_imports.install()\n"
    code = start + "\n".join(map(dedent, parts))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_what_asks_for_neither_loads_neither():
    """What the questions are about runs without the compiler, and gradients of vectors without sympy."""
    others = (part for what, code in ASKING.items() for part in (code, f"assert {DYNAMO_IS_LAZY}, {what!r}"))
    run(
        VECTORS, ASKING["torch.autograd"], f"assert {SHAPES_ARE_LAZY} and 'sympy' not in sys.modules", *others
    )


@pytest.mark.parametrize(
    "asking",
    [
        "import torch._dynamo.config",
        *(
            pytest.param(asking, marks=LONG)
            for asking in (
                COMPILING,
                "from torch._dynamo import optimize",
                "torch._dynamo.config.verbose; torch._dynamo.list_backends()",
                "import torch._inductor",
                "torch._dynamo.compiled_autograd.reset()",
                "torch.compiler.disable(lambda: 1)()",
            )
        ),
    ],
)
def test_whatever_asks_for_the_compiler_loads_it(asking):
    """The package takes the place of the lazy module, whichever way it is asked for, and so do the shapes."""
    run(
        MISMATCH,
        REFUSED,
        f"assert {SHAPES_ARE_LAZY}",
        asking,
        f"assert not {DYNAMO_IS_LAZY} and torch._dynamo is sys.modules['torch._dynamo']",
        "assert torch._dynamo.disable.__module__ == 'torch._dynamo.decorators'",
        "assert torch._dynamo.config is sys.modules['torch._dynamo.config']",
        "assert torch._dynamo.compiled_autograd is sys.modules['torch._dynamo.compiled_autograd']",
        *LOADED_SHAPES,
    )


@LONG
@pytest.mark.parametrize("asking", ["ShapeEnv", "guard_int; guard_int(3)", "sym_eq; assert sym_eq([2], [2])"])
def test_whatever_asks_for_shapes_loads_them(asking):
    """The real module takes the place of the lazy one, however it is asked for; errors stay the same."""
    start = f"assert {SHAPES_ARE_LAZY} and 'Mismatch in shape' in refused[0]"
    run(MISMATCH, REFUSED, start, f"from {SHAPES} import {asking}", *LOADED_SHAPES)


@LONG
def test_a_package_that_could_not_be_loaded_is_tried_again():
    """After a failure, as for want of memory, optimizers are still served, and the next try may succeed."""
    run(
        """
        class Failing:
            @staticmethod
            def find_spec(name, *_):
                if name == "torch._dynamo":
                    raise MemoryError
        sys.meta_path.insert(0, Failing)
        try:
            torch._dynamo.list_backends()
        except MemoryError:
            pass
        sys.meta_path.remove(Failing)
        """,
        ASKING["every optimizer"],
        f"assert {DYNAMO_IS_LAZY}",
        COMPILING,
    )


def test_a_notebook_can_compile(zygote):
    """In a worker too, and nothing is flagged."""
    cell = 'import torch\nf = torch.compile(lambda x: x * 2, backend="eager")'
    seen = look(zygote, cell, limits=PATIENT, f=request("f", "student.f(torch.ones(2))", seconds=60))
    assert seen["f"].value == (2.0, 2.0)
    assert (seen.evidence.patched, seen.evidence.traces) == ([], [])


def test_what_a_notebook_does_imports_nothing_more(zygote):
    """Neither printing nor a vector that goes back, an optimizer or a checkpoint imports a part of torch.

    A worker would do it once for every notebook, in a second and more.
    """
    cell = """
        import sys, torch
        from torch.utils.checkpoint import checkpoint
        known = set(sys.modules)
        x = torch.ones(3, requires_grad=True)
        print(x * 2)
        (x * 2).backward(torch.ones(3))
        checkpoint(torch.exp, x, use_reentrant=False).sum().backward()
        torch.func.vmap(torch.func.grad(torch.sin))(torch.ones(3))
        torch.optim.Adam([x]).step()
        torch.nn.utils.clip_grad_norm_([x], 1.0)
        more = sorted(set(sys.modules) - known)
        def f():
            return more
        """
    assert look(zygote, dedent(cell), limits=PATIENT, f="student.f()")["f"] == []


def test_workers_start_without_them():
    """What a worker is forked from has the lazy modules, where a worker can read files."""
    cell = f"""
        import sys, torch
        def f():
            modules = torch._dynamo, sys.modules["{SHAPES}"]
            return [type(module).__name__ for module in modules], "sympy" in sys.modules
        """
    with Zygote() as zygote:
        assert look(zygote, dedent(cell), f="student.f()")["f"] == (["_LazyModule", "_LazyModule"], False)
