from collections.abc import Mapping
from typing import Any

import pytest

from lsp_completions.configuration.in_force import InForce, Told, put_in_force, tell
from lsp_completions.configuration.sources import Kind, Layer, Source

HERE = "https://here.example"
THERE = "https://there.example"
OWN_FILE = "/home/u/.config/lsp-completions/config.toml"


def layer(kind: Kind, values: object, place: str = "", locked: tuple[str, ...] = ()) -> Layer:
    name = place or {Kind.OWN: "the file"}.get(kind, f"the {kind.value}")
    return Layer(Source(name=name, kind=kind, locked=frozenset(locked)), values)


def found(
    own: object = None,
    editor: object = None,
    project: object = None,
    machine: object = None,
    locked: tuple[str, ...] = (),
    approved: tuple[str, ...] = (),
) -> InForce:
    """What counts, with no credential in any message."""
    result = put_in_force(
        [
            layer(Kind.MACHINE, machine, locked=locked),
            layer(Kind.OWN, own),
            layer(Kind.EDITOR, editor),
            layer(Kind.PROJECT, project),
        ],
        approved,
        own_file=OWN_FILE,
    )
    asked = [result.question.words] if result.question is not None else []
    said = " ".join([*map(str, result.problems), *asked])
    assert "s3cret" not in said
    return result


def values(result: InForce, *keys: str) -> list[Any]:
    """The settings named, with credentials in the clear."""
    return [
        value.reveal() if hasattr(value, "reveal") else value
        for value in map(result.settings.value_of, keys)
    ]


ACCOUNT = {"endpoint": HERE, "accessToken": "s3cret-a"}
THEIRS = {"endpoint": THERE, "accessToken": "s3cret-b"}


# ---- the editor, and with it an opened project, names an address


@pytest.mark.parametrize(
    ("own", "editor", "asks"),
    [
        pytest.param({}, THEIRS, THERE, id="nothing of one's own"),
        pytest.param(ACCOUNT, THEIRS, THERE, id="in place of one's own"),
        pytest.param({}, {"provider": "ollama", "model": "m"}, "http://127.0.0.1:11434", id="here"),
        pytest.param(
            ACCOUNT, {"provider": "openai", "url": f"{THERE}:8443/v1"}, f"{THERE}:8443", id="a url"
        ),
        pytest.param(
            {},
            {"provider": "mistral", "apiKey": "s3cret"},
            "https://api.mistral.ai",
            id="a maker's",
        ),
        pytest.param(
            ACCOUNT,
            {"provider": "openai", "url": "https://hére.example"},
            "https://xn--hre-bma.example",
            id="a look-alike",
        ),
        pytest.param(
            ACCOUNT,
            {"endpoint": "http://here.example", "accessToken": "s3cret"},
            "http://here.example",
            id="the same host, unencrypted",
        ),
        pytest.param(
            {**ACCOUNT, "provider": "local"},
            {"provider": "sourcegraph"},
            HERE,
            id="one's own, against one's own choice",
        ),
    ],
)
def test_a_new_host_is_asked_about(own: object, editor: object, asks: str) -> None:
    before, result = found(own), found(own, editor)
    assert result.question is not None
    assert result.question.origin == asks
    assert asks in result.question.words
    assert f"lsp-completions trust {asks}" in result.question.refusal
    assert "opened project" in result.question.words
    assert result.settings == before.settings
    approved = found(own, editor, approved=(asks,))
    assert approved.question is None
    assert approved.problems == ()
    assert approved.settings != before.settings


def test_the_question_names_what_leads_there_and_what_goes_along() -> None:
    question = found({}, {**THEIRS, "headers": {"X-Gate": "s3cret"}}).question
    assert question is not None
    assert question.words == (
        "Send code to https://there.example, with `accessToken` and `headers` from there? "
        "`endpoint` in your editor's settings names it, and an opened project may have set that."
    )


