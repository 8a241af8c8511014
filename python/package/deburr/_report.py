"""The output of deburr check --format json, as typed objects. Written by python/generate from schema.json: change that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "AcrossFinding",
    "AcrossFindingOther",
    "Advice",
    "Allowance",
    "Atomics",
    "Build",
    "Cost",
    "CostByThreads",
    "Coverage",
    "Document",
    "DocumentConfiguration",
    "DocumentProfile",
    "DocumentProfileJitFunctions",
    "DocumentProfileOtherFiles",
    "DocumentStaleGuards",
    "File",
    "FileClaim",
    "FileOffered",
    "FileOnBaseline",
    "FileOverBudget",
    "FilePresumption",
    "FilePresumptionCopies",
    "FilePresumptionNames",
    "FileProfile",
    "FileProfileFunctions",
    "FileRunsOn",
    "FileUnreadPayload",
    "Finding",
    "Guard",
    "IsaFunction",
    "IsaGroup",
    "NeededBy",
    "Place",
    "PlaceCallers",
    "PlaceSource",
    "Refusal",
    "Runtime",
    "Skipped",
    "Statistics",
    "StatisticsAnswers",
    "Step",
    "Tried",
    "TriedRuns",
    "Weight",
]


@dataclass(frozen=True)
class DocumentProfileOtherFiles:
    """DocumentProfileOtherFiles, as the JSON Schema has it."""

    path: str
    share: float
    """A part of all that the profile saw of the event."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> DocumentProfileOtherFiles:
        return cls(
            path=it['path'],
            share=it['share'],
        )


@dataclass(frozen=True)
class DocumentProfileJitFunctions:
    """DocumentProfileJitFunctions, as the JSON Schema has it."""

    name: str
    reason: Literal['name-only', 'replaced', 'jitdump-not-checked']
    """A perf map has its name alone; other code took its place later; its jitdump was not checked."""
    share: float
    """A part of all that the profile saw of the event."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> DocumentProfileJitFunctions:
        return cls(
            name=it['name'],
            reason=it['reason'],
            share=it['share'],
        )


@dataclass(frozen=True)
class DocumentProfile:
    """With --profile: what the profiles saw of the whole run."""

    event: str
    samples: int
    checked: float
    """Of the files that were checked."""
    kernel: float
    """Of the kernel and of hypervisors."""
    guest: float
    """Of guests of virtual machines."""
    anonymous: float
    """Of memory that is no file's."""
    unknown: float
    """Of what has no known place."""
    jit: float
    """Of functions made at run time that have a name, and were not checked."""
    jit_functions: tuple[DocumentProfileJitFunctions, ...]
    """Those with most, 20 at most."""
    other: float
    """Of all other files."""
    other_files: tuple[DocumentProfileOtherFiles, ...]
    """Those with most, 20 at most."""
    lost_records: int
    """Records that the profiler lost."""
    trace_gaps: int
    """Places where a hardware trace lacks records: its buffer was full, samples collided, or it is
    damaged."""
    unread_trace: int
    """Bytes of hardware traces in the profile, which are not read."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> DocumentProfile:
        return cls(
            event=it['event'],
            samples=it['samples'],
            checked=it['checked'],
            kernel=it['kernel'],
            guest=it['guest'],
            anonymous=it['anonymous'],
            unknown=it['unknown'],
            jit=it['jit'],
            jit_functions=tuple(DocumentProfileJitFunctions._of(one) for one in it['jit_functions']),
            other=it['other'],
            other_files=tuple(DocumentProfileOtherFiles._of(one) for one in it['other_files']),
            lost_records=it['lost_records'],
            trace_gaps=it['trace_gaps'],
            unread_trace=it['unread_trace'],
        )


@dataclass(frozen=True)
class StatisticsAnswers:
    """Files by their answers; absent without a baseline or claims."""

    runs: int
    runs_presumed: int
    undecided: int
    dies: int
    not_judged: int
    """Files that no baseline or claim applies to."""
    allowed: int
    """Files that die or are undecided, which allowances accept."""
    undecided_functions: int
    """Functions of the undecided files that paths which were not followed may reach."""
    unread_payloads: int
    """Payloads of the undecided files that were not read."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> StatisticsAnswers:
        return cls(
            runs=it['runs'],
            runs_presumed=it['runs_presumed'],
            undecided=it['undecided'],
            dies=it['dies'],
            not_judged=it['not_judged'],
            allowed=it['allowed'],
            undecided_functions=it['undecided_functions'],
            unread_payloads=it['unread_payloads'],
        )


