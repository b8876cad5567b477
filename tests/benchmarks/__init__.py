"""What the server costs, beside the least that a language server can cost.

`python -m tests.benchmarks` starts three servers and measures them in turns, in one run, so that
whatever else the machine does weighs on all of them alike:

- the bare loop: a JSON-RPC loop on asyncio, a list of lines, a raw socket to the instance;
- stock pygls with its own documents, and the same raw socket;
- ours, as an editor starts it.

It prints medians and ratios; `--peers FOLDER` adds servers of others that npm installed there.
`python -m tests.benchmarks.after_abort` measures what a stream that was left costs the next one.
The ratios say something about the server, the times something about the machine.
"""
