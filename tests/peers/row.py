# SPDX-License-Identifier: Apache-2.0
"""A row of the table: its name, what is wanted in words, and a function of the context that returns (what was got, ok).
`ok` is None where fewer images were taken than the row wants."""

from dataclasses import dataclass
from typing import Callable


@dataclass
class Row:
    name: str
    wanted: str
    run: Callable
