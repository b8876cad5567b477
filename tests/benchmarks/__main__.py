"""`python -m tests.benchmarks`: the table, on the standard output."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from tests.benchmarks.run import QUICK, TOO_MUCH_DRIFT, Plan, run_now
from tests.benchmarks.servers import KINDS, peers_in
from tests.benchmarks.table import table


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Measure the server beside the least that a language server can cost.",
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, and no slow pairs")
    parser.add_argument("--rounds", type=int, help="how often everything is measured")
    parser.add_argument(
        "--only",
        action="append",
        choices=[kind.name for kind in KINDS],
        help="leave the other servers out; may be given more than once",
    )
    parser.add_argument(
        "--peers",
        type=Path,
        metavar="FOLDER",
        help="also servers of others, where npm installed them: tabby-agent, "
        "@github/copilot-language-server",
    )
    arguments = parser.parse_args()

    plan = QUICK if arguments.quick else Plan()
    if arguments.rounds:
        plan = replace(plan, rounds=arguments.rounds)
    if arguments.only:
        plan = replace(plan, kinds=[kind for kind in KINDS if kind.name in arguments.only])
    if arguments.peers:
        plan = replace(plan, kinds=[*plan.kinds, *peers_in(arguments.peers.resolve())])
    report = run_now(plan, lambda line: print(line, file=sys.stderr, flush=True))
    print(table(report))
    print(
        f"\nMedians of {report.rounds_kept} of {plan.rounds} rounds; "
        f"the machine's own speed differed by {report.drift:.0%} among them"
        f" (more than {TOO_MUCH_DRIFT:.0%} means: do not trust this run)."
    )


if __name__ == "__main__":
    main()