@dataclass(frozen=True)
class Statistics:
    """Statistics, as the JSON Schema has it."""

    files_checked: int
    files_skipped: int
    other_files: int
    bytes: int
    executable_bytes: int
    decoded_bytes: int
    data_bytes: int
    undecoded_bytes: int
    functions: int
    allowed: int
    """Findings that deburr.toml allows; the other counts of findings are without them."""
    findings_by_rule: Mapping[str, int]
    findings_by_severity: Mapping[str, int]
    files_over_budget: int | None = None
    """Files with over_budget; absent where there are none."""
    excluded_files: int | None = None
    """Files and members of packages that --exclude leaves out."""
    runtime_findings: int | None = None
    """Findings with counted: false; the counts by rule and severity are without them."""
    answers: StatisticsAnswers | None = None
    """Files by their answers; absent without a baseline or claims."""
    elapsed_seconds: float | None = None
    """Only with --statistics."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Statistics:
        return cls(
            files_checked=it['files_checked'],
            files_skipped=it['files_skipped'],
            other_files=it['other_files'],
            bytes=it['bytes'],
            executable_bytes=it['executable_bytes'],
            decoded_bytes=it['decoded_bytes'],
            data_bytes=it['data_bytes'],
            undecoded_bytes=it['undecoded_bytes'],
            functions=it['functions'],
            allowed=it['allowed'],
            files_over_budget=it.get('files_over_budget'),
            excluded_files=it.get('excluded_files'),
            runtime_findings=it.get('runtime_findings'),
            findings_by_rule=it['findings_by_rule'],
            findings_by_severity=it['findings_by_severity'],
            answers=None if it.get('answers') is None else StatisticsAnswers._of(it['answers']),
            elapsed_seconds=it.get('elapsed_seconds'),
        )


@dataclass(frozen=True)
class DocumentConfiguration:
    """The deburr.toml of the run, if there is one, and what it keeps silent about."""

    path: str
    rules_left_out: tuple[str, ...]
    """Rules that would run without it."""
    severity: Mapping[str, Literal['note', 'warning', 'error']]
    """Rules whose findings it gives another severity."""
    stated_guards: int
    findings_allowed: int

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> DocumentConfiguration:
        return cls(
            path=it['path'],
            rules_left_out=tuple(it['rules_left_out']),
            severity=it['severity'],
            stated_guards=it['stated_guards'],
            findings_allowed=it['findings_allowed'],
        )


@dataclass(frozen=True)
class Allowance:
    """Allowance, as the JSON Schema has it."""

    rules: tuple[str, ...]
    reason: str
    """Why it should be looked at again."""
    file: str | None = None
    function: str | None = None

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Allowance:
        return cls(
            rules=tuple(it['rules']),
            file=it.get('file'),
            function=it.get('function'),
            reason=it['reason'],
        )


@dataclass(frozen=True)
class DocumentStaleGuards:
    """DocumentStaleGuards, as the JSON Schema has it."""

    function: str
    reason_it_is_stale: str

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> DocumentStaleGuards:
        return cls(
            function=it['function'],
            reason_it_is_stale=it['reason_it_is_stale'],
        )


@dataclass(frozen=True)
class Skipped:
    """Skipped, as the JSON Schema has it."""

    path: str
    reason: str
    kind: str | None = None
    """What it is, where it is recognised and not read: PE, wasm, 32-bit Arm ELF."""
    bytes: int | None = None
    """Its size, where that is known."""
    is_part: bool | None = None
    """True of something that a program carries, after its end or in a section: the path is that of the
    program, which is checked itself."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Skipped:
        return cls(
            path=it['path'],
            reason=it['reason'],
            kind=it.get('kind'),
            bytes=it.get('bytes'),
            is_part=it.get('is_part'),
        )


@dataclass(frozen=True)
class AcrossFindingOther:
    """The place that it is compared with."""

    path: str
    svma: str
    """Stated virtual memory address; in relocatable objects an offset in the section."""
    section: str | None = None

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> AcrossFindingOther:
        return cls(
            path=it['path'],
            svma=it['svma'],
            section=it.get('section'),
        )


@dataclass(frozen=True)
class AcrossFinding:
    """AcrossFinding, as the JSON Schema has it."""

    rule: str
    severity: Literal['note', 'warning', 'error']
    path: str
    function: str | None
    svma: str
    """Stated virtual memory address; in relocatable objects an offset in the section."""
    other: AcrossFindingOther
    """The place that it is compared with."""
    message: str
    evidence: Mapping[str, Any]
    section: str | None = None

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> AcrossFinding:
        return cls(
            rule=it['rule'],
            severity=it['severity'],
            path=it['path'],
            function=it['function'],
            svma=it['svma'],
            section=it.get('section'),
            other=AcrossFindingOther._of(it['other']),
            message=it['message'],
            evidence=it['evidence'],
        )


@dataclass(frozen=True)
class FileProfileFunctions:
    """FileProfileFunctions, as the JSON Schema has it."""

    function: str | None
    svma: str
    """Stated virtual memory address; in relocatable objects an offset in the section."""
    share: float
    """A part of all that the profile saw of the event."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FileProfileFunctions:
        return cls(
            function=it['function'],
            svma=it['svma'],
            share=it['share'],
        )


@dataclass(frozen=True)
class FileProfile:
    """With --profile, where the profile has the file: what it saw of it. Findings are in the order of their
    weights then."""

    event: str
    samples: int
    """Samples in the file; 0 where events were counted."""
    skids: bool
    """Whether a sample may name an instruction after the one that caused it."""
    share: float
    """Of the file's code."""
    lost: float
    """Of what the profile places in the file where that has no code, or no single function of that name."""
    functions: tuple[FileProfileFunctions, ...]
    """Those that took most, the heaviest first, 100 at most."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FileProfile:
        return cls(
            event=it['event'],
            samples=it['samples'],
            skids=it['skids'],
            share=it['share'],
            lost=it['lost'],
            functions=tuple(FileProfileFunctions._of(one) for one in it['functions']),
        )


@dataclass(frozen=True)
class FileOverBudget:
    """What the budget of the file's analyses (--budget, --max-time) was too small for: absent where it was
    not."""

    steps: int
    """The steps that there were."""
    stopped: bool
    """Whether the time of the run (--max-time) ended the analyses."""
    checks: bool
    """Whether the run-time checks were not analysed: what depends on them is undecided, with the cause
    budget."""
    rules: tuple[str, ...]
    """Rules that found nothing, whatever there is."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FileOverBudget:
        return cls(
            steps=it['steps'],
            stopped=it['stopped'],
            checks=it['checks'],
            rules=tuple(it['rules']),
        )