@pytest.mark.parametrize(
    ("own", "editor", "endpoint", "token"),
    [
        pytest.param(ACCOUNT, {"endpoint": f"{HERE}/"}, HERE, "s3cret-a", id="the same address"),
        pytest.param(
            ACCOUNT, {"endpoint": "https://HERE.example:443"}, None, "s3cret-a", id="spelled else"
        ),
        pytest.param(ACCOUNT, {"accessToken": "s3cret-b"}, HERE, "s3cret-a", id="another token"),
        pytest.param(
            {"endpoint": HERE},
            {"endpoint": HERE, "accessToken": "s3cret-b"},
            HERE,
            "s3cret-b",
            id="a token for one's own",
        ),
        pytest.param({"endpoint": HERE}, {"accessToken": "s3cret-b"}, HERE, None, id="for nowhere"),
        pytest.param(ACCOUNT, {"endpoint": None, "accessToken": ""}, HERE, "s3cret-a", id="blank"),
        pytest.param(ACCOUNT, None, HERE, "s3cret-a", id="nothing"),
    ],
)
def test_a_known_host_is_not(own: object, editor: object, endpoint: str, token: str) -> None:
    result = found(own, editor)
    assert result.question is None
    assert values(result, "accessToken") == [token]
    if endpoint:
        assert result.settings.endpoint == endpoint


@pytest.mark.parametrize(
    "editor",
    [
        pytest.param({"endpoint": THERE}, id="without a token"),
        pytest.param({"endpoint": THERE, "accessToken": " "}, id="with a blank one"),
        pytest.param({"endpoint": THERE, "accessToken": "é"}, id="with a useless one"),
        pytest.param({"endpoint": f"{HERE}/elsewhere"}, id="another path"),
        pytest.param({"provider": "openai"}, id="nowhere"),
        pytest.param({"provider": "openai", "endpoint": THERE}, id="nowhere, and an address"),
    ],
)
def test_what_could_not_be_asked_does_not_take_away_what_works(editor: object) -> None:
    result = found({**ACCOUNT, "headers": {"X": "s3cret"}}, editor)
    assert values(result, "provider", "endpoint", "accessToken") == [None, HERE, "s3cret-a"]
    assert result.question is None
    assert any(" is not used, since " in problem.message for problem in result.problems)


def test_an_address_alone_does_not_get_a_token_that_was_set_alone() -> None:
    result = found({"accessToken": "s3cret"}, {"endpoint": THERE})
    assert (result.settings.endpoint, result.question) == (None, None)
    (problem,) = result.problems
    assert problem.message == (
        "endpoint is not used, since accessToken was set elsewhere and may not be meant for it. "
        "Set both in one place."
    )


def test_what_was_meant_for_a_refused_address_is_left_out_and_the_rest_holds() -> None:
    result = found(
        {**ACCOUNT, "model": "mine"},
        {**THEIRS, "model": "theirs", "maxTokens": 7, "exclude": ["gen/"]},
    )
    assert values(result, "model", "maxTokens", "exclude") == ["mine", 7, ("gen/",)]


@pytest.mark.parametrize("kind", ["editor", "project"])
def test_the_embedded_model_may_be_chosen_by_anybody(kind: str) -> None:
    result = found(ACCOUNT, **{kind: {"provider": "local"}})  # type: ignore[arg-type]
    assert values(result, "provider") == ["local"]
    assert (result.problems, result.question) == ((), None)


@pytest.mark.parametrize(
    ("own", "editor"),
    [
        pytest.param(ACCOUNT, {"url": THERE}, id="a server beside one's own instance"),
        pytest.param(ACCOUNT, {"provider": "local", **THEIRS}, id="the embedded model"),
        pytest.param({"provider": "local"}, {"endpoint": THERE}, id="one's own embedded model"),
    ],
)
def test_an_address_beside_the_one_in_use_is_left_out(own: object, editor: object) -> None:
    result = found(own, editor)
    assert THERE not in values(result, "endpoint", "url")
    assert result.question is None
    both = found(own, editor, project={"provider": "local"})
    assert THERE not in values(both, "endpoint", "url")


