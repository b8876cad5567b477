"""Languages: one table of what the stages need to know about each.

A language the table does not know is plain text under its own name: everything works, less well.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What the stages know of a language.

    The `block_…` tuples are made for `line.endswith(language.block_start)` and
    `line.startswith(language.block_end)`; an empty one is never true.
    """

    id: str
    """The name editors use for it: VS Code's language identifier."""
    line_comment: str = ""
    """What begins a comment that ends with the line; empty where there is none."""
    block_comment: tuple[str, str] | None = None
    """What begins and what ends a comment that may span lines; `None` where there is none."""
    block_start: tuple[str, ...] = ()
    """What a line ends with when an indented block follows it."""
    block_end: tuple[str, ...] = ()
    """What the line after a block begins with, where the block has a mark of its own."""
    block_continuation: tuple[str, ...] = ()
    """What a line at the opening line's indent begins with when it carries the block on: `else`."""
    indent_sensitive: bool = False
    """Indentation alone decides what belongs to a block."""
    indent_unit: str = "    "
    """One level of indentation, for a document that does not show any."""
    prose: bool = False
    """Text for people: paragraphs, not statements and blocks."""


PLAIN = Language(id="plaintext", prose=True)


def language_of(language_id: str, path: str = "") -> Language:
    """The language an editor names, or else the one the file's name tells.

    Editors disagree about names (`sh` is `shellscript`, `javascript.jsx` is `javascriptreact`), and
    some send none at all, or `plaintext` for whatever they do not know.
    """
    name = language_id.strip().lower()
    known = _BY_NAME.get(name) or _BY_NAME.get(name.partition(".")[0])
    if known is not None and known is not PLAIN:
        return known
    by_path = _language_of_path(path)
    if by_path is not None:
        return by_path
    if known is not None or not name:
        return PLAIN
    return replace(PLAIN, id=name, prose=False)


def _language_of_path(path: str) -> Language | None:
    file_name = path.replace("\\", "/").rpartition("/")[2].lower()
    if file_name in _BY_FILE_NAME:
        return _BY_FILE_NAME[file_name]
    # `x.d.ts`, `x.html.erb`: the last ending decides. `Dockerfile.dev`: the first part does.
    _, dot, ending = file_name.rpartition(".")
    if dot and ending in _BY_ENDING:
        return _BY_ENDING[ending]
    return _BY_FILE_NAME.get(file_name.partition(".")[0])


# How families of languages mark blocks and comments; a row names only what is its own.

_C_COMMENT = ("/*", "*/")
_BRACKETS = ("{", "(", "[")
_CLOSERS = ("}", ")", "]")


def _braces(id: str, *continuations: str, comment: str = "//", unit: str = "    ") -> Language:
    """Braces around blocks, and C's comments."""
    words = ("else", *continuations)
    return Language(
        id=id,
        line_comment=comment,
        block_comment=_C_COMMENT,
        block_start=_BRACKETS,
        block_end=_CLOSERS,
        block_continuation=words + tuple(f"}} {word}" for word in words),
        indent_unit=unit,
    )


def _indented(
    id: str, *continuations: str, start: tuple[str, ...] = (":",), unit: str = "    "
) -> Language:
    """Indentation makes blocks, `#` makes comments."""
    return Language(
        id=id,
        line_comment="#",
        block_start=start + _BRACKETS,
        block_end=_CLOSERS,
        block_continuation=continuations,
        indent_sensitive=True,
        indent_unit=unit,
    )


def _words(
    id: str,
    start: str,
    end: str,
    continuations: str = "else elsif elseif",
    *,
    comment: str = "#",
    block_comment: tuple[str, str] | None = None,
    unit: str = "  ",
) -> Language:
    """Words such as `do` and `end` around blocks."""
    return Language(
        id=id,
        line_comment=comment,
        block_comment=block_comment,
        block_start=tuple(f" {word}" for word in start.split()) + _BRACKETS,
        block_end=tuple(end.split()) + _CLOSERS,
        block_continuation=tuple(continuations.split()),
        indent_unit=unit,
    )


