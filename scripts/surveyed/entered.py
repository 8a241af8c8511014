"""Checks verdicts by running: which functions above a CPU's features were entered on it all the same.

The file is loaded and used under qemu-user as that CPU (what the subject says), with a log of every block that was translated,
which qemu does when control first gets there. A block that begins where a function begins was a call of it. An instruction in
such a block that the CPU lacks was executed, or would have been: qemu carries out many that its CPU model hides.

    entered    the function's first instruction was reached
    executed   an instruction that the CPU lacks was reached, in a listed function
"""

import bisect
import os
import re
import tempfile

from surveyed.truth import CPUS

# Instructions that the CPU lacks, by mnemonic, as qemu's disassembler writes them.
SSE3 = r"addsubp[sd]|hadd?p[sd]|hsubp[sd]|lddqu|movddup|movshdup|movsldup|fisttp\w*"
SSSE3 = r"p(abs|sign)[bwd]|palignr|ph(add|sub)(d|w|sw)|pmaddubsw|pmulhrsw|pshufb"
SSE4 = (r"p?blend\w+|dpp[sd]|extractps|insertps|movntdqa|mpsadbw|packusdw|pcmp(eqq|gtq|[ei]str[im])|pext[rb]\w|pinsr[bdq]|pextr[bdq]|phminposuw|"
        r"p(max|min)(sb|sd|ud|uw)|pmov[sz]x\w+|pmuldq|pmulld|ptest|round[ps][sd]|crc32\w*|popcnt\w*")
AVX = (r"v(?!err|erw|mload|mrun|msave|mcall|mmcall|mxo|mpt|mre|mwr|mcl|mla)\w+|andn[lq]?|bextr\w*|bls(i|r|msk)\w*|bzhi\w*|mulx\w*|pdep\w*|pext[lq]?|rorx\w*|"
       r"s(ar|hl|hr)x\w*|lzcnt\w*|movbe\w*")
CRYPTO = r"aes\w+|pclmul\w+|sha(1|256)\w+|gf2p8\w+|rdrand|rdseed|adcx\w*|adox\w*|xsave\w*"
ABOVE = {
    "Opteron_G1": re.compile(rf"({SSE3}|{SSSE3}|{SSE4}|{AVX}|{CRYPTO})$"),
    "Nehalem": re.compile(rf"({AVX}|{CRYPTO})$"),
    "Haswell": re.compile(r"(sha(1|256)\w+|gf2p8\w+|rdseed|adcx\w*|adox\w*|v\w+(d|u)q?a?(32|64|8|16)|kmov\w|vp(ternlog|dpbusd|dpwssd|madd52)\w*)$"),
    "cortex-a53": re.compile(r"(cas[abhlp]*|swp[abhl]*|(ld|st)(add|clr|eor|set|[su]max|[su]min)[abhl]*|[su]dot|sqrdml[as]h|fmlal2?|fmlsl2?|eor3|bcax|rax1|xar|"
                             r"sha512\w+|sm[34]\w+|ldapr\w*|ptrue|while\w+|cnt[bhwd]|rdvl|ummla|smmla|usmmla|bfdot|bfmmla|usdot|smstart|cpy\w+)$"),
    "cortex-a76": re.compile(r"(eor3|bcax|rax1|xar|sha512\w+|sm[34]\w+|ptrue|while\w+|cnt[bhwd]|rdvl|[us]mmla|usmmla|bfdot|bfmmla|usdot|smstart|cpy\w+|fmlal2?|fmlsl2?)$"),
}
BLOCK = re.compile(r"^0x([0-9a-f]+):\s+(?:[0-9a-f]{2,8} )*\s*([a-z][a-z0-9_.]*)")


