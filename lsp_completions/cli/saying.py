"""Sentences for a person, on standard error: standard output is for what was asked for."""

import sys

import click

from lsp_completions.cli.words import wrapped


def say(sentence: str) -> None:
    """Say it; on a terminal, with no word broken at the edge."""
    text = sentence.lstrip(" ")
    margin = " " * (len(sentence) - len(text))
    click.echo(wrapped(text, first=margin, stream=sys.stderr), err=True)
