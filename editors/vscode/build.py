"""Makes the VSIX: the extension, with the server and all it needs in pure Python.

python build.py           make lsp-completions-VERSION.vsix beside this file
python build.py --pin     choose the newest versions of what the server needs, for requirements.txt

Needs Node.js 20 with npm, and a Python 3.11 or later that has venv; the packages come from the
registries that npm and pip are set up for.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARIES = HERE / "bundled" / "libs"
PINS = HERE / "requirements.txt"

# The oldest Python we promise, on any machine: nothing compiled fits that.
FOR_ANY_MACHINE = [
    "--only-binary=:all:",
    "--platform=any",
    "--implementation=py",
    "--abi=none",
    "--python-version=3.11",
]


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pin", action="store_true", help="renew requirements.txt")
    parser.add_argument("--out", type=Path, help="where the VSIX goes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.pin:
            PINS.write_text(newest(Path(folder)), encoding="utf-8", newline="\n")
            return
        bundle(Path(folder))
    version = json.loads((HERE / "package.json").read_text("utf-8"))["version"]
    vsix = (arguments.out or HERE / f"lsp-completions-{version}.vsix").resolve()
    package(vsix)
    sys.stdout.write(f"{vsix}\n")


def bundle(folder: Path) -> None:
    """The server and its libraries, as Python imports them."""
    wheel = build_wheel(folder)
    shutil.rmtree(LIBRARIES, ignore_errors=True)
    into = ["install", "--quiet", "--no-deps", "--no-compile", f"--target={LIBRARIES}"]
    for asked in ([*FOR_ANY_MACHINE, "--require-hashes", f"--requirement={PINS}"], [str(wheel)]):
        pip(folder, *into, *asked)
        for needless in ("bin", "share"):
            shutil.rmtree(LIBRARIES / needless, ignore_errors=True)
    compiled = [file for file in LIBRARIES.rglob("*") if file.suffix in (".so", ".pyd", ".dylib")]
    if compiled:
        raise SystemExit(f"compiled for one machine only: {compiled[0]}")


def build_wheel(folder: Path) -> Path:
    """The server as a wheel."""
    pip(folder, "wheel", "--quiet", "--no-deps", f"--wheel-dir={folder}", str(ROOT))
    return next(folder.glob("lsp_completions-*.whl"))


def newest(folder: Path) -> str:
    """The newest versions that fit together, with the hashes of their wheels."""
    report = folder / "report.json"
    asked = ["install", "--quiet", "--dry-run", "--ignore-installed", f"--report={report}"]
    asked += [f"--target={folder / 'nowhere'}", f"--find-links={folder}"]
    pip(folder, *asked, *FOR_ANY_MACHINE, str(build_wheel(folder)))
    lines = ["# What the server needs, in pure Python. Renewed by `python build.py --pin`."]
    for each in sorted(json.loads(report.read_text())["install"], key=lambda it: name_of(it)):
        if name_of(each) != "lsp-completions":
            sha = each["download_info"]["archive_info"]["hashes"]["sha256"]
            lines.append(f"{name_of(each)}=={each['metadata']['version']} --hash=sha256:{sha}")
    return "\n".join(lines) + "\n"


def name_of(installed: dict[str, dict[str, str]]) -> str:
    """A distribution's name as everybody writes it."""
    return re.sub(r"[-_.]+", "-", installed["metadata"]["name"]).lower()


def pip(folder: Path, *arguments: str) -> None:
    """Run pip in an environment of its own: not every environment has one."""
    environment = folder / "pip"
    python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        run(sys.executable, "-m", "venv", str(environment))
    run(str(python), "-m", "pip", "--disable-pip-version-check", *arguments)


def package(vsix: Path) -> None:
    """Compile the extension and pack everything."""
    shutil.copy(ROOT / "LICENSE", HERE / "LICENSE")
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("There is no npm on PATH; install Node.js 20 or later.")
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"]
    run(npm, "ci", *quiet)
    run(npm, "run", "--silent", "typecheck")
    shutil.rmtree(HERE / "dist", ignore_errors=True)
    run(npm, "run", "--silent", "bundle", "--", "--log-level=warning")
    packed = ["--no-dependencies", "--no-rewrite-relative-links", "--allow-missing-repository"]
    run(npm, "exec", "--", "vsce", "package", *packed, f"--out={vsix}")


def run(*command: str) -> None:
    """Run a command here; what it says goes to stderr, and its failure ends everything."""
    subprocess.run(command, cwd=HERE, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}")
