"""hip-python: memory, a kernel that hipRTC compiles, events and the properties of the GPU, beside NumPy."""

import ctypes

import numpy as np
from hip import hip, hiprtc

SOURCE = b"""
extern "C" __global__ void scaled(float factor, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += factor * x[i];
}
"""


def done(result):
    """What a call gives beside its status, which has to be success."""
    status, *values = result
    if status not in (hip.hipError_t.hipSuccess, hiprtc.hiprtcResult.HIPRTC_SUCCESS):
        raise RuntimeError(str(status))
    return values[0] if len(values) == 1 else values


properties = hip.hipDeviceProp_t()
done(hip.hipGetDeviceProperties(properties, 0))
name = properties.gcnArchName.decode()

program = done(hiprtc.hiprtcCreateProgram(SOURCE, b"scaled", 0, None, None))
done(hiprtc.hiprtcCompileProgram(program, 1, [f"--offload-arch={name}".encode()]))
code = bytearray(done(hiprtc.hiprtcGetCodeSize(program)))
done(hiprtc.hiprtcGetCode(program, code))
module = done(hip.hipModuleLoadData(code))
kernel = done(hip.hipModuleGetFunction(module, b"scaled"))

n = 10_000
x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
expected = y + np.float32(3) * x
on_device = [done(hip.hipMalloc(array.nbytes)) for array in (x, y)]
for memory, array in zip(on_device, (x, y), strict=True):
    done(hip.hipMemcpy(memory, array, array.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))

stream = done(hip.hipStreamCreate())
begin, end = done(hip.hipEventCreate()), done(hip.hipEventCreate())
done(hip.hipEventRecord(begin, stream))
done(
    hip.hipModuleLaunchKernel(
        kernel, -(-n // 256), 1, 1, 256, 1, 1, 0, stream, None,
        extra=(ctypes.c_float(3), on_device[0], on_device[1], ctypes.c_int(n)),
    )
)  # fmt: skip
done(hip.hipEventRecord(end, stream))
done(hip.hipStreamSynchronize(stream))
assert done(hip.hipEventElapsedTime(begin, end)) > 0
done(hip.hipMemcpy(y, on_device[1], y.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
for memory in on_device:
    done(hip.hipFree(memory))
done(hip.hipModuleUnload(module))
print(f"properties {'right' if properties.totalGlobalMem > 0 and name.startswith('gfx') else 'WRONG'}")
print(f"scaled {'right' if np.array_equal(y, expected) else 'WRONG'}")
