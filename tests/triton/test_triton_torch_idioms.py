"""What programs for GPUs do with torch, one idiom a test: each is right on the mock device, or refused by name."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not here, and no part of the usual set-up: docs/triton.md says how")
pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import luthier as lt  # noqa: E402

IDIOMS: list[Callable[[], None]] = []
CUDA = torch.device("cuda:0")


def idiom(function):
    IDIOMS.append(function)
    return function


@pytest.mark.parametrize("told", IDIOMS, ids=lambda function: function.__name__)
def test_idiom(on_gpu, told):
    on_gpu("gfx942")
    told()


@triton.jit
def increment(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def incremented(x):
    increment[(triton.cdiv(x.numel(), 256),)](x, x.numel(), BLOCK=256)
    return x


# Where tensors are.


@idiom
def creation():
    for made in (
        torch.zeros(3, device="cuda"), torch.empty(3, device=0), torch.tensor([1.0], device="cuda:0"), torch.arange(3, device=CUDA),
        torch.randn(3, device="cuda"), torch.zeros(3).new_ones(2, device="cuda"), torch.eye(2, device="cuda"),
        torch.as_tensor([1], device="cuda"), torch.zeros(3).cuda(), torch.zeros(3).to("cuda"), torch.zeros(3).to(CUDA),
        torch.zeros(3).to(device="cuda"), torch.zeros(3).to("cuda", torch.float16), torch.full_like(torch.zeros(3), 2, device="cuda"),
    ):  # fmt: skip
        assert made.device == CUDA and made.device.type == "cuda" and made.is_cuda and not made.is_cpu


@idiom
def the_hosts_tensors():
    for made in (
        torch.zeros(3), torch.tensor([1.0]), torch.from_numpy(np.ones(3)), torch.zeros(3, device="cpu"), torch.zeros(3) + 1,
        torch.zeros(3, device="cuda").cpu(), torch.zeros(3, device="cuda").to("cpu"), torch.zeros(3)[1:], torch.nn.Linear(2, 2).weight,
        torch.frombuffer(bytearray(8), dtype=torch.int64), torch.nn.functional.relu(torch.zeros(3)), torch.zeros(3).double(),
    ):  # fmt: skip
        assert made.device.type == "cpu" and not made.is_cuda and made.is_cpu and made.get_device() == -1


@idiom
def get_device():
    assert torch.zeros(3, device="cuda").get_device() == 0


@idiom
def results_are_where_their_operands_are():
    x = torch.ones(3, device="cuda")
    for made in (x + 1, x[1:], x.view(3, 1), torch.empty_like(x), x.clone(), x.detach(), x.new_zeros(2), x.half(), x.sum()):
        assert made.device == x.device
    assert torch.zeros(2, device=x.device).is_cuda


@idiom
def a_copy_to_the_gpu_leaves_the_original_alone():
    reference = torch.zeros(300)
    x = reference.cuda()
    assert incremented(x).eq(1).all() and reference.eq(0).all()
    x = reference.to("cuda")
    assert incremented(x).eq(1).all() and reference.eq(0).all()


@idiom
def a_copy_to_the_host_keeps_what_was():
    x = torch.zeros(300, device="cuda")
    before = x.cpu()
    assert incremented(x).eq(1).all() and before.eq(0).all()
    assert x.cuda() is x and before.cpu() is before and x.to(x.device).data_ptr() == x.data_ptr()


@idiom
def tensors_of_numpy_are_copied():
    array = np.zeros(300, np.float32)
    for moved in (torch.from_numpy(array).cuda(), torch.as_tensor(array, device="cuda"), torch.asarray(array, device="cuda")):
        assert incremented(moved).eq(1).all() and moved.is_cuda and not array.any()
    x = torch.ones(300, device="cuda")
    host = torch.as_tensor(x, device="cpu")
    assert x.is_cuda and not host.is_cuda and incremented(x).eq(2).all() and host.eq(1).all()
    assert torch.as_tensor(x, device="cuda").data_ptr() == x.data_ptr()


@idiom
def moves_keep_gradients():
    x = torch.ones(3, requires_grad=True)
    (x.cuda() * 2).cpu().sum().backward()
    assert x.grad.tolist() == [2.0] * 3 and x.grad.device == x.device


@idiom
def modules_move():
    model = torch.nn.Linear(3, 4)
    assert next(model.parameters()).device.type == "cpu"
    assert {p.device.type for p in model.cuda().parameters()} == {"cuda"}
    assert model(torch.ones(2, 3, device="cuda")).is_cuda
    assert {p.device.type for p in model.to("cpu").parameters()} == {"cpu"}
    assert torch.nn.Linear(3, 4, device="cuda").weight.is_cuda


@idiom
def device_contexts():
    with torch.device("cuda"):
        assert torch.ones(3).is_cuda
    with torch.cuda.device(0), torch.cuda.device_of(torch.ones(1)):
        assert torch.cuda.current_device() == 0


@idiom
def default_device():
    torch.set_default_device("cuda")
    try:
        assert torch.ones(3).is_cuda and torch.get_default_device() == CUDA
    finally:
        torch.set_default_device(None)
    assert not torch.ones(3).is_cuda


@idiom
def printing():
    assert "device='cuda:0'" in repr(torch.ones(3, device="cuda")) and "device" not in repr(torch.ones(3))


@idiom
def to_numpy():
    assert torch.arange(3, device="cuda").cpu().numpy().tolist() == [0, 1, 2]


@idiom
def legacy_types():
    x = torch.cuda.FloatTensor([1.0, 2.0])
    assert x.is_cuda and x.type() == "torch.cuda.FloatTensor" and isinstance(x, torch.cuda.FloatTensor)
    host = torch.ones(2)
    assert host.type() == "torch.FloatTensor" and not isinstance(host, torch.cuda.FloatTensor)
    for moved in (host.type(torch.cuda.HalfTensor), host.type("torch.cuda.HalfTensor")):
        assert moved.is_cuda and moved.dtype == torch.float16


# Autocast.


def _product(**how):
    x, y = torch.randn(8, 8, device="cuda"), torch.randn(8, 8, device="cuda")
    with torch.autocast("cuda", **how):
        return torch.softmax(x @ y, 0), x @ y


@idiom
def autocast():
    for how, lower in (({}, torch.float16), ({"dtype": torch.bfloat16}, torch.bfloat16), ({"enabled": False}, torch.float32)):
        single, product = _product(**how)
        assert (single.dtype, product.dtype) == (torch.float32, lower)
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    assert not torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16


@idiom
def autocast_of_modules_nested_and_switched_off():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)).cuda()
    x = torch.randn(4, 8, device="cuda", requires_grad=True)
    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        inner, outer = model[0](x), model(x)
        with torch.autocast(device_type=x.device.type, enabled=False):
            assert model[0](x).dtype == torch.float32
        assert model[0](x).dtype == torch.bfloat16 and torch.is_autocast_enabled("cuda")
        assert torch.get_autocast_dtype("cuda") == torch.bfloat16
    outer.sum().backward()
    assert (inner.dtype, outer.dtype, x.grad.dtype) == (torch.bfloat16, torch.float32, torch.float32)
    torch.testing.assert_close(inner.float(), model[0](x), rtol=2e-2, atol=2e-2)


@idiom
def autocast_as_decorator_and_old_spelling():
    @torch.autocast("cuda", dtype=torch.bfloat16)
    def product(x):
        return x @ x

    assert product(torch.ones(2, 2, device="cuda")).dtype == torch.bfloat16
    with torch.cuda.amp.autocast(dtype=torch.bfloat16):
        assert product(torch.ones(2, 2, device="cuda")).dtype == torch.bfloat16


@idiom
def autocast_of_custom_functions():
    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
        def forward(ctx, x):
            assert x.dtype == torch.float32 and not torch.is_autocast_enabled("cuda")
            return 2 * x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx, gradient):
            return 2 * gradient

    x = torch.ones(2, device="cuda", dtype=torch.float16, requires_grad=True)
    with torch.autocast("cuda"):
        out = Double.apply(x)
    assert out.dtype == torch.float32
    out.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@idiom
def autocast_for_the_cpu_is_the_cpus():
    x = torch.randn(8, 8)
    _product()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = x @ x
        assert product.dtype == torch.bfloat16 and torch.softmax(product, 0).dtype == torch.bfloat16


@idiom
def autocast_in_threads():
    found = []
    thread = threading.Thread(target=lambda: found.append(_product(dtype=torch.bfloat16)[1].dtype))
    thread.start()
    thread.join()
    assert found == [torch.bfloat16]


@idiom
def autocast_agrees_with_torchs_own_lists():
    """Every operator of the lists that torch tests its autocast for CUDA with."""
    lists = _torchs_lists()
    wrong = []
    for name, owner, wanted in (
        ("torch_fp16", torch, torch.float16), ("torch_fp32", torch, torch.float32), ("nn_fp16", torch._C._nn, torch.float16),
        ("nn_fp32", torch._C._nn, torch.float32), ("methods_fp16", None, torch.float16), ("methods_fp32", None, torch.float32),
        ("torch_need_autocast_promote", torch, torch.float32), ("torch_expect_builtin_promote", torch, None),
    ):  # fmt: skip
        for operator, args, *rest in getattr(lists, name):
            if operator.startswith("cudnn_") or operator == "einsum":
                continue  # not on any AMD GPU; and written with its arguments the wrong way round
            kwargs = next((r for r in rest if isinstance(r, dict)), {})
            dtype = wanted or rest[0]
            with torch.autocast("cuda"):
                out = getattr(owner, operator)(*args, **kwargs) if owner else getattr(args[0], operator)(*args[1:], **kwargs)
            outs = out if isinstance(out, (tuple, list)) else (out,)
            wrong += [(operator, o.dtype, dtype) for o in outs if isinstance(o, torch.Tensor) and o.dtype != dtype]
    assert wrong == []
    with torch.autocast("cuda"), pytest.raises(RuntimeError, match="unsafe to autocast"):
        torch.nn.functional.binary_cross_entropy(torch.rand(3, device="cuda"), torch.rand(3, device="cuda"))


def _torchs_lists():
    import sys
    from types import SimpleNamespace

    with pytest.MonkeyPatch.context() as patch:  # which wants more than these lists need
        common = SimpleNamespace(TEST_WITH_ROCM=True, TestCase=object)
        patch.setitem(sys.modules, "torch.testing._internal.common_utils", common)
        from torch.testing._internal.autocast_test_lists import AutocastTestLists

        return AutocastTestLists(CUDA)


@idiom
def grad_scaler():
    model = torch.nn.Linear(8, 1).cuda()
    optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler("cuda", init_scale=8.0)
    before = model.weight.detach().clone()
    with torch.autocast("cuda"):
        loss = model(torch.ones(4, 8, device="cuda")).float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8.0 and not torch.equal(before, model.weight)


# Functions of the program that torch calls.


class _Fresh(torch.autograd.Function):
    """Makes tensors on the GPU on the way back."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        return incremented(torch.zeros(gradient.shape, device="cuda")) + torch.ones(gradient.shape).to("cuda") - 1


