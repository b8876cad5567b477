from pathlib import Path

import pytest

from lsp_completions.backend import Backend
from lsp_completions.errors import ConfigurationError
from lsp_completions.local_model import files as model_files
from lsp_completions.settings import resolve
from lsp_completions.site import Sites
from lsp_completions.transport import Transport


def new_backend() -> Backend:
    return Backend(progress=pytest.fail, sites=Sites(Transport().events), tell=pytest.fail)


def backend_for(**given: object) -> Backend:
    settings, problems = resolve([("the test", given)])
    assert not problems
    backend = new_backend()
    backend.choose(settings)
    return backend


ACCOUNT = {"endpoint": "https://sourcegraph.example.com", "accessToken": "sgp_1"}


@pytest.mark.parametrize(
    ("given", "there", "name"),
    [
        pytest.param(ACCOUNT, True, "sourcegraph", id="an account comes before the small model"),
        pytest.param({}, True, "local", id="without one the small model answers"),
        pytest.param({}, False, "", id="or nobody"),
        pytest.param({"endpoint": "https://a"}, True, "local", id="half an account"),
        pytest.param({"modelPath": "/none.gguf"}, False, "local", id="a file of one's own"),
        pytest.param({"provider": "llama.cpp"}, True, "llama.cpp", id="the one that is named"),
        pytest.param({"provider": "sourcegraph"}, True, "", id="named, and not connected"),
        pytest.param({"provider": "local"}, False, "local", id="named: starting it tells why not"),
    ],
)
def test_who_answers(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], there: bool, name: str
) -> None:
    monkeypatch.setattr(model_files, "is_available", lambda: there)
    backend = backend_for(**given)
    assert backend.name == name
    assert backend.is_local is (name == "local")
    assert (backend.problem is None) is bool(name)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        pytest.param({}, None, id="nothing was begun"),
        pytest.param({"endpoint": "https://a"}, "No access token for a", id="no token"),
        pytest.param({"accessToken": "t"}, "no `endpoint`", id="no address"),
        pytest.param({"url": "http://127.0.0.1:1"}, "`provider`", id="a server of no kind"),
        pytest.param(
            {"provider": "local", "endpoint": "https://a"}, None, id="chosen all the same"
        ),
        pytest.param(ACCOUNT, None, id="an account"),
    ],
)
def test_what_was_begun_and_not_finished_is_told(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], missing: str | None
) -> None:
    monkeypatch.setattr(model_files, "is_available", lambda: True)
    settings, _ = resolve([("the test", given)])
    told = new_backend().choose(settings)
    assert (told is None) if missing is None else (told is not None and missing in str(told))


async def test_nobody_to_ask_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model_files, "is_available", lambda: False)
    with pytest.raises(ConfigurationError, match="lsp-completions login"):
        await backend_for().provider()


async def test_a_model_that_is_not_there_is_told_when_it_is_asked(tmp_path: Path) -> None:
    backend = backend_for(provider="local", modelPath=str(tmp_path / "none.gguf"))
    with pytest.raises(ConfigurationError):
        await backend.provider()
    await backend.aclose()


async def test_settings_that_leave_the_model_alone_keep_its_process(tmp_path: Path) -> None:
    def settings(path: str, **more: object) -> dict[str, object]:
        return {"provider": "local", "modelPath": str(tmp_path / path), **more}

    backend = backend_for(**settings("a.gguf"))
    before = backend._chosen.process  # type: ignore[union-attr]
    backend.choose(resolve([("the test", settings("a.gguf", temperature=0.5))])[0])
    assert backend._chosen.process is before  # type: ignore[union-attr]
    backend.choose(resolve([("the test", settings("b.gguf"))])[0])
    assert backend._chosen.process is not before  # type: ignore[union-attr]
    await backend.aclose()
