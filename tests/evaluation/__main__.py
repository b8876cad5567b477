"""`python -m tests.evaluation typing`: the tables of the typing replay, on the standard output."""

import argparse
import sys

from tests.evaluation.editors import EDITORS
from tests.evaluation.tables import real_table, tables


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
    parser.add_argument(
        "--real", action="store_true", help="beside the real process in real time; takes minutes"
    )
    arguments = parser.parse_args()

    def tell(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    editors = arguments.editor or tuple(EDITORS)
    if arguments.real:
        print(real_table(editors, tell))
        return
    for table in tables(few=arguments.few, editors=editors, tell=tell):
        print(table, flush=True)


if __name__ == "__main__":
    main()
