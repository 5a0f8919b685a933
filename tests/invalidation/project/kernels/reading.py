"""Where readers.py finds its data."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "tables"


def number(file: str) -> float:
    return float((FOLDER / file).read_text())


def scales() -> dict:
    return json.loads((FOLDER / "scales.json").read_text())