@dataclass(frozen=True)
class FileClaim:
    """With --baseline claim: what the package of the file says of the machines that it is for."""

    level: str
    """The level that is claimed."""
    text: str
    """What says so, and where."""
    part: str
    """The package, the part of one, or the file, that says so."""
    raised_from: str | None = None
    """The level that the package claims, where the file is one of several variants and its name says that it
    is for more."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FileClaim:
        return cls(
            level=it['level'],
            text=it['text'],
            part=it['part'],
            raised_from=it.get('raised_from'),
        )


@dataclass(frozen=True)
class Coverage:
    """Coverage, as the JSON Schema has it."""

    executable_bytes: int
    decoded_bytes: int
    data_bytes: int
    undecoded_bytes: int
    functions: int
    named_functions: int

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Coverage:
        return cls(
            executable_bytes=it['executable_bytes'],
            decoded_bytes=it['decoded_bytes'],
            data_bytes=it['data_bytes'],
            undecoded_bytes=it['undecoded_bytes'],
            functions=it['functions'],
            named_functions=it['named_functions'],
        )


@dataclass(frozen=True)
class CostByThreads:
    """CostByThreads, as the JSON Schema has it."""

    threads: int
    picoseconds: int
    """How much longer a thread's operation takes; negative where it takes less."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> CostByThreads:
        return cls(
            threads=it['threads'],
            picoseconds=it['picoseconds'],
        )


@dataclass(frozen=True)
class Cost:
    """Cost, as the JSON Schema has it."""

    kernel: str
    """The kernel of `deburr bench`."""
    found: str
    """Its variant that does what the rule finds."""
    instead: str | None
    """Its variant that does what the rule's page advises; null where that is to do nothing."""
    by_threads: tuple[CostByThreads, ...]

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Cost:
        return cls(
            kernel=it['kernel'],
            found=it['found'],
            instead=it['instead'],
            by_threads=tuple(CostByThreads._of(one) for one in it['by_threads']),
        )


@dataclass(frozen=True)
class TriedRuns:
    """What runs as one CPU showed of a file."""

    cpu: str
    """The level or CPU."""
    runs: int
    """Runs that entered the file."""
    above: int
    """Its functions that need more than the CPU has."""
    entered: int
    """Of those, functions that some run entered."""
    executed: int
    """Of those, functions in which instructions were executed that the CPU does not have."""
    died: int
    """Processes that died of SIGILL in its functions."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> TriedRuns:
        return cls(
            cpu=it['cpu'],
            runs=it['runs'],
            above=it['above'],
            entered=it['entered'],
            executed=it['executed'],
            died=it['died'],
        )


@dataclass(frozen=True)
class Advice:
    """Advice, as the JSON Schema has it."""

    compiler: str
    """With its version: the one found, or the first that has the flags; assembler where only another source
    helps."""
    flags: str
    """As written on a command line or in the environment; empty where that version alone does it."""
    rules: tuple[str, ...]
    """The rules whose findings they remove."""
    findings: int
    breaks: tuple[str, ...]
    """CPUs that it no longer runs on, the best first; empty where a target was given."""
    without: str | None = None
    """The flags to build without, whose place they take: -march=native."""
    removes: Mapping[str, int] | None = None
    """How many findings of each rule."""
    needs: str | None = None
    """The level that every machine must have then; absent where it runs where it ran."""
    oldest: str | None = None
    """The CPU with the fewest features that still runs it; absent where nothing breaks."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Advice:
        return cls(
            compiler=it['compiler'],
            flags=it['flags'],
            without=it.get('without'),
            rules=tuple(it['rules']),
            findings=it['findings'],
            removes=it.get('removes'),
            needs=it.get('needs'),
            breaks=tuple(it['breaks']),
            oldest=it.get('oldest'),
        )


@dataclass(frozen=True)
class PlaceSource:
    """The source line; absent where it is not known."""

    file: str
    line: int

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> PlaceSource:
        return cls(
            file=it['file'],
            line=it['line'],
        )


@dataclass(frozen=True)
class PlaceCallers:
    """PlaceCallers, as the JSON Schema has it."""

    function: str | None
    svma: str
    """Stated virtual memory address; in relocatable objects an offset in the section."""
    weight: Weight

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> PlaceCallers:
        return cls(
            function=it['function'],
            svma=it['svma'],
            weight=Weight._of(it['weight']),
        )


