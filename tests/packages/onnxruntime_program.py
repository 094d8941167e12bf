"""onnxruntime on its ROCm provider: an operator at a time, and a small network, beside NumPy."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper


def outcome(nodes, output, *values):
    """What operators make of arrays named a, b, c, on the GPU alone."""
    names = "abc"[: len(values)]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in zip(names, values, strict=True)]
    outputs = [helper.make_tensor_value_info("out", TensorProto.FLOAT, output)]
    model = helper.make_model(helper.make_graph(nodes, "graph", inputs, outputs), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    options = onnxruntime.SessionOptions()
    # An operator that the provider has not is an error, and nothing that the CPU does in its place.
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["ROCMExecutionProvider"])
    return session.run(None, dict(zip(names, values, strict=True)))[0]


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


random = np.random.default_rng(0)
a, b = random.random((8, 64), np.float32), random.random((8, 64), np.float32)
m, n, bias = (random.random(shape, np.float32) for shape in ((32, 64), (64, 16), (16,)))
node = helper.make_node
network = [node("Gemm", ["a", "b", "c"], ["x"]), node("Relu", ["x"], ["y"]), node("Softmax", ["y"], ["out"], axis=-1)]
for name, got, expected in [
    ("add", outcome([node("Add", ["a", "b"], ["out"])], a.shape, a, b), a + b),
    ("softmax", outcome([node("Softmax", ["a"], ["out"], axis=-1)], a.shape, a), softmax(a)),
    ("matmul", outcome([node("MatMul", ["a", "b"], ["out"])], (32, 16), m, n), m @ n),
    ("sum", outcome([node("ReduceSum", ["a"], ["out"], keepdims=0)], (), a), a.sum()),
    ("network", outcome(network, (32, 16), m, n, bias), softmax(np.maximum(m @ n + bias, 0))),
]:
    print(f"{name} {'right' if np.allclose(got, expected, 1e-4, 1e-6) else 'WRONG'}", flush=True)