@idiom
def backward():
    x = torch.randn(20, device="cuda", requires_grad=True)
    _Fresh.apply(x).sum().backward()
    assert x.grad.eq(1).all()
    (gradient,) = torch.autograd.grad(_Fresh.apply(x).sum(), x)
    assert gradient.eq(1).all() and gradient.is_cuda


@idiom
def hooks():
    seen = []
    model = torch.nn.Linear(3, 1).cuda()
    model.register_full_backward_hook(lambda *a: seen.append(torch.zeros(1, device="cuda").is_cuda))
    model.register_forward_hook(lambda *a: seen.append(torch.zeros(1, device="cuda").is_cuda))
    x = torch.ones(2, 3, device="cuda", requires_grad=True)
    x.register_hook(lambda gradient: gradient + torch.ones(2, 3, device="cuda"))
    model(x).sum().backward()
    assert seen == [True, True] and torch.allclose(x.grad, model.weight + 1)


@idiom
def checkpoints():
    from torch.utils.checkpoint import checkpoint

    def inner(x):
        return x * torch.full((3,), 2.0, device="cuda") + torch.rand(3, device="cuda")

    for reentrant in (True, False):
        x = torch.ones(3, device="cuda", requires_grad=True)
        checkpoint(inner, x, use_reentrant=reentrant).sum().backward()
        assert x.grad.tolist() == [2.0] * 3


