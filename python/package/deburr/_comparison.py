"""deburr compare, as typed objects. Written by python/generate from schema-compare.json: change that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "Benchstat",
    "Comparison",
    "ComparisonFitness",
    "ComparisonFitnessResolves",
    "ComparisonProvenance",
    "ComparisonProvenanceHost",
    "ComparisonProvenancePrograms",
    "ComparisonSweep",
    "ComparisonSweepPoints",
    "Functions",
    "FunctionsPortions",
    "FunctionsPortionsAmount",
    "FunctionsPortionsSamples",
    "FunctionsPortionsShare",
    "FunctionsSamples",
    "FunctionsTotal",
    "Marks",
    "Metric",
    "MetricComparison",
    "Placement",
    "Position",
    "PositionFirst",
    "Probabilities",
    "Steal",
    "Summary",
]


@dataclass(frozen=True)
class FunctionsPortionsSamples:
    """How many samples were in it."""

    a: int
    b: int

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FunctionsPortionsSamples:
        return cls(
            a=it['a'],
            b=it['b'],
        )


@dataclass(frozen=True)
class FunctionsPortionsAmount:
    """In the unit."""

    a: float
    b: float

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FunctionsPortionsAmount:
        return cls(
            a=it['a'],
            b=it['b'],
        )


@dataclass(frozen=True)
class FunctionsPortionsShare:
    """Its share of the profile, from 0 to 1."""

    a: float
    b: float

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FunctionsPortionsShare:
        return cls(
            a=it['a'],
            b=it['b'],
        )


@dataclass(frozen=True)
class FunctionsPortions:
    """FunctionsPortions, as the JSON Schema has it."""

    kind: Literal['function', 'kernel', 'nameless']
    object: str | None
    """The file's name without folders; null of the kernel and of what has no name."""
    function: str | None
    """The name without what compilers append to clones."""
    change: Literal['gained', 'lost', 'unclear']
    """`gained`: B takes less of it; `unclear`: sampling alone may be the reason."""
    share: FunctionsPortionsShare
    """Its share of the profile, from 0 to 1."""
    amount: FunctionsPortionsAmount
    """In the unit."""
    samples: FunctionsPortionsSamples
    """How many samples were in it."""
    difference: float
    """B's amount less A's."""
    margin: float | None
    """The half of the 95 % interval of the difference, this portion alone; null where events are counted, or
    there is one run only."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FunctionsPortions:
        return cls(
            kind=it['kind'],
            object=it['object'],
            function=it['function'],
            change=it['change'],
            share=FunctionsPortionsShare._of(it['share']),
            amount=FunctionsPortionsAmount._of(it['amount']),
            samples=FunctionsPortionsSamples._of(it['samples']),
            difference=it['difference'],
            margin=it['margin'],
        )


@dataclass(frozen=True)
class FunctionsSamples:
    """How many samples the profiles have; 0 where events are counted."""

    a: int
    b: int

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FunctionsSamples:
        return cls(
            a=it['a'],
            b=it['b'],
        )


@dataclass(frozen=True)
class FunctionsTotal:
    """The amount of a whole run."""

    a: float
    b: float

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FunctionsTotal:
        return cls(
            a=it['a'],
            b=it['b'],
        )


@dataclass(frozen=True)
class Functions:
    """Functions, as the JSON Schema has it."""

    unit: str
    """What amounts are: `CPU seconds`, `user seconds` where no sample is in the kernel, or the event that a
    profile counts, such as `Ir`."""
    is_time: bool
    """Whether amounts are seconds of a run; else they are the profile's counts."""
    total: FunctionsTotal
    """The amount of a whole run."""
    samples: FunctionsSamples
    """How many samples the profiles have; 0 where events are counted."""
    portions: tuple[FunctionsPortions, ...]
    """All functions, the largest difference first; and the kernel, and what has no name."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Functions:
        return cls(
            unit=it['unit'],
            is_time=it['is_time'],
            total=FunctionsTotal._of(it['total']),
            samples=FunctionsSamples._of(it['samples']),
            portions=tuple(FunctionsPortions._of(one) for one in it['portions']),
        )


@dataclass(frozen=True)
class ComparisonFitnessResolves:
    """ComparisonFitnessResolves, as the JSON Schema has it."""

    pairs: int
    effect: float
    """The smallest difference that they would probably prove, as a fraction."""
    seconds: float

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> ComparisonFitnessResolves:
        return cls(
            pairs=it['pairs'],
            effect=it['effect'],
            seconds=it['seconds'],
        )


@dataclass(frozen=True)
class ComparisonFitness:
    """ComparisonFitness, as the JSON Schema has it."""

    noise: float
    """Standard deviation of the pairs' ratios, as a fraction."""
    foreign_load: float | None
    """Processors that others kept busy, on average."""
    stolen: float | None
    """The share of the wall time that a hypervisor took; null where the kernel does not say."""
    waited: float
    """Seconds waited for a quiet machine before a run, on average."""
    resolves: tuple[ComparisonFitnessResolves, ...]

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> ComparisonFitness:
        return cls(
            noise=it['noise'],
            foreign_load=it['foreign_load'],
            stolen=it['stolen'],
            waited=it['waited'],
            resolves=tuple(ComparisonFitnessResolves._of(one) for one in it['resolves']),
        )


