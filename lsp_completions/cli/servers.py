"""`lsp-completions status` and `why`: what the running servers say of themselves."""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import click

from lsp_completions.cli.exits import Exit
from lsp_completions.cli.saying import say
from lsp_completions.cli.words import WIDEST, ago, clock, columns, padded, short, size, wrapped
from lsp_completions.explanation import HELP, PASSED
from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.programs import which
from lsp_completions.running import running
from lsp_completions.visible import in_json, visible

NOBODY = (
    "No server runs: no editor has started lsp-completions, or it has ended. An editor starts it "
    "with the first file of a kind that it is set up for; `lsp-completions setup` prints how."
)
MOST = 20  # outcomes in the table
STATES = {
    "off": "Suggestions are off",
    "keptBack": "Nothing is sent of this document",
    "error": "No suggestions come",
    "warning": "Suggestions may not come",
    "starting": "Not ready yet",
    "busy": "Busy",
    "ready": "Ready",
}
PASSING = {reason.key for reason in PASSED}
HELP_BY_KEY = {reason.key: sentence for reason, sentence in HELP.items()}

Told = Mapping[str, Any]


def status(*, as_json: bool) -> Exit:
    """List the servers of this user; returns the exit code."""
    servers = running()
    for each in servers:
        each["memory"] = memory_of(each["pid"])
    if as_json:
        brief = [{k: v for k, v in each.items() if k != "outcomes"} for each in servers]
        click.echo(in_json({"servers": brief}))
    else:
        now = time.time()
        for number, each in enumerate(servers):
            if number:
                click.echo()
            click.echo("\n".join(about(each, now)))
        if not servers:
            say(NOBODY)
    return Exit.GOOD if servers else Exit.NOTHING


def about(server: Told, now: float) -> list[str]:
    """A server in some lines."""
    editor = f"{server.get('editor') or 'An editor'} {server.get('editorVersion') or ''}".strip()
    memory = server.get("memory")
    much = f", {size(memory)} of memory" if isinstance(memory, int) else ""
    about = f"{editor}, process {server['pid']}, started {ago(server.get('started'), now)}{much}"
    lines = [wrapped(about, indent="  ")]
    # A path is copied as a whole.
    lines += [f"  in {short(str(each))}" for each in server.get("workspace") or ()]
    told = server.get("status")
    told = told if isinstance(told, dict) else {}
    who = _who(told)
    by = f", asking {who}" if who else ""
    state = STATES.get(str(told.get("state")), "Just started")
    line = f"{state}, for {ago(server.get('since'), now).removesuffix(' ago')}{by}"
    if message := told.get("message"):
        line += f": {message}"
    lines.append(wrapped(line, first="  ", indent="    "))
    outcomes = server.get("outcomes") or []
    last = next((each for each in outcomes if each.get("reason") not in PASSING), None)
    if last is not None:
        known = message and message == last.get("message")
        came = "the same" if known else what(last)
        line = f"last {ago(last.get('at'), now)}, in {_place(last)}: {came}"
        lines.append(wrapped(line, first="  ", indent="    "))
    if log := server.get("log"):
        lines.append(f"  log {short(str(log))}")
    return lines


def _who(told: Told) -> str:
    provider, model = told.get("provider") or "", told.get("model") or ""
    return f"{provider} ({model})" if model else str(provider)


def _place(outcome: Told) -> str:
    return f"{outcome.get('path')}:{outcome.get('line')}"


def what(outcome: Told) -> str:
    """What came of a request, in a line."""
    if outcome.get("reason") is not None:
        return str(outcome.get("message"))
    lines, characters = outcome.get("lines") or 0, outcome.get("characters")
    much = f"{lines} lines" if lines > 1 else f"{characters} character"
    if lines <= 1 and characters != 1:
        much += "s"
    fate = outcome.get("fate")
    return f"suggested {much}; {fate}" if fate != "nothing yet" else f"suggested {much}"