@idiom
def second_derivatives():
    x = torch.ones(3, device="cuda", requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    first.sum().backward()
    assert x.grad.tolist() == [6.0] * 3


@idiom
def functional_transforms():
    x = torch.arange(3.0, device="cuda")
    assert torch.func.grad(lambda v: (v * torch.ones(3, device="cuda")).sum())(x).tolist() == [1.0] * 3
    assert torch.vmap(lambda v: v * 2)(x).tolist() == [0.0, 2.0, 4.0]


@idiom
def optimizers():
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        for how in ({}, {"foreach": True}):
            x = torch.nn.Parameter(torch.ones(3, device="cuda"))
            optimizer = kind([x], lr=0.1, **how)
            x.square().sum().backward()
            torch.nn.utils.clip_grad_norm_([x], 1.0)
            optimizer.step()
            assert (x < 1).all()


# Streams, time, random numbers, memory.


@idiom
def streams_and_events():
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(stream):
        x = incremented(torch.zeros(10, device="cuda"))
    x.record_stream(stream)
    end.record(stream)
    torch.cuda.current_stream().wait_stream(stream)
    end.synchronize()
    assert start.elapsed_time(end) > 0 and stream.query() and x.eq(1).all()


@idiom
def generators():
    generator = torch.Generator(device="cuda").manual_seed(3)
    first = torch.randn(4, generator=generator, device="cuda")
    assert torch.equal(torch.randn(4, generator=generator.manual_seed(3), device="cuda"), first)
    torch.manual_seed(1)
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(3, device="cuda"), first)