@pytest.mark.parametrize(
    "host",
    ["a" * 300, "\u202egro.example", "[click](here).example", "ex!ample"],
)
def test_nobody_is_asked_about_what_is_no_host(host: str) -> None:
    result = found(ACCOUNT, {"endpoint": f"https://{host}", "accessToken": "s3cret"})
    assert (result.question, result.settings) == (None, found(ACCOUNT).settings)
    assert len(result.problems) == 1


# ---- what counts from the user's own places alone


@pytest.mark.parametrize("kind", ["editor", "project"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("authCommand", "curl evil.example"),
        ("proxy", "http://evil.example"),
        ("caFile", "/tmp/ca.pem"),
        ("clientCertificate", "/tmp/c.pem"),
        ("clientKey", "/tmp/k.pem"),
        ("modelPath", "/tmp/m.gguf"),
        ("secretFiles", True),
        ("gitIgnored", True),
        ("schemes", ["file", "git"]),
        ("outsideWorkspace", True),
        ("context", "workspace"),
        ("openDocuments", True),
        ("recentEdits", True),
        ("importedFiles", True),
        ("distantCode", True),
    ],
)
def test_what_counts_from_own_places_only(kind: str, key: str, value: object) -> None:
    own = {
        "outsideWorkspace": False,
        "context": "document",
        "openDocuments": False,
        "recentEdits": False,
        "importedFiles": False,
        "distantCode": False,
    }
    result = found(own, **{kind: {key: value, "maxTokens": 7}})  # type: ignore[arg-type]
    (problem,) = result.problems
    assert problem.path == f"$.{key}"
    assert "does not count from here" in problem.message
    assert OWN_FILE in problem.message
    assert "evil" not in problem.message
    assert result.settings.value_of(key) != found({key: value}).settings.value_of(key)
    assert result.settings.max_tokens == 7
    assert found({**own, key: value}, **{kind: {key: value}}).problems == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["provider", "endpoint", "accessToken", "url", "apiKey", "headers"])
def test_a_project_s_own_file_names_no_address(key: str) -> None:
    value: object = {"provider": "ollama", "headers": {"X": "s3cret"}}.get(key, "s3cret.example")
    result = found(ACCOUNT, project={key: value}, approved=("https://s3cret.example",))
    assert result.settings == found(ACCOUNT).settings
    assert [problem.path for problem in result.problems] == [f"$.{key}"]
    assert result.question is None


@pytest.mark.parametrize("kind", ["editor", "project"])
@pytest.mark.parametrize(
    ("own", "said", "expected"),
    [
        pytest.param({"secretFiles": True}, {"secretFiles": False}, False, id="secrets"),
        pytest.param({"gitIgnored": True}, {"gitIgnored": False}, False, id="ignored by git"),
        pytest.param({}, {"outsideWorkspace": False}, False, id="outside the workspace"),
        pytest.param({}, {"context": "document"}, "document", id="the document alone"),
        pytest.param({}, {"openDocuments": False}, False, id="no open documents"),
        pytest.param({}, {"importedFiles": False}, False, id="no imported files"),
        pytest.param({}, {"schemes": ["FILE:"]}, ("FILE:",), id="fewer schemes"),
        pytest.param({"schemes": ["file"]}, {"schemes": ["file"]}, ("file",), id="the same"),
    ],
)
def test_less_may_be_sent_by_anybody_s_word(
    kind: str, own: object, said: dict[str, object], expected: object
) -> None:
    result = found(own, **{kind: said})  # type: ignore[arg-type]
    assert result.problems == ()
    assert result.settings.value_of(*said) == expected


@pytest.mark.parametrize(
    ("key", "less", "more"),
    [
        pytest.param("context", "document", "workspace", id="other documents"),
        pytest.param("openDocuments", False, True, id="open documents"),
        pytest.param("outsideWorkspace", False, True, id="outside the workspace"),
    ],
)
def test_what_the_editor_narrowed_no_project_widens_again(
    key: str, less: object, more: object
) -> None:
    result = found({}, editor={key: less}, project={key: more})
    assert result.settings.value_of(key) == less
    assert result.problems == ()