@dataclass(frozen=True)
class ComparisonSweepPoints:
    """ComparisonSweepPoints, as the JSON Schema has it."""

    value: str
    metrics: tuple[MetricComparison, ...]

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> ComparisonSweepPoints:
        return cls(
            value=it['value'],
            metrics=tuple(MetricComparison._of(one) for one in it['metrics']),
        )


@dataclass(frozen=True)
class ComparisonSweep:
    """ComparisonSweep, as the JSON Schema has it."""

    param: str
    points: tuple[ComparisonSweepPoints, ...]

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> ComparisonSweep:
        return cls(
            param=it['param'],
            points=tuple(ComparisonSweepPoints._of(one) for one in it['points']),
        )


@dataclass(frozen=True)
class MetricComparison:
    """MetricComparison, as the JSON Schema has it."""

    metric: Metric
    verdict: Literal['better', 'worse', 'same', 'inconclusive']
    """What is said of B."""
    effect: float
    """By how much B typically differs from A, as a fraction of A, in the metric's own unit: -0.03 of a time
    is a time shorter by 3 %. By the Hodges-Lehmann estimate of the pairs; of the medians without pairs."""
    interval: tuple[float, float] | None
    """The effects that the signed-rank test does not reject: wholly outside of the region where the verdict
    is better or worse, wholly inside where it is same. Null without pairs, with too few of them, or where
    something is in the way of any verdict."""
    confidence: float | None
    """The probability with which the interval holds the effect, at all interim analyses together: 1 less the
    error; null without an interval."""
    interval_pairs: int | None
    """The first pairs, which effect and interval are of: as many as the interim analysis had that decided, or
    else the last one; null without an interval."""
    pairs: int | None
    """Pairs that count; null where the runs are in no pairs."""
    pairs_needed: int | None
    """Where nothing is proven, about how many pairs would prove it; null where no number is known."""
    paired: Probabilities | None
    """Of the mean, by Student's t of the pairs: not adjusted for interim analyses, and no verdict."""
    unpaired: Probabilities | None
    """Of the mean, by Student's t of two separate samples: no verdict."""
    benchstat: Benchstat
    position: Position | None
    """What the place in a pair does; null where the order inside of pairs is not known."""
    steal: Steal
    region: float
    """Differences up to this fraction do not matter."""
    placement: Placement | None
    """What placement alone does, where --layout-floor measured it: the region has room for it."""
    warnings: tuple[str, ...]
    """Reasons to look twice."""
    marks: Marks | None = None
    """With --marks: those of published tables, which tell noise rather than a difference; null where a side
    has one run."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> MetricComparison:
        return cls(
            metric=Metric._of(it['metric']),
            verdict=it['verdict'],
            effect=it['effect'],
            interval=None if it['interval'] is None else (it['interval'][0], it['interval'][1]),
            confidence=it['confidence'],
            interval_pairs=it['interval_pairs'],
            pairs=it['pairs'],
            pairs_needed=it['pairs_needed'],
            paired=None if it['paired'] is None else Probabilities._of(it['paired']),
            unpaired=None if it['unpaired'] is None else Probabilities._of(it['unpaired']),
            benchstat=Benchstat._of(it['benchstat']),
            position=None if it['position'] is None else Position._of(it['position']),
            steal=Steal._of(it['steal']),
            region=it['region'],
            placement=None if it['placement'] is None else Placement._of(it['placement']),
            warnings=tuple(it['warnings']),
            marks=None if it.get('marks') is None else None if it['marks'] is None else Marks._of(it['marks']),
        )


@dataclass(frozen=True)
class ComparisonProvenancePrograms:
    """ComparisonProvenancePrograms, as the JSON Schema has it."""

    path: str | None
    """The file; null of what a shell runs."""
    build_id: str | None
    """Hexadecimal digits."""
    commit: str | None
    """Of the Git tree that the file is in."""
    is_dirty: bool | None
    """Whether files of that tree differ from the commit."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> ComparisonProvenancePrograms:
        return cls(
            path=it['path'],
            build_id=it['build_id'],
            commit=it['commit'],
            is_dirty=it['is_dirty'],
        )


