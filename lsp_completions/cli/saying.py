"""Sentences for a person, on standard error: standard output is for what was asked for."""

import shutil
import sys
import textwrap

import click


def say(sentence: str) -> None:
    """Say it; on a terminal, with no word broken at the edge."""
    if sys.stderr.isatty():
        columns = max(shutil.get_terminal_size().columns - 1, 20)
        # What is too long for a line is a path or an address, to be copied as a whole.
        sentence = textwrap.fill(sentence, columns, break_long_words=False, break_on_hyphens=False)
    click.echo(sentence, err=True)
