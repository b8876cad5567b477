"""`python -m tests.evaluation WHAT`: the tables of one evaluation, on the standard output."""

import argparse
import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from lsp_completions.errors import CompletionsError
from lsp_completions.local_model import files
from tests.evaluation import brackets, corpora, overrun, real_model, retrieval, syntax
from tests.evaluation.editors import EDITORS
from tests.evaluation.edits import LANGUAGES, real, words_of, written
from tests.evaluation.history import sittings_of
from tests.evaluation.holes import holes_in
from tests.evaluation.projects import holes_in as lines_missing_in
from tests.evaluation.projects import installed as installed_projects
from tests.evaluation.projects import projects_below
from tests.evaluation.projects import written as written_projects
from tests.evaluation.tables import real_table, tables


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation", description=__doc__)
    what = parser.add_subparsers(required=True, metavar="WHAT")

    typing = what.add_parser(
        "typing", help="type real edits key by key, and see what each policy asks and shows"
    )
    typing.set_defaults(run=run_typing)
    typing.add_argument("--few", action="store_true", help="a quarter of the edits")
    typing.add_argument(
        "--editor", action="append", choices=list(EDITORS), help="leave the other editors out"
    )
    typing.add_argument(
        "--real", action="store_true", help="beside the real process in real time; takes minutes"
    )
    typing.add_argument(
        "--setting", default="", metavar="TEXT", help="only the tables with this in their title"
    )
    typing.add_argument(
        "--git",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="edits out of this repository's commits, in the place of those kept here",
    )
    typing.add_argument("--last", type=int, default=20, metavar="N", help="of its last N commits")
    typing.add_argument("--at", default="HEAD", metavar="REVISION", help="counted from here")
    typing.add_argument(
        "--language",
        action="append",
        choices=sorted(set(LANGUAGES.values())),
        help="of its files in this language; more than one may be named",
    )
    typing.add_argument(
        "--most", type=int, default=40, metavar="N", help="at most N documents of each repository"
    )

    holes = what.add_parser(
        "overrun", help="cut holes into code, and see whether just what is missing comes out"
    )
    holes.set_defaults(run=run_overrun)
    holes.add_argument(
        "--code", action="append", type=Path, metavar="DIR", help="code of yours, in folders"
    )
    holes.add_argument("--own", action="store_true", help="only what was written for it")
    holes.add_argument("--files", type=int, default=20, help="of each language")
    holes.add_argument("--each", type=int, default=4, help="holes of each kind in each file")
    holes.add_argument("--seed", type=int, default=0)
    holes.add_argument(
        "--failures", type=int, default=0, metavar="N", help="show N trials that went wrong"
    )

    pairs = what.add_parser(
        "brackets", help="let a model answer where auto-pairs left closers behind the cursor"
    )
    pairs.set_defaults(run=run_brackets)
    for each in (holes, pairs):
        each.add_argument("--grammars", action="store_true", help="with the extra `syntax`")

    parsed = what.add_parser("syntax", help="see what grammars add, and what they cost")
    parsed.set_defaults(run=run_syntax)
    parsed.add_argument(
        "--code", action="append", type=Path, metavar="DIR", help="code of yours, in folders"
    )
    parsed.add_argument("--files", type=int, default=20, help="of each language")

    lines = what.add_parser(
        "retrieval", help="see how much of what defines an answer the excerpts show"
    )
    lines.set_defaults(run=run_retrieval)
    lines.add_argument(
        "--code",
        action="append",
        type=Path,
        metavar="DIR",
        help="projects of yours: a folder of one, or of several",
    )
    lines.add_argument("--own", action="store_true", help="only what was written for it")
    lines.add_argument("--each", type=int, default=40, help="holes in each project")
    lines.add_argument("--seed", type=int, default=0)

    held_out = what.add_parser(
        "model", help="let the embedded model say lines held out of code, raw and by the pipeline"
    )
    held_out.set_defaults(run=run_model)
    held_out.add_argument("--lines", type=int, default=80, metavar="N", help="so many of them")
    held_out.add_argument("--own", action="store_true", help="only of what was written for it")
    held_out.add_argument("--seed", type=int, default=0)
    held_out.add_argument("--shown", type=int, default=0, metavar="N", help="show what came of N")

    arguments = parser.parse_args()
    for table in arguments.run(arguments):
        print(table, flush=True)