@dataclass(frozen=True)
class Weight:
    """Weight, as the JSON Schema has it."""

    share: float
    """A part of all that the profile saw of the event."""
    by: Literal['function', 'code', 'call-chains', 'branches', 'call-counts']
    """What says so: all that its function took, where the profile names functions only; the samples in the
    code and on the instruction after it; or also those in the function that it calls, by call chains,
    recorded branches or counted calls."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Weight:
        return cls(
            share=it['share'],
            by=it['by'],
        )


@dataclass(frozen=True)
class Place:
    """One place that a finding is about."""

    svma: str
    """Stated virtual memory address; in relocatable objects an offset in the section."""
    in_loop: bool = False
    """It is in a loop of its function; absent otherwise."""
    calls: int | None = None
    """Direct calls of its function in the file, jumps from other functions among them; absent where there are
    none."""
    weight: Weight | None = None
    """With --profile, where the profile has the file: how much of the run it took."""
    callers: tuple[PlaceCallers, ...] | None = None
    """Of a finding about a function that others call: the calls that it took most for, the heaviest first."""
    source: PlaceSource | None = None
    """The source line; absent where it is not known."""
    evidence: Mapping[str, str | int | bool | list[str]] | None = None
    """The facts that are its own; absent where there are none."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Place:
        return cls(
            svma=it['svma'],
            in_loop=it.get('in_loop', False),
            calls=it.get('calls'),
            weight=None if it.get('weight') is None else Weight._of(it['weight']),
            callers=None if it.get('callers') is None else tuple(PlaceCallers._of(one) for one in it['callers']),
            source=None if it.get('source') is None else PlaceSource._of(it['source']),
            evidence=it.get('evidence'),
        )


@dataclass(frozen=True)
class Finding:
    """What a rule says of one place or several. They share the rule, the function's name, what removes them,
    and the message."""

    rule: str
    severity: Literal['note', 'warning', 'error']
    function: str | None
    extent: int
    """Bytes of code of each place."""
    message: str
    evidence: Mapping[str, str | int | bool | list[str]]
    """The facts that all places share."""
    count: int
    """How many places there are."""
    places: tuple[Place, ...]
    """In the order of the findings: by address, or the heaviest first where there is a profile or a record of
    costs."""
    section: str | None = None
    near: str | None = None
    """Where the function is, if it has no name: after the nearest one that has (foo+0x40), which it need not
    belong to."""
    compiler: str | None = None
    """What made the function (gcc 12.2, Go 1.22, assembler), where the file has several compilers and tells
    which."""
    origin: Literal['go-runtime', 'rust-std', 'c-library', 'compiler-runtime'] | None = None
    """Who wrote the function, where its name shows that the file's owner did not."""
    counted: bool | None = None
    """False where the findings do not count: the owner cannot change the function (origin), and the file
    runs. Absent otherwise."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Finding:
        return cls(
            rule=it['rule'],
            severity=it['severity'],
            function=it['function'],
            section=it.get('section'),
            extent=it['extent'],
            message=it['message'],
            evidence=it['evidence'],
            near=it.get('near'),
            compiler=it.get('compiler'),
            origin=it.get('origin'),
            counted=it.get('counted'),
            count=it['count'],
            places=tuple(Place._of(one) for one in it['places']),
        )


@dataclass(frozen=True)
class Runtime:
    """Runtime, as the JSON Schema has it."""

    allocator: str | None = None
    """Whose malloc it uses: one that is in the file, or of a library that it asks for; absent where it uses
    none, or no name says whose."""
    starts_threads: bool = False
    """It starts threads by itself; absent otherwise."""
    openmp: tuple[str, ...] | None = None
    """Libraries of OpenMP that it asks for, or whose interface it uses; 'its own' where it has that."""
    blas: tuple[str, ...] | None = None
    """Libraries of linear algebra (BLAS) that it asks for; 'its own' where it has such functions, and
    'unknown' where it uses some of a library that no name shows."""
    static_tls: int | None = None
    """Bytes of thread-local variables that a library needs in the static block, which the loader cannot
    enlarge when it loads the library later."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Runtime:
        return cls(
            allocator=it.get('allocator'),
            starts_threads=it.get('starts_threads', False),
            openmp=None if it.get('openmp') is None else tuple(it['openmp']),
            blas=None if it.get('blas') is None else tuple(it['blas']),
            static_tls=it.get('static_tls'),
        )


@dataclass(frozen=True)
class Build:
    """Build, as the JSON Schema has it."""

    compilers: tuple[str, ...]
    producers: tuple[str, ...]
    properties: tuple[str, ...]
    is_go: bool = False
    """Go made it, or a part of it; absent otherwise."""
    go_version: str | None = None
    go_settings: Mapping[str, str] | None = None
    isa_needed: str | None = None

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Build:
        return cls(
            compilers=tuple(it['compilers']),
            producers=tuple(it['producers']),
            is_go=it.get('is_go', False),
            go_version=it.get('go_version'),
            go_settings=it.get('go_settings'),
            isa_needed=it.get('isa_needed'),
            properties=tuple(it['properties']),
        )


@dataclass(frozen=True)
class Atomics:
    """Atomics, as the JSON Schema has it."""

    inline_llsc: int
    inline_lse: int
    helper_bodies: int
    outlined_calls: int
    inline_dispatch: int
    run_time_choice: int
    not_a_missed_flag: int

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Atomics:
        return cls(
            inline_llsc=it['inline_llsc'],
            inline_lse=it['inline_lse'],
            helper_bodies=it['helper_bodies'],
            outlined_calls=it['outlined_calls'],
            inline_dispatch=it['inline_dispatch'],
            run_time_choice=it['run_time_choice'],
            not_a_missed_flag=it['not_a_missed_flag'],
        )