def segments(path):
    """Executable segments of an ELF64 file: offset, address, size in the file."""
    with open(path, "rb") as file:
        head = file.read(64)
        start, size, count = (int.from_bytes(head[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
        file.seek(start)
        for _ in range(count):
            entry = file.read(size)
            if entry[:4] == b"\1\0\0\0" and entry[4] & 1:
                yield tuple(int.from_bytes(entry[a:a + 8], "little") for a in (8, 16, 32))


def bias(trace, path, is_program):
    """Where the file was loaded, less where it says it should be; None where it was not. `trace` is qemu's log."""
    offset, address, size = next(iter(segments(path)))
    if is_program:
        code = re.search(r"start_code\s+0x([0-9a-f]+)", trace)
        return int(code[1], 16) - address if code else None
    base = os.path.basename(path)
    opened = None
    for line in trace.splitlines():
        found = re.search(r'open(?:at)?\(.*"([^"]*)".*= (\d+)\s*$', line)
        if found and os.path.basename(found[1]) == base:
            opened = found[2]
        mapped = opened and re.search(r"mmap\((?:NULL|0x[0-9a-f]+|\d+),(\d+),(?:[A-Z_|]*),(?:[A-Z_|0-9a-fx]*),(\d+),(0x[0-9a-f]+|\d+)\) = 0x([0-9a-f]+)", line)
        if mapped and mapped[2] == opened:
            # The loader maps the whole file first, from offset 0; its segments have their places in that.
            return int(mapped[4], 16) - int(mapped[3], 0) - lowest(path)
    return None


def lowest(path):
    """The lowest page of the file's segments."""
    with open(path, "rb") as file:
        head = file.read(64)
        start, size, count = (int.from_bytes(head[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
        file.seek(start)
        entries = [file.read(size) for _ in range(count)]
    return min(int.from_bytes(e[16:24], "little") & ~0xfff for e in entries if e[:4] == b"\1\0\0\0")


def blocks(log, moved):
    """Addresses at which blocks begin, and (address, mnemonic) of every instruction in them, as in the file."""
    starts, instructions, begins = set(), {}, False
    for line in log:
        if line.startswith("IN:"):
            begins = True
            continue
        found = BLOCK.match(line)
        if found:
            at = int(found[1], 16) - moved
            if begins:
                starts.add(at)
                begins = False
            instructions[at] = found[2]
    return starts, instructions


def entered(runner, subject, cpu, file):
    """Functions of deburr's report that were entered on that CPU, with what of them was executed that it lacks.

    Returns (rows, why): rows of (function, [mnemonics]); why there are none, if the file could not be run."""
    with tempfile.TemporaryDirectory() as scratch:
        log = os.path.join(scratch, "log")
        watch = ["-d", "page"] if subject.run else ["-strace"]
        failed = runner(subject.use, subject.run, cpu, [*watch, "-D", log])
        if failed:
            return [], failed
        with open(log, encoding="utf-8", errors="replace") as trace:
            moved = bias(trace.read(), runner.path, bool(subject.run))
        if moved is None:
            return [], "it was not seen where the file was loaded"
        filters = ",".join(f"{hex(address + moved)}+{hex(size)}" for _, address, size in segments(runner.path))
        watch = ["-d", "page,in_asm"] if subject.run else ["-strace", "-d", "in_asm"]
        failed = runner(subject.use, subject.run, cpu, [*watch, "-dfilter", filters, "-D", log])
        if failed:
            return [], failed
        with open(log, encoding="utf-8", errors="replace") as trace:
            lines = trace.read()
        if bias(lines, runner.path, bool(subject.run)) != moved:
            return [], "it was loaded elsewhere in the second run"
        starts, instructions = blocks(lines.splitlines(), moved)
    if not starts:
        return [], "nothing of it was run"
    functions = sorted(file["isa_functions"], key=lambda function: int(function["svma"], 16))
    places = [int(function["svma"], 16) for function in functions]
    lacking = {}
    for at, mnemonic in instructions.items():
        if ABOVE[cpu].match(mnemonic):
            index = bisect.bisect_right(places, at) - 1
            if index >= 0:
                lacking.setdefault(index, []).append((at, mnemonic))
    return [(function, lacking.get(index, [])) for index, function in enumerate(functions)
            if places[index] in starts or index in lacking], None


def cpus(arch, needs):
    """The CPUs to try: from the first that has what the file needs. All code after checks is above that one."""
    return [model for level, model in CPUS[arch] if rank(level) >= rank(needs)]


def rank(level):
    return [int(part) for part in re.findall(r"\d+", level)] or [99]


def is_wrong(function, lacking):
    """A verdict that a run refutes: code that nothing reaches was reached, or code after a check ran on a CPU that fails it."""
    if function["reach"] == "unreached":
        return True
    return bool(lacking) and function["reach"] in ("guarded", "presumed", "covered")
