# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of docs/from-pytorch.md run as they stand, one after the other."""

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
PAGE = Path(os.environ.get("NPUC_SOURCE_DIR", Path(__file__).parents[2])) / "docs" / "from-pytorch.md"


def test_snippets(tmp_path, monkeypatch, capsys):
    from importlib.metadata import entry_points

    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) == 4
    if not any(p.name == "npuc" for p in entry_points(group="torch_dynamo_backends")):
        blocks = [b.replace('backend="npuc"', "backend=npuc.dynamo.backend").replace("import npuc\n", "import npuc, npuc.dynamo\n") for b in blocks]
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    model, example, torch = names["model"], names["example"], names["torch"]
    wanted = model(example).detach()
    assert torch.allclose(names["exact"], wanted, atol=1e-5) and torch.allclose(names["same"], wanted, atol=1e-5)
    assert ((names["logits"] - wanted) ** 2).mean() < (wanted**2).mean() / 100
    assert torch.equal(names["logits"], (names["integers"].float() - names["port"].zero_point) * names["port"].scale)
    assert "NPUC-E0907" in capsys.readouterr().out
