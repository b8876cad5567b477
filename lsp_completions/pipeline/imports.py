"""What a text imports, and which files of the workspace that may mean.

Paths are those below a workspace folder, with `/` between their parts. Nothing here knows which of
them exist.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lsp_completions.pipeline.languages import Language

MOST_IMPORTS = 60
LONGEST_LIST = 4000  # characters of names in brackets


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import. `names` are those it brings in, by what they are called here."""

    names: tuple[tuple[str, str], ...] = ()
    """What each is called here, and there. Empty where all of the module is meant."""
    alias: str = ""
    """What the module is called here, where it is one name."""
    paths: tuple[str, ...] = field(default=())
    """The files that may be meant, the likeliest first; one that ends with `/` is a folder."""


def imports_in(text: str, language: Language, path: str) -> tuple[Import, ...]:
    r"""What a text with `\n` line ends imports, whose file has this path."""
    read = _READERS.get(language.id)
    if read is None:
        return ()
    found: list[Import] = []
    for each in read(text, path):
        found.append(each)
        if len(found) == MOST_IMPORTS:
            break
    return tuple(found)


# ---- Python


_PYTHON = re.compile(
    r"^[ \t]{0,40}(?:from[ \t]{1,4}(?P<module>\.{0,8}[\w.]{0,200})[ \t]{1,4}import[ \t]{1,4}"
    rf"(?:\((?P<many>[^)]{{0,{LONGEST_LIST}}})\)|(?P<names>[^\n#;(]{{1,400}}))"
    r"|import[ \t]{1,4}(?P<plain>[\w., \t]{1,300}))",
    re.MULTILINE,
)


def _python(text: str, path: str) -> Iterator[Import]:
    for match in _PYTHON.finditer(text):
        if match["plain"]:
            for part in match["plain"].split(","):
                module, _, alias = (word.strip() for word in part.partition(" as "))
                if module:
                    alias = alias or (module if "." not in module else "")
                    yield Import(alias=alias, paths=_python_files(module, path))
            continue
        module = match["module"]
        names = _named(re.sub(r"#[^\n]*", "", match["many"] or match["names"]), " as ")
        if not module:
            continue
        paths = _python_files(module, path)
        yield Import(names=names, paths=paths)
        # What is imported from a package may be a module of its own.
        for here, there in names:
            if there != "*":
                deeper = f"{module}{'' if module.endswith('.') else '.'}{there}"
                yield Import(alias=here, paths=_python_files(deeper, path))


def _python_files(module: str, path: str) -> tuple[str, ...]:
    above = module[: len(module) - len(module.lstrip("."))]
    rest = module[len(above) :].replace(".", "/")
    folder = posixpath.dirname(path)
    if above:
        for _ in above[1:]:
            folder = posixpath.dirname(folder)
        bases = [folder]
    else:
        bases = [*_folders_above(folder), "src", "lib"]
    paths: list[str] = []
    for base in bases:
        at = posixpath.join(base, rest) if rest else base
        if rest:
            paths += [f"{at}.py", f"{at}.pyi"]
        paths.append(posixpath.join(at, "__init__.py"))
    return tuple(dict.fromkeys(paths))


# ---- JavaScript, TypeScript and what is written in them


_SCRIPT = re.compile(
    r"(?:^[ \t]{0,40}(?:import|export)\b(?P<names>[^;'\"`]{0,4000}?)\bfrom[ \t]{0,4}"
    r"|\b(?:const|let|var)[ \t]{1,4}(?P<required>[\w$]{1,80}|\{[^}]{0,2000}\})[ \t]{0,4}=[ \t]{0,4}"
    r"(?:await[ \t]{1,4})?(?:require|import)\(|^import[ \t]{1,4})"
    r"['\"](?P<module>[^'\"\n]{1,300})['\"]",
    re.MULTILINE,
)
_SCRIPT_ENDINGS = (".ts", ".tsx", ".js", ".jsx", ".mts", ".mjs", ".cjs", ".d.ts", ".vue", ".svelte")


