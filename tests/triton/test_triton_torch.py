"""torch's tensors as arguments, ``device="cuda"``, and what stands in for ``torch.cuda``."""

from __future__ import annotations

import io
import multiprocessing
import threading

import pytest

torch = pytest.importorskip("torch", reason="torch is not here, and no part of the usual set-up: docs/triton.md says how")
pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import luthier as lt  # noqa: E402
import luthier.triton  # noqa: E402
from luthier.triton import gpu  # noqa: E402


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int64"])
def test_tensors_are_worked_on_in_place_whatever_device_they_were_asked_for(on_gpu, dtype):
    on_gpu("gfx942")
    x = torch.arange(90, device="cuda").to(getattr(torch, dtype))
    y = torch.full((90,), 3, dtype=x.dtype, device=torch.device("cuda", 0))
    assert torch.equal(add(x, y), x + y)
    base = torch.zeros(200, dtype=x.dtype)
    add_kernel[(1,)](x, y, base[7:], 90, BLOCK=128)
    assert torch.equal(base[7:97], x + y) and not base[:7].any() and not base[97:].any()


def test_a_move_to_where_a_tensor_is_gives_itself(on_gpu):
    on_gpu("gfx942")
    x = torch.randn(10, device="cuda")
    for moved in (x.cuda(), x.to("cuda"), x.to(torch.device("cuda:0")), x.to(device="cuda")):
        assert moved.data_ptr() == x.data_ptr() and moved.is_cuda
    y = torch.randn(10)
    assert y.cpu().data_ptr() == y.to("cpu").data_ptr() == y.data_ptr()


@pytest.mark.parametrize("where", [None, "cuda", "cuda:0", torch.device("cuda")])
def test_what_was_saved_on_a_gpu_is_loaded(on_gpu, where):
    on_gpu("gfx942")
    x, file = torch.randn(10), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
        torch.save({"x": x}, file)
    file.seek(0)
    assert torch.equal(torch.load(file, map_location=where)["x"], x)


def test_streams_and_events_are_ready_at_once_and_the_clock_is_the_hosts(on_gpu):
    on_gpu("gfx942")
    x = torch.ones(300, device="cuda")
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    x.record_stream(stream)
    start.record()
    with torch.cuda.stream(stream):
        out = add(x, x)
    end.record()
    torch.cuda.current_stream().wait_stream(stream)
    stream.synchronize()
    torch.cuda.synchronize()
    assert (out == 2).all() and stream.query() and start.elapsed_time(end) > 0


def test_do_bench_measures_and_graphs_are_refused_by_name(on_gpu):
    on_gpu("gfx942")
    x = torch.ones(300, device="cuda")
    assert triton.testing.do_bench(lambda: add(x, x), warmup=1, rep=2) > 0
    assert len(triton.testing.do_bench(lambda: add(x, x), warmup=1, rep=2, quantiles=[0.5, 0.2, 0.8])) == 3
    for call in (torch.cuda.CUDAGraph, lambda: triton.testing.do_bench_cudagraph(lambda: add(x, x), rep=2)):
        with pytest.raises(lt.ArgumentError, match="no graphs"):
            call()


def test_the_device_is_one_of_amds(on_gpu):
    on_gpu("gfx1201")
    facts = torch.cuda.get_device_properties(0)
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.version.hip
    assert facts.gcnArchName == "gfx1201" and facts.warp_size == 32 and torch.cuda.get_device_capability() == (12, 0)


def test_seeds_repeat_random_numbers(on_gpu):
    on_gpu("gfx942")
    torch.cuda.manual_seed(5)
    first, state = torch.randn(4, device="cuda"), torch.cuda.get_rng_state()
    second = torch.randn(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.randn(4, device="cuda"), second)
    torch.cuda.manual_seed_all(5)
    assert torch.equal(torch.randn(4, device="cuda"), first)
    assert torch.cuda.default_generators[0].initial_seed() == 5
    generator = torch.Generator(device="cuda").manual_seed(5)
    assert torch.equal(torch.randn(4, generator=generator, device="cuda"), first)


def test_threads_that_are_started_later_know_the_device(on_gpu):
    on_gpu("gfx942")
    found = []
    thread = threading.Thread(target=lambda: found.append(add(torch.ones(9, device="cuda"), torch.ones(9, device="cuda"))))
    thread.start()
    thread.join()
    assert found[0].tolist() == [2.0] * 9


def test_gradients_pass_through_kernels(on_gpu):
    on_gpu("gfx942")

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return add(x, x)

        @staticmethod
        def backward(ctx, gradient):
            return add(gradient, gradient)

    x = torch.randn(20, device="cuda", requires_grad=True)
    (Twice.apply(x) ** 2).sum().backward()
    torch.testing.assert_close(x.grad, 8 * x.detach())


def test_kernels_serve_as_torchs_operators(on_gpu):
    on_gpu("gfx942")

    @torch.library.triton_op("luthier_tests::add", mutates_args={})
    def operator(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        torch.library.wrap_triton(add_kernel)[(1,)](x, y, out, x.numel(), BLOCK=256)
        return out

    x = torch.randn(100, device="cuda")
    assert torch.equal(torch.ops.luthier_tests.add(x, x), x + x)


def test_torch_compile_writes_kernels_for_the_device(on_gpu, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    module = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))
    compiled, x = torch.compile(module), torch.randn(16, 32)
    for target in ("gfx942", "gfx1201"):
        on_gpu(target)
        before, gradients = gpu.current().instructions, []
        for call in (compiled, module):
            out = call(x)
            out.square().mean().backward()
            gradients.append([out.detach(), *(p.grad for p in module.parameters())])
            module.zero_grad()
        assert gpu.current().instructions > before and luthier.triton.last.kernel.startswith("triton_")
        for got, want in zip(*gradients):
            torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)


def _in_child(queue):
    x = torch.arange(100, device="cuda", dtype=torch.float32)
    queue.put((float(add(x, x).sum()), torch.cuda.get_device_name()))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_child_that_starts_afresh_has_the_device(on_gpu, method):
    on_gpu("gfx1201")
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=120) == (9900.0, "Luthier gfx1201")
    child.join()


def test_torch_is_as_it_was_after_uninstall(on_gpu):
    before = torch.cuda.is_available, torch.Tensor.data_ptr, torch.Generator, threading.Thread._bootstrap_inner
    on_gpu("gfx942")
    luthier.triton.uninstall()
    assert before == (torch.cuda.is_available, torch.Tensor.data_ptr, torch.Generator, threading.Thread._bootstrap_inner)
    assert not torch.ones(3).is_cuda