@dataclass(frozen=True)
class ComparisonProvenanceHost:
    """ComparisonProvenanceHost, as the JSON Schema has it."""

    name: str | None
    """In the network."""
    cpu: str | None
    """The CPU's name."""
    kernel: str | None
    """The kernel's release."""
    governor: str | None
    """How the clock is governed."""
    virtualised: bool | None
    """Whether a hypervisor runs it, where that shows."""
    hypervisor: str | None
    """Which one, or the maker that it names."""
    processors: int
    """Those that runs may use."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> ComparisonProvenanceHost:
        return cls(
            name=it['name'],
            cpu=it['cpu'],
            kernel=it['kernel'],
            governor=it['governor'],
            virtualised=it['virtualised'],
            hypervisor=it['hypervisor'],
            processors=it['processors'],
        )


@dataclass(frozen=True)
class ComparisonProvenance:
    """The machine and the programs, as they were when the record was begun; null of files, and of records of
    earlier versions."""

    began: str | None
    """RFC 3339, UTC."""
    host: ComparisonProvenanceHost
    programs: tuple[ComparisonProvenancePrograms, ...]
    """Of A and B."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> ComparisonProvenance:
        return cls(
            began=it['began'],
            host=ComparisonProvenanceHost._of(it['host']),
            programs=tuple(ComparisonProvenancePrograms._of(one) for one in it['programs']),
        )


@dataclass(frozen=True)
class Marks:
    """Marks, as the JSON Schema has it."""

    mean: Literal[':)', ':(', None]
    """Of the means: :) where B is better by the region with more than 90 %, :( where it is worse with more
    than 10 %."""
    next: Literal[':)', ':(', None]
    """Of single runs: :) where one of B beats one of A with more than 80 %, :( with less than 20 %."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Marks:
        return cls(
            mean=it['mean'],
            next=it['next'],
        )


@dataclass(frozen=True)
class Placement:
    """Placement, as the JSON Schema has it."""

    layouts: int
    """Different layouts of A."""
    rounds: int
    """How often each was measured."""
    deviation: float
    """The standard deviation that layouts make, as a fraction."""
    noise: float
    """The standard deviation of runs of one layout, as a fraction."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Placement:
        return cls(
            layouts=it['layouts'],
            rounds=it['rounds'],
            deviation=it['deviation'],
            noise=it['noise'],
        )