def test_other_schemes_do_not_hide_those_that_count() -> None:
    result = found({}, {"schemes": ["git", "untitled"]})
    assert result.settings.schemes == ("untitled",)
    assert [problem.path for problem in result.problems] == ["$.schemes"]


def test_exclusions_add_up_and_the_user_has_the_last_word() -> None:
    result = found({"exclude": ["b"]}, {"exclude": ["c"]}, {"exclude": ["!b"]}, {"exclude": ["a"]})
    assert result.settings.exclude == ("!b", "c", "b", "a")


@pytest.mark.parametrize("kind", ["editor", "project"])
def test_a_wrong_value_is_told_and_no_more(kind: str) -> None:
    said = {"endpoint": 5, "secretFiles": "yes", "nonsense": 1, "menu": "on"}
    result = found(ACCOUNT, **{kind: said})  # type: ignore[arg-type]
    assert {problem.path for problem in result.problems} == {
        "$.endpoint",
        "$.secretFiles",
        "$.nonsense",
    }
    assert values(result, "endpoint", "menu") == [HERE, "on"]


# ---- a credential goes to the address of its own place


def pair(*places: Mapping[str, object]) -> InForce:
    return put_in_force([layer(Kind.OWN, each, f"place {n}") for n, each in enumerate(places)])


@pytest.mark.parametrize(
    ("places", "token"),
    [
        pytest.param([ACCOUNT], "s3cret-a", id="one place"),
        pytest.param([ACCOUNT, THEIRS], "s3cret-b", id="two pairs"),
        pytest.param([ACCOUNT, THEIRS, {"endpoint": HERE}], "s3cret-a", id="that of an address"),
        pytest.param([ACCOUNT, {"endpoint": "here.example:443/"}], "s3cret-a", id="spelled else"),
        pytest.param([ACCOUNT, {"endpoint": THERE}], None, id="another address"),
        pytest.param([ACCOUNT, {"endpoint": f"{HERE}/path"}], None, id="another path"),
        pytest.param([ACCOUNT, {"endpoint": "http://here.example"}], None, id="unencrypted"),
        pytest.param([{"endpoint": HERE}, {"accessToken": "s3cret"}], None, id="a token alone"),
        pytest.param([ACCOUNT, {"accessToken": "s3cret"}], "s3cret-a", id="a second token alone"),
        pytest.param(
            [ACCOUNT, {**ACCOUNT, "accessToken": "s3cret-c"}], "s3cret-c", id="a later token"
        ),
        pytest.param([{"accessToken": "s3cret"}], "s3cret", id="no address yet"),
    ],
)
def test_a_token_goes_to_the_address_of_its_place(
    places: list[dict[str, object]], token: str | None
) -> None:
    result = pair(*places)
    assert values(result, "accessToken") == [token]
    said = " ".join(map(str, result.problems))
    assert ("in one place" in said) is (token is None)
    assert "s3cret" not in said


@pytest.mark.parametrize(
    ("key", "value"), [("authCommand", "print it"), ("headers", {"X-Key": "s3cret"})]
)
def test_so_do_a_command_and_headers(key: str, value: object) -> None:
    assert pair({**ACCOUNT, key: value}).settings.source_of(key) == "place 0"
    result = pair({key: value}, THEIRS)
    assert result.settings.source_of(key) is None
    assert not result.settings.value_of(key)
    assert [problem.path for problem in result.problems] == [f"$.{key}"]


