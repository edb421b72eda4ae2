"""The lazy module in place of torch._dynamo: it is loaded when something is compiled, and not before."""

import subprocess
import sys
from textwrap import dedent

import pytest
from observing import look, probe

from grader.sandbox.plan import TimeLimits

PATIENT = TimeLimits(cell=60, question=120, notebook=240)
IS_LAZY = "type(torch._dynamo).__name__ == '_LazyDynamo'"
# What optimizers, checkpoints and torch.func ask; a release of torch that asks for more loads it.
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
COMPILING = """
    f = torch.compile(lambda x: x.sin() + 1, backend="eager")
    assert f(torch.zeros(2)).tolist() == [1, 1]
    """


def run(*parts):
    """Run statements in a fresh Python whose torch has the lazy module."""
    start = "import sys, torch\nfrom grader.sandbox.worker import lazy_imports\nlazy_imports.install()\n"
    code = start + "\n".join(map(dedent, parts))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_what_compiles_nothing_does_not_load_it():
    """Whatever the questions are about runs without the compiler, and comes out right."""
    run(*(part for what, code in ASKING.items() for part in (code, f"assert {IS_LAZY}, {what!r}")))


@pytest.mark.parametrize(
    "asking",
    [
        "import torch._dynamo.config",
        *(
            pytest.param(asking, marks=pytest.mark.long)
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
def test_whatever_else_is_asked_loads_it(asking):
    """The lazy module becomes the package itself, whichever way it is asked for."""
    run(
        "before = torch._dynamo",
        asking,
        f"assert not {IS_LAZY} and before is torch._dynamo is sys.modules['torch._dynamo']",
        "assert torch._dynamo.disable.__module__ == 'torch._dynamo.decorators'",
        "assert torch._dynamo.config is sys.modules['torch._dynamo.config']",
        "assert torch._dynamo.compiled_autograd is sys.modules['torch._dynamo.compiled_autograd']",
    )


@pytest.mark.long
def test_the_compiler_finds_torchs_own_functions_marked():
    """What an optimizer was given before something was compiled is asked for again afterwards."""
    run(
        ASKING["every optimizer"],
        "step = torch.optim.Optimizer.zero_grad.__wrapped__",
        "assert step.__dynamo_disable is step",
        COMPILING,
        ASKING["every optimizer"],
        "assert step.__dynamo_disable._torchdynamo_disable",
    )


@pytest.mark.long
def test_a_package_that_could_not_be_loaded_is_tried_again():
    """After a failure, as for want of memory, optimizers are still served, and the next try may succeed."""
    run(
        """
        loader, real = torch._dynamo.__spec__.loader, torch._dynamo.__spec__.loader.exec_module
        def fails(module):
            raise MemoryError
        loader.exec_module = fails
        try:
            torch._dynamo.list_backends()
        except MemoryError:
            pass
        loader.exec_module = real
        """,
        ASKING["every optimizer"],
        f"assert {IS_LAZY}",
        COMPILING,
    )


def test_a_notebook_can_compile(zygote):
    """In a worker too, and nothing is flagged."""
    cell = 'import torch\nf = torch.compile(lambda x: x * 2, backend="eager")'
    seen = look(zygote, cell, limits=PATIENT, f=probe("f", "student.f(torch.ones(2))", seconds=60))
    assert seen["f"].value == (2.0, 2.0)
    assert (seen.evidence.patched, seen.evidence.traces) == ([], [])


def test_what_a_notebook_does_imports_nothing_more(zygote):
    """Neither printing nor a vector that goes back, an optimizer or a checkpoint imports a part of torch.

    A worker would do it once for every notebook, in a second and more.
    """
    cell = """
        import sys, torch
        from torch.utils.checkpoint import checkpoint
        from torch.func import grad, vmap
        known = set(sys.modules)
        x = torch.ones(3, requires_grad=True)
        print(x, x * 2)
        (x * 2).backward(torch.ones(3))
        torch.autograd.grad(x * 2, x, torch.ones(3))
        checkpoint(torch.exp, x, use_reentrant=False).sum().backward()
        vmap(grad(torch.sin))(torch.ones(3))
        optimizer = torch.optim.Adam([x])
        optimizer.step()
        optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_([x], 1.0)
        more = sorted(set(sys.modules) - known)
        def f():
            return more
        """
    assert look(zygote, dedent(cell), limits=PATIENT, f="student.f()")["f"] == []


def test_workers_start_without_the_compiler(zygote):
    """What a worker is forked from has the lazy module, where a worker can read files."""
    seen = look(zygote, "def f(torch):\n    return type(torch._dynamo).__name__", f="student.f(torch)")
    assert seen["f"] == "_LazyDynamo"
