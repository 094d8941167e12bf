"""torch's autocast for ``cuda``, on tensors that the mock device shares with the CPU.

torch casts by a tensor's kind of device, and these tensors are the CPU's. So while autocast is on for ``cuda`` it is on for
the CPU, too, and operators that torch treats differently on the two are treated here as on ``cuda``. Which those are,
torch's dispatcher says; what is done with each, the tables below (torch's documentation of autocast, "CUDA Ops"). An operator
that the dispatcher knows and the tables do not is refused while autocast is on.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..errors import ArgumentError

#: In the lower precision on ``cuda``.
_LOWER = frozenset(
    """
    _convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution
    cudnn_convolution cudnn_convolution_transpose prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm
    bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
    _scaled_dot_product_flash_attention scaled_dot_product_attention
    """.split()
)
#: On ``cuda`` these are one operator, of cuDNN, in the lower precision.
_RECURRENT = (
    "lstm.input",
    "lstm.data",
    "gru.input",
    "gru.data",
    "rnn_tanh.input",
    "rnn_tanh.data",
    "rnn_relu.input",
    "rnn_relu.data",
)
#: In the widest type of their operands.
_WIDEST = frozenset("addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add".split())
#: In float32.
_SINGLE = frozenset(
    """
    _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity cumprod cumsum dist erfinv exp
    expm1 frobenius_norm group_norm hinge_embedding_loss huber_loss kl_div l1_loss layer_norm linalg_matrix_norm
    linalg_matrix_sqrth linalg_vector_norm log log10 log1p log2 log_softmax logsumexp margin_ranking_loss mse_loss
    multi_margin_loss multilabel_margin_loss native_layer_norm nll_loss nll_loss2d norm nuclear_norm pdist poisson_nll_loss pow
    prod reciprocal renorm rms_norm rsqrt sinh smooth_l1_loss soft_margin_loss softmax softplus sum tan triplet_margin_loss
    upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
    upsample_trilinear3d
    """.split()
)
#: They have an argument ``dtype``, which counts if it is given.
_TYPED = frozenset("softmax log_softmax cumsum cumprod sum prod".split())
#: What the CPU's autocast does with the operators that are replaced here and that it knows; float32 with the others.
_CPU_LOWER = frozenset(
    "conv1d conv2d conv3d prelu _native_multi_head_attention mkldnn_rnn_layer _addmm_activation linear_relu".split()
)
_CPU_WIDEST = frozenset("cat stack index_copy".split())

_CPU = torch._C.DispatchKey.AutocastCPU
_BELOW = torch._C._dispatch_keyset_full_after(_CPU)


def follow() -> Callable[[], None]:
    """Has autocast for ``cuda`` cast, and gives what ends that."""
    before = torch.set_autocast_enabled, torch.set_autocast_dtype, torch.set_autocast_gpu_dtype
    enable, set_dtype, _ = before
    library: list[Any] = []
    cpus = threading.local()  # what is set for the CPU while it is on for cuda

    def set_enabled(*args: Any, **kwargs: Any) -> None:
        """``set_autocast_enabled(device_type, enabled)``, or ``(enabled)`` for ``cuda``."""
        was_on = torch.is_autocast_enabled("cuda")
        enable(*args, **kwargs)
        is_on = torch.is_autocast_enabled("cuda")
        if is_on and not was_on:
            if not library:
                library.append(_replace())
            cpus.state = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
            enable("cpu", True)
            set_dtype("cpu", torch.get_autocast_dtype("cuda"))
        elif was_on and not is_on:
            enabled, dtype = getattr(cpus, "state", (False, torch.bfloat16))
            enable("cpu", enabled)
            set_dtype("cpu", dtype)

    def set_type(device_type: str, dtype: Any) -> None:
        set_dtype(device_type, dtype)
        if device_type == "cuda" and torch.is_autocast_enabled("cuda"):
            set_dtype("cpu", dtype)

    torch.set_autocast_enabled = set_enabled
    torch.set_autocast_dtype = set_type
    torch.set_autocast_gpu_dtype = lambda dtype: set_type("cuda", dtype)

    def back() -> None:
        torch.set_autocast_enabled, torch.set_autocast_dtype, torch.set_autocast_gpu_dtype = before
        for made in library:
            made._destroy()

    return back


def _operators() -> Iterator[tuple[str, bool, bool]]:
    """Names of operators, and whether torch's autocast knows them on ``cuda`` and on the CPU."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("aten::"):
            on_cuda, on_cpu = has(name, "AutocastCUDA"), has(name, "AutocastCPU")
            if on_cuda or on_cpu or name[6:] in _RECURRENT:
                yield name[6:], on_cuda, on_cpu


