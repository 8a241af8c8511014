//! The file as it is loaded: what its memory holds before any code runs, and where its functions, blocks and objects are.
//!
//! In: an image, its linkage and its functions. Out: look-ups by address. Addresses are those at which the file is taken to be
//! loaded ([`BIAS`]). What the loader fills in is what it makes of relocations.

use crate::address::{Extent, Svma};
use crate::function::reach::{is_started_by_kernel, names_description};
use crate::function::{Function, Program};
use crate::image::linkage::ThreadWordKind;
use crate::image::{Image, Kind, Linkage, SymbolKind};
use crate::insn::operations::{self, Block, Exit, Mention, MentionKind, Operand, Operation};
use crate::reach::knowledge;
use crate::reach::value::pool::{Places, Pool, Value};
use crate::reach::value::region::{self, BIAS, THREAD_BASE};
use deburr_cpu::Arch;
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// Bytes of a text that are looked at: names of features have up to 24.
const MAX_TEXT: usize = 64;

/// The file, with what is looked up often.
pub(crate) struct File<'f, 'a> {
    pub(crate) image: &'f Image<'a>,
    pub(crate) linkage: &'f Linkage<'a>,
    pub(crate) program: &'f Program,
    /// What addresses are more than the file's own.
    pub(crate) bias: u64,
    /// The names of imports, by number.
    pub(crate) imports: Vec<&'f str>,
    import_numbers: FxHashMap<&'f str, u32>,
    /// Whether the loader copies any other file's object.
    has_copies: bool,
    names_description: OnceCell<bool>,
    runs_in_parallel: OnceCell<bool>,
    blocks: RefCell<RecentBlocks>,
    targets: RefCell<FxHashMap<u64, Target>>,
}

/// The blocks that were lifted last, one for each place in a table: where a block begins tells its place. All blocks of a file would
/// take ten times the memory of its code.
struct RecentBlocks(Vec<Option<Rc<Block>>>);

impl RecentBlocks {
    /// Blocks at most, as a power of two.
    const BITS: u32 = 13;

    fn place(start: Svma) -> usize {
        // The golden ratio spreads what is near (Knuth, volume 3, 6.4).
        (start.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RecentBlocks::BITS)) as usize
    }

    fn get(&self, start: Svma) -> Option<Rc<Block>> {
        self.0.get(RecentBlocks::place(start))?.as_ref().filter(|block| block.start == start).map(Rc::clone)
    }

    fn keep(&mut self, block: &Rc<Block>) {
        if self.0.is_empty() {
            self.0 = vec![None; 1 << RecentBlocks::BITS];
        }
        if let Some(place) = self.0.get_mut(RecentBlocks::place(block.start)) {
            *place = Some(Rc::clone(block));
        }
    }
}

/// The name that `knowledge` has for what a descriptor of a thread's variable leads to.
const DESCRIPTOR: &str = "_dl_tlsdesc";

/// Bytes of a thread's control block on AArch64, without the alignment of what follows it (AAELF64, "Thread Local Storage").
const CONTROL_BLOCK: u64 = 16;

/// Bytes before a thread's control block that the variables of a library are taken to be at.
const LOADED_LATER: u64 = 1 << 32;

/// The second of the registers that linkers' stubs of AArch64 may use.
const VENEER: u8 = 17;

/// The number of the file among those with thread's variables, as the loader is taken to give it.
const MODULE: u64 = 1;

/// Where a direct jump or call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Code of the file.
    Code(u64),
    /// An address that a word in memory holds.
    Word(u64),
}

