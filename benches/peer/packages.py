"""A Python with the packages that peers need."""

import subprocess
import sys


def python_with(packages, home):
    """The Python of an environment at `home`, made where it isn't there with just these packages."""
    stamp, want = home / "packages", " ".join(packages)
    if not stamp.exists() or stamp.read_text() != want:
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        subprocess.run([home / "bin/python", *install], check=True)
        stamp.write_text(want)
    return home / "bin/python"
