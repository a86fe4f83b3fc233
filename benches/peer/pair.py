"""What the comparisons of Partwise with one other system have in common: their options, their input."""

import argparse
import sys
from pathlib import Path

from . import process
from .packages import python_with

ROOT = Path(__file__).resolve().parent.parent.parent


def parser(doc, name):
    """The options; `name` is the folder under target/peers."""
    options = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, help="folder of the taxi files; made if not there")
    options.add_argument("--out", type=Path, default=ROOT / "target/peers" / name, help="working folder")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--scale", type=float, default=1.0, help="of the taxi files that are made")
    options.add_argument("--python", type=Path, help="a Python that has the packages already")
    options.add_argument("--partwise", type=Path, default=ROOT / "target/release/partwise")
    return options


def chosen(options, packages, venv):
    """The options as given, the binary, the Python and the folder of the data made sure of."""
    chosen = options.parse_args()
    chosen.partwise = chosen.partwise.resolve()
    if not chosen.partwise.exists():
        sys.exit(f"{chosen.partwise} is not there: cargo build --release")
    chosen.python = chosen.python or python_with(packages, ROOT / "target/peers" / venv)
    chosen.data = (chosen.data or ROOT / f"target/peers/quarter-{chosen.scale:g}").resolve()
    if not list(chosen.data.glob("yellow_tripdata_2024-01.parquet")):
        taxi = [chosen.partwise, "taxi", "--out", chosen.data, "--scale", chosen.scale]
        process.run(list(map(str, taxi)))
    return chosen
