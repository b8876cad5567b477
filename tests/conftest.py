"""What holds for all tests.

Where `CI` is set, a test that did not run is a failure: a skip only a person would notice
helps nobody. Cases kept outside the project may be missing.
"""

import os
import signal
import tempfile
from collections.abc import Generator

import hypothesis
import pytest

CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
ALLOWED_SKIP = "EXTRA_CASES is not set"

# No deadline anywhere: a test says nothing about how fast a machine is.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("ci" if CI else "here")


CERTIFICATES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)
PROXIES = [
    name
    for scheme in ("http", "https", "all", "no")
    for name in (f"{scheme}_proxy", f"{scheme}_PROXY".upper())
]


def pytest_configure(config: pytest.Config) -> None:
    """Keep the settings of whoever runs the tests out of them, and out of what they start."""
    src_cli = [name for name in os.environ if name.startswith("SRC_")]
    for name in (*src_cli, *CERTIFICATES, *PROXIES):
        os.environ.pop(name, None)
    # A shell's background jobs ignore Ctrl-C, and what `nohup` starts the end of its terminal; so
    # would all that the tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.name == "posix" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    folder = tempfile.TemporaryDirectory(prefix="no-config-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    for kind in ("CONFIG", "STATE", "DATA"):
        os.environ[f"XDG_{kind}_HOME"] = folder.name
    os.environ["HOME"] = os.environ["USERPROFILE"] = folder.name  # src-cli's file is there
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    # Short, since sockets and locks live there; nobody else's model process is found.
    os.environ["XDG_RUNTIME_DIR"] = folder.name
    # Servers start by the hundred, and compiling is a third of it: once for all, in any case.
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder.name}/compiled"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares something long first, as long as nobody has run out of tests and takes some.

    The benchmarks share one run of measurements, the tests of VS Code one window, which two workers
    would make twice. The first share of the tests begins with the benchmarks, the second with VS
    Code: xdist deals them out in one piece each.
    """
    items.sort(key=lambda item: "benchmarks" not in item.path.parts)
    share = len(items) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    vs_code = [item for item in items if item.path.name.startswith("test_vscode")]
    others = [item for item in items if not item.path.name.startswith("test_vscode")]
    items[:] = others[:share] + vs_code + others[share:]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail what was skipped, or expected to fail without being sure of it."""
    report = yield
    if CI and report.skipped:
        if not hasattr(report, "wasxfail"):
            _fail_if_skipped(report)
        elif not _is_strict(item, call):
            report.outcome = "failed"
            report.longrepr = f"CI: an expected failure has to be strict: {report.wasxfail}"
            del report.wasxfail
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail modules that were skipped as a whole."""
    report = yield
    if CI and report.skipped:
        _fail_if_skipped(report)
    return report


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    if ALLOWED_SKIP not in reason:
        report.outcome = "failed"
        report.longrepr = f"CI: nothing may be skipped: {reason}"


def _is_strict(item: pytest.Item, call: pytest.CallInfo[None]) -> bool:
    """Whether the test would have failed, had it passed; `pytest.xfail()` never knows."""
    if call.excinfo is not None and isinstance(call.excinfo.value, pytest.xfail.Exception):
        return False
    default = item.config.getini("xfail_strict")
    return all(mark.kwargs.get("strict", default) for mark in item.iter_markers("xfail"))
