"""One run: all servers side by side, every measure in turns."""

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from tests.benchmarks import day, measures
from tests.benchmarks.measures import Code, Measure, Samples, Text
from tests.benchmarks.servers import KINDS, PYGLS, Kind, Server, running
from tests.support.sourcegraph import StandIn


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is measured. `patience`: seconds for the keys of one sample."""

    kinds: Sequence[Kind] = KINDS
    rounds: int = 9
    keys: int = 200
    times: int = 20
    patience: float = 1.0
    sizes: Sequence[int] = (1_000, 10_000, 100_000)
    line_bytes: int = 5_000_000
    slow_pairs: bool = True
    """Also stock pygls on the one long line: seconds for each key."""
    completions: int = 1000
    """Of the day that each server lives once."""
    rest: float = day.REST
    """Seconds in which nothing happens before each look at its memory."""


QUICK = Plan(
    rounds=3,
    keys=50,
    times=5,
    patience=0.2,
    sizes=(1_000, 100_000),
    slow_pairs=False,
    completions=200,
    rest=0,
)


@dataclass
class Report:
    """What came of a run."""

    samples: dict[Kind, Samples] = field(default_factory=dict)
    completions_asked: int = 0
    requests_seen: int = 0
    unexpected_answers: int = 0
    drift: float = 0.0
    """How much slower the machine was in its worst round kept than in its best, 0.1 for a tenth."""
    rounds_kept: int = 0


TOO_MUCH_DRIFT = 0.2


async def run(plan: Plan, tell: Callable[[str], None] = lambda _: None) -> Report:
    """Measure all. Rounds in which the machine was busy elsewhere are left out of the report."""
    rounds: list[tuple[float, dict[Kind, Samples]]] = []
    days = {kind: Samples() for kind in plan.kinds if kind.completes}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        async with AsyncExitStack() as stack:
            instance = await stack.enter_async_context(StandIn())
            settings = {
                "SRC_ENDPOINT": instance.url,
                "SRC_ACCESS_TOKEN": str(instance.rules.token),
                # Nobody's own configuration may have a say.
                "HOME": home,
                "XDG_CONFIG_HOME": home,
                "APPDATA": home,
                "LOCALAPPDATA": home,
            }
            benches = []
            for kind in plan.kinds:
                server = await stack.enter_async_context(running(kind, settings))
                benches.append(Bench(kind, server, instance, plan))
            for bench in benches:
                await bench.open()

            for number in range(plan.rounds):
                tell(f"round {number + 1} of {plan.rounds}")
                before = measures.calibration()
                found = {bench.kind: Samples() for bench in benches}
                # Another one goes first each time.
                turn = number % len(benches)
                order = benches[turn:] + benches[:turn]
                for kind in (bench.kind for bench in order):
                    async with running(kind, settings) as fresh:
                        found[kind].wall[measures.START].append(fresh.started_in)
                        if (memory := fresh.resident_bytes()) is not None:
                            found[kind].wall[measures.MEMORY].append(memory)
                for step in range(Bench.steps(plan)):
                    for bench in order:
                        await bench.take(step, found[bench.kind])
                rounds.append((max(before, measures.calibration()), found))

            report = Report(
                completions_asked=sum(bench.asked for bench in benches),
                requests_seen=len(instance.completions),
                unexpected_answers=sum(bench.unexpected for bench in benches),
            )
            for kind in plan.kinds:
                if kind.completes:
                    tell(f"a day of {kind.name}")
                    async with running(kind, settings) as fresh:
                        await day.live(
                            fresh,
                            instance,
                            days[kind],
                            completions=plan.completions,
                            rest=plan.rest,
                        )
    _keep(report, rounds, plan)
    for kind, samples in days.items():
        report.samples[kind].wall.update(samples.wall)
    return report


class Bench:
    """One server and its documents."""

    def __init__(self, kind: Kind, server: Server, instance: StandIn, plan: Plan) -> None:
        self.kind = kind
        self.asked = 0
        self._server = server
        self._instance = instance
        self._plan = plan
        self._codes = [Code(size) for size in plan.sizes]
        self._texts: list[Text] = [*self._codes, measures.minified(plan.line_bytes)]

    async def open(self) -> None:
        """Open all documents, and make the first connection to the instance."""
        for text in self._texts:
            if not self._left_out(text):
                self._server.write(text.open())
        if not self.kind.completes:
            return
        await measures.complete(self._server, self._codes[0], self._instance, Samples(), times=1)
        self.asked += 1

    @property
    def unexpected(self) -> int:
        return len(self._server.unexpected)

    @staticmethod
    def steps(plan: Plan) -> int:
        return len(plan.sizes) + 1 + 7

    async def take(self, step: int, samples: Samples) -> None:
        """One step of a round."""
        server, instance, times = self._server, self._instance, self._plan.times
        small, large, line = self._codes[0], self._codes[-1], self._texts[-1]
        if step < len(self._texts):
            text = self._texts[step]
            if not self._left_out(text):
                keys, patience = self._plan.keys, self._plan.patience
                await measures.type_keys(server, text, samples, keys=keys, patience=patience)
            return
        if not self.kind.completes:
            return
        match step - len(self._texts):
            case 0:
                await measures.complete(server, small, instance, samples, times=times)
            case 1:
                await measures.complete(server, large, instance, samples, times=times)
            case 2:
                if self._left_out(line):
                    return
                if self.kind is PYGLS:
                    times = 1
                await measures.complete(server, line, instance, samples, times=times)
            case 3 | 4 as turn:
                thought = measures.THOUGHT if turn == 3 else 0.0
                await measures.complete_early(
                    server, large, instance, samples, times=times, thought=thought
                )
            case 5:
                await measures.complete_late(server, large, instance, samples, times=times)
            case 6:
                await measures.cancel(server, large, instance, samples, times=times)
        self.asked += times

    def _left_out(self, text: Text) -> bool:
        if text is not self._texts[-1]:
            return False
        # In one long line others than ours may take seconds for a key.
        return not self.kind.completes or (self.kind is PYGLS and not self._plan.slow_pairs)


def _keep(report: Report, rounds: list[tuple[float, dict[Kind, Samples]]], plan: Plan) -> None:
    best = min(machine for machine, _ in rounds)
    kept = [pair for pair in rounds if pair[0] <= best * (1 + TOO_MUCH_DRIFT)]
    if len(kept) < min(3, plan.rounds):
        kept = sorted(rounds, key=lambda pair: pair[0])[: min(3, plan.rounds)]
    report.rounds_kept = len(kept)
    report.drift = max(machine for machine, _ in kept) / best - 1
    for kind in plan.kinds:
        all_samples = report.samples[kind] = Samples()
        for _, found in kept:
            for mine, theirs in (
                (all_samples.wall, found[kind].wall),
                (all_samples.cpu, found[kind].cpu),
            ):
                for measure, values in theirs.items():
                    mine[measure].extend(values)


def measures_of(report: Report) -> list[Measure]:
    """The rows, in the order in which they were first taken."""
    found: dict[Measure, None] = {}
    for samples in report.samples.values():
        found.update(dict.fromkeys(samples.wall))
    return list(found)


def run_now(plan: Plan, tell: Callable[[str], None] = lambda _: None) -> Report:
    return asyncio.run(run(plan, tell))
