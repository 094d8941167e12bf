"""PyOpenCL against NumPy: one line for each, `NAME right`. AMD's OpenCL compiles the source by comgr."""

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void triple(global int *p, int n) {
    int i = get_global_id(0);
    if (i < n) p[i] *= 3;
}
kernel void sum(global const int *p, global int *out, local int *shared) {
    int t = get_local_id(0), n = get_local_size(0);
    shared[t] = p[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = n / 2; half_way; half_way /= 2) {
        if (t < half_way) shared[t] += shared[t + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) atomic_add(out, shared[0]);
}
kernel void roots(global const float *p, global float *out) {
    int i = get_global_id(0);
    out[i] = sqrt(p[i]) + fma(p[i], 2.0f, 1.0f);
}
kernel void say(int n) { printf("item %d of %d\\n", (int)get_global_id(0), n); }
"""

[platform] = [p for p in cl.get_platforms() if "AMD" in p.name]
context = cl.Context(platform.get_devices(cl.device_type.GPU))
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build()
flags = cl.mem_flags


def buffer(array):
    return cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=array)


def back(memory, like):
    out = np.empty_like(like)
    cl.enqueue_copy(queue, out, memory)
    return out


def told(name, got, expected):
    print(name, "right" if np.array_equal(got, expected) else "WRONG", flush=True)


v = np.arange(1000, dtype=np.int32)
memory = buffer(v)
program.triple(queue, (1024,), (64,), memory, np.int32(1000))
told("triple", back(memory, v), v * 3)
w = np.random.default_rng(0).integers(-99, 99, 4096).astype(np.int32)
total = buffer(np.zeros(1, np.int32))
program.sum(queue, (4096,), (256,), buffer(w), total, cl.LocalMemory(1024))
told("sum", back(total, w[:1]), w.sum(keepdims=True))
x = (np.arange(256, dtype=np.float32)) ** 2
out = buffer(x)
program.roots(queue, (256,), None, buffer(x), out)
told("roots", back(out, x), np.sqrt(x) + (2 * x + 1))
cl.enqueue_fill_buffer(queue, memory, np.int32(7), 0, 4000)
told("fill", back(memory, v), np.full_like(v, 7))
program.say(queue, (2,), (1,), np.int32(2))
queue.finish()