@pytest.mark.parametrize(
    ("places", "key"),
    [
        pytest.param([{"provider": "mistral", "apiKey": "s3cret"}], "s3cret", id="a maker's"),
        pytest.param(
            [{"provider": "mistral", "apiKey": "s3cret"}, {"provider": "ollama", "model": "m"}],
            None,
            id="of another maker",
        ),
        pytest.param(
            [{"apiKey": "s3cret", "url": THERE}, {"provider": "openai"}], "s3cret", id="its url"
        ),
        pytest.param(
            [{"apiKey": "s3cret"}, {"provider": "openai", "url": THERE}], None, id="alone"
        ),
    ],
)
def test_so_does_an_api_key(places: list[dict[str, object]], key: str | None) -> None:
    assert values(pair(*places), "apiKey") == [key]


# ---- what is locked


@pytest.mark.parametrize(
    ("machine", "locked", "others", "told"),
    [
        pytest.param({"maxTokens": 7}, "maxTokens", {"maxTokens": 9}, True, id="a value"),
        pytest.param({"maxTokens": 7}, "maxTokens", {"maxTokens": 7.0}, False, id="the same"),
        pytest.param({}, "temperature", {"temperature": 1}, True, id="the default"),
        pytest.param({"endpoint": HERE}, "endpoint", THEIRS, True, id="an address"),
        pytest.param({}, "authCommand", {"authCommand": "x"}, True, id="a command"),
        pytest.param(
            {"endpoint": HERE},
            "authCommand",
            {"endpoint": HERE, "authCommand": "x"},
            True,
            id="a command for the address in use",
        ),
        pytest.param(
            {"endpoint": HERE},
            "headers",
            {"endpoint": HERE, "headers": {"X": "s3cret"}},
            True,
            id="headers for the address in use",
        ),
        pytest.param(
            {"endpoint": HERE},
            "accessToken",
            {"endpoint": HERE, "accessToken": "s3cret"},
            True,
            id="a token for the address in use",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["own", "editor"])
def test_what_is_locked_nobody_changes(
    machine: dict[str, object], locked: str, others: dict[str, object], told: bool, kind: str
) -> None:
    result = found(machine=machine, locked=(locked,), approved=(THERE,), **{kind: others})
    assert result.settings.value_of(locked) == found(machine).settings.value_of(locked)
    messages = [problem.message for problem in result.problems]
    assert any(f"{locked} is locked by the machine" in message for message in messages) is told
    assert result.locked == {locked: "the machine"}
    assert values(result, "accessToken") == [None]


def test_a_locked_address_gets_the_token_that_was_set_with_it() -> None:
    result = found(ACCOUNT, machine={"endpoint": HERE}, locked=("endpoint",))
    assert values(result, "endpoint", "accessToken") == [HERE, "s3cret-a"]
    assert result.problems == ()


def test_locked_exclusions_are_added_to() -> None:
    result = found({"exclude": ["!a"]}, machine={"exclude": ["a"]}, locked=("exclude",))
    assert (result.settings.exclude, result.problems) == (("!a", "a"), ())


@pytest.mark.parametrize("raw", [None, [], {}, 5, "text", [1], {5: 6}, {"endpoint": {}}])
def test_nonsense_is_a_problem_and_nothing_else(raw: object) -> None:
    for kind in ("own", "editor", "project", "machine"):
        result = found(**{kind: raw})  # type: ignore[arg-type]
        assert result.settings == found().settings


def test_each_setting_tells_its_value_where_it_came_from_and_who_locks_it() -> None:
    own = {**ACCOUNT, "headers": {"X-Key": "s3cret"}, "stopSequences": ["x"], "menu": "on"}
    result = found(own, {"topK": 5}, machine={"maxTokens": 7}, locked=("maxTokens", "proxy"))
    assert [(told.key, told.value, told.source, told.locked_by) for told in tell(result)] == [
        ("endpoint", '"https://here.example"', "the file", None),
        ("accessToken", '"***"', "the file", None),
        ("maxTokens", "7", "the machine", "the machine"),
        ("topK", "5", "the editor", None),
        ("stopSequences", '["x"]', "the file", None),
        ("headers", '{"X-Key": "***"}', "the file", None),
        ("menu", '"on"', "the file", None),
        ("proxy", "null", None, "the machine"),
    ]
    assert isinstance(tell(result)[0], Told)
