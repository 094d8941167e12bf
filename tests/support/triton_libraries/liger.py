"""Liger-Kernel: layers and losses of language models, each with its gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import liger_kernel.transformers as liger
import torch
import torch.nn.functional as F
from liger_kernel.ops import LigerGELUMulFunction, LigerSiLUMulFunction
from liger_kernel.transformers.group_norm import LigerGroupNorm

from triton_libraries.operator import operator

Call = Callable[..., Any]


def leaves(inputs: list[Any]) -> list[Any]:
    """Copies of the inputs, of which floating ones want a gradient."""
    return [x.detach().clone().requires_grad_(x.is_floating_point()) if isinstance(x, torch.Tensor) else x for x in inputs]


def results(call: Call, inputs: list[Any], module: Any = None) -> list[torch.Tensor]:
    """What a call gives, and the gradients of its inputs and of the module's parameters."""
    found = call(*inputs)
    outputs = [x for x in (found if isinstance(found, tuple) else (found,)) if x is not None]
    weights = [torch.linspace(0.5, 1.5, x.numel()).reshape(x.shape) for x in outputs]
    sum((x * w).sum() for x, w in zip(outputs, weights)).backward()
    wanted = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
    wanted += list(module.parameters()) if module is not None else []
    return [x.detach() for x in outputs] + [x.grad for x in wanted]


def compare(name: str, make: Callable[[], tuple[Call, Call, list[Any]]], rtol: float = 1e-3, atol: float = 1e-4) -> None:
    """``make`` gives the library's function or module, torch's, and the inputs."""

    def run() -> tuple[Any, Any]:
        ours, torchs, inputs = make()
        pair = []
        for call in (ours, torchs):
            pair.append(results(call, leaves(inputs), call if isinstance(call, torch.nn.Module) else None))
        return pair[0], pair[1]

    operator("liger-kernel", name, run, rtol, atol)


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(shape or (6, 130))


def labels(n: int = 8, classes: int = 100) -> torch.Tensor:
    found = torch.randint(0, classes, (n,))
    found[1] = -100
    return found


def with_weights(ours: Any, torchs: Any) -> tuple[Any, Any]:
    """Both modules with the first one's parameters, which are drawn anew."""
    for weight in ours.parameters():
        torch.nn.init.normal_(weight)
    torchs.load_state_dict(dict(zip(torchs.state_dict(), copy.deepcopy(list(ours.state_dict().values())))))
    return ours, torchs


def jsd(log_q: torch.Tensor, log_p: torch.Tensor, beta: float = 0.5) -> torch.Tensor:
    q, p = log_q.exp(), log_p.exp()
    mixed = (beta * p + (1 - beta) * q).log()
    return (beta * p * (log_p - mixed) + (1 - beta) * q * (log_q - mixed)).sum() / log_q.shape[0]


