# SPDX-License-Identifier: Apache-2.0
"""One peer as a program that runs inferences on request (the protocol is in child.py); tools/peers/run.py starts it
with the interpreter of build/peers.

    worker.py PEER --module FILE --weights PATH --onnx FILE --tuned FOLDER --input RAW --output RAW --shape N,C,H,W
              --threads N

The input is raw floats in NCHW; each peer gets it in the layout it prefers before any time is taken, and its outputs
stay where the peer leaves them. Beside the output it writes OUTPUT.json: versions and settings."""

import argparse
import gc
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import time


def extents(text):
    return tuple(map(int, text.split(",")))


def load_module(job):
    spec = importlib.util.spec_from_file_location("model", job.module)
    module = importlib.util.module_from_spec(spec)
    sys.modules["model"] = module
    spec.loader.exec_module(module)
    return module.load(job.weights).eval()


def load_onnx(job):
    """The model for the batch of this job, whatever batch it was stored for."""
    import onnx

    model = onnx.load(job.onnx)
    stored = {tensor.name for tensor in model.graph.initializer}
    (image,) = [value for value in model.graph.input if value.name not in stored]
    image.type.tensor_type.shape.dim[0].dim_value = job.shape[0]
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    return model, image.name


def pytorch(job, images, channels_last, mode=None):
    """Eager PyTorch, or torch.compile where a mode is given."""
    import torch

    torch.set_num_threads(job.threads)
    torch.set_num_interop_threads(1)
    torch.set_grad_enabled(False)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    net = load_module(job)
    for weight in (*net.parameters(), *net.buffers()):
        if weight.dim() == 4:  # Module.to() stumbles over weights of five axes, which kernels have
            weight.data = weight.data.contiguous(memory_format=layout)
    x = torch.from_numpy(images).contiguous(memory_format=layout)
    settings = "channels-last" if channels_last else "NCHW"
    if mode is not None:
        import torch._inductor.config as inductor

        inductor.freezing = True
        inductor.cpp_wrapper = mode == "max-autotune"
        net = torch.compile(net, mode=mode, dynamic=False)
        settings += f", mode {mode}, freezing{', C++ wrapper' if inductor.cpp_wrapper else ''}"
    return lambda: net(x), lambda y: y.numpy(), f"torch {torch.__version__}", settings


def quantised(model, name, images):
    """The model's bytes after the static quantisation of ONNX Runtime: batch norms folded, activations u8 by their
    range on the images, weights s8 per channel, as QuantizeLinear and DequantizeLinear."""
    import onnx
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Images(quantization.CalibrationDataReader):
        left = [{name: images}]

        def get_next(self):
            return self.left.pop() if self.left else None

    with tempfile.TemporaryDirectory() as folder:
        given, folded, made = (f"{folder}/{stage}.onnx" for stage in ("given", "folded", "made"))
        onnx.save(model, given)
        quant_pre_process(given, folded)
        quantization.quantize_static(
            folded,
            made,
            Images(),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
        )
        return pathlib.Path(made).read_bytes()


def onnxruntime(job, images, int8=False):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.intra_op_num_threads = job.threads
    options.inter_op_num_threads = 1
    model, name = load_onnx(job)
    text = quantised(model, name, images) if int8 else model.SerializeToString()
    session = ort.InferenceSession(text, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    image = ort.OrtValue.ortvalue_from_numpy(images)
    binding.bind_ortvalue_input(name, image)
    binding.bind_output(session.get_outputs()[0].name)

    def infer():
        session.run_with_iobinding(binding)
        return binding

    settings = "all graph optimisations, sequential, bound input and output"
    settings += ", quantize_static u8 x s8 per channel" if int8 else ""
    return infer, lambda bound: bound.copy_outputs_to_cpu()[0], f"onnxruntime {ort.__version__}", settings


def openvino(job, images):
    import openvino as ov
    import openvino.properties as properties
    import openvino.properties.hint as hint

    core = ov.Core()
    model = core.read_model(job.onnx)
    model.reshape(list(job.shape))
    options = {
        hint.performance_mode(): hint.PerformanceMode.LATENCY,
        hint.inference_precision(): ov.Type.f32,
        properties.inference_num_threads(): job.threads,
    }
    request = core.compile_model(model, "CPU", options).create_infer_request()
    request.set_input_tensor(ov.Tensor(images, shared_memory=True))

    def infer():
        request.infer()
        return request

    settings = "latency hint, precision f32"
    return infer, lambda done: done.get_output_tensor(0).data, f"openvino {ov.__version__}", settings


def tvm(job, images):
    tuned = pathlib.Path(job.tuned, "tuned")
    if not tuned.is_file():
        sys.exit("not tuned; run.py --tune N tunes it, trying N schedules for each layer")
    import tvm_tune

    model, name = load_onnx(job)
    infer, tensor = tvm_tune.load(model, name, job.shape, job.threads, job.tuned)
    image = tensor(images)
    settings = f"MetaSchedule, {tuned.read_text().strip()} trials per layer, weights prepacked"
    return lambda: infer(image), lambda y: y.numpy(), f"tvm {tvm_tune.tvm.__version__}", settings


# Name: (what it is, its maker, the maker's arguments).
PEERS = {
    "pytorch-nchw": ("eager PyTorch", pytorch, {"channels_last": False}),
    "pytorch-nhwc": ("eager PyTorch, channels last", pytorch, {"channels_last": True}),
    "compile-nchw": ("torch.compile with freezing", pytorch, {"channels_last": False, "mode": "default"}),
    "compile-nhwc": ("the same, channels last", pytorch, {"channels_last": True, "mode": "default"}),
    "compile-max": ("torch.compile, max-autotune", pytorch, {"channels_last": True, "mode": "max-autotune"}),
    "onnxruntime": ("ONNX Runtime", onnxruntime, {}),
    "openvino": ("OpenVINO", openvino, {}),
    "tvm": ("TVM, where it was tuned", tvm, {}),
}
# Peers that compute something else than the network in f32: only where they are named.
QUANTISED = {"onnxruntime-int8": ("ONNX Runtime, statically quantised", onnxruntime, {"int8": True})}


def answer(questions, answers, infer, keep):
    """Answers each `run N`; `keep` gets what the first inference returned."""
    for line in questions:
        count = int(line.removeprefix("run "))
        times = []
        for _ in range(count):
            begin = time.perf_counter_ns()
            result = infer()
            times.append((time.perf_counter_ns() - begin) / 1e6)
            if keep is not None:
                keep(result)
                keep = None
        print(json.dumps(times), file=answers, flush=True)
        gc.collect()  # between questions, so that no collection falls into a time
        gc.disable()


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=[*PEERS, *QUANTISED])
    for name in ("module", "weights", "onnx", "input", "output", "tuned"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--shape", required=True, type=extents)
    parser.add_argument("--threads", required=True, type=int)
    job = parser.parse_args(arguments)
    # Libraries print what they like; the answers keep the real standard output to themselves.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import numpy

    images = numpy.fromfile(job.input, numpy.float32).reshape(job.shape)
    _, maker, options = {**PEERS, **QUANTISED}[job.peer]
    infer, values, version, settings = maker(job, images, **options)

    def keep(result):
        numpy.ascontiguousarray(values(result), numpy.float32).tofile(job.output)
        pathlib.Path(f"{job.output}.json").write_text(json.dumps({"version": version, "settings": settings}))

    answer(sys.stdin, answers, infer, keep)


if __name__ == "__main__":
    main(sys.argv[1:])
