# SPDX-License-Identifier: Apache-2.0
"""Builders of ONNX files from the trained networks in ../shared/data."""