def turned(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def rope(q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return q * cos + turned(q) * sin, k * cos + turned(k) * sin


def sparsemax(x: torch.Tensor) -> torch.Tensor:
    ordered, _ = x.sort(-1, descending=True)
    sums = ordered.cumsum(-1) - 1
    count = torch.arange(1, x.shape[-1] + 1)
    size = (ordered * count > sums).sum(-1, keepdim=True)
    return (x - sums.gather(-1, size - 1) / size).clamp(min=0)


def rms(x: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6) -> torch.Tensor:
    found = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return found if weight is None else found * weight


def ropes() -> tuple[Call, Call, list[Any]]:
    angles = torch.arange(20.0)[:, None] / 100 ** (torch.arange(0, 32, 2) / 32)
    angles = torch.cat((angles, angles), 1)[None]
    cos, sin = angles.cos(), angles.sin()
    q, k = rows(2, 4, 20, 32), rows(2, 2, 20, 32)
    return lambda q, k: liger.liger_rotary_pos_emb(q, k, cos, sin), lambda q, k: rope(q, k, cos[:, None], sin[:, None]), [q, k]


def rms_norms() -> tuple[Call, Call, list[Any]]:
    return *with_weights(liger.LigerRMSNorm(130, in_place=False), torch.nn.RMSNorm(130, eps=1e-6)), [rows()]


def added_norms() -> tuple[Call, Call, list[Any]]:
    module = liger.LigerFusedAddRMSNorm(130)
    return lambda x, r: module(x, r), lambda x, r: (rms(x + r), x + r), [rows(), rows()]


def linear_losses() -> tuple[Call, Call, list[Any]]:
    target = labels()
    module = liger.LigerFusedLinearCrossEntropyLoss()
    return (
        lambda w, x: module(w, x, target),
        lambda w, x: F.cross_entropy(x @ w.T, target),
        [rows(100, 64), rows(8, 64)],
    )


def linear_jsds() -> tuple[Call, Call, list[Any]]:
    teacher, weight = rows(8, 48), rows(50, 48)
    module = liger.LigerFusedLinearJSD()
    return (
        lambda x, w: module(x, w, teacher, weight, None),
        lambda x, w: jsd((x @ w.T).log_softmax(-1), (teacher @ weight.T).log_softmax(-1)),
        [rows(8, 48), rows(50, 48)],
    )


def tanh_norms() -> tuple[Call, Call, list[Any]]:
    module = liger.LigerDyT(128)
    return module.forward, lambda x: torch.tanh(0.5 * x), [rows(6, 128)]


compare("cross_entropy", lambda: (lambda x, t: liger.LigerCrossEntropyLoss()(x, t), F.cross_entropy, [rows(8, 100), labels()]))
compare("cross_entropy, smoothed", lambda: (
    lambda x, t: liger.LigerCrossEntropyLoss(label_smoothing=0.1, reduction="sum")(x, t),
    lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1, reduction="sum"), [rows(8, 100), labels()],
))  # fmt: skip
compare("cross_entropy, capped", lambda: (
    lambda x, t: liger.LigerCrossEntropyLoss(softcap=5.0)(x, t),
    lambda x, t: F.cross_entropy(5 * torch.tanh(x / 5), t), [rows(8, 100), labels()],
))  # fmt: skip
compare("fused_linear_cross_entropy", linear_losses)
compare("fused_linear_jsd", linear_jsds)
compare("jsd", lambda: (lambda q, p: liger.LigerJSD()(q, p.detach()), lambda q, p: jsd(q, p.detach()),
                        [rows(8, 60).log_softmax(-1), rows(8, 60).log_softmax(-1)][:2]))  # fmt: skip
compare("kl_div", lambda: (
    lambda q, p: liger.LigerKLDIVLoss(reduction="batchmean")(q, p.detach()),
    lambda q, p: F.kl_div(q, p.detach(), reduction="batchmean"), [rows(8, 60).log_softmax(-1), rows(8, 60).softmax(-1)],
))  # fmt: skip
compare("tvd", lambda: (
    lambda q, p: liger.LigerTVDLoss()(q, p.detach()), lambda q, p: (q - p.detach()).abs().sum() / 2 / len(q),
    [rows(8, 60).softmax(-1), rows(8, 60).softmax(-1)],
))  # fmt: skip
compare("layer_norm", lambda: (
    *with_weights(liger.LigerLayerNorm(130, bias=True), torch.nn.LayerNorm(130, eps=1e-6)), [rows()],
))  # fmt: skip
compare("group_norm", lambda: (
    *with_weights(LigerGroupNorm(8, 4, bias=True), torch.nn.GroupNorm(4, 8, eps=1e-6)), [rows(2, 8, 40)],
))  # fmt: skip
compare("rms_norm", rms_norms)
compare("fused_add_rms_norm", added_norms)
compare("dyt", tanh_norms)
compare("poly_norm", lambda: (
    liger.LigerPolyNorm(in_place=False).forward,
    lambda x: (rms(x**3) + rms(x**2) + rms(x)) / 3 + 1, [rows(6, 128)],
))  # fmt: skip
compare("softmax", lambda: (lambda x: liger.LigerSoftmax()(x), lambda x: x.softmax(-1), [rows()]))
compare("sparsemax", lambda: (lambda x: liger.LigerSparsemax()(x), sparsemax, [rows()]))
compare("relu_squared", lambda: (lambda x: liger.LigerReLUSquared()(x), lambda x: F.relu(x) ** 2, [rows()]))
compare("swiglu", lambda: (LigerSiLUMulFunction.apply, lambda a, b: F.silu(a) * b, [rows(), rows()]))
compare("geglu", lambda: (
    LigerGELUMulFunction.apply, lambda a, b: F.gelu(a, approximate="tanh") * b, [rows(), rows()],
))  # fmt: skip
compare("rope", ropes)