@dataclass(frozen=True)
class Steal:
    """What a hypervisor took."""

    pairs: int
    """Pairs that this disturbed; 0 for metrics that do not count waiting."""
    a: float
    """The share of A's wall time that was taken; 0 where the kernel does not say."""
    b: float
    """The share of B's."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Steal:
        return cls(
            pairs=it['pairs'],
            a=it['a'],
            b=it['b'],
        )


@dataclass(frozen=True)
class PositionFirst:
    """In how many pairs each side ran first."""

    a: int
    b: int

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> PositionFirst:
        return cls(
            a=it['a'],
            b=it['b'],
        )


@dataclass(frozen=True)
class Position:
    """Position, as the JSON Schema has it."""

    first: PositionFirst
    """In how many pairs each side ran first."""
    effect: float | None
    """By how much the first run of a pair differs from the second, whoever it is, as a fraction of the
    second; null where one side always was first."""
    p: float
    """Mann and Whitney's, of the pairs in which A was first and those in which B was."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Position:
        return cls(
            first=PositionFirst._of(it['first']),
            effect=it['effect'],
            p=it['p'],
        )


@dataclass(frozen=True)
class Summary:
    """Summary, as the JSON Schema has it."""

    median: float
    interval: tuple[float, float] | None
    """Null where there are too few runs."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Summary:
        return cls(
            median=it['median'],
            interval=None if it['interval'] is None else (it['interval'][0], it['interval'][1]),
        )


@dataclass(frozen=True)
class Benchstat:
    """What benchstat says: medians with order-statistic intervals, and Mann and Whitney's test."""

    a: Summary
    b: Summary
    delta: str
    """As benchstat prints it: a percentage, or ~."""
    p: float
    p_adjusted: float
    """p with Holm's correction for the metrics that were compared together."""
    n: tuple[int, int]

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Benchstat:
        return cls(
            a=Summary._of(it['a']),
            b=Summary._of(it['b']),
            delta=it['delta'],
            p=it['p'],
            p_adjusted=it['p_adjusted'],
            n=(it['n'][0], it['n'][1]),
        )