def memory_of(pid: int) -> int | None:
    """How many bytes of memory a process takes; `None` where that cannot be told."""
    try:
        if sys.platform == "win32":
            return _memory_on_windows(pid)
        ran = subprocess.run(
            [_found("ps"), "-o", "rss=", "-p", str(pid)],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
        return int(ran.stdout) * 1024
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _found(program: str) -> str:
    if (found := which(program)) is None:
        raise FileNotFoundError(program)
    return found


def _memory_on_windows(pid: int) -> int | None:
    ran = subprocess.run(
        [_found("tasklist"), "/FI", f"PID eq {pid}", "/FO", "CSV", "/NH"],
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    # "python.exe","4242","Console","1","45,678 K"; the separator is the system's.
    digits = "".join(each for each in ran.stdout.rpartition('","')[2] if each.isdecimal())
    return int(digits) * 1024 if digits else None


def why(*, as_json: bool, everything: bool) -> Exit:
    """Show what came of the last requests of all running servers; returns the exit code."""
    servers = running()
    outcomes = newest(servers, everything=everything)
    if as_json:
        click.echo(in_json({"outcomes": outcomes}))
    elif not servers:
        say(NOBODY)
    elif not outcomes:
        say(
            "Nothing was asked yet. If you have typed in a file of a kind that gets suggestions, "
            "look at the editor: it has started the server, but asks it nothing."
        )
    else:
        click.echo("\n".join(table(outcomes)))
        if (help := HELP_BY_KEY.get(str(outcomes[0].get("reason")))) is not None:
            click.echo()
            click.echo(wrapped(f"What helps with the first: {help}"))
    return Exit.GOOD if outcomes else Exit.NOTHING


def newest(servers: Sequence[Told], *, everything: bool) -> list[dict[str, Any]]:
    """The outcomes of all servers, newest first; what ended by typing on only where wanted."""
    found = [
        {**each, "pid": server["pid"]}
        for server in servers
        for each in server.get("outcomes") or ()
        if everything or each.get("reason") not in PASSING
    ]
    return sorted(found, key=lambda each: each.get("at") or 0, reverse=True)[:MOST]


def table(outcomes: Sequence[Told]) -> list[str]:
    """The outcomes as a person reads them, one or some lines for each."""
    place = min(
        max(len(_place(each)) for each in outcomes), max((columns(sys.stdout) or WIDEST) // 3, 16)
    )
    place = max(place, len("where"))
    lines = [f"{'when':8}  {'ms':>6}  {padded('where', place)}  what"]
    for each in outcomes:
        answered = (each.get("times") or {}).get("answered")
        took = f"{answered:.0f}" if isinstance(answered, int | float) else ""
        head = f"{clock(each.get('at')):8}  {took:>6}  {padded(_place(each), place)}  "
        menu = "menu: " if each.get("method") == "menu" else ""
        how = f" ({each['how']})" if each.get("reason") is None and each.get("how") else ""
        lines.append(wrapped(f"{menu}{what(each)}{how}", first=head, indent=" " * (place + 20)))
    return lines


def why_there(place: str) -> Exit:
    """Say what would come of a request at FILE:LINE:COLUMN; returns the exit code."""
    import asyncio
    from pathlib import Path

    from lsp_completions.configuration import config_file
    from lsp_completions.configuration.in_force import put_in_force
    from lsp_completions.configuration.places import Places
    from lsp_completions.oneshot import Place, complete_once, cursor_at, why_not_while_typing
    from lsp_completions.pipeline.outcome import Suggested

    cursor = cursor_at(Place.read(place))
    read = Places().read([Path.cwd().as_uri()])
    found = put_in_force([*read.layers, *read.project], own_file=str(config_file()))
    for problem in (*read.problems, *found.problems):
        say(f"Warning: {problem}")
    answer = asyncio.run(
        complete_once(
            cursor,
            found.settings,
            show=lambda _: None,
            report=lambda sentence: say(f"Warning: {sentence}"),
            progress=lambda sentence: say(f"{sentence} …"),
        )
    )
    outcome = answer.outcome
    who = _who({"provider": answer.provider, "model": answer.model})
    total = round(answer.total * 1000)
    reason: SkipReason | None = why_not_while_typing(cursor, found.settings)
    if isinstance(outcome, Suggested):
        text = outcome.edits[0].new_text
        lines = text.count("\n") + 1
        much = f"{lines} lines" if lines > 1 else f"“{visible(text)}”"
        by_hand = " to whoever asks by hand" if reason is not None else ""
        click.echo(
            wrapped(
                f"There would be a suggestion{by_hand}: {much}, after {total} ms, "
                f"from {who}. `lsp-completions complete` shows it."
            )
        )
        if reason is not None:
            click.echo(wrapped(f"While you type there is none: {reason.value}"))
    else:
        reason = outcome.reason
        sentence = outcome.detail or reason.value
        asked = f" It took {total} ms, from {who}." if who else ""
        click.echo(wrapped(f"Nothing would be suggested. {sentence}{asked}"))
    if reason is not None and (help := HELP.get(reason)) is not None:
        click.echo(wrapped(f"What helps: {help}"))
    return Exit.GOOD if isinstance(outcome, Suggested) else Exit.NOTHING