@dataclass(frozen=True)
class FilePresumptionCopies:
    """FilePresumptionCopies, as the JSON Schema has it."""

    place: str
    """field +0x18 of structures, or argument 2."""
    agreements: int
    """Functions that a test of it chooses whose meaning covers all that they use."""
    contradictions: int
    """Functions that one chooses which does not, so that some known CPU lacks what they use."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FilePresumptionCopies:
        return cls(
            place=it['place'],
            agreements=it['agreements'],
            contradictions=it['contradictions'],
        )


@dataclass(frozen=True)
class FilePresumptionNames:
    """What names say; absent if no function is presumed by its name."""

    count: int
    """How many functions are presumed because their names say for which CPUs they are, and they use no
    more."""
    agreements: int
    """Unknown functions whose names say all that they use."""
    contradictions: int
    """Those that use more, so that some known CPU has all that the name says and lacks it."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FilePresumptionNames:
        return cls(
            count=it['count'],
            agreements=it['agreements'],
            contradictions=it['contradictions'],
        )


@dataclass(frozen=True)
class FilePresumption:
    """What the presumed functions rest on; absent where there are none."""

    count: int
    """How many functions are presumed."""
    names: FilePresumptionNames | None = None
    """What names say; absent if no function is presumed by its name."""
    vocabulary: str | None = None
    """The function whose result, or the word whose bits, have known meanings; absent if no function is
    presumed by it."""
    function: str | None = None
    """The function's name, if it is one and has one."""
    copies: tuple[FilePresumptionCopies, ...] | None = None

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FilePresumption:
        return cls(
            count=it['count'],
            names=None if it.get('names') is None else FilePresumptionNames._of(it['names']),
            vocabulary=it.get('vocabulary'),
            function=it.get('function'),
            copies=None if it.get('copies') is None else tuple(FilePresumptionCopies._of(one) for one in it['copies']),
        )


@dataclass(frozen=True)
class FileOffered:
    """The functions that the file offers to callers in other files, which choose them for the CPU by their
    names or by the vectors that they pass."""

    count: int
    """How many there are."""
    level: str
    """The level that all of them together need."""
    beyond: tuple[str, ...] | None = None
    """What they need that is in no level, or that would raise it only for its sake."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FileOffered:
        return cls(
            count=it['count'],
            level=it['level'],
            beyond=None if it.get('beyond') is None else tuple(it['beyond']),
        )


@dataclass(frozen=True)
class IsaGroup:
    """IsaGroup, as the JSON Schema has it."""

    id: str
    """Unique in the file."""
    because: Literal['unknown-test', 'another-file', 'named-query', 'resolver-elsewhere', 'pointer-stored', 'pointer-table', 'address-escapes', 'exported-beside-checks', 'granted-by-system', 'go-runtime', 'no-function-bounds', 'limit-of-analysis', 'budget']
    """unknown-test: a branch depends on the CPU in a manner that is not followed. another-file: the test or
    the pointer depends on a function of another file. named-query: the test depends on a function of the file
    that reports the CPU by its name, and how it learns that is not followed. resolver-elsewhere: resolvers of
    other members of the archive choose it by name. pointer-stored: code that is not known to test stores or
    passes on the address. pointer-table: data holds the address. address-escapes: code makes the address, and
    where that goes is not seen. exported-beside-checks: others may call it, and may have to test. granted-by-
    system: the system hands out what it works on. go-runtime: Go's run-time library chooses. no-function-
    bounds: code of no known function refers to it. limit-of-analysis: too far, too large or too tangled.
    budget: the budget of the file was spent before."""
    level: str
    """The smallest level that covers what its functions need."""
    count: int
    """Functions of isa_functions with this group."""
    svma: str | None
    """The test, the store or the table; null where the cause is the whole file's."""
    function: str | None
    """The function that tests, stores or hands out; null where it has no name, or there is none."""
    settled_by: Literal['closure', 'guard', 'run']
    """What would settle it. closure: --closure. guard: a stated guard in deburr.toml. run: a run on a CPU
    without the level."""
    message: str
    """One sentence."""
    section: str | None = None
    import_: str | None = None
    """The function that the choice depends on: of another file, or of this one with the cause named-query.
    With causes other than these: a function or an object of another file that may carry the features in
    question, which no code of this file tests."""
    stated_as: str | None = None
    """[[guard]] tables of deburr.toml that state what is not proven, for who knows that it holds."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> IsaGroup:
        return cls(
            id=it['id'],
            because=it['because'],
            level=it['level'],
            count=it['count'],
            svma=it['svma'],
            section=it.get('section'),
            function=it['function'],
            import_=it.get('import'),
            settled_by=it['settled_by'],
            stated_as=it.get('stated_as'),
            message=it['message'],
        )


@dataclass(frozen=True)
class Tried:
    """What runs as one CPU showed of a function that they entered."""

    cpu: str
    """The level or CPU."""
    runs: int
    """Runs that entered the file."""
    entered: int
    """Of those, runs that entered the function."""
    executed: int
    """The most of its instructions that one run executed although the CPU does not have what they need."""
    died: int
    """Processes that died of SIGILL in it."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Tried:
        return cls(
            cpu=it['cpu'],
            runs=it['runs'],
            entered=it['entered'],
            executed=it['executed'],
            died=it['died'],
        )


