# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import numpy as np
import pytest

DEMO = Path(os.environ.get("NPUC_SOURCE_DIR", Path(__file__).parents[2])) / "examples" / "demo"


@pytest.fixture(scope="session")
def demo():
    """The demo network's files, its pictures as the network wants them, and PyTorch's answers."""

    class Demo:
        onnx, pt2 = str(DEMO / "model.onnx"), str(DEMO / "model.pt2")
        images = ((np.load(DEMO / "test.npy").astype(np.float32) / 255 - 0.5) / 0.25).astype(np.float32)
        labels = np.load(DEMO / "test.labels.npy")
        calibration = ((np.load(DEMO / "calib.npy").astype(np.float32) / 255 - 0.5) / 0.25).astype(np.float32)
        logits = np.load(DEMO / "logits16.npy")  # PyTorch's, of the first 16
        right = 379  # PyTorch's, of 400

    return Demo
