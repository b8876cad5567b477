"""Where editors keep what is set up, on each platform."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WINDOWS = "win32"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Whose files are looked for."""

    platform: str
    """As `sys.platform` says it."""
    home: Path
    environment: Mapping[str, str]

    @property
    def is_windows(self) -> bool:
        """Whether paths are those of Windows."""
        return self.platform == WINDOWS

    def neovim_config(self) -> Path:
        """The folder of `init.lua`."""
        return self._folder("LOCALAPPDATA", "XDG_CONFIG_HOME", ".config") / self._neovim_name()

    def neovim_plugin(self) -> Path:
        """The folder of our plugin, as `:packadd` finds it."""
        data = self._folder("LOCALAPPDATA", "XDG_DATA_HOME", ".local/share")
        name = self._neovim_name() + ("-data" if self.is_windows else "")
        return data.joinpath(name, *"site/pack/lsp-completions/opt/lsp-completions".split("/"))

    def helix_config(self) -> Path:
        """The folder of `languages.toml`; macOS has it where Linux does."""
        return self._folder("APPDATA", "XDG_CONFIG_HOME", ".config") / "helix"

    def emacs_inits(self) -> list[Path]:
        """The files Emacs may begin with; it takes the first that exists."""
        home = self._emacs_home()
        config = self._named("XDG_CONFIG_HOME") or home / ".config"
        folders = (home / ".emacs.d", config / "emacs")
        return [home / ".emacs.el", home / ".emacs", *(each / "init.el" for each in folders)]

    def emacs_plugin(self, init: Path) -> Path:
        """The folder of our plugin, below that which Emacs has with this init file."""
        folder = init.parent if init.name == "init.el" else self._emacs_home() / ".emacs.d"
        return folder / "lsp-completions"

    def told(self, path: Path) -> str:
        """The path as a person writes it."""
        if not self.is_windows and path.is_relative_to(self.home):
            return f"~/{path.relative_to(self.home).as_posix()}"
        return str(path)

    def _emacs_home(self) -> Path:
        home = self._named("HOME") or (self._named("APPDATA") if self.is_windows else None)
        return home or self.home

    def _neovim_name(self) -> str:
        return self.environment.get("NVIM_APPNAME") or "nvim"

    def _folder(self, on_windows: str, variable: str, else_below_home: str) -> Path:
        if (named := self._named(variable)) is not None:
            return named
        if self.is_windows:
            roaming = "Roaming" if on_windows == "APPDATA" else "Local"
            return self._named(on_windows) or self.home / "AppData" / roaming
        return self.home / else_below_home

    def _named(self, variable: str) -> Path | None:
        value = self.environment.get(variable, "")
        return Path(value) if value and Path(value).is_absolute() else None
