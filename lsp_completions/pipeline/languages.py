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
    grammar: str = ""
    """The tree-sitter grammar: its package and what that calls it; empty where there is none."""


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


def are_relatives(one: Language, other: Language) -> bool:
    """Whether code in one language says something about code in the other."""
    return one.id == other.id or any({one.id, other.id} <= family for family in _FAMILIES)


def _language_of_path(path: str) -> Language | None:
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    # `x.d.ts`, `x.html.erb`: the last ending decides. `Dockerfile.dev`: the first part does.
    first, *endings = name.split(".")
    return (
        _BY_FILE.get(name)
        or (_BY_FILE.get(f"*.{endings[-1]}") if endings else None)
        or _BY_FILE.get(first or f".{endings[0]}" if endings else "")
    )


# How families of languages mark blocks and comments; a row names only what is its own. Where a mark
# is a word that others begin with, the space after it is part of it.

_C_COMMENT = ("/*", "*/")
_BRACKETS = ("{", "(", "[")
_CLOSERS = ("}", ")", "]")


def _braces(
    id: str, *more: str, comment: str = "//", unit: str = "    ", grammar: str = ""
) -> Language:
    """Braces around blocks, and C's comments."""
    words = ("else", *more)
    return Language(
        id=id,
        line_comment=comment,
        block_comment=_C_COMMENT if comment != "#" else None,
        block_start=_BRACKETS,
        block_end=_CLOSERS,
        block_continuation=words + tuple(f"}} {word}" for word in words),
        indent_unit=unit,
        grammar=grammar,
    )


def _script(id: str, grammar: str = "") -> Language:
    """The kin of JavaScript."""
    return _braces(id, "catch", "finally", unit="  ", grammar=grammar)


def _data(
    id: str, comment: str = "", block: tuple[str, str] | None = None, grammar: str = ""
) -> Language:
    """Braces around entries, nothing that is carried on."""
    return Language(
        id=id,
        line_comment=comment,
        block_comment=block,
        block_start=_BRACKETS,
        block_end=_CLOSERS,
        indent_unit="  ",
        grammar=grammar,
    )


def _indented(
    id: str, *more: str, start: str = ":", unit: str = "    ", grammar: str = ""
) -> Language:
    """Indentation makes blocks, `#` makes comments."""
    return Language(
        id=id,
        line_comment="#",
        block_start=(*start.split(), *_BRACKETS),
        block_end=_CLOSERS,
        block_continuation=more,
        indent_sensitive=True,
        indent_unit=unit,
        grammar=grammar,
    )


def _offside(id: str, start: tuple[str, ...], comment: str, block: tuple[str, str]) -> Language:
    """Indentation makes blocks, in the manner of ML."""
    return Language(
        id=id,
        line_comment=comment,
        block_comment=block,
        block_start=("=", "->", *start),
        block_continuation=("else", "elif "),
        indent_sensitive=True,
        indent_unit="  ",
    )


def _words(
    id: str, comment: str, start: str, *more: str, end: str = "end", grammar: str = ""
) -> Language:
    """Words such as `do` and `end` around blocks."""
    return Language(
        id=id,
        line_comment=comment,
        block_start=(*(f" {word}" for word in start.split()), *_BRACKETS),
        block_end=(*end.split(), *_CLOSERS),
        block_continuation=("else", *more),
        indent_unit="  ",
        grammar=grammar,
    )


def _lisp(id: str) -> Language:
    return Language(
        id=id, line_comment=";", block_start=_BRACKETS, block_end=_CLOSERS, indent_unit="  "
    )


def _markup(id: str, grammar: str = "") -> Language:
    """Tags around blocks, no comment that ends with the line."""
    return Language(
        id=id,
        block_comment=("<!--", "-->"),
        block_start=(">", "{"),
        block_end=("</", "}"),
        indent_unit="  ",
        grammar=grammar,
    )


def _lines(id: str, comment: str = "#", unit: str = "    ") -> Language:
    """One entry per line, no blocks."""
    return Language(id=id, line_comment=comment, indent_unit=unit)


def _prose(id: str, comment: str = "", block: tuple[str, str] | None = None) -> Language:
    return Language(id=id, line_comment=comment, block_comment=block, prose=True, indent_unit="  ")


_PYTHON_WORDS = ("elif ", "else", "except", "finally", "case ")
_RUBY_WORDS = ("elsif ", "when ", "in ", "rescue", "ensure")

