"""Grammars, the trees they make, and what that may cost."""

import gc
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsp_completions.pipeline.grammar import MOST_STEPS, Grammar, faults_of, nodes_at, tree_of
from lsp_completions.pipeline.languages import language_of
from tests.support.grammars import NEEDED, grammar_of

pytestmark = NEEDED

LANGUAGES = (
    "bash c cpp cs css go html java javascript jsx json lua php python ruby rust typescript tsx"
).split()


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_is_a_grammar_for(language: str) -> None:
    tree = tree_of("", grammar_of(language))
    assert tree is not None
    assert faults_of(tree) == 0


def test_places_in_a_tree_are_places_in_the_text() -> None:
    text = 'x = "é😀\0"; y = 1'
    tree = tree_of(text, grammar_of("python"))
    assert tree is not None
    assert faults_of(tree) == 0
    start = text.index("y")
    assert nodes_at(tree, start, start + 1)[0].type == "identifier"
    assert tree.root_node.end_byte == len(text)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("f(a)\n", 0, id="none"),
        pytest.param("f(a\n", 1, id="a bracket that is missing"),
        pytest.param("f(a))\n", 1, id="a bracket too many"),
    ],
)
def test_faults(text: str, faults: int) -> None:
    tree = tree_of(text, grammar_of("javascript"))
    assert tree is not None
    assert min(faults_of(tree), 1) == faults


def test_faults_elsewhere_do_not_count() -> None:
    text = "f(a))\n" + "g(b)\n" * 5
    tree = tree_of(text, grammar_of("javascript"))
    assert tree is not None
    assert faults_of(tree, 0, 6) > 0
    assert faults_of(tree, 12, len(text)) == 0


def test_what_keeps_a_parser_busy_for_seconds_is_given_up() -> None:
    assert tree_of("x=>" * 1600, grammar_of("c")) is None


@settings(max_examples=200, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    parts=st.lists(
        st.one_of(
            st.text(max_size=20),
            st.sampled_from(
                ["if ", "(", ")", "{", "}", "\n", '"', "'", "`", "/*", "*/", "<", ">", "\0", "${"]
            ),
        ),
        max_size=60,
    ),
)
def test_any_text_costs_a_bounded_number_of_steps(language: str, parts: list[str]) -> None:
    grammar = grammar_of(language)
    steps = 0

    def make_parser() -> object:
        parser = grammar.make_parser()

        class Counting:
            def parse(self, read: object, progress_callback: object) -> object:
                assert callable(progress_callback)

                def progress(at: int, in_error: bool) -> bool:
                    nonlocal steps
                    steps += 1
                    return bool(progress_callback(at, in_error))

                return parser.parse(read, progress_callback=progress)  # type: ignore[call-overload]

        return Counting()

    counting = Grammar(name=grammar.name, make_parser=make_parser)  # type: ignore[arg-type]
    tree = tree_of("".join(parts), counting)
    assert tree is None or faults_of(tree) >= 0
    assert steps <= MOST_STEPS + 1


def test_a_language_without_a_grammar_names_none() -> None:
    assert language_of("markdown").grammar == ""


@pytest.mark.parametrize("ends", [pytest.param(")\n", id="read"), pytest.param("(", id="faulty")])
def test_a_tree_that_is_gone_leaves_nothing_behind(ends: str) -> None:
    grammar = grammar_of("python")
    text = "f(a" + ", a" * 3000
    tree_of(text + ends, grammar)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(200):
            tree_of(f"{text}, {number}{ends}", grammar)
        tree_of.cache_clear()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 20 * 200  # bytes; a Python object alone has more