@dataclass(frozen=True)
class Guard:
    """Guard, as the JSON Schema has it."""

    kind: Literal['branch', 'ifunc', 'pointer', 'table', 'stated', 'name']
    """branch: on what the CPU has. ifunc: a resolver that the loader calls. pointer: set by code that tests.
    table: of pointers, handed out by code that tests. stated: by the user. name: of a presumed function whose
    name says for which CPUs it is."""
    svma: str
    """The branch, or where the guarded path begins."""
    function: str | None
    """The function that it is in."""
    features: tuple[str, ...]
    """Features above the first level that it proves."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Guard:
        return cls(
            kind=it['kind'],
            svma=it['svma'],
            function=it['function'],
            features=tuple(it['features']),
        )


@dataclass(frozen=True)
class Step:
    """Step, as the JSON Schema has it."""

    function: str | None
    """null for data, and where the file has no name."""
    svma: str
    """Stated virtual memory address; in relocatable objects an offset in the section."""
    is_stored: bool = False
    """There where the step before it only stores or passes on its address, instead of calling it."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Step:
        return cls(
            function=it['function'],
            svma=it['svma'],
            is_stored=it.get('is_stored', False),
        )


@dataclass(frozen=True)
class IsaFunction:
    """IsaFunction, as the JSON Schema has it."""

    function: str | None
    svma: str
    """Stated virtual memory address; in relocatable objects an offset in the section."""
    features: Mapping[str, int]
    """Features above the first level, and how many of the function's instructions need each."""
    reach: Literal['required', 'guarded', 'under-guarded', 'unreached', 'unknown', 'presumed', 'covered', 'offered']
    """required: a path from a root reaches it without a check. guarded: every path passes a check that
    implies what it uses. under-guarded: a path passes a check that does not imply all of it. unreached: no
    known way reaches it. unknown: reached only through a pointer or a check that is not followed. presumed:
    chosen by a test of a word that is not proven to hold an answer of the CPU, or named for CPUs that have
    all that it uses, see presumption. covered: as unknown, but every known CPU on which the file runs has all
    that it uses. offered: entered only by callers in other files that have chosen it for the CPU, by its
    name."""
    path: tuple[Step, ...]
    """From a root to this function, where it is required or under-guarded; otherwise empty."""
    root: Literal['entry-point', 'preinit-array', 'init-array', 'fini-array', 'loader', 'exported', 'data'] | None
    guard: Guard | None
    """The check in front of it, if there is one."""
    section: str | None = None
    endangered: tuple[str, ...] | None = None
    """Of an under-guarded function: the known CPUs that pass the checks and lack what it needs."""
    near: str | None = None
    """Where the function is, if it has no name: after the nearest one that has (foo+0x40), which it need not
    belong to."""
    because: Literal['unknown-test', 'another-file', 'named-query', 'resolver-elsewhere', 'pointer-stored', 'pointer-table', 'address-escapes', 'exported-beside-checks', 'granted-by-system', 'go-runtime', 'no-function-bounds', 'limit-of-analysis', 'budget'] | None = None
    """Why it is unknown."""
    group: str | None = None
    """The id, in isa_groups, of the functions that are unknown for the same reason."""
    tried: tuple[Tried, ...] | None = None
    """With --tried: what runs as other CPUs showed of it, where one entered it. It changes no verdict."""
    share: float | None = None
    """With --profile: the function's share, its parts included."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> IsaFunction:
        return cls(
            function=it['function'],
            svma=it['svma'],
            section=it.get('section'),
            features=it['features'],
            reach=it['reach'],
            endangered=None if it.get('endangered') is None else tuple(it['endangered']),
            path=tuple(Step._of(one) for one in it['path']),
            root=it['root'],
            guard=None if it['guard'] is None else Guard._of(it['guard']),
            near=it.get('near'),
            because=it.get('because'),
            group=it.get('group'),
            tried=None if it.get('tried') is None else tuple(Tried._of(one) for one in it['tried']),
            share=it.get('share'),
        )


@dataclass(frozen=True)
class FileUnreadPayload:
    """FileUnreadPayload, as the JSON Schema has it."""

    format: str
    offset: int
    """Where it begins in the file."""
    bytes: int
    reason: str
    """Why it was not read."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FileUnreadPayload:
        return cls(
            format=it['format'],
            offset=it['offset'],
            bytes=it['bytes'],
            reason=it['reason'],
        )


@dataclass(frozen=True)
class FileOnBaseline:
    """The functions that decide the answer; absent where there is none."""

    name: str
    """The baseline, or the level of the claim."""
    dying_functions: int
    """Functions that a path without a sufficient check reaches, on some machine of the baseline."""
    required_functions: int
    """Of those, functions that no check precedes: a machine that has the baseline and nothing more dies."""
    undecided_functions: int
    """Functions that paths which were not followed may reach."""
    presumed_functions: int
    """Functions after checks that are presumed to mean what they appear to mean."""
    dies_on: tuple[str, ...]
    """The known CPUs that have the baseline and on which the file dies, those with the fewest features
    first."""
    refuses: bool = False
    """The program refuses to start on a machine that has the baseline and nothing more; absent where it does
    not."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FileOnBaseline:
        return cls(
            name=it['name'],
            refuses=it.get('refuses', False),
            dying_functions=it['dying_functions'],
            required_functions=it['required_functions'],
            undecided_functions=it['undecided_functions'],
            presumed_functions=it['presumed_functions'],
            dies_on=tuple(it['dies_on']),
        )


@dataclass(frozen=True)
class Refusal:
    """Refusal, as the JSON Schema has it."""

    level: str | None
    """The highest level all of whose features it tests; null where it tests others."""
    without: tuple[str, ...]
    """What it tests beyond that level."""
    features: tuple[str, ...]
    """All features that it tests, beyond the first level."""
    function: str | None
    """The function that refuses; null where the file has no name for it."""
    svma: str | None
    """The branch; null where only build information says it."""
    paths: tuple[str, ...] | None = None
    """Where the paths begin that end the program."""
    text: str | None = None
    """What it prints, where such a text is near."""
    stated: str | None = None
    """The setting of the build that says the same: GOAMD64=v3."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Refusal:
        return cls(
            level=it['level'],
            without=tuple(it['without']),
            features=tuple(it['features']),
            function=it['function'],
            svma=it['svma'],
            paths=None if it.get('paths') is None else tuple(it['paths']),
            text=it.get('text'),
            stated=it.get('stated'),
        )