impl<'f, 'a> File<'f, 'a> {
    pub(crate) fn new(image: &'f Image<'a>, linkage: &'f Linkage<'a>, program: &'f Program) -> File<'f, 'a> {
        let mut imports: Vec<&'f str> = Vec::new();
        let mut import_numbers = FxHashMap::default();
        for import in &linkage.imports {
            import_numbers.entry(import.name).or_insert_with(|| {
                imports.push(import.name);
                (imports.len() - 1) as u32
            });
        }
        let has_descriptors =
            linkage.thread_words.iter().any(|word| matches!(word.kind, ThreadWordKind::Descriptor(_)));
        if has_descriptors {
            import_numbers.entry(DESCRIPTOR).or_insert_with(|| {
                imports.push(DESCRIPTOR);
                (imports.len() - 1) as u32
            });
        }
        let bias = if image.is_fixed { 0 } else { BIAS };
        let has_copies = linkage.imports.iter().any(|import| import.is_copy);
        let (blocks, targets) = (RefCell::new(RecentBlocks(Vec::new())), RefCell::default());
        let (names_description, runs_in_parallel) = (OnceCell::new(), OnceCell::new());
        File {
            image,
            linkage,
            program,
            bias,
            imports,
            import_numbers,
            has_copies,
            names_description,
            runs_in_parallel,
            blocks,
            targets,
        }
    }

    /// Whether it names one of the kernel's files that describe the CPU.
    pub(crate) fn names_description(&self) -> bool {
        *self.names_description.get_or_init(|| names_description(self.linkage))
    }

    /// Whether the kernel hands it what the CPU has, by the auxiliary vector on its stack.
    pub(crate) fn is_handed_auxv(&self) -> bool {
        self.image.arch == Arch::Aarch64 && is_started_by_kernel(self.image, self.linkage)
    }

    /// Whether some of its code may run while other code does: in another thread, or as the handler of a signal. Only of programs that
    /// import all of the C library is it known.
    pub(crate) fn runs_in_parallel(&self) -> bool {
        *self.runs_in_parallel.get_or_init(|| {
            let is_alone =
                self.image.kind == Kind::Executable && !is_started_by_kernel(self.image, self.linkage);
            !is_alone || self.imports.iter().any(|name| knowledge::runs_in_parallel(name))
        })
    }

