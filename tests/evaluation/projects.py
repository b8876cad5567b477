"""Projects with holes in them, whose answers are defined in another of their files."""

import ast
import random
import re
import sysconfig
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lsp_completions.pipeline.languages import language_of

FOLDER = Path(__file__).parent / "texts" / "projects"
# Of very different kinds, and none of them ours.
PACKAGES = (
    "_pytest attr click httpcore httpx hypothesis jsonschema keyring markdown_it mypy pathspec "
    "pygls pygments"
).split()
MOST_FILES = 40  # as many as somebody has open, or a file and its imports reach
LARGEST = 100_000  # characters of a file


@dataclass(frozen=True, eq=False, kw_only=True)
class Project:
    """The texts of a project by their paths, `/` between the parts."""

    name: str
    files: dict[str, str]


@dataclass(frozen=True, eq=False, kw_only=True)
class Hole:
    """A place whose next words are missing, and the lines elsewhere that define what is."""

    project: Project
    path: str
    text: str
    """The file without what is missing."""
    offset: int
    name: str
    defined_in: str
    lines: tuple[str, ...] = field(repr=False)
    """The defining lines, without their indentation."""


@dataclass(frozen=True)
class _Defined:
    path: str
    lines: tuple[str, ...]


def written() -> list[Project]:
    """Those that were written for it, one in each of some languages."""
    projects = []
    for path in sorted(FOLDER.glob("*.txt")):
        _, *parts = re.split(r"^--- (.+)\n", path.read_text("utf-8"), flags=re.MULTILINE)
        files = dict(zip(parts[::2], parts[1::2], strict=True))
        projects.append(Project(name=path.stem, files=files))
    return projects


def installed(names: Iterable[str] = PACKAGES) -> list[Project]:
    """Packages of this environment."""
    folder = Path(sysconfig.get_paths()["purelib"])
    found = (_project(folder / name) for name in names)
    return [project for project in found if project is not None]


def projects_below(folder: Path) -> Iterator[Project]:
    """Each package below a folder that is large enough; the folder itself where it is one."""
    own = _project(folder)
    if own is not None:
        yield own
        return
    for each in sorted(folder.iterdir()):
        if each.is_dir() and (project := _project(each)) is not None:
            yield project


def _project(folder: Path) -> Project | None:
    by_ending: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder).parts
        usual = path.is_file() and not any(part.startswith(".") for part in below)
        if usual and path.suffix in _ENDINGS and path.stat().st_size < LARGEST:
            by_ending[_ENDINGS[path.suffix]].append(path)
    if not by_ending:
        return None
    paths = max(by_ending.values(), key=len)[:MOST_FILES]
    if len(paths) < 4:
        return None
    files = {}
    for path in paths:
        try:
            files[path.relative_to(folder.parent).as_posix()] = path.read_text("utf-8").replace(
                "\r\n", "\n"
            )
        except (OSError, UnicodeDecodeError):
            continue
    return Project(name=folder.name, files=files)


_ENDINGS = {
    ending: language
    for language, endings in {
        "python": ".py .pyi",
        "script": ".js .jsx .ts .tsx .mjs .cjs",
        "go": ".go",
        "rust": ".rs",
        "c": ".c .h .cc .cpp .hpp .cxx .hxx",
        "java": ".java",
        "kotlin": ".kt",
        "ruby": ".rb",
        "lua": ".lua",
    }.items()
    for ending in endings.split()
}


def holes_in(project: Project, *, seed: int, most: int) -> list[Hole]:
    """Up to `most` holes of a project, the same ones for the same seed."""
    python = all(path.endswith((".py", ".pyi")) for path in project.files)
    found = list(_python_holes(project) if python else _other_holes(project))
    chance = random.Random(f"{seed} {project.name}")
    chance.shuffle(found)
    holes, per_name = [], defaultdict[tuple[str, str], int](int)
    for path, line, column, name, defined in found:
        # What is used everywhere would be all there is.
        per_name[name, defined.path] += 1
        if per_name[name, defined.path] > 3:
            continue
        holes.append(_hole(project, path, line, column, name, defined, chance))
        if len(holes) == most:
            break
    return holes


def _hole(
    project: Project,
    path: str,
    line: int,
    column: int,
    name: str,
    defined: _Defined,
    chance: random.Random,
) -> Hole:
    lines = project.files[path].split("\n")
    whole = lines[line]
    # Half of them where the line begins, half right before the name.
    at = len(whole) - len(whole.lstrip()) if chance.random() < 0.5 else column
    before = "\n".join([*lines[:line], whole[:at]])
    return Hole(
        project=project,
        path=path,
        text="\n".join([before, *lines[line + 1 :]]),
        offset=len(before),
        name=name,
        defined_in=defined.path,
        lines=defined.lines,
    )


_Found = tuple[str, int, int, str, _Defined]


# ---- Python, by its grammar