# The language, what else editors call it, its files' endings and names. All in lower case.
_TABLE: tuple[tuple[Language, str, str], ...] = (
    (PLAIN, "text txt plain fundamental", "*.txt *.text *.log license"),
    # Braces
    (_braces("c", grammar="c"), "", "*.c *.h"),
    (
        _braces("cpp", "catch", grammar="cpp"),
        "c++ cuda cuda-cpp arduino",
        "*.cc *.cpp *.cxx *.hh *.hpp *.hxx *.ipp",
    ),
    (_braces("csharp", "catch", "finally", grammar="c_sharp"), "cs c# c_sharp", "*.cs *.csx"),
    (_braces("java", "catch", "finally", grammar="java"), "", "*.java"),
    (_script("javascript", "javascript"), "js node", "*.js *.mjs *.cjs"),
    (_script("javascriptreact", "javascript"), "jsx javascript.jsx javascript-jsx", "*.jsx"),
    (_script("typescript", "typescript.typescript"), "ts", "*.ts *.mts *.cts"),
    (_script("typescriptreact", "typescript.tsx"), "tsx typescript.tsx typescript-tsx", "*.tsx"),
    (_script("astro"), "", "*.astro"),
    (_script("svelte"), "", "*.svelte"),
    (_script("vue"), "", "*.vue"),
    (_script("dart"), "", "*.dart"),
    (_script("scala"), "", "*.scala *.sc *.sbt"),
    (_braces("go", unit="\t", grammar="go"), "golang", "*.go"),
    (_braces("rust", grammar="rust"), "rs rustic", "*.rs"),
    (_braces("kotlin", "catch", "finally"), "kt kts", "*.kt *.kts"),
    (_braces("swift", "catch"), "", "*.swift"),
    (_braces("php", "catch", "finally", grammar="php.php"), "", "*.php *.phtml"),
    (_braces("groovy", "catch", "finally"), "gradle", "*.groovy *.gradle jenkinsfile"),
    (_braces("objective-c", "@catch", "@finally"), "objc objectivec", "*.m"),
    (_braces("objective-cpp", "@catch", "@finally"), "objcpp objectivecpp", "*.mm"),
    (_braces("zig"), "", "*.zig *.zon"),
    (_braces("d", "catch", "finally"), "", "*.d *.di"),
    (_braces("v"), "vlang", "*.vsh"),
    (_braces("odin"), "", "*.odin"),
    (_braces("solidity", "catch"), "", "*.sol"),
    (_braces("haxe", "catch"), "", "*.hx"),
    (_braces("glsl"), "hlsl wgsl shaderlab", "*.glsl *.vert *.frag *.hlsl *.wgsl"),
    (_braces("verilog"), "systemverilog", "*.sv *.svh"),
    (_braces("perl", "elsif ", comment="#"), "perl5 cperl raku perl6", "*.pl *.pm *.raku"),
    (_braces("powershell", "elseif", "catch", "finally", comment="#"), "ps1 pwsh", "*.ps1 *.psm1"),
    (_braces("r", comment="#", unit="  "), "rlang ess-r", "*.r .rprofile"),
    (_braces("tcl", "elseif ", comment="#"), "", "*.tcl"),
    (_braces("awk", comment="#"), "", "*.awk"),
    (_braces("nix", comment="#", unit="  "), "", "*.nix"),
    # Braces around entries
    (
        _data("json", grammar="json"),
        "jsonl geojson",
        "*.json *.jsonl *.geojson *.ipynb .babelrc .eslintrc",
    ),
    (_data("jsonc", "//", _C_COMMENT), "json5 json-with-comments", "*.jsonc *.json5"),
    (_data("css", "", _C_COMMENT, "css"), "", "*.css"),
    (_data("scss", "//", _C_COMMENT), "postcss", "*.scss *.pcss"),
    (_data("less", "//", _C_COMMENT), "", "*.less"),
    (_data("proto3", "//", _C_COMMENT), "proto protobuf proto2", "*.proto"),
    (_data("thrift", "//", _C_COMMENT), "", "*.thrift"),
    (_data("prisma", "//"), "", "*.prisma"),
    (_data("bicep", "//", _C_COMMENT), "", "*.bicep"),
    (_data("dot", "//", _C_COMMENT), "graphviz", "*.gv"),
    (_data("terraform", "#", _C_COMMENT), "hcl tf terraform-vars opentofu", "*.tf *.tfvars *.hcl"),
    (_data("puppet", "#"), "", "*.pp"),
    (_data("graphql", "#"), "gql", "*.graphql *.gql *.graphqls"),
    (
        _data("sql", "--", _C_COMMENT),
        "mysql plsql plpgsql pgsql postgres tsql sqlite",
        "*.sql *.ddl",
    ),
    # Indentation
    (
        _indented("python", *_PYTHON_WORDS, grammar="python"),
        "py python3 sage",
        "*.py *.pyi *.pyw *.pyx",
    ),
    (_indented("mojo", *_PYTHON_WORDS), "", "*.mojo"),
    (_indented("starlark", "elif ", "else"), "bazel bzl", "*.bzl *.bazel *.star build workspace"),
    (_indented("gdscript", "elif ", "else", unit="\t"), "gd", "*.gd"),
    (_indented("nim", "of ", *_PYTHON_WORDS, start=": =", unit="  "), "", "*.nim *.nims"),
    (
        _indented("coffeescript", "else", "catch", "finally", start="-> =>", unit="  "),
        "coffee",
        "*.coffee",
    ),
    (
        _indented("yaml", start=": | > -", unit="  "),
        "yml docker-compose dockercompose ansible helm github-actions-workflow",
        "*.yaml *.yml .clang-format",
    ),
    (
        _offside("haskell", (" do", " where", " of"), "--", ("{-", "-}")),
        "purescript",
        "*.hs *.purs",
    ),
    (_offside("elm", (" of", " let"), "--", ("{-", "-}")), "", "*.elm"),
    (
        _offside("fsharp", (" then", " do", " with"), "//", ("(*", "*)")),
        "fs f#",
        "*.fs *.fsx *.fsi",
    ),
    (_offside("ocaml", (" struct", " sig"), "", ("(*", "*)")), "reason", "*.ml *.mli"),
    (Language(id="sass", line_comment="//", indent_sensitive=True, indent_unit="  "), "", "*.sass"),
    (
        Language(id="pug", line_comment="//", indent_sensitive=True, indent_unit="  "),
        "jade",
        "*.pug",
    ),
    (Language(id="haml", line_comment="-#", indent_sensitive=True, indent_unit="  "), "", "*.haml"),
    # Words
    (
        _words("ruby", "#", "do then begin else ensure rescue", *_RUBY_WORDS, grammar="ruby"),
        "rb",
        "*.rb *.rake *.gemspec *.ru gemfile rakefile vagrantfile podfile fastfile brewfile",
    ),
    (_words("crystal", "#", "do then begin else ensure rescue", *_RUBY_WORDS), "", "*.cr"),
    (
        _words("elixir", "#", "do -> fn else rescue after", "rescue", "catch", "after"),
        "ex exs",
        "*.ex *.exs",
    ),
    (_words("erlang", "%", "-> of begin", "after"), "erl", "*.erl *.hrl"),
    (
        _words("lua", "--", "do then else repeat", "elseif ", end="end until", grammar="lua"),
        "luau",
        "*.lua *.luau",
    ),
    (_words("julia", "#", "do begin quote let else finally", "catch", "finally"), "jl", "*.jl"),
    (
        _words(
            "shellscript", "#", "do then in else", "elif ", end="done fi esac }", grammar="bash"
        ),
        "sh bash zsh ksh fish shell shell-script ebuild bats",
        "*.sh *.bash *.zsh *.ksh *.fish *.bats .bashrc .bash_profile .zshrc .profile pkgbuild",
    ),
    (_words("matlab", "%", "", "case ", "otherwise", "catch"), "octave", "*.mat"),
    (
        _words("pascal", "//", "begin then do", end="end until"),
        "delphi objectpascal",
        "*.pas *.dpr",
    ),
    (_words("ada", "--", "is begin then loop", "elsif ", "when ", "exception"), "", "*.adb *.ads"),
    (_words("vhdl", "--", "is begin then loop", "elsif ", "when "), "", "*.vhd *.vhdl"),
    (
        _words("fortran", "!", "then do", "case"),
        "fortran-modern f90 fortranfreeform",
        "*.f *.f90 *.f95 *.f03 *.f08",
    ),
    (
        _words("vb", "'", "then do", "case ", "catch", "finally", end="end next loop wend"),
        "vbnet vbscript visualbasic",
        "*.vb *.vbs *.bas",
    ),
    (_words("cmake", "#", ""), "", "*.cmake cmakelists.txt"),
    (_words("viml", '"', "", "catch", "finally"), "vim vimscript", "*.vim .vimrc _vimrc"),
    # Lists
    (_lisp("lisp"), "commonlisp common-lisp lisp-mode autolisp", "*.lisp *.lsp *.cl *.asd"),
    (_lisp("emacs-lisp"), "elisp", "*.el .emacs"),
    (_lisp("scheme"), "racket guile", "*.scm *.ss *.rkt"),
    (_lisp("clojure"), "clojurescript clojurec", "*.clj *.cljs *.cljc *.edn"),
    (_lisp("fennel"), "janet hy", "*.fnl *.janet *.hy"),
    # Markup
    (_markup("html", "html"), "htm xhtml", "*.html *.htm *.xhtml"),
    (_markup("xml"), "xsl svg xsd ant", "*.xml *.xsl *.xslt *.xsd *.svg *.plist *.csproj *.fsproj"),
    (
        _markup("erb"),
        "eruby html.erb html-erb ejs heex html-eex handlebars hbs mustache jinja jinja2 "
        "django-html htmldjango twig liquid razor aspnetcorerazor cshtml",
        "*.erb *.ejs *.heex *.hbs *.mustache *.j2 *.jinja *.twig *.liquid *.cshtml *.razor",
    ),
    # Prose
    (
        _prose("markdown", block=("<!--", "-->")),
        "md gfm pandoc mdx quarto rmd vimwiki",
        "*.md *.markdown *.mdx *.qmd *.rmd readme",
    ),
    (_prose("restructuredtext", ".."), "rst", "*.rst"),
    (_prose("asciidoc", "//"), "adoc", "*.adoc *.asciidoc"),
    (_prose("org", "#"), "orgmode org-mode", "*.org"),
    (_prose("latex", "%"), "tex plaintex context doctex", "*.tex *.sty *.cls *.ltx"),
    (_prose("typst", "//", _C_COMMENT), "", "*.typ"),
    (_prose("git-commit", "#"), "gitcommit git-rebase gitrebase", "commit_editmsg merge_msg"),
    # Lines
    (_lines("bibtex", "%"), "bib", "*.bib"),
    (_lines("dockerfile"), "docker containerfile", "*.dockerfile dockerfile containerfile"),
    (
        _lines("makefile", unit="\t"),
        "make just justfile",
        "*.mk *.mak makefile gnumakefile justfile",
    ),
    (_lines("toml"), "", "*.toml cargo.lock poetry.lock uv.lock pipfile"),
    (
        _lines("ini", ";"),
        "dosini cfg conf systemd",
        "*.ini *.cfg *.service .editorconfig .gitconfig",
    ),
    (_lines("properties"), "java-properties jproperties", "*.properties *.conf"),
    (_lines("dotenv"), "env", "*.env .env"),
    (
        _lines("ignore"),
        "gitignore git-ignore dockerignore gitattributes git-attributes codeowners",
        ".gitignore .dockerignore .gitattributes codeowners",
    ),
    (_lines("requirements"), "pip-requirements", "requirements.txt"),
    (_lines("go.mod", "//", "\t"), "gomod", "go.mod go.work"),
    (_lines("csv", ""), "tsv", "*.csv *.tsv"),
    (_lines("diff", ""), "patch", "*.diff *.patch"),
    (_lines("asm", ";"), "nasm gas assembly", "*.asm *.s *.nasm"),
    (_lines("bat", "REM"), "batch dosbatch cmd", "*.bat *.cmd"),
    (_lines("cobol", "*>"), "", "*.cob *.cbl *.cpy"),
    (_lines("prolog", "%"), "swipl", "*.pro *.plg"),
    (_lines("apl", "⍝"), "", "*.apl"),
    (_lines("gherkin", unit="  "), "cucumber feature", "*.feature"),
    (_lines("mermaid", "%%"), "", "*.mmd *.mermaid"),
    (_lines("http"), "rest", "*.http *.rest"),
)

_BY_NAME = {
    name: language for language, names, _ in _TABLE for name in (language.id, *names.split())
}
_BY_FILE = {file: language for language, _, files in _TABLE for file in files.split()}

# Of which one file imports another's code, or shows how it is used.
_FAMILIES = tuple(
    frozenset(names.split())
    for names in (
        "javascript javascriptreact typescript typescriptreact vue svelte astro",
        "c cpp objective-c objective-cpp",
        "java kotlin groovy scala",
        "css scss less sass",
    )
)
