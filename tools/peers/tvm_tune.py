# SPDX-License-Identifier: Apache-2.0
"""TVM for tools/peers: tunes a network with MetaSchedule, and compiles what was tuned.

    tvm_tune.py --onnx FILE --shape N,C,H,W --threads N --trials N --folder FOLDER

tries up to that many schedules for each distinct layer and keeps the measurements in FOLDER; FOLDER/tuned is written
last. With --try alone it tunes one small matrix product, to see whether this TVM can."""

import argparse
import os
import pathlib
import sys
import tempfile

import tvm
from tvm import relax
from tvm.s_tir import meta_schedule

TUNED = "tuned"
# As many seconds may the compilation of one candidate take; TVM's own limit is short for a busy machine.
BUILD_LIMIT_S = 120


def plain_build(mod, target, _params):
    """Compiles a candidate. TVM's own function first imports all its tensor instructions, half a minute for each
    candidate, and f32 uses none."""
    from tvm.driver import build
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    return build(RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(mod), target=target)


def host(threads):
    """This machine, as a target for `threads` processors."""
    name = str(tvm.target.codegen.llvm_get_system_cpu())
    return tvm.target.Target({"kind": "llvm", "mcpu": name, "num-cores": threads})


def tune(mod, target, folder, trials):
    """The database of measurements of a module of fused layers, also in the folder."""
    return meta_schedule.relax_integration.tune_relax(
        mod,
        {},
        target,
        work_dir=str(folder),
        max_trials_global=1 << 20,
        max_trials_per_task=trials,
        num_trials_per_iter=min(trials, 64),
        builder=meta_schedule.builder.LocalBuilder(timeout_sec=BUILD_LIMIT_S, f_build=plain_build),
        seed=1,
    )


def fused(onnx_model, image_name, shape):
    """(module of fused layers whose weights are arguments, the weights): TVM's recipe for processors, in which tuning
    may choose the layout of the weights."""
    from tvm.relax.frontend import detach_params
    from tvm.relax.frontend.onnx import from_onnx

    mod = from_onnx(onnx_model, shape_dict={image_name: list(shape)}, keep_params_in_input=True)
    mod, params = detach_params(mod)
    passes = [
        relax.transform.DecomposeOpsForInference(),
        relax.transform.CanonicalizeBindings(),
        relax.pipeline.zero_pipeline(),
        relax.transform.AttachAttrLayoutFreeBuffers(),
    ]
    return tvm.transform.Sequential(passes)(mod), params["main"]


def load(onnx_model, image_name, shape, threads, folder):
    """(function of the image, a maker of its argument) of a network that was tuned into the folder."""
    target = host(threads)
    with target:
        passes = [
            relax.transform.MetaScheduleApplyDatabase(str(folder)),
            relax.transform.SplitLayoutRewritePreproc(),
            relax.transform.LiftTransformParams(),
            relax.transform.FoldConstant(),
        ]
        mod, params = fused(onnx_model, image_name, shape)
        mod = tvm.transform.Sequential(passes)(mod)
        machine = relax.VirtualMachine(tvm.compile(mod, target=target), tvm.cpu())
    weights = machine["main_transform_params"](params)
    main = machine["main"]
    return lambda image: main(image, *weights), tvm.runtime.tensor


def try_it():
    """Tunes a product of two small matrices. @throws where that leaves no measurement."""
    from tvm import te

    a, b = (te.placeholder((64, 64), name=name) for name in "ab")
    k = te.reduce_axis((0, 64), "k")
    product = te.create_prim_func([a, b, te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k))])
    with tempfile.TemporaryDirectory() as folder:
        database = meta_schedule.tir_integration.tune_tir(
            product,
            host(1),
            folder,
            max_trials_global=2,
            num_trials_per_iter=2,
            builder=meta_schedule.builder.LocalBuilder(timeout_sec=BUILD_LIMIT_S, f_build=plain_build),
        )
    measured = [record for record in database.get_all_tuning_records() if min(map(float, record.run_secs)) < 1]
    if not measured:
        raise RuntimeError("tuning measured no candidate")


def main(arguments):
    import worker

    parser = argparse.ArgumentParser()
    parser.add_argument("--try", dest="only_try", action="store_true")
    for name in ("onnx", "folder"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--shape", type=worker.extents)
    for name in ("threads", "trials"):
        parser.add_argument(f"--{name}", type=int)
    job = parser.parse_args(arguments)
    if job.only_try:
        return try_it()
    target = host(job.threads)
    with target:
        mod, _ = fused(*worker.load_onnx(job), job.shape)
        tune(mod, target, job.folder, job.trials)
    pathlib.Path(job.folder, TUNED).write_text(f"{job.trials}\n")


if __name__ == "__main__":
    # The processes that compile candidates import plain_build from here by its own name.
    os.environ["PYTHONPATH"] = str(pathlib.Path(__file__).resolve().parent)
    import tvm_tune

    tvm_tune.main(sys.argv[1:])