@idiom
def fork_rng():
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=[0]):
        inner = torch.rand(3, device="cuda")
    assert torch.equal(torch.rand(3, device="cuda"), inner)


@idiom
def memory_and_facts():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.get_device_name(0)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total and torch.cuda.memory_allocated() >= 0
    assert torch.cuda.get_device_properties(CUDA).multi_processor_count > 0 and torch.cuda.is_bf16_supported()


@idiom
def accelerator():
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator().type == "cuda"
    assert torch.accelerator.device_count() == 1 and torch.accelerator.current_device_index() == 0
    torch.accelerator.synchronize()
    torch.accelerator.set_device_index(0)
    assert torch.zeros(1, device=torch.accelerator.current_accelerator()).is_cuda and torch.accelerator.current_stream().query()


@idiom
def pinned_memory():
    x = torch.zeros(300, pin_memory=True)
    y = x.pin_memory().to("cuda", non_blocking=True)
    assert incremented(y).eq(1).all() and x.eq(0).all() and not x.is_cuda


@idiom
def loaders_with_pinned_memory():
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
        assert batch.to("cuda").is_cuda and batch.shape == (4,)


# Files and copies.


@idiom
def save_and_load():
    file = io.BytesIO()
    torch.save({"gpu": torch.ones(3, device="cuda"), "host": torch.zeros(3)}, file)
    for where, gpu, host in ((None, "cuda", "cpu"), ("cpu", "cpu", "cpu"), ("cuda", "cuda", "cuda"), ("cuda:0", "cuda", "cuda")):
        file.seek(0)
        found = torch.load(file, map_location=where)
        assert (found["gpu"].device.type, found["host"].device.type) == (gpu, host), where
        assert found["gpu"].eq(1).all() and found["host"].eq(0).all()