def _python_holes(project: Project) -> Iterator[_Found]:
    trees = {}
    for path, text in project.files.items():
        try:
            trees[path] = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
    defined = {path: dict(_top_level(path, tree, project)) for path, tree in trees.items()}
    methods: dict[str, list[_Defined]] = defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                        methods[each.name].append(_function(path, each, project))
    for path, tree in trees.items():
        names: dict[str, _Defined] = {}
        modules: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                target = _module(path, node.module or "", node.level, defined)
                for alias in node.names:
                    here = alias.asname or alias.name
                    if target and (found := _resolved(target, alias.name, defined, trees)):
                        names[here] = found
                    inner = f"{node.module}.{alias.name}" if node.module else alias.name
                    if module := _module(path, inner, node.level, defined):
                        modules[here] = module
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if module := _module(path, alias.name, 0, defined):
                        modules[alias.asname or alias.name] = module
        lines = project.files[path].split("\n")
        for node in ast.walk(tree):
            answer: _Defined | None = None
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                name, answer = node.id, names.get(node.id)
                row, column = node.lineno - 1, node.col_offset
            elif isinstance(node, ast.Attribute) and node.end_lineno is not None:
                name, row = node.attr, node.end_lineno - 1
                column = (node.end_col_offset or 0) - len(name)
                if isinstance(node.value, ast.Name) and node.value.id in modules:
                    answer = defined[modules[node.value.id]].get(name)
                elif len(methods[name]) == 1 and not name.startswith("__"):
                    answer = methods[name][0]
            if answer is None or answer.path == path or not lines[row].isascii():
                continue
            if lines[row][column : column + len(name)] == name and _is_within(row, lines):
                yield path, row, column, name, answer


def _is_within(row: int, lines: Sequence[str]) -> bool:
    return lines[row][:1] in (" ", "\t") and not lines[row].lstrip().startswith(("import", "from"))


def _top_level(path: str, tree: ast.Module, project: Project) -> Iterator[tuple[str, _Defined]]:
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, _function(path, node, project)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                end = min(node.end_lineno or node.lineno, node.lineno + 2)
                yield name, _lines(path, node.lineno, end, project)


def _function(
    path: str, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, project: Project
) -> _Defined:
    first = node.body[0]
    start = min([first.lineno, *[each.lineno for each in getattr(first, "decorator_list", [])]])
    return _lines(path, node.lineno, max(node.lineno, start - 1), project)


def _lines(path: str, start: int, end: int, project: Project) -> _Defined:
    lines = project.files[path].split("\n")[start - 1 : end]
    kept = (line.strip() for line in lines)
    return _Defined(path, tuple(line for line in kept if line and not line.startswith("#")))


def _module(path: str, module: str, level: int, known: Collection[str]) -> str | None:
    parts = path.split("/")[:-1]
    if level:
        bases = [parts[: len(parts) - level + 1]]
    else:
        bases = [parts[:count] for count in range(len(parts), -1, -1)]
    for base in bases:
        at = "/".join([*base, *(module.split(".") if module else [])])
        for candidate in (f"{at}.py", f"{at}/__init__.py"):
            if candidate in known:
                return candidate
    return None


def _resolved(
    path: str,
    name: str,
    defined: dict[str, dict[str, _Defined]],
    trees: dict[str, ast.Module],
    depth: int = 0,
) -> _Defined | None:
    """Where a name that a module offers is really defined."""
    if name in defined[path]:
        return defined[path][name]
    if depth == 4:
        return None
    for node in trees[path].body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    target = _module(path, node.module or "", node.level, defined)
                    if target and target != path:
                        return _resolved(target, alias.name, defined, trees, depth + 1)
    return None


# ---- other languages, by how definitions look

_BEFORE = (
    "export|default|pub|public|private|protected|internal|static|final|abstract|async|const|unsafe"
    "|local|declare|inline|open|data|sealed|override|virtual"
)
_KINDS = (
    "function|func|fn|fun|def|class|interface|struct|enum|trait|type|record|const|object|module"
)
_DEFINES = re.compile(
    rf"^(?P<indent>[ \t]{{0,4}})(?:(?:{_BEFORE}) ){{0,5}}(?:{_KINDS}) (?:\([^)]*\) )?(?:\w+[.:])?"
    r"(?P<name>[A-Za-z_]\w{2,})",
    re.MULTILINE,
)
_DEFINES_IN_C = re.compile(
    r"^(?:#define |(?:typedef )?(?:struct|enum|class|union) |(?:[\w*&<>:]+[ *&]+)+(?=\w+\())"
    r"(?P<name>[A-Za-z_]\w{2,})",
    re.MULTILINE,
)
_DEFINES_IN_JAVA = re.compile(
    r"^(?P<indent>[ \t]{0,4})(?:(?:public|protected|static|final|abstract|synchronized) )+"
    r"(?:class |interface |enum |record |[\w<>\[\], ?]+ )(?P<name>[A-Za-z_]\w{2,})",
    re.MULTILINE,
)
_NO_CODE = ("//", "*", "#", "import", "use ", "--", "/*")


def _other_holes(project: Project) -> Iterator[_Found]:
    defined: dict[str, list[_Defined]] = defaultdict(list)
    for path, text in project.files.items():
        language = language_of("", path).id
        by_language = {"c": _DEFINES_IN_C, "cpp": _DEFINES_IN_C, "java": _DEFINES_IN_JAVA}
        lines = text.split("\n")
        for match in by_language.get(language, _DEFINES).finditer(text):
            line = lines[text.count("\n", 0, match.start("name"))].strip()
            # A prototype is not what it announces, and what is local is nobody else's.
            if "const" in match[0] and match[0][0] in " \t":
                continue
            if not line.endswith(";") or re.search(r"\b(?:const|type|define)\b", line):
                defined[match["name"]].append(_Defined(path, (line,)))
    # A name that is defined twice may mean either.
    unique = {name: each[0] for name, each in defined.items() if len(each) == 1}
    for path, text in project.files.items():
        for row, line in enumerate(text.split("\n")):
            if line[:1] not in (" ", "\t") or line.lstrip().startswith(_NO_CODE):
                continue
            for match in re.finditer(r"[A-Za-z_]\w{2,}", line):
                answer = unique.get(match[0])
                if answer is not None and answer.path != path:
                    yield path, row, match.start(), match[0], answer