def _script(text: str, path: str) -> Iterator[Import]:
    for match in _SCRIPT.finditer(text):
        module = match["module"]
        if not (paths := _script_files(module, path)):
            continue
        said = match["names"] or match["required"] or ""
        names: tuple[tuple[str, str], ...] = ()
        if braces := re.search(r"\{([^}]*)\}", said):
            names = _named(re.sub(r"\btype[ ]", "", braces[1]).replace(":", " as "), " as ")
        whole = re.search(r"\*[ ]{1,4}as[ ]{1,4}([\w$]+)", said)
        default = re.match(r"[ \t]{0,4}(?:type[ ])?([\w$]+)[ \t]{0,4}(?:,|$)", said)
        alias = whole[1] if whole else default[1] if default else ""
        yield Import(names=names, alias=alias, paths=paths)


def _script_files(module: str, path: str) -> tuple[str, ...]:
    if module.startswith("."):
        bases = [posixpath.normpath(posixpath.join(posixpath.dirname(path), module))]
    elif module.startswith(("@/", "~/", "#/", "$lib/")):
        rest = module.partition("/")[2]
        bases = [f"src/{rest}", rest, f"app/{rest}", f"src/lib/{rest}"]
    elif module.startswith("src/"):
        bases = [module]
    else:
        return ()
    paths: list[str] = []
    for base in bases:
        stem, ending = posixpath.splitext(base)
        if ending in (".js", ".mjs", ".cjs", ".jsx"):
            # TypeScript names the file that it is compiled to.
            paths += [f"{stem}{ending.replace('js', 'ts')}", base]
        elif ending in _SCRIPT_ENDINGS:
            paths.append(base)
        paths += [f"{base}{each}" for each in _SCRIPT_ENDINGS]
        paths += [f"{base}/index{each}" for each in (".ts", ".tsx", ".js", ".jsx")]
    return tuple(dict.fromkeys(paths))


# ---- Go


_GO = re.compile(
    r"^import[ \t]{1,4}(?:\((?P<many>[^)]{0,6000})\)"
    r"|(?P<one>[\w.]{0,80}[ \t]{0,4}\"[^\"\n]{1,200}\"))",
    re.MULTILINE,
)
_GO_LINE = re.compile(
    r"^[ \t]{0,8}(?P<alias>[\w.]{0,80})[ \t]{0,4}\"(?P<module>[^\"\n]{1,200})\"", re.M
)


def _go(text: str, path: str) -> Iterator[Import]:
    # The files beside it are of the same package.
    yield Import(paths=(f"{posixpath.dirname(path)}/",))
    for match in _GO.finditer(text):
        for line in _GO_LINE.finditer(match["many"] or match["one"]):
            module = line["module"]
            parts = module.split("/")
            if "." not in parts[0] and len(parts) == 1:
                continue  # the standard library
            alias = line["alias"] or parts[-1]
            # The folder's path is the end of the package's, whatever the module is called.
            paths = tuple(f"{'/'.join(parts[at:])}/" for at in range(len(parts)))
            yield Import(alias=alias, paths=paths)


# ---- Rust


_RUST_USE = re.compile(
    r"^[ \t]{0,40}(?:pub(?:\([^)\n]{0,40}\))?[ ])?use[ ]{1,4}(?P<tree>[^;]{1,2000});", re.MULTILINE
)
_RUST_MOD = re.compile(
    r"^[ \t]{0,40}(?:pub(?:\([^)\n]{0,40}\))?[ ])?mod[ ]{1,4}(?P<name>\w{1,80})[ ]?;", re.MULTILINE
)


