"""FlagGems: torch's own operators, written in Triton."""

from __future__ import annotations

import os
import sys
from typing import Any

os.environ.setdefault("GEMS_VENDOR", "amd")

# The library takes CUDA's functions for a device that torch calls "cuda", AMD's as well.
import triton.language.extra.hip.libdevice  # noqa: E402

sys.modules["triton.language.extra.cuda.libdevice"] = triton.language.extra.hip.libdevice

import flag_gems  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from flag_gems.utils.codegen_config_utils import CODEGEN_COFIGS  # noqa: E402

from triton_libraries.operator import operator  # noqa: E402

# Triton 3.9 has no block pointers, which generated kernels use unless told otherwise.
for config in CODEGEN_COFIGS.values():
    if config is not None:
        config.prefer_block_pointer = False
# Many operators refuse tensors whose device has not the name of the vendor's.
flag_gems.device = flag_gems.runtime.device.name = "cpu"
for module in [m for n, m in sys.modules.items() if n.startswith("flag_gems.") and getattr(m, "device", None) == "cuda"]:
    module.device = "cpu"


def floats(*shape: int, low: float = -3.0, high: float = 3.0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.rand(shape or (16, 100)) * (high - low) + low).to(dtype)


def whole(*shape: int, low: int = -50, high: int = 50, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.randint(low, high, shape or (16, 100), dtype=dtype)


def compare(name: str, make: Any, torch_name: Any = None, **how: Any) -> None:
    """A case in which the library's function and torch's are called alike. ``make`` gives the arguments."""

    def run() -> tuple[Any, Any]:
        args, kwargs = make() if callable(make) else (make, {})
        reference = torch_name or getattr(torch, name)
        copy = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        return getattr(flag_gems, name)(*args, **kwargs), reference(*copy, **kwargs)

    operator("flag-gems", name, run, **how)


def given(*args: Any, **kwargs: Any) -> Any:
    """Arguments, of which functions are called when the case runs."""
    return lambda: ([a() if callable(a) else a for a in args], kwargs)


POINTWISE = {
    "abs": {}, "angle": {}, "arcsinh": {}, "atan": {}, "ceil": {}, "cos": {}, "cosh": {}, "erf": {}, "exp": {}, "exp2": {},
    "expm1": {}, "gelu": {}, "hardsigmoid": {}, "isfinite": {}, "isinf": {}, "isnan": {}, "isneginf": {}, "log_sigmoid": {},
    "logical_not": {}, "neg": {}, "reciprocal": {}, "relu": {}, "relu6": {}, "selu": {}, "sigmoid": {}, "signbit": {}, "silu": {},
    "sin": {}, "softplus": {}, "square": {}, "tanh": {}, "celu": {}, "elu": {}, "i0": {}, "special_i0e": {}, "special_i1": {},
    "acos": {"low": -0.99, "high": 0.99}, "log": {"low": 0.01}, "log10": {"low": 0.01}, "rsqrt": {"low": 0.01}, "sqrt": {"low": 0.0},
    "tan": {"low": -1.0, "high": 1.0}, "logit": {"low": 0.01, "high": 0.99}, "softshrink": {}, "nan_to_num": {}, "round": {},
}  # fmt: skip
ELSEWHERE = {
    "gelu": F.gelu, "hardsigmoid": F.hardsigmoid, "log_sigmoid": F.logsigmoid, "relu6": F.relu6, "silu": F.silu,
    "softplus": F.softplus, "elu": F.elu, "special_i0e": torch.special.i0e, "special_i1": torch.special.i1,
    "softshrink": F.softshrink,
}  # fmt: skip
for name, where in POINTWISE.items():
    compare(name, given(lambda where=where: floats(**where)), ELSEWHERE.get(name))

for name in ("add", "sub", "mul", "true_divide", "maximum", "minimum", "fmin", "hypot", "atan2", "copysign", "logaddexp", "eq", "ne", "lt", "le",
             "gt", "ge", "logical_and", "logical_or", "logical_xor", "isclose"):  # fmt: skip
    # The second is broadcast.
    compare(name, given(floats, lambda: floats(100)))
for name in ("bitwise_and_tensor", "bitwise_or_tensor"):
    compare(name, given(whole, whole), getattr(torch, name.removesuffix("_tensor")))
compare("bitwise_not", given(whole))
compare("floor_divide", given(whole, lambda: whole(low=1)))
compare("remainder", given(whole, lambda: whole(low=1)))
compare("pow_tensor_scalar", given(floats, 3), torch.pow)
compare("pow_tensor_tensor", given(lambda: floats(low=0.1), floats), torch.pow, rtol=1e-3)
compare("addcmul", given(floats, floats, floats, value=0.5))
compare("addcdiv", given(floats, floats, lambda: floats(low=1.0), value=0.5))
compare("lerp_scalar", given(floats, floats, 0.3), torch.lerp)
compare("clamp", given(floats, -1.0, 1.5))
compare("masked_fill", given(floats, lambda: floats() > 0, 2.5))
compare("masked_select", given(floats, lambda: floats() > 0))
compare("threshold", given(floats, 0.5, 9.0), F.threshold)
compare("polar", given(lambda: floats(low=0.1), floats))

for name in ("sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin", "count_nonzero"):
    low = {"low": 0.9, "high": 1.1} if name == "prod" else {}
    compare(name, given(lambda low=low: floats(8, 40, **low)))
compare("sum_dim", given(floats, [1]), torch.sum)
compare("mean_dim", given(floats, [1], True), torch.mean)
compare("amax", given(floats, [0]))
compare("max_dim", given(floats, 1), torch.max)
compare("min_dim", given(floats, 1), torch.min)
compare("prod_dim", given(lambda: floats(low=0.8, high=1.2), 1), torch.prod)
compare("var_mean", given(floats, [1]))
compare("std", given(floats, [1]))
compare("vector_norm", given(floats, 2, [1]), torch.linalg.vector_norm)
compare("cumsum", given(floats, 1))
compare("cummax", given(floats, 1))
compare("cummin", given(floats, 1))
compare("aminmax", given(floats), lambda x: tuple(torch.aminmax(x)))
compare("trace", given(lambda: floats(30, 30)))
compare("quantile", given(floats, lambda: torch.tensor([0.1, 0.5]), 1))

compare("softmax", given(floats, 1))
compare("log_softmax", given(floats, 1))
compare("layer_norm", given(floats, [100], lambda: floats(100), lambda: floats(100)),
        lambda *a: (F.layer_norm(*a), *(x.squeeze() for x in torch.native_layer_norm(*a, 1e-5)[1:])))  # fmt: skip
compare("group_norm", given(lambda: floats(2, 8, 30), lambda: floats(8), lambda: floats(8), 2, 8, 30, 4, 1e-5),
        torch.native_group_norm)  # fmt: skip
compare("rms_norm", given(floats, [100], lambda: floats(100), 1e-5), lambda x, s, w, e: F.rms_norm(x, s, w, e))
compare("mse_loss", given(floats, floats), lambda x, y: F.mse_loss(x, y))
compare("nll_loss_forward", given(lambda: floats(16, 10), lambda: torch.randint(0, 10, (16,)), None, 1, -100),
        torch.ops.aten.nll_loss_forward)  # fmt: skip
compare("soft_margin_loss", given(floats, lambda: floats().sign()), lambda x, y: F.soft_margin_loss(x, y))
compare("glu", given(floats), F.glu)
compare("prelu", given(floats, lambda: torch.tensor([0.2])))

HALF = {"dtype": torch.float16}
LOOSE = {"rtol": 1e-2, "atol": 2e-2}
compare("mm", given(lambda: floats(33, 40, **HALF), lambda: floats(40, 20, **HALF)), **LOOSE)
compare("bmm", given(lambda: floats(3, 20, 40, **HALF), lambda: floats(3, 40, 20, **HALF)), **LOOSE)
compare("addmm", given(lambda: floats(20, **HALF), lambda: floats(33, 40, **HALF), lambda: floats(40, 20, **HALF)), **LOOSE)
compare("baddbmm", given(lambda: floats(3, 20, 20, **HALF), lambda: floats(3, 20, 40, **HALF), lambda: floats(3, 40, 20, **HALF)),
        **LOOSE)  # fmt: skip
compare("mv", given(lambda: floats(33, 40), lambda: floats(40)), atol=1e-3)
compare("addmv", given(lambda: floats(33), lambda: floats(33, 40), lambda: floats(40)), atol=1e-3)
compare("dot", given(lambda: floats(500), lambda: floats(500)), atol=1e-2)
compare("vdot", given(lambda: floats(500), lambda: floats(500)), atol=1e-2)
compare("outer", given(lambda: floats(20), lambda: floats(30)))
compare("addr", given(lambda: floats(20, 30), lambda: floats(20), lambda: floats(30)))
compare("kron", given(lambda: floats(3, 4), lambda: floats(5, 2)))
compare("max_pool2d_with_indices", given(lambda: floats(2, 3, 12, 12), [2, 2]), torch.ops.aten.max_pool2d_with_indices)
compare("avg_pool2d", given(lambda: floats(2, 3, 12, 12), [2, 2]), F.avg_pool2d)
compare("upsample_nearest2d", given(lambda: floats(1, 3, 8, 8), [16, 16]), torch.ops.aten.upsample_nearest2d)

compare("embedding", given(lambda: floats(50, 32), lambda: torch.randint(0, 50, (20,))), lambda w, i: F.embedding(i, w))
compare("gather", given(floats, 1, lambda: torch.randint(0, 100, (16, 30))))
compare("scatter", given(floats, 1, lambda: torch.rand(16, 100).argsort(1)[:, :30], lambda: floats(16, 30)))
compare("index_select", given(floats, 1, lambda: torch.randint(0, 100, (20,))))
compare("index_add", given(floats, 0, lambda: torch.randperm(16)[:5], lambda: floats(5, 100)))
compare("cat", given(lambda: [floats(), floats()], 1))
compare("stack", given(lambda: [floats(), floats()], 1))
compare("hstack", given(lambda: [floats(), floats()]))
compare("vstack", given(lambda: [floats(), floats()]))
compare("flip", given(floats, [1]))
compare("roll", given(floats, [3], [1]))
compare("repeat", given(floats, (2, 1)), lambda x, s: x.repeat(s))
compare("tile", given(floats, (2, 2)))
compare("repeat_interleave_self_int", given(floats, 2, 0), torch.repeat_interleave)
compare("pad", given(floats, [1, 2]), F.pad)
compare("diag", given(lambda: floats(20)))
compare("diag_embed", given(lambda: floats(4, 6)))
compare("tril", given(lambda: floats(20, 30)))
compare("triu", given(lambda: floats(20, 30), 1))
compare("nonzero", given(lambda: whole(low=0, high=2)))
compare("sort", given(lambda: torch.rand(4, 200).argsort(1).float(), 1))
compare("topk", given(lambda: torch.rand(4, 200).argsort(1).float(), 5))
compare("isin", given(whole, lambda: whole(10)))
compare("unique_consecutive", given(lambda: whole(50, low=0, high=3)))
compare("arange_start", given(3, 90), torch.arange)
compare("linspace", given(0.0, 1.0, 77))
compare("logspace", given(0.0, 1.0, 33))
compare("eye", given(12))
compare("full", given([5, 7], 2.5))
compare("zeros", given([5, 7]))
compare("ones", given([5, 7]))
compare("one_hot", given(lambda: torch.randint(0, 7, (20,)), 7), F.one_hot)
compare("bincount", given(lambda: torch.randint(0, 7, (50,))))
compare("silu_and_mul", given(floats, floats), lambda x, y: F.silu(x) * y)
compare("gelu_and_mul", given(floats, floats), lambda x, y: F.gelu(x) * y)
compare("pixel_unshuffle", given(lambda: floats(1, 2, 8, 8), 2), F.pixel_unshuffle)
