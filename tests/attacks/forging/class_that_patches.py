# Tries: to exchange a function of torch's from an answer that is a class, and to put it back before anybody looks.
# Stopped by: restoring
# Without it: the gradient that is computed for the check is wrong all the same.
# Question: 08_functions_and_hooks q1
# Flags: patched
# %%
A = torch.autograd
true = A.grad

def fake(outputs, inputs, *given, **named):
    A.grad = true
    return (torch.zeros_like(inputs),)

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        setattr(A, "grad", fake)
        return x * x

    @staticmethod
    def backward(ctx, g):
        setattr(A, "grad", true)
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * g