def _rust(text: str, path: str) -> Iterator[Import]:
    folder, file = posixpath.split(path)
    stem = file.removesuffix(".rs")
    own = folder if stem in ("mod", "lib", "main") else posixpath.join(folder, stem)
    for match in _RUST_MOD.finditer(text):
        at = posixpath.join(own, match["name"])
        yield Import(alias=match["name"], paths=(f"{at}.rs", f"{at}/mod.rs"))
    for match in _RUST_USE.finditer(text):
        for tree in _rust_paths(match["tree"]):
            first, *rest = [part.strip() for part in tree.split("::")]
            here = ""
            if rest and " as " in rest[-1]:
                rest[-1], here = (word.strip() for word in rest[-1].split(" as ", 1))
            if first == "crate":
                bases = [each for each in (_rust_root(folder), "src") if each is not None]
            elif first == "self":
                bases = [own]
            elif first == "super":
                bases = [posixpath.dirname(own)]
                while rest and rest[0] == "super":
                    rest = rest[1:]
                    bases = [posixpath.dirname(bases[0])]
            else:
                bases = [own, *([root] if (root := _rust_root(folder)) else [])]
                rest = [first, *rest]
            if not rest:
                continue
            *modules, name = rest
            paths: list[str] = []
            for base in bases:
                if modules:
                    at = posixpath.join(base, *modules)
                    paths += [f"{at}.rs", f"{at}/mod.rs"]
                else:
                    paths += [f"{base}.rs", *(f"{base}/{each}.rs" for each in ("mod", "lib"))]
            names = () if name in ("*", "self") else ((here or name, name),)
            alias = modules[-1] if name == "self" and modules else ""
            yield Import(names=names, alias=alias, paths=tuple(dict.fromkeys(paths)))
            if names:
                whole = [posixpath.join(base, *modules, name) for base in bases]
                files = tuple(f"{at}{end}" for at in whole for end in (".rs", "/mod.rs"))
                yield Import(alias=here or name, paths=files)


def _rust_root(folder: str) -> str | None:
    parts = folder.split("/")
    return "/".join(parts[: len(parts) - parts[::-1].index("src")]) if "src" in parts else None


def _rust_paths(tree: str, depth: int = 0) -> Iterator[str]:
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if not brace or depth > 4:
        yield tree
        return
    level, part = 0, ""
    for character in rest.rstrip().removesuffix("}"):
        level += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and level == 0:
            if part.strip():
                yield from _rust_paths(head + part.strip(), depth + 1)
            part = ""
        else:
            part += character
    if part.strip():
        yield from _rust_paths(head + part.strip(), depth + 1)


# ---- C and C++


_C = re.compile(
    r"^[ \t]{0,8}#[ \t]{0,8}(?:include|import)[ \t]{0,8}[\"<](?P<file>[^\">\n]{1,200})[\">]", re.M
)


def _c(text: str, path: str) -> Iterator[Import]:
    folder, own = posixpath.split(path)
    # The header of a file that has one is there although it is not named in all.
    for match in _C.finditer(text):
        file = match["file"]
        bases = [*_folders_above(folder), "include", "src", "inc", "lib"]
        paths = [posixpath.normpath(posixpath.join(base, file)) for base in bases]
        yield Import(paths=tuple(dict.fromkeys(paths)))
    stem, ending = posixpath.splitext(own)
    if ending in (".h", ".hh", ".hpp", ".hxx"):
        sources = (".c", ".cc", ".cpp", ".cxx")
        beside = tuple(posixpath.join(folder, f"{stem}{each}") for each in sources)
        yield Import(paths=beside)


# ---- Java and its kin


_JAVA = re.compile(
    r"^import[ \t]{1,4}(?:static[ ]{1,4})?(?P<module>[\w.]{1,200}?)(?P<all>\.\*)?"
    r"(?:[ ]as[ ]\w+)?;?[ \t]*$",
    re.MULTILINE,
)
_PACKAGE = re.compile(r"^package[ \t]{1,4}(?P<name>[\w.]{1,200})", re.MULTILINE)


def _java(text: str, path: str) -> Iterator[Import]:
    folder, file = posixpath.split(path)
    ending = posixpath.splitext(file)[1]
    package = _PACKAGE.search(text)
    below = package["name"].replace(".", "/") if package else ""
    root = folder.removesuffix(below).rstrip("/") if folder.endswith(below) else folder
    roots = dict.fromkeys([root, root.replace("src/test/", "src/main/"), "src/main/java", "src"])
    # What stands beside it needs no import.
    yield Import(paths=(f"{folder}/",))
    for match in _JAVA.finditer(text):
        parts = match["module"].split(".")
        if match["all"]:
            paths = tuple(f"{posixpath.join(each, *parts)}/" for each in roots)
            yield Import(paths=paths)
            continue
        files = []
        # A static member's class is the part before it.
        for at in dict.fromkeys((len(parts), len(parts) - 1)):
            if at > 0:
                files += [f"{posixpath.join(each, *parts[:at])}{ending}" for each in roots]
        yield Import(names=((parts[-1], parts[-1]),), paths=tuple(files))