    /// Functions that the loader calls to choose others.
    pub(crate) fn resolvers(&self) -> impl Iterator<Item = Svma> {
        let marked = self.image.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::IfuncResolver);
        let of_words = self.linkage.resolved.iter().map(|resolved| resolved.resolver);
        self.linkage.resolvers.iter().copied().chain(of_words).chain(marked.map(|symbol| symbol.svma))
    }

    /// The file's own address.
    pub(crate) fn svma(&self, address: u64) -> Svma {
        Svma(address.wrapping_sub(self.bias))
    }

    /// The address at which something is loaded.
    pub(crate) fn address(&self, svma: Svma) -> u64 {
        svma.0.wrapping_add(self.bias)
    }

    /// What code names and does. Each function is decoded from where it begins, whatever stands before it.
    pub(crate) fn mentions(&self) -> Vec<Mention> {
        let (arch, is_fixed) = (self.image.arch, self.image.is_fixed);
        let starts: Vec<Svma> =
            self.program.functions().iter().map(|function| self.image.svma(function.start)).collect();
        let mut all = Vec::new();
        for code in &self.image.code {
            let (mut at, mut rest) = (code.extent.start, code.bytes);
            let after = starts.partition_point(|&start| start <= at);
            let cuts = starts.get(after..).unwrap_or_default().iter();
            for &cut in cuts.take_while(|&&cut| cut < code.extent.end).chain([&code.extent.end]) {
                let length = cut.0.saturating_sub(at.0) as usize;
                let (piece, others) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                operations::mentions(arch, piece, at, is_fixed, |mention| all.push(mention));
                (at, rest) = (cut, others);
            }
        }
        all
    }

    /// Which numbers are addresses, and where objects begin: where symbols do, and where code or data point to. A field that
    /// code only uses begins none.
    pub(crate) fn places(&self, mentions: &[Mention]) -> Places {
        let mut runs: Vec<(u64, u64, bool)> = Vec::new();
        let mut add = |extent: Extent, is_code| {
            runs.push((self.address(extent.start), self.address(extent.end), is_code));
        };
        self.image.code.iter().for_each(|code| add(code.extent, true));
        self.linkage.data.iter().for_each(|data| add(data.extent, false));
        runs.sort_unstable();
        let named = &self.linkage.objects;
        let is_free =
            |svma: Svma| self.linkage.data_at(svma).is_some() && self.linkage.object_at(svma).is_none();
        let mut starts: Vec<Svma> = named.iter().flat_map(|it| [it.extent.start, it.extent.end]).collect();
        let mut taken: Vec<Svma> = self.linkage.cells.iter().map(|cell| cell.to).collect();
        taken.extend(self.linkage.named_exports.iter().map(|export| export.at));
        starts.extend(taken.iter().copied().filter(|&to| is_free(to)));
        for data in &self.linkage.data {
            starts.push(data.extent.start);
            if data.is_offset_table {
                let cells = (data.extent.start.0..data.extent.end.0).step_by(8);
                starts.extend(cells.clone().map(Svma));
                taken.extend(cells.map(Svma));
            }
        }
        for mention in mentions {
            let (place, is_sure) = (Svma(mention.place), mention.kind == MentionKind::Taken);
            if !is_sure && mention.kind != MentionKind::PerhapsTaken || self.linkage.data_at(place).is_none()
            {
                continue;
            }
            taken.push(place);
            starts.extend(Some(place).filter(|&place| is_sure && is_free(place)));
        }
        let sorted = |places: Vec<Svma>| {
            let mut addresses: Vec<u64> = places.into_iter().map(|svma| self.address(svma)).collect();
            addresses.sort_unstable();
            addresses.dedup();
            addresses
        };
        Places { runs, objects: sorted(starts), taken: sorted(taken) }
    }

    /// Where the object that an address is in begins and ends.
    pub(crate) fn extent(&self, places: &Places, address: u64) -> (u64, u64) {
        let svma = self.svma(address);
        if let Some(object) = self.linkage.object_at(svma) {
            return (self.address(object.extent.start), self.address(object.extent.end));
        }
        let objects = &places.objects;
        let after = objects.partition_point(|&start| start <= address);
        let start = after.checked_sub(1).and_then(|index| objects.get(index)).copied().unwrap_or(address);
        let end = self
            .linkage
            .data_at(svma)
            .map_or(address.saturating_add(8), |data| self.address(data.extent.end));
        (start, objects.get(after).copied().unwrap_or(end).min(end))
    }

    /// Whether a symbol says which object an address is in.
    pub(crate) fn is_named(&self, address: u64) -> bool {
        self.linkage.object_at(self.svma(address)).is_some()
    }

    /// Whether the program may write there while it runs. Only the loader writes to the linker's table of addresses.
    pub(crate) fn is_writable(&self, address: u64) -> bool {
        let data = self.linkage.data_at(self.svma(address));
        data.is_some_and(|data| data.is_writable && !data.is_offset_table)
    }

    /// Whether an address is in the linker's table of addresses.
    pub(crate) fn is_in_offset_table(&self, address: u64) -> bool {
        self.linkage.data_at(self.svma(address)).is_some_and(|data| data.is_offset_table)
    }

    /// Whether a word holds an address of the file before any code runs.
    pub(crate) fn begins_as_address(&self, at: u64) -> bool {
        at.is_multiple_of(8) && self.linkage.cell(self.svma(at)).is_some()
    }

    /// What a place holds before any code runs.
    pub(crate) fn initial(&self, pool: &mut Pool, at: u64, size: u8) -> Value {
        let svma = self.svma(at);
        let word = Svma(svma.0 & !7);
        let is_whole = size == 8 && word == svma;
        let linkage = self.linkage;
        if linkage.resolved.binary_search_by_key(&word, |it| it.at).is_ok() {
            return Value::BOTTOM;
        }
        if let Some(value) = self.thread_word(pool, word) {
            return if is_whole { value } else { Value::LOST };
        }
        if let Some(import) = linkage.import(word) {
            let number = self.import_numbers.get(import.name).copied();
            return match number.filter(|_| is_whole && !import.is_copy) {
                Some(number) => pool.constant(region::import(number)),
                None => Value::IMPORTED,
            };
        }
        if let Some(to) = linkage.cell(word) {
            // Nobody reads a part of an address: it is another member of a union, which is stored before. Rust's `LazyLock` holds
            // the function, and then what that has returned.
            return if is_whole { pool.constant(self.address(to)) } else { Value::BOTTOM };
        }
        if self.has_copies && self.is_copied(svma) {
            return Value::IMPORTED;
        }
        match self.bytes(svma, size) {
            Some(number) => pool.constant(number),
            None => Value::TOP,
        }
    }

    /// Whether the loader copies another file's object there.
    fn is_copied(&self, svma: Svma) -> bool {
        let object = self.linkage.object_at(svma).map(|object| object.extent.start);
        object.and_then(|start| self.linkage.import(start)).is_some_and(|import| import.is_copy)
    }

    /// The text at an address that the program cannot change, without its end.
    pub(crate) fn text(&self, address: u64) -> Option<Vec<u8>> {
        let svma = self.svma(address);
        let data = self.linkage.data_at(svma).filter(|data| !data.is_writable)?;
        let from = usize::try_from(svma.since(data.extent.start)?).ok()?;
        let text = data.bytes.get(from..)?;
        let length = text.iter().take(MAX_TEXT).position(|byte| *byte == 0)?;
        text.get(..length).map(<[u8]>::to_vec)
    }

    /// How many arguments a format takes at most: each conversion one, and each `*` another. `None` where that is not known.
    pub(crate) fn conversions(&self, format: u64) -> Option<usize> {
        let text = self.text(format).filter(|text| !text.contains(&b'$'))?;
        Some(text.iter().filter(|byte| matches!(byte, b'%' | b'*')).count())
    }

    fn bytes(&self, svma: Svma, size: u8) -> Option<u64> {
        let mut number = 0;
        for index in (0..u64::from(size)).rev() {
            let at = Svma(svma.0.wrapping_add(index));
            let byte = match self.linkage.data_at(at) {
                Some(data) => {
                    let offset = usize::try_from(at.since(data.extent.start)?).ok()?;
                    data.bytes.get(offset).copied().unwrap_or(0)
                }
                None => self.image.bytes_at(at)?.first().copied()?,
            };
            number = number << 8 | u64::from(byte);
        }
        Some(number)
    }

    /// Where the variables of the file are in a thread's memory. Those of a program end where the control block begins on x86-64,
    /// and begin where it ends on AArch64.
    fn thread_start(&self) -> u64 {
        let template = self.linkage.thread_template;
        match (self.image.kind == Kind::Executable, self.image.arch) {
            (false, _) => THREAD_BASE.wrapping_sub(LOADED_LATER),
            (_, Arch::X86_64) => THREAD_BASE.wrapping_sub(template.map_or(0, |template| template.length)),
            (_, Arch::Aarch64) => {
                let alignment = template.map_or(1, |template| template.alignment.max(1));
                THREAD_BASE + CONTROL_BLOCK.next_multiple_of(alignment)
            }
        }
    }

    /// What a thread's memory holds before any code runs.
    pub(crate) fn thread_initial(&self, pool: &mut Pool, at: u64, size: u8) -> Value {
        // The first word of the control block points to itself (psABI, "Thread-Local Storage").
        if at == THREAD_BASE && self.image.arch == Arch::X86_64 {
            return pool.constant(THREAD_BASE);
        }
        let offset = at.wrapping_sub(self.thread_start());
        match self.linkage.thread_template.filter(|template| offset < template.length) {
            Some(template) if offset < template.initial.len() => {
                let from = self.address(template.initial.start).wrapping_add(offset);
                self.initial(pool, from, size)
            }
            Some(_) => pool.constant(0),
            None => Value::TOP,
        }
    }

    /// What the loader fills in so that a thread's variable is found by it.
    fn thread_word(&self, pool: &mut Pool, at: Svma) -> Option<Value> {
        let words = &self.linkage.thread_words;
        let index = words.binary_search_by_key(&at, |word| word.at).ok()?;
        Some(match words.get(index)?.kind {
            ThreadWordKind::Module => pool.constant(MODULE),
            ThreadWordKind::Offset(offset) => pool.constant(offset),
            ThreadWordKind::FromBlock(offset) => {
                let distance = self.thread_start().wrapping_sub(THREAD_BASE);
                pool.constant(distance.wrapping_add(offset))
            }
            ThreadWordKind::Descriptor(_) => {
                let number = self.import_numbers.get(DESCRIPTOR);
                number.map_or(Value::LOST, |&number| pool.constant(region::import(number)))
            }
            ThreadWordKind::Elsewhere => Value::TOP,
        })
    }

    /// Where a variable of a thread is, by the two words that find it; `None` where it is another file's.
    pub(crate) fn thread_address(&self, module: u64, offset: u64) -> Option<u64> {
        (module == MODULE).then(|| self.thread_start().wrapping_add(offset))
    }

    /// How far a thread's variable is from the control block, by its descriptor; `None` where it is another file's.
    pub(crate) fn thread_offset(&self, descriptor: u64) -> Option<u64> {
        let words = &self.linkage.thread_words;
        let index = words.binary_search_by_key(&self.svma(descriptor), |word| word.at).ok()?;
        match words.get(index)?.kind {
            ThreadWordKind::Descriptor(offset) => {
                Some(self.thread_start().wrapping_sub(THREAD_BASE).wrapping_add(offset))
            }
            _ => None,
        }
    }

    /// The pointers that an object holds from the start.
    pub(crate) fn pointers_in(&self, places: &Places, address: u64) -> Vec<u64> {
        let (start, end) = self.extent(places, address);
        let inside = Extent { start: self.svma(start), end: self.svma(end) };
        self.linkage.cells_in(inside).iter().map(|cell| self.address(cell.to)).collect()
    }

    /// The block that begins at an address.
    pub(crate) fn block(&self, address: u64) -> Rc<Block> {
        if let Some(block) = self.blocks.borrow().get(Svma(address)) {
            return block;
        }
        let code = self.image.bytes_at(self.svma(address)).unwrap_or_default();
        let mut block = operations::lift(self.image.arch, code, Svma(address));
        block.operations.shrink_to_fit();
        let block = Rc::new(block);
        self.blocks.borrow_mut().keep(&block);
        block
    }

    /// Where the whole function begins that an address is in; the address itself where no function is known.
    pub(crate) fn function(&self, address: u64) -> u64 {
        let at = self.image.code_offset(self.svma(address));
        let function = at.and_then(|at| self.program.function_at(at));
        function.map_or(address, |it| self.address(self.image.svma(self.program.whole(it).start)))
    }

    /// Whether a function, or a part of one, begins at an address.
    pub(crate) fn begins_function(&self, address: u64) -> bool {
        self.function(address) == address
    }

    /// Where control ends up that goes to an address: stubs and jumps between functions are passed through.
    pub(crate) fn target(&self, address: u64) -> Target {
        if let Some(&target) = self.targets.borrow().get(&address) {
            return target;
        }
        // A cycle of jumps ends where it began.
        self.targets.borrow_mut().insert(address, Target::Code(address));
        let block = self.block(address);
        let target = match block.exit {
            Exit::JumpIndirect(Operand::Memory(memory))
                if memory.is_static() && block.operations.is_empty() =>
            {
                Target::Word(memory.displacement)
            }
            Exit::JumpIndirect(Operand::Register { number: VENEER, .. }) => {
                self.through_veneer(&block).unwrap_or(Target::Code(address))
            }
            Exit::Jump(Svma(next)) if block.operations.is_empty() && self.begins_function(next) => {
                self.target(next)
            }
            _ => Target::Code(address),
        };
        self.targets.borrow_mut().insert(address, target);
        target
    }

    /// Where a linker's stub of AArch64 leads to, by the register that it may use for that (AAPCS64, 6.1.1): a word that it loads, or an
    /// address that it makes.
    fn through_veneer(&self, block: &Block) -> Option<Target> {
        let mut found = None;
        for (_, operation) in &block.operations {
            match *operation {
                Operation::Move {
                    to: Operand::Register { number: VENEER, .. },
                    from: Operand::Memory(address),
                } if address.is_static() => found = Some(Target::Word(address.displacement)),
                Operation::TakeAddress { to: VENEER, address, .. } if address.is_static() => {
                    found = Some(Target::Code(address.displacement));
                }
                Operation::Move {
                    to: Operand::Register { number: 16 | VENEER, .. },
                    from: Operand::Immediate(_),
                }
                | Operation::TakeAddress { to: 16, .. } => {}
                _ => return None,
            }
        }
        found
    }

    /// The same, through a word that only the loader fills in.
    pub(crate) fn settled(&self, target: Target) -> Target {
        let Target::Word(word) = target else { return target };
        let svma = self.svma(word);
        let is_filled = self.linkage.data_at(svma).is_some_and(|data| data.is_offset_table);
        match self.linkage.cell(svma).filter(|_| is_filled) {
            Some(to) => self.target(self.address(to)),
            None => target,
        }
    }

    /// The landing pad of a call that throws; `None` where the function is left.
    pub(crate) fn landing_pad(&self, call: u64) -> Option<u64> {
        let svma = self.svma(call);
        let sites = &self.image.call_sites;
        let after = sites.partition_point(|(site, _)| site.start <= svma);
        let (site, pad) = sites.get(after.checked_sub(1)?)?;
        site.contains(svma).then(|| self.address(*pad))
    }

    /// What a call at the end of a block leads to, if the file says so.
    pub(crate) fn callee(&self, block: &Block) -> Option<Target> {
        match block.exit {
            Exit::Call { target, .. } => Some(self.target(target.0)),
            Exit::CallIndirect { target: Operand::Register { number, .. }, .. } => {
                let loaded = block.operations.iter().rev().find_map(|(_, operation)| match *operation {
                    Operation::Move { to: Operand::Register { number: to, .. }, from } if to == number => {
                        Some(from)
                    }
                    _ => None,
                });
                let Some(Operand::Memory(address)) = loaded else { return None };
                let is_descriptor = self.thread_offset(address.displacement).is_some();
                (address.is_static() && is_descriptor).then_some(Target::Word(address.displacement))
            }
            Exit::CallIndirect { target: Operand::Memory(address), .. } if address.is_static() => {
                Some(Target::Word(address.displacement))
            }
            _ => None,
        }
    }

    /// The blocks of a function or of a part, with where they begin, from its start to its end.
    pub(crate) fn blocks(&self, function: &Function) -> impl Iterator<Item = (u64, Rc<Block>)> {
        let (mut at, end) =
            (self.address(self.image.svma(function.start)), self.address(self.image.svma(function.end)));
        std::iter::from_fn(move || {
            let start = Some(at).filter(|&at| at < end)?;
            let block = self.block(start);
            at = block.end.0.max(start.saturating_add(1));
            Some((start, block))
        })
    }

    /// Places of a function that a jump through a table may lead to: what follows an unconditional end of a block and no
    /// direct jump leads to.
    pub(crate) fn orphans(&self, function: u64) -> Vec<u64> {
        let at = self.image.code_offset(self.svma(function));
        let Some(function) = at.and_then(|at| self.program.function_at(at)) else { return Vec::new() };
        let (mut found, mut targets, mut ended) = (Vec::new(), Vec::new(), false);
        for (at, block) in self.blocks(function) {
            if ended {
                found.push(at);
            }
            if let Exit::Jump(target) | Exit::Branch { target, .. } = block.exit {
                targets.push(target.0);
            }
            ended = matches!(block.exit, Exit::Jump(_) | Exit::JumpIndirect(_) | Exit::Return | Exit::Stop);
        }
        targets.sort_unstable();
        found.retain(|place| targets.binary_search(place).is_err());
        found
    }
}
