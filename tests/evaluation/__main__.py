"""`python -m tests.evaluation typing`: the tables of the typing replay, on the standard output."""

import argparse
import sys

from tests.evaluation.editors import EDITORS
from tests.evaluation.tables import tables


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.evaluation",
        description="Type real edits key by key, and see what each policy asks and shows.",
    )
    parser.add_argument("what", choices=["typing"])
    parser.add_argument("--few", action="store_true", help="a quarter of the edits")
    parser.add_argument(
        "--editor", action="append", choices=list(EDITORS), help="leave the other editors out"
    )
    arguments = parser.parse_args()

    for table in tables(
        few=arguments.few,
        editors=arguments.editor or tuple(EDITORS),
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    ):
        print(table, flush=True)


if __name__ == "__main__":
    main()