# ---- the rest


def _by_path(
    pattern: str, files: Callable[[str, str], Sequence[str]]
) -> Callable[[str, str], Iterator[Import]]:
    compiled = re.compile(pattern, re.MULTILINE)

    def read(text: str, path: str) -> Iterator[Import]:
        for match in compiled.finditer(text):
            module = match["module"]
            alias = match.groupdict().get("alias") or ""
            yield Import(alias=alias, paths=tuple(files(module, path)))

    return read


def _beside(ending: str, *bases: str) -> Callable[[str, str], list[str]]:
    """Below the file's own folder and the others, with this ending."""

    def files(module: str, path: str) -> list[str]:
        module = module if module.endswith(ending) else f"{module}{ending}"
        folders = [posixpath.dirname(path), *bases]
        return [posixpath.normpath(posixpath.join(folder, module)) for folder in folders]

    return files


def _lua_files(module: str, path: str) -> list[str]:
    at = module.replace(".", "/")
    bases = [*_folders_above(posixpath.dirname(path)), "lua", "src"]
    return [posixpath.join(base, f"{at}{end}") for base in bases for end in (".lua", "/init.lua")]


def _dart_files(module: str, path: str) -> list[str]:
    if module.startswith("package:"):
        return [posixpath.join("lib", module.partition("/")[2])]
    return [] if ":" in module else _beside(".dart")(module, path)


def _folders_above(folder: str) -> list[str]:
    """A folder and those around it, the innermost first; the last is the workspace's own."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:count]) for count in range(len(parts), -1, -1)]


def _named(text: str, renamed: str) -> tuple[tuple[str, str], ...]:
    names = []
    for part in text.replace("\\\n", " ").split(","):
        there, _, here = (word.strip() for word in part.strip().partition(renamed))
        if re.fullmatch(r"[\w$]+|\*", there):
            names.append((here or there, there))
    return tuple(names)


_READERS: dict[str, Callable[[str, str], Iterator[Import]]] = {
    "python": _python,
    **dict.fromkeys(("javascript", "javascriptreact", "typescript", "typescriptreact"), _script),
    **dict.fromkeys(("astro", "svelte", "vue"), _script),
    "go": _go,
    "rust": _rust,
    **dict.fromkeys(("c", "cpp", "objective-c", "objective-cpp"), _c),
    **dict.fromkeys(("java", "kotlin", "groovy", "scala"), _java),
    "ruby": _by_path(
        r"^[ \t]{0,8}require_relative[ (]{1,4}['\"](?P<module>[^'\"\n]{1,200})", _beside(".rb")
    ),
    "lua": _by_path(
        r"(?:^local[ ](?P<alias>\w{1,80})[ ]?=[ ]?)?\brequire[ (]{0,4}"
        r"['\"](?P<module>[^'\"\n]{1,200})",
        _lua_files,
    ),
    "dart": _by_path(r"^import[ ]['\"](?P<module>[^'\"\n]{1,200})", _dart_files),
    "php": _by_path(
        r"\b(?:require|include)(?:_once)?[ (]{1,4}(?:__DIR__[ ]?\.[ ]?)?"
        r"['\"]/?(?P<module>[^'\"\n]{1,200})",
        _beside(".php"),
    ),
    "zig": _by_path(
        r"(?:\bconst[ ](?P<alias>\w{1,80})[ ]?=[ ]?)?@import\(\"(?P<module>[^\"\n]{1,200})",
        _beside(".zig"),
    ),
    "proto3": _by_path(r"^import[ ]\"(?P<module>[^\"\n]{1,200})", _beside(".proto", "", "proto")),
    "scss": _by_path(
        r"@(?:use|import|forward)[ ]['\"](?P<module>[^'\"\n]{1,200})", _beside(".scss")
    ),
    "shellscript": _by_path(
        r"^[ \t]{0,8}(?:source|\.)[ ]['\"]?(?:\$\{?\w{1,40}\}?/)?(?P<module>[\w./-]{1,200}\.sh)",
        _beside(".sh"),
    ),
}