@dataclass(frozen=True)
class Probabilities:
    """Probabilities, as the JSON Schema has it."""

    worse: float
    """That B is worse by more than the region."""
    same: float
    """That they differ by less."""
    better: float
    """That B is better by more."""
    next: float
    """That a single further run of B beats one of A."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Probabilities:
        return cls(
            worse=it['worse'],
            same=it['same'],
            better=it['better'],
            next=it['next'],
        )


@dataclass(frozen=True)
class Metric:
    """What was compared."""

    name: str
    unit: str
    better: Literal['larger', 'smaller']

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Metric:
        return cls(
            name=it['name'],
            unit=it['unit'],
            better=it['better'],
        )


@dataclass(frozen=True)
class Comparison:
    """What `deburr compare --format json` writes: the deciding metric's comparison, and what belongs to
    all."""

    metric: Metric
    verdict: Literal['better', 'worse', 'same', 'inconclusive']
    """What is said of B."""
    effect: float
    """By how much B typically differs from A, as a fraction of A, in the metric's own unit: -0.03 of a time
    is a time shorter by 3 %. By the Hodges-Lehmann estimate of the pairs; of the medians without pairs."""
    interval: tuple[float, float] | None
    """The effects that the signed-rank test does not reject: wholly outside of the region where the verdict
    is better or worse, wholly inside where it is same. Null without pairs, with too few of them, or where
    something is in the way of any verdict."""
    confidence: float | None
    """The probability with which the interval holds the effect, at all interim analyses together: 1 less the
    error; null without an interval."""
    interval_pairs: int | None
    """The first pairs, which effect and interval are of: as many as the interim analysis had that decided, or
    else the last one; null without an interval."""
    pairs: int | None
    """Pairs that count; null where the runs are in no pairs."""
    pairs_needed: int | None
    """Where nothing is proven, about how many pairs would prove it; null where no number is known."""
    paired: Probabilities | None
    """Of the mean, by Student's t of the pairs: not adjusted for interim analyses, and no verdict."""
    unpaired: Probabilities | None
    """Of the mean, by Student's t of two separate samples: no verdict."""
    benchstat: Benchstat
    position: Position | None
    """What the place in a pair does; null where the order inside of pairs is not known."""
    steal: Steal
    region: float
    """Differences up to this fraction do not matter."""
    placement: Placement | None
    """What placement alone does, where --layout-floor measured it: the region has room for it."""
    warnings: tuple[str, ...]
    """Reasons to look twice."""
    schema_version: Literal[2]
    """It grows when a field changes its meaning or goes away; new fields may come at any time."""
    tool_version: str
    is_aa: bool
    """Whether a command was compared with itself."""
    commands: tuple[str, str] | None
    """The commands of A and B; null for files."""
    names: tuple[str, str] | None
    """What the user calls A and B, empty where only one has a name; null without names."""
    files: tuple[str, str] | None
    """The files of A and B; null for commands."""
    record: str | None
    """Where the runs are written down."""
    seed: int | None
    """What the order of the runs comes from."""
    provenance: ComparisonProvenance | None
    """The machine and the programs, as they were when the record was begun; null of files, and of records of
    earlier versions."""
    other_metrics: tuple[MetricComparison, ...]
    """The metrics that do not decide."""
    sweep: ComparisonSweep | None
    """What was swept over; the verdict above is of all points together."""
    fitness: ComparisonFitness | None
    """What the machine can distinguish, where a command was compared with itself."""
    notes: tuple[str, ...]
    """Of files: what was left out, and why."""
    further: tuple[Comparison, ...]
    """The first file compared with the third, the fourth, and so on: documents like this one, which have none
    themselves."""
    marks: Marks | None = None
    """With --marks: those of published tables, which tell noise rather than a difference; null where a side
    has one run."""
    functions: Functions | None = None
    """What each function took of a run, with --by-function."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Comparison:
        return cls(
            metric=Metric._of(it['metric']),
            verdict=it['verdict'],
            effect=it['effect'],
            interval=None if it['interval'] is None else (it['interval'][0], it['interval'][1]),
            confidence=it['confidence'],
            interval_pairs=it['interval_pairs'],
            pairs=it['pairs'],
            pairs_needed=it['pairs_needed'],
            paired=None if it['paired'] is None else Probabilities._of(it['paired']),
            unpaired=None if it['unpaired'] is None else Probabilities._of(it['unpaired']),
            benchstat=Benchstat._of(it['benchstat']),
            position=None if it['position'] is None else Position._of(it['position']),
            steal=Steal._of(it['steal']),
            region=it['region'],
            placement=None if it['placement'] is None else Placement._of(it['placement']),
            warnings=tuple(it['warnings']),
            marks=None if it.get('marks') is None else None if it['marks'] is None else Marks._of(it['marks']),
            schema_version=it['schema_version'],
            tool_version=it['tool_version'],
            is_aa=it['is_aa'],
            commands=None if it['commands'] is None else (it['commands'][0], it['commands'][1]),
            names=None if it['names'] is None else (it['names'][0], it['names'][1]),
            files=None if it['files'] is None else (it['files'][0], it['files'][1]),
            record=it['record'],
            seed=it['seed'],
            provenance=None if it['provenance'] is None else ComparisonProvenance._of(it['provenance']),
            other_metrics=tuple(MetricComparison._of(one) for one in it['other_metrics']),
            sweep=None if it['sweep'] is None else ComparisonSweep._of(it['sweep']),
            fitness=None if it['fitness'] is None else ComparisonFitness._of(it['fitness']),
            notes=tuple(it['notes']),
            functions=None if it.get('functions') is None else Functions._of(it['functions']),
            further=tuple(Comparison._of(one) for one in it['further']),
        )