@idiom
def state_dicts():
    model, other = torch.nn.Linear(3, 4).cuda(), torch.nn.Linear(3, 4)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.weight, model.weight.cpu()) and not other.weight.is_cuda
    incremented(model.weight.data)
    assert not torch.equal(other.weight, model.weight.cpu())


@idiom
def deep_copies_and_pickles():
    x = torch.ones(3, device="cuda")
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert other.device == x.device and torch.equal(other, x)
    assert copy.deepcopy(torch.ones(3)).device.type == "cpu"


@idiom
def comparison_of_devices():
    torch.testing.assert_close(torch.ones(3, device="cuda"), torch.ones(3).cuda())
    with pytest.raises(AssertionError, match="device"):
        torch.testing.assert_close(torch.ones(3, device="cuda"), torch.ones(3))


# Operators and compilers.


@idiom
def custom_operators():
    @torch.library.custom_op("luthier_idioms::twice", mutates_args=(), device_types="cuda")
    def twice(x: torch.Tensor) -> torch.Tensor:
        return incremented(x.clone()) * 2 - 2

    assert twice(torch.ones(3, device="cuda")).tolist() == [2.0] * 3


@idiom
def operators_for_each_device():
    library = torch.library.Library("luthier_idioms_two", "DEF")
    library.define("which(Tensor x) -> Tensor")
    library.impl("which", lambda x: x * 0 + 1, "CUDA")
    library.impl("which", lambda x: x * 0 + 2, "CPU")
    assert torch.ops.luthier_idioms_two.which(torch.zeros(1, device="cuda")).item() == 1
    torch.library.define("luthier_idioms_two::other", "(Tensor x) -> Tensor", lib=library)
    torch.library.impl("luthier_idioms_two::other", "cuda", lambda x: x + 5, lib=library)
    assert torch.ops.luthier_idioms_two.other(torch.zeros(1, device="cuda")).item() == 5
    library._destroy()


@idiom
def triton_operators():
    @torch.library.triton_op("luthier_idioms::plus", mutates_args={})
    def plus(x: torch.Tensor) -> torch.Tensor:
        out = x.clone()
        torch.library.wrap_triton(increment)[(1,)](out, x.numel(), BLOCK=256)
        return out

    assert plus(torch.ones(3, device="cuda")).tolist() == [2.0] * 3


@idiom
def scripts():
    @torch.jit.script
    def function(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x * 2
        return x

    assert function(torch.ones(3, device="cuda")).tolist() == [2.0] * 3


@idiom
def traces():
    model = torch.nn.Linear(3, 4).cuda()
    x = torch.ones(2, 3, device="cuda")
    torch.testing.assert_close(torch.jit.trace(model, x)(x), model(x))


@idiom
def graphs_are_refused():
    with pytest.raises(lt.ArgumentError, match="no graphs"):
        torch.cuda.CUDAGraph()
    with pytest.raises(lt.ArgumentError, match="no graphs"):
        torch.accelerator.Graph()


@idiom
def compiled_functions():
    @torch.compile
    def function(x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return (x @ x).sin(), x.device.type

    x = torch.randn(16, 16, device="cuda")
    out, _ = function(x)
    assert out.dtype == torch.bfloat16
    with torch.autocast("cuda", dtype=torch.bfloat16):
        torch.testing.assert_close(out, (x @ x).sin(), rtol=2e-2, atol=2e-2)


@idiom
def data_parallel():
    model = torch.nn.DataParallel(torch.nn.Linear(3, 4).cuda())
    assert model(torch.ones(2, 3, device="cuda")).is_cuda


@idiom
def nccl_is_refused():
    assert not torch.distributed.is_nccl_available()
    with pytest.raises(RuntimeError, match="NCCL"):
        torch.distributed.init_process_group("nccl", rank=0, world_size=1, store=torch.distributed.HashStore())