def run_typing(arguments: argparse.Namespace) -> Iterable[str]:
    editors = arguments.editor or tuple(EDITORS)
    if arguments.real:
        yield real_table(editors, tell)
        return
    sittings = [*written(), *real()] if not arguments.git else []
    for folder in arguments.git:
        sittings += sittings_of(
            folder,
            commits=arguments.last,
            at=arguments.at,
            only=arguments.language or (),
            most=arguments.most,
        )
    sittings = sittings[::4] if arguments.few else sittings
    languages = sorted({sitting.language for sitting in sittings})
    edits = sum(len(sitting.edits) for sitting in sittings)
    yield (
        f"{edits} edits in {len(sittings)} documents, {words_of(sittings)} words: "
        f"{', '.join(languages)}.\n"
    )
    yield from tables(sittings, editors=editors, only=arguments.setting, tell=tell)


def run_overrun(arguments: argparse.Namespace) -> Iterable[str]:
    sources = [] if arguments.code else corpora.own_code()
    if arguments.code:
        sources += corpora.code_in(arguments.code, files=arguments.files, seed=arguments.seed)
    elif not arguments.own:
        sources += corpora.installed_code(files=arguments.files)
    holes = holes_in(sources, each=arguments.each, seed=arguments.seed)
    tell(f"{len(holes)} holes in {len(sources)} files")
    found = list(overrun.trials(holes, seed=arguments.seed, parsed=arguments.grammars))
    yield from overrun.tables(overrun.counted(found))
    wrong = [trial for trial in found if not trial.exact]
    some = Random(arguments.seed).sample(wrong, min(arguments.failures, len(wrong)))
    yield from map(overrun.shown, some)


def run_syntax(arguments: argparse.Namespace) -> Iterable[str]:
    if arguments.code:
        return syntax.tables(corpora.code_in(arguments.code, files=arguments.files))
    return syntax.tables([*corpora.own_code(), *corpora.installed_code(files=arguments.files)])


def run_brackets(arguments: argparse.Namespace) -> Iterable[str]:
    return brackets.tables(parsed=arguments.grammars)


def run_retrieval(arguments: argparse.Namespace) -> Iterable[str]:
    if arguments.code:
        groups = {"yours": [each for at in arguments.code for each in projects_below(at)]}
    else:
        groups = {"written for it": written_projects()}
        if not arguments.own:
            groups["installed packages"] = installed_projects()
    for name, projects in groups.items():
        missing = [
            hole
            for project in projects
            for hole in lines_missing_in(project, seed=arguments.seed, most=arguments.each)
        ]
        if missing:
            tell(f"{len(missing)} holes in {len(projects)} projects, {name}")
            yield f"{name.capitalize()}: {len(missing)} holes in {len(projects)} projects.\n"
            yield retrieval.table(retrieval.recalls(missing, retrieval.WAYS)) + "\n"
    text = Path(retrieval.__file__).read_text("utf-8") + Path(__file__).read_text("utf-8")
    yield retrieval.times_table(retrieval.times(text))


def run_model(arguments: argparse.Namespace) -> Iterable[str]:
    try:
        model = files.find()
    except CompletionsError as error:
        yield f"The model is missing, so there is no table: {error}"
        return
    holes = real_model.held_out(
        lines=arguments.lines, installed=not arguments.own, seed=arguments.seed
    )

    async def tried() -> list[real_model.Tried]:
        with TemporaryDirectory() as folder:
            async with real_model.served(model, Path(folder)) as at:
                return await real_model.trials(holes, at, tell=tell)

    found = asyncio.run(tried())
    languages = sorted({hole.language for hole in holes})
    yield f"{len(holes)} lines: {', '.join(languages)}.\n"
    yield real_model.table(found)
    for hole in holes[: arguments.shown]:
        yield real_model.shown([each for each in found if each.hole is hole])


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
