"""The one command that says whether the tree is good.

python -m tests.check                  all steps, also after one failed; the tests run last
python -m tests.check -- -k positions  the same, with arguments for pytest in one process
python -m tests.check --write-docs     renew what is generated in the documents
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lsp_completions.cli import exits, places
from lsp_completions.configuration import schema

ROOT = Path(__file__).resolve().parent.parent

# Everything comes from the environment of the interpreter that runs this.
STEPS: dict[str, Sequence[str]] = {
    "format": ["-m", "ruff", "format", "--check", "--diff"],
    "lint": ["-m", "ruff", "check"],
    "types": ["-m", "mypy"],
    # import-linter has no `__main__`.
    "imports": [
        "-c",
        "from importlinter.cli import lint_imports_command as run; run()",
        "--no-logo",
    ],
    "generated docs": ["-m", "tests.check", "--docs"],
    "tests": ["-m", "pytest"],
}

# Tests wait more than they work: for processes, and for what these say to each other. More workers
# pay less and less, as each collects all tests. Who runs out of tests takes some from another.
ALL_TESTS = ["-n", str(min(8, 2 * (os.cpu_count() or 1))), "--dist", "worksteal"]

# Between `<!-- NAME:begin -->` and `<!-- NAME:end -->` stands what the function returns.
GENERATED: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {
        "settings": schema.reference,
        "exit codes": exits.exit_codes_for_the_readme,
        "written": places.written_for_the_readme,
    },
}

# Whole files, made of what they were.
WRITTEN: dict[str, Callable[[str], str]] = {
    "editors/settings.schema.json": lambda _: schema.settings_schema(),
    "editors/vscode/package.json": schema.vs_code_manifest,
}


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments ask for; returns the exit code."""
    match arguments:
        case ["--docs"]:
            return check_docs()
        case ["--write-docs"]:
            return write_docs()
        case [] | ["--", *_]:
            return check(arguments[1:])
        case _:
            print(__doc__, file=sys.stderr)
            return 2


def check(pytest_arguments: Sequence[str]) -> int:
    """Run all steps; returns 0 when all of them passed."""
    failed: list[str] = []
    for name, step in STEPS.items():
        if name == "tests":
            verdict = f"FAILED before the tests: {', '.join(failed)}" if failed else "good so far"
            print(f"== {verdict}", flush=True)
        print(f"== {name}", flush=True)
        extra = (pytest_arguments or ALL_TESTS) if name == "tests" else ()
        code = subprocess.run([sys.executable, *step, *extra], cwd=ROOT, check=False).returncode
        if code:
            failed.append(name)
            if name != "tests":
                print(f"== {name} FAILED", flush=True)
    return 1 if failed else 0


def check_docs() -> int:
    """Report the files whose generated parts are stale; returns 1 when there are any."""
    stale = [name for name in (*GENERATED, *WRITTEN) if renewed(name) != read(name)]
    for name in stale:
        print(f"{name} is stale: run `python -m tests.check --write-docs`")
    return 1 if stale else 0


def write_docs() -> int:
    """Renew the generated parts."""
    for name in (*GENERATED, *WRITTEN):
        (ROOT / name).write_text(renewed(name), encoding="utf-8", newline="\n")
    return 0


def renewed(name: str) -> str:
    """A file's text with its generated parts as they should be."""
    text = read(name)
    if (write := WRITTEN.get(name)) is not None:
        return write(text)
    for part, generate in GENERATED[name].items():
        text = with_part(text, part, generate())
    return text


def with_part(text: str, part: str, content: str) -> str:
    """`text` with `content` between the marks of `part`."""
    begin, end = f"<!-- {part}:begin -->", f"<!-- {part}:end -->"
    marked = re.compile(f"({re.escape(begin)}\n).*?({re.escape(end)})", re.DOTALL)
    text, count = marked.subn(lambda match: f"{match[1]}\n{content}\n{match[2]}", text)
    if count != 1:
        raise SystemExit(f"{begin} … {end} should be there once, and is {count} times")
    return text


def read(name: str) -> str:
    """The text of a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