def _replace() -> Any:
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "overriding a previously registered kernel"
        for name, on_cuda, on_cpu in list(_operators()):
            plain = name.partition(".")[0]
            on_cuda = on_cuda or name in _RECURRENT
            if on_cuda and on_cpu and (plain in _LOWER or plain in _SINGLE) and plain not in (*_TYPED, "prelu"):
                continue  # the same on both
            if plain == "_cudnn_rnn" or plain.startswith("cudnn_"):
                continue  # not on the CPU
            packet, _, overload = name.partition(".")
            operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
            library.impl(name, _kernel(operator, plain, on_cuda, on_cpu), "AutocastCPU", with_keyset=True)
    return library


def _kernel(operator: Any, name: str, on_cuda: bool, on_cpu: bool) -> Callable[..., Any]:
    """What the dispatcher calls for a tensor on the CPU while autocast is on for any device."""
    for_cuda = _cast_on_cuda(name) if on_cuda else None
    for_cpu = _cast_on_cpu(name) if on_cpu else None
    typed = on_cuda and name in _TYPED
    #: Composite operators, whose parts are cast.
    without = torch._C.DispatchKeySet(_CPU)

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        cuda = torch.is_autocast_enabled("cuda")
        cast = for_cuda if cuda else for_cpu
        if cast is None or (cuda and typed and kwargs.get("dtype", None) is not None):
            return operator.redispatch(keyset & _BELOW, *args, **kwargs)
        given = [*args, *kwargs.values()]
        dtype = cast(given)
        with torch._C._ExcludeDispatchKeyGuard(without):
            args = tuple(_to(value, dtype) for value in args)
            return operator(*args, **{key: _to(value, dtype) for key, value in kwargs.items()})

    return kernel


def _cast_on_cuda(name: str) -> Callable[[list[Any]], Any]:
    if name in _LOWER or f"{name}.input" in _RECURRENT:
        return lambda given: torch.get_autocast_dtype("cuda")
    if name in _WIDEST:
        return lambda given: _widest(given, torch.get_autocast_dtype("cuda"))
    if name in _SINGLE:
        return lambda given: torch.float32

    def refuse(given: list[Any]) -> Any:
        if name == "binary_cross_entropy":
            raise RuntimeError(
                "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: use "
                "binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss, or switch autocast off around it"
            )
        raise ArgumentError(f"torch.autocast('cuda') casts aten::{name}, and Luthier does not know to what: switch it off there")

    return refuse


def _cast_on_cpu(name: str) -> Callable[[list[Any]], Any]:
    if name in _CPU_LOWER:
        return lambda given: torch.get_autocast_dtype("cpu")
    if name in _CPU_WIDEST:
        return lambda given: _widest(given, torch.get_autocast_dtype("cpu"))
    return lambda given: torch.float32


def _tensors(given: Any) -> Iterator[Any]:
    for value in given:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _widest(given: list[Any], lower: Any) -> Any:
    found = {value.dtype for value in _tensors(given) if value.is_floating_point()}
    return torch.float32 if torch.float32 in found else lower


def _to(value: Any, dtype: Any) -> Any:
    """Cast, as autocast casts: what is floating point and no double."""
    if isinstance(value, torch.Tensor):
        cast = value.is_floating_point() and value.dtype != torch.float64 and value.dtype != dtype
        return value.to(dtype) if cast else value
    if isinstance(value, (list, tuple)):
        return type(value)(_to(inner, dtype) for inner in value)
    return value