@dataclass(frozen=True)
class NeededBy:
    """NeededBy, as the JSON Schema has it."""

    function: str | None
    svma: str
    """Stated virtual memory address; in relocatable objects an offset in the section."""
    root: Literal['entry-point', 'preinit-array', 'init-array', 'fini-array', 'loader', 'exported', 'data'] | None
    from_: str
    """Where its path begins."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> NeededBy:
        return cls(
            function=it['function'],
            svma=it['svma'],
            root=it['root'],
            from_=it['from'],
        )


@dataclass(frozen=True)
class FileRunsOn:
    """Where it runs: no path is known to code that needs more than the machine has."""

    levels: tuple[str, ...]
    """The levels of which every known machine runs it, with what is needed beyond them."""
    not_: tuple[str, ...]
    """The known CPUs on which it does not run, those with the fewest features first."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> FileRunsOn:
        return cls(
            levels=tuple(it['levels']),
            not_=tuple(it['not']),
        )


@dataclass(frozen=True)
class File:
    """File, as the JSON Schema has it."""

    path: str
    arch: Literal['x86_64', 'aarch64']
    build_id: str | None
    level: str
    """The lowest level on which the file runs: no machine of that level gets to code that needs more, as far
    as paths are known."""
    level_present: str
    """The smallest level that covers all the file contains."""
    level_beyond: tuple[str, ...]
    """Features that are present and that level_present does not have."""
    runs_on: FileRunsOn
    """Where it runs: no path is known to code that needs more than the machine has."""
    needed_beyond: tuple[str, ...]
    """Features that the file needs and that level does not have."""
    needed_by: NeededBy | None
    """The function that most raises what the file needs; null where it runs on every machine."""
    level_guarded: str | None
    """The smallest level that covers what the file needs and what it uses after checks; null where nothing is
    after checks."""
    guarded_beyond: tuple[str, ...]
    """Features after checks that level_guarded does not have."""
    not_followed: int
    """The unknown functions."""
    xcr0_not_asked: bool
    """Whether the file tests what its own cpuid says of AVX, or of other registers that the operating system
    must save, and uses them, and nothing in it checks with xgetbv whether the system does."""
    guards_examined: bool
    """Whether run-time checks were looked at; true, except of code made at run time."""
    features: Mapping[str, int]
    """Instructions per feature."""
    isa_functions: tuple[IsaFunction, ...]
    """One entry for each function that needs more than the architecture's first level, by address."""
    isa_groups: tuple[IsaGroup, ...]
    """The unknown functions by cause and by what chooses them, those with most functions first."""
    build: Build
    findings: tuple[Finding, ...]
    allowed: int
    """Findings that deburr.toml allows; they are not in findings."""
    advice: tuple[Advice, ...]
    """Flags that remove findings, those that remove most first."""
    coverage: Coverage
    faults: tuple[str, ...]
    made_at_run_time: bool = False
    """Its code was made at run time (a jitdump): level is level_present then, and nothing is said of where it
    runs."""
    needed_features: tuple[str, ...] | None = None
    """Features above the first level that code needs without a check, except those that others of them imply;
    absent where there are none."""
    refuses: Refusal | None = None
    """What the program refuses to start, or the library to be loaded, without; absent where it refuses
    nothing."""
    answer: Literal['runs', 'runs_presumed', 'undecided', 'dies'] | None = None
    """Whether every machine of the baseline, or of the claim, runs the file: undecided, where paths that were
    not followed may reach code that such a machine cannot execute; absent where no baseline or claim
    applies."""
    answer_allowed: bool = False
    """Allowances took all findings that say why the file dies or is undecided: it does not fail the run."""
    on_baseline: FileOnBaseline | None = None
    """The functions that decide the answer; absent where there is none."""
    unread_payload: tuple[FileUnreadPayload, ...] | None = None
    """Payloads that may hold machine code and were not read: the answer is undecided at best."""
    offered: FileOffered | None = None
    """The functions that the file offers to callers in other files, which choose them for the CPU by their
    names or by the vectors that they pass."""
    presumption: FilePresumption | None = None
    """What the presumed functions rest on; absent where there are none."""
    atomics: Atomics | None = None
    runtime: Runtime | None = None
    """What the file takes from its process, or brings to it; absent where there is nothing."""
    tried: tuple[TriedRuns, ...] | None = None
    """With --tried: what runs as other CPUs showed of the file."""
    costs: Mapping[str, Cost | None] | None = None
    """With --measured: what a finding of each rule costs on that machine; null where it was not measured.
    Findings are in this order then."""
    closure: tuple[str, ...] | None = None
    """With --closure: the shared libraries that were looked at with the file, in the loader's order."""
    claim: FileClaim | None = None
    """With --baseline claim: what the package of the file says of the machines that it is for."""
    missing_libraries: tuple[str, ...] | None = None
    """With --closure: shared libraries that the file needs, itself or through others, and that were not
    found."""
    over_budget: FileOverBudget | None = None
    """What the budget of the file's analyses (--budget, --max-time) was too small for: absent where it was
    not."""
    profile: FileProfile | None = None
    """With --profile, where the profile has the file: what it saw of it. Findings are in the order of their
    weights then."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> File:
        return cls(
            path=it['path'],
            arch=it['arch'],
            made_at_run_time=it.get('made_at_run_time', False),
            build_id=it['build_id'],
            level=it['level'],
            level_present=it['level_present'],
            level_beyond=tuple(it['level_beyond']),
            runs_on=FileRunsOn._of(it['runs_on']),
            needed_beyond=tuple(it['needed_beyond']),
            needed_features=None if it.get('needed_features') is None else tuple(it['needed_features']),
            needed_by=None if it['needed_by'] is None else NeededBy._of(it['needed_by']),
            refuses=None if it.get('refuses') is None else Refusal._of(it['refuses']),
            level_guarded=it['level_guarded'],
            guarded_beyond=tuple(it['guarded_beyond']),
            not_followed=it['not_followed'],
            answer=it.get('answer'),
            answer_allowed=it.get('answer_allowed', False),
            on_baseline=None if it.get('on_baseline') is None else FileOnBaseline._of(it['on_baseline']),
            unread_payload=None if it.get('unread_payload') is None else tuple(FileUnreadPayload._of(one) for one in it['unread_payload']),
            xcr0_not_asked=it['xcr0_not_asked'],
            guards_examined=it['guards_examined'],
            features=it['features'],
            isa_functions=tuple(IsaFunction._of(one) for one in it['isa_functions']),
            isa_groups=tuple(IsaGroup._of(one) for one in it['isa_groups']),
            offered=None if it.get('offered') is None else FileOffered._of(it['offered']),
            presumption=None if it.get('presumption') is None else FilePresumption._of(it['presumption']),
            atomics=None if it.get('atomics') is None else Atomics._of(it['atomics']),
            build=Build._of(it['build']),
            runtime=None if it.get('runtime') is None else Runtime._of(it['runtime']),
            findings=tuple(Finding._of(one) for one in it['findings']),
            allowed=it['allowed'],
            advice=tuple(Advice._of(one) for one in it['advice']),
            tried=None if it.get('tried') is None else tuple(TriedRuns._of(one) for one in it['tried']),
            costs=None if it.get('costs') is None else {key: None if one is None else Cost._of(one) for key, one in it['costs'].items()},
            coverage=Coverage._of(it['coverage']),
            closure=None if it.get('closure') is None else tuple(it['closure']),
            claim=None if it.get('claim') is None else FileClaim._of(it['claim']),
            missing_libraries=None if it.get('missing_libraries') is None else tuple(it['missing_libraries']),
            over_budget=None if it.get('over_budget') is None else FileOverBudget._of(it['over_budget']),
            faults=tuple(it['faults']),
            profile=None if it.get('profile') is None else FileProfile._of(it['profile']),
        )


@dataclass(frozen=True)
class Document:
    """The output of deburr check --format json"""

    schema_version: Literal[2]
    tool_version: str
    files: tuple[File, ...]
    """One entry for each ELF file, by path; members of archives and packages count as files."""
    across_files: tuple[AcrossFinding, ...]
    """Findings by comparison of files, by the path of the file that they are about."""
    skipped: tuple[Skipped, ...]
    stale_guards: tuple[DocumentStaleGuards, ...]
    """Guards stated in deburr.toml that match nothing, or on which no verdict depends."""
    stale_allowances: tuple[Allowance, ...]
    """Allowances of deburr.toml for files and rules of this run that allow no finding, or more than there
    are."""
    exceeded_allowances: tuple[Allowance, ...]
    """Allowances of deburr.toml that a file has more findings than: one entry for each such file, whose
    findings are all reported."""
    statistics: Statistics
    configuration: DocumentConfiguration | None = None
    """The deburr.toml of the run, if there is one, and what it keeps silent about."""
    profile: DocumentProfile | None = None
    """With --profile: what the profiles saw of the whole run."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> Document:
        return cls(
            schema_version=it['schema_version'],
            tool_version=it['tool_version'],
            files=tuple(File._of(one) for one in it['files']),
            across_files=tuple(AcrossFinding._of(one) for one in it['across_files']),
            skipped=tuple(Skipped._of(one) for one in it['skipped']),
            stale_guards=tuple(DocumentStaleGuards._of(one) for one in it['stale_guards']),
            stale_allowances=tuple(Allowance._of(one) for one in it['stale_allowances']),
            exceeded_allowances=tuple(Allowance._of(one) for one in it['exceeded_allowances']),
            configuration=None if it.get('configuration') is None else DocumentConfiguration._of(it['configuration']),
            statistics=Statistics._of(it['statistics']),
            profile=None if it.get('profile') is None else DocumentProfile._of(it['profile']),
        )
