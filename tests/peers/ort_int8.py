# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime's own quantizer reaches on the same networks, calibration data and judged samples: a yardstick for npuc's int8.

    python ort_int8.py --shared ../shared --work DIR [NAME...]

Static QDQ, int8 activations and weights, weights per channel, min-max calibration; run as written (why: `common.session`).
The counts of README.md must come out; NAME is demo or one of build_models.py's networks.
"""

import argparse
import json
import pathlib

from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

import build_models
import common
import qdq_ort

RIGHT = {"demo": (379, 377), "keywords": (807, 815), "dscnn_executorch": (10, 10), "mnist": (9816, 9814),
         "resnet8": (8719, 8702), "cifar_net": (6032, 6038)}  # float, int8
DEMO = pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"


class Reader(CalibrationDataReader):
    def __init__(self, name, inputs, batch):
        self.feeds = ({name: inputs[at : at + batch]} for at in range(0, len(inputs), batch))

    def get_next(self):
        return next(self.feeds, None)


def quantized(model, calib, work, name):
    feed = common.session(model).get_inputs()[0]
    batch = 1 if isinstance(feed.shape[0], int) else 50
    prepared, out = work / f"{name}.prepared.onnx", work / f"{name}.int8.onnx"
    quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(out), Reader(feed.name, calib, batch), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
    return out


def networks(shared, work):
    built = build_models.build(shared / "data", work)
    for name, entry in built.items():
        entry["model"] = str(work / f"{name}.onnx")
    built["demo"] = {"model": str(DEMO / "model.onnx"), "calib": str(DEMO / "calib.npy"), "eval": str(DEMO / "test.npy"),
                     "preprocess": "scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25"}
    return built


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*", default=list(RIGHT))
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    tally, results = common.Tally(), {}
    for name, entry in networks(args.shared.resolve(), args.work.resolve()).items():
        if name not in args.names:
            continue
        calib, (images, labels) = qdq_ort.load(entry["calib"])[0], qdq_ort.load(entry["eval"])
        inputs = common.preprocess(images, entry["preprocess"])
        int8 = quantized(entry["model"], common.preprocess(calib, entry["preprocess"]), args.work, name)
        got = tuple(common.right(common.run_batched(common.session(path, fused=fused), inputs), labels)
                    for path, fused in ((entry["model"], True), (int8, False)))
        results[name] = {"float": got[0], "int8": got[1], "of": len(labels)}
        tally.check(got == RIGHT[name], f"{name}: float {got[0]}, int8 {got[1]} of {len(labels)} right")
    (args.work / "ort_int8.json").write_text(json.dumps(results, indent=1) + "\n")
    return tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
