# Formulations of token compression and its gradients in PyTorch; see peers_torch.py.
import torch


def sizes(problem):
    """T, N, D, L, d, J of the operator's page."""
    shape = problem.shape
    windows = problem["output" if "output" in problem.tensors else "outputGrad"].shape[0]
    return shape["tokens"], shape["heads"], shape["columns"], shape["block"], shape["stride"], windows


def compress(tokens, weight, stride):
    """The formula, literally: windows are a view, their weighted sum is an einsum."""
    return torch.einsum("jndl,ln->jnd", tokens.unfold(0, weight.shape[0], stride), weight)


def forward_einsum(problem):
    *_, stride, _ = sizes(problem)
    kept = {}

    def step():
        kept["output"] = compress(problem["input"], problem["weight"], stride)

    return step, lambda: kept


def forward_addcmul(problem):
    """One pass over the outputs for each position in the window."""
    *_, block, stride, windows = sizes(problem)
    out = torch.zeros_like(problem["output"])

    def step():
        out.zero_()
        for i in range(block):
            out.addcmul_(problem["input"][i:i + (windows - 1) * stride + 1:stride], problem["weight"][i, :, None])

    return step, lambda: {"output": out}


def forward_bmm(problem):
    """For each head a batch of [1, L] times [L, D]; the windows are a strided view, nothing is copied."""
    tokens, heads, columns, block, stride, windows = sizes(problem)
    view = windows_of(problem["input"], block, stride)
    out = torch.zeros_like(problem["output"])

    def step():
        for n in range(heads):
            weight = problem["weight"][:, n].contiguous().view(1, 1, block).expand(windows, 1, block)
            torch.bmm(weight, view[:, :, n], out=out[:, n:n + 1])

    return step, lambda: {"output": out}


def windows_of(tokens, block, stride):
    """[J, L, N, D]: the windows, overlapping where they do."""
    return tokens.unfold(0, block, stride).permute(0, 3, 1, 2)


def blocks(problem):
    """L/d and the tokens as blocks of d, for the formulations that need L to be a multiple of d."""
    tokens, heads, columns, block, stride, windows = sizes(problem)
    if block % stride:
        raise ValueError("needs a window that is a multiple of the stride")
    count = windows + block // stride - 1
    return block // stride, problem["input"][:count * stride].view(count, stride, heads * columns)


# ---- gradients

def gradient_results(problem):
    return torch.zeros_like(problem["inputGradOut"]), torch.zeros_like(problem["weightGradOut"])


def backward_autograd(problem):
    *_, stride, _ = sizes(problem)
    tokens = problem["input"].detach().requires_grad_()
    weight = problem["weight"].detach().requires_grad_()
    kept = {}

    def step():
        with torch.enable_grad():
            output = compress(tokens, weight, stride)
            kept["inputGradOut"], kept["weightGradOut"] = torch.autograd.grad(output, (tokens, weight), problem["outputGrad"])

    return step, lambda: kept


def backward_bmm(problem):
    """For each head, batches of small products: [d, L/d] times [L/d, D] for the tokens, and their transposes for the
    weights; the shifted gradients of the outputs are a view of a padded copy."""
    tokens, heads, columns, block, stride, windows = sizes(problem)
    parts, view = blocks(problem)
    count = view.shape[0]
    view = view.view(count, stride, heads, columns)
    padded = problem["outputGrad"].new_zeros(windows + 2 * (parts - 1), heads, columns)
    # shifted[b, k] is the gradient of window b - (L/d - 1) + k: the windows over block b, first to last
    shifted = windows_of(padded, parts, 1)
    tokens_grad, weight_grad = gradient_results(problem)
    grad_view = tokens_grad[:count * stride].view(count, stride, heads, columns)

    def step():
        padded[parts - 1:parts - 1 + windows] = problem["outputGrad"]
        tokens_grad[count * stride:].zero_()
        for n in range(heads):
            # Window k of a block begins (L/d - 1 - k) blocks before it.
            weight = problem["weight"][:, n].view(parts, stride).flip(0)
            torch.bmm(weight.t().expand(count, stride, parts), shifted[:, :, n], out=grad_view[:, :, n])
            products = torch.bmm(shifted[:, :, n], view[:, :, n].transpose(1, 2)).sum(0)
            weight_grad[:, n] = products.flip(0).reshape(block)

    return step, lambda: {"inputGradOut": tokens_grad, "weightGradOut": weight_grad}


# Slower in every run, and therefore omitted: a grouped conv1d, einsums over blocks of d tokens, and for the gradients one addcmul_ for each position.
FORWARD = {"unfold + einsum": forward_einsum, "addcmul_ by position": forward_addcmul, "bmm by head": forward_bmm}
BACKWARD = {"autograd of unfold + einsum": backward_autograd, "bmm by head": backward_bmm}