def _lisp(id: str) -> Language:
    return Language(
        id=id, line_comment=";", block_start=("(", "[", "{"), block_end=_CLOSERS, indent_unit="  "
    )


def _markup(id: str) -> Language:
    """Tags around blocks, no comment that ends with the line."""
    return Language(
        id=id,
        block_comment=("<!--", "-->"),
        block_start=(">", "{"),
        block_end=("</", "}"),
        indent_unit="  ",
    )


def _lines(id: str, comment: str = "#", unit: str = "    ") -> Language:
    """One entry per line, no blocks."""
    return Language(id=id, line_comment=comment, indent_unit=unit)


# The language, what editors call it, its files' endings, its files' names. All in lower case.
_TABLE: tuple[tuple[Language, str, str, str], ...] = (
    (PLAIN, "text txt plain fundamental", "txt text log", "license readme"),
    # Braces
    (_braces("c"), "", "c h", ""),
    (
        _braces("cpp", "catch"),
        "c++ cuda cuda-cpp arduino",
        "cc cpp cxx c++ hh hpp hxx ipp inl cu cuh ino",
        "",
    ),
    (_braces("csharp", "catch", "finally"), "cs c# c_sharp", "cs csx", ""),
    (_braces("java", "catch", "finally"), "", "java", ""),
    (_braces("javascript", "catch", "finally", unit="  "), "js node", "js mjs cjs", ""),
    (
        _braces("javascriptreact", "catch", "finally", unit="  "),
        "jsx javascript.jsx javascript-jsx",
        "jsx",
        "",
    ),
    (_braces("typescript", "catch", "finally", unit="  "), "ts", "ts mts cts", ""),
    (
        _braces("typescriptreact", "catch", "finally", unit="  "),
        "tsx typescript.tsx typescript-tsx",
        "tsx",
        "",
    ),
    (_braces("go", unit="\t"), "golang gomod go.mod", "go", "go.mod"),
    (_braces("rust"), "rs rustic", "rs", ""),
    (_braces("kotlin", "catch", "finally"), "kt kts", "kt kts", ""),
    (_braces("scala", "catch", "finally", unit="  "), "", "scala sc sbt", ""),
    (_braces("swift", "catch"), "", "swift", ""),
    (_braces("dart", "catch", "on", "finally", unit="  "), "", "dart", ""),
    (_braces("php", "elseif", "catch", "finally"), "", "php phtml", ""),
    (_braces("groovy", "catch", "finally"), "gradle", "groovy gradle", "jenkinsfile"),
    (_braces("objective-c", "@catch", "@finally"), "objc objectivec", "m", ""),
    (_braces("objective-cpp", "@catch", "@finally"), "objcpp objectivecpp", "mm", ""),
    (_braces("zig"), "", "zig zon", ""),
    (_braces("d", "catch", "finally"), "", "d di", ""),
    (_braces("v"), "vlang", "vv vsh", ""),
    (_braces("odin"), "", "odin", ""),
    (_braces("solidity", "catch"), "", "sol", ""),
    (_braces("haxe", "catch"), "", "hx", ""),
    (_braces("proto3", unit="  "), "proto protobuf proto2", "proto", ""),
    (_braces("thrift", unit="  "), "", "thrift", ""),
    (_braces("css", unit="  "), "postcss", "css pcss", ""),
    (_braces("scss", unit="  "), "", "scss", ""),
    (_braces("less", unit="  "), "", "less", ""),
    (_braces("jsonc", unit="  "), "json5 json-with-comments", "jsonc json5", ""),
    (_braces("glsl"), "hlsl wgsl shaderlab", "glsl vert frag hlsl wgsl", ""),
    (_braces("verilog"), "systemverilog", "sv svh", ""),
    (_braces("astro", "catch", "finally", unit="  "), "", "astro", ""),
    (_braces("svelte", "catch", "finally", unit="  "), "", "svelte", ""),
    (_braces("vue", "catch", "finally", unit="  "), "", "vue", ""),
    (_braces("bicep", comment="//", unit="  "), "", "bicep", ""),
    (
        _braces("terraform", comment="#", unit="  "),
        "hcl tf terraform-vars opentofu",
        "tf tfvars hcl",
        "",
    ),
    (_braces("puppet", comment="#", unit="  "), "", "pp", ""),
    (_braces("nix", comment="#", unit="  "), "", "nix", ""),
    (_braces("graphql", comment="#", unit="  "), "gql", "graphql gql graphqls", ""),
    (_braces("r", comment="#", unit="  "), "rlang ess-r", "r", ".rprofile"),
    (_braces("perl", "elsif", comment="#"), "perl5 cperl raku perl6", "pl pm t raku rakumod", ""),
    (
        _braces("powershell", "elseif", "catch", "finally", comment="#"),
        "ps1 pwsh",
        "ps1 psm1 psd1",
        "",
    ),
    (_braces("tcl", "elseif", comment="#"), "", "tcl", ""),
    (_braces("awk", comment="#"), "", "awk", ""),
    (_braces("dot", unit="  "), "graphviz", "gv", ""),
    # JSON has no comments at all.
    (
        Language(id="json", block_start=("{", "["), block_end=("}", "]"), indent_unit="  "),
        "jsonl geojson",
        "json geojson ipynb webmanifest",
        ".babelrc .eslintrc .prettierrc",
    ),
    # Indentation
    (
        _indented("python", "elif", "else", "except", "finally", "case"),
        "py python3 sage",
        "py pyi pyw pyx",
        "",
    ),
    (_indented("starlark", "elif", "else"), "bazel bzl", "bzl bazel star", "build workspace"),
    (_indented("gdscript", "elif", "else", unit="\t"), "gd", "gd", ""),
    (
        _indented("nim", "elif", "else", "of", "except", "finally", start=(":", "="), unit="  "),
        "",
        "nim nims",
        "",
    ),
    (_indented("mojo", "elif", "else", "except", "finally"), "", "mojo", ""),
    (
        _indented("coffeescript", "else", "catch", "finally", start=("->", "=>"), unit="  "),
        "coffee",
        "coffee",
        "",
    ),
    (
        _indented("yaml", start=(":", "|", ">", "-"), unit="  "),
        "yml docker-compose dockercompose ansible helm github-actions-workflow",
        "yaml yml",
        ".clang-format",
    ),
    (
        Language(
            id="haskell",
            line_comment="--",
            block_comment=("{-", "-}"),
            block_start=("=", " do", " where", " of", "->"),
            indent_sensitive=True,
            indent_unit="  ",
        ),
        "lhaskell purescript",
        "hs lhs purs",
        "",
    ),
    (
        Language(
            id="elm",
            line_comment="--",
            block_comment=("{-", "-}"),
            block_start=("=", " of", "->", " let"),
            indent_sensitive=True,
        ),
        "",
        "elm",
        "",
    ),
    (
        Language(
            id="fsharp",
            line_comment="//",
            block_comment=("(*", "*)"),
            block_start=("=", "->", " then", " do", " with"),
            block_continuation=("else", "elif", "with"),
            indent_sensitive=True,
        ),
        "fs f#",
        "fs fsx fsi",
        "",
    ),
    (
        Language(
            id="sass",
            line_comment="//",
            block_comment=_C_COMMENT,
            indent_sensitive=True,
            indent_unit="  ",
        ),
        "stylus",
        "sass styl",
        "",
    ),
    (
        Language(id="pug", line_comment="//", indent_sensitive=True, indent_unit="  "),
        "jade",
        "pug jade",
        "",
    ),
    (
        Language(id="haml", line_comment="-#", indent_sensitive=True, indent_unit="  "),
        "slim",
        "haml",
        "",
    ),
    # Words
    (
        _words(
            "ruby",
            "do then begin",
            "end",
            "else elsif when in rescue ensure",
            block_comment=("=begin", "=end"),
        ),
        "rb",
        "rb rake gemspec ru",
        "gemfile rakefile vagrantfile podfile fastfile brewfile",
    ),
    (_words("crystal", "do then begin", "end", "else elsif when in rescue ensure"), "", "cr", ""),
    (
        _words("elixir", "do -> fn", "end", "else rescue catch after"),
        "ex exs eelixir",
        "ex exs",
        "",
    ),
    (
        Language(
            id="erlang", line_comment="%", block_start=("->", " of", " begin"), block_end=("end",)
        ),
        "erl",
        "erl hrl",
        "",
    ),
    (
        _words("lua", "do then repeat", "end until", comment="--", block_comment=("--[[", "]]")),
        "luau",
        "lua luau",
        "",
    ),
    (
        _words(
            "julia",
            "do begin quote let",
            "end",
            "else elseif catch finally",
            block_comment=("#=", "=#"),
            unit="    ",
        ),
        "jl",
        "jl",
        "",
    ),
    (
        _words("shellscript", "do then in else", "done fi esac", "else elif"),
        "sh bash zsh ksh fish shell shell-script ebuild bats direnv",
        "sh bash zsh ksh fish bats",
        ".bashrc .bash_profile .zshrc .profile pkgbuild",
    ),
    (
        _words("matlab", "", "end", "else elseif case otherwise catch", comment="%", unit="    "),
        "octave",
        "mat",
        "",
    ),
    (
        _words(
            "pascal", "begin then do", "end until", "else", comment="//", block_comment=("{", "}")
        ),
        "delphi objectpascal",
        "pas dpr lpr",
        "",
    ),
    (
        _words(
            "ada",
            "is begin then loop",
            "end",
            "else elsif when exception",
            comment="--",
            unit="   ",
        ),
        "",
        "adb ads",
        "",
    ),
    (
        _words("vhdl", "is begin then loop", "end", "else elsif when", comment="--"),
        "",
        "vhd vhdl",
        "",
    ),
    (
        _words("fortran", "then do", "end", "else elseif case", comment="!"),
        "fortran-modern f90 fortranfreeform",
        "f f90 f95 f03 f08 for",
        "",
    ),
    (
        _words(
            "vb",
            "then do",
            "end next loop wend",
            "else elseif case catch finally",
            comment="'",
            unit="    ",
        ),
        "vbnet vbscript visualbasic",
        "vb vbs bas",
        "",
    ),
    (_words("cmake", "", "end", "else elseif", comment="#"), "", "cmake", "cmakelists.txt"),
    (
        _words("viml", "", "end", "else elseif catch finally", comment='"'),
        "vim vimscript",
        "vim",
        ".vimrc _vimrc",
    ),
    (
        Language(
            id="ocaml",
            block_comment=("(*", "*)"),
            block_start=("=", "->", " struct", " sig"),
            indent_unit="  ",
        ),
        "ocaml.interface reason",
        "ml mli",
        "",
    ),
    # Lists
    (_lisp("lisp"), "commonlisp common-lisp lisp-mode autolisp", "lisp lsp cl asd", ""),
    (_lisp("emacs-lisp"), "elisp", "el", ".emacs"),
    (_lisp("scheme"), "racket guile", "scm ss rkt", ""),
    (_lisp("clojure"), "clojurescript clojurec", "clj cljs cljc edn", ""),
    (_lisp("fennel"), "janet hy", "fnl janet hy", ""),
    # Markup
    (_markup("html"), "htm xhtml html-eex", "html htm xhtml", ""),
    (
        _markup("xml"),
        "xsl svg xsd plist ant",
        "xml xsl xslt xsd svg plist csproj fsproj vbproj props targets",
        "",
    ),
    (
        _markup("erb"),
        "eruby html.erb ejs heex handlebars hbs mustache django-html jinja htmldjango html-erb",
        "erb ejs heex hbs mustache j2 jinja jinja2",
        "",
    ),
    (_markup("razor"), "aspnetcorerazor cshtml", "cshtml razor", ""),
    (_markup("twig"), "liquid", "twig liquid", ""),
    # Prose
    (
        Language(id="markdown", block_comment=("<!--", "-->"), prose=True),
        "md gfm pandoc mdx quarto rmd vimwiki",
        "md markdown mdx qmd rmd",
        "",
    ),
    (Language(id="restructuredtext", line_comment="..", prose=True), "rst", "rst", ""),
    (Language(id="asciidoc", line_comment="//", prose=True), "adoc", "adoc asciidoc", ""),
    (Language(id="org", line_comment="#", prose=True), "orgmode org-mode", "org", ""),
    (
        Language(id="latex", line_comment="%", prose=True, indent_unit="  "),
        "tex plaintex context latex-expl3 doctex",
        "tex sty cls ltx",
        "",
    ),
    (
        Language(
            id="typst", line_comment="//", block_comment=_C_COMMENT, prose=True, indent_unit="  "
        ),
        "",
        "typ",
        "",
    ),
    (_lines("bibtex", "%"), "bib", "bib", ""),
    (
        Language(id="git-commit", line_comment="#", prose=True),
        "gitcommit git-rebase gitrebase",
        "",
        "commit_editmsg merge_msg git-rebase-todo",
    ),
    # Lines
    (
        _lines("dockerfile"),
        "docker containerfile",
        "dockerfile containerfile",
        "dockerfile containerfile",
    ),
    (
        _lines("makefile", unit="\t"),
        "make makefile-gmake justfile just",
        "mk mak just",
        "makefile gnumakefile justfile",
    ),
    (_lines("toml"), "", "toml", "cargo.lock poetry.lock uv.lock pipfile"),
    (
        _lines("ini", ";"),
        "dosini cfg conf systemd desktop editorconfig",
        "ini cfg desktop service",
        ".editorconfig .gitconfig",
    ),
    (_lines("properties"), "java-properties jproperties conf-unix", "properties conf", ""),
    (_lines("dotenv"), "env", "env", ".env"),
    (
        _lines("ignore"),
        "gitignore git-ignore dockerignore gitattributes git-attributes codeowners",
        "",
        ".gitignore .dockerignore .gitattributes codeowners",
    ),
    (_lines("requirements"), "pip-requirements pip_requirements", "", "requirements.txt"),
    (_lines("csv", ""), "tsv", "csv tsv", ""),
    (_lines("diff", ""), "patch", "diff patch", ""),
    (
        Language(
            id="sql",
            line_comment="--",
            block_comment=_C_COMMENT,
            block_start=("(",),
            block_end=(")",),
            indent_unit="  ",
        ),
        "mysql plsql plpgsql pgsql postgres tsql sqlite",
        "sql ddl psql",
        "",
    ),
    (
        Language(
            id="prisma", line_comment="//", block_start=("{",), block_end=("}",), indent_unit="  "
        ),
        "",
        "prisma",
        "",
    ),
    (_lines("asm", ";"), "nasm gas asm-collection assembly", "asm s nasm", ""),
    (_lines("bat", "REM"), "batch dosbatch cmd", "bat cmd", ""),
    (_lines("cobol", "*>"), "", "cob cbl cpy", ""),
    (_lines("prolog", "%"), "swipl", "pro plg", ""),
    (_lines("apl", "⍝"), "", "apl", ""),
    (_lines("gherkin", unit="  "), "cucumber feature", "feature", ""),
    (_lines("mermaid", "%%"), "", "mmd mermaid", ""),
    (_lines("http"), "rest", "http rest", ""),
)

_BY_NAME = {
    name: language for language, names, _, _ in _TABLE for name in (language.id, *names.split())
}
_BY_ENDING = {ending: language for language, _, endings, _ in _TABLE for ending in endings.split()}
_BY_FILE_NAME = {name: language for language, _, _, names in _TABLE for name in names.split()}
