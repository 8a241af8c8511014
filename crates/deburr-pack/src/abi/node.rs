//! An entry of debug information → what a type is made of: facts that must be equal, and edges to other types (DWARF 5, chapter 5).
//!
//! In: an [`Index`] and where an entry is. Out: a [`Node`]. Nothing is followed here but typedefs, qualifiers and the origins of
//! functions. What is read is counted, so that the comparison ends.

use super::index::{At, Die, Index, damaged, is_set};
use super::limits::{MAX_CHAIN, MAX_ENTRIES_READ, MAX_WRAPPERS};
use gimli::{AttributeValue, DwAt, constants as dw};
use std::cell::Cell;

/// What kind of a type it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Base,
    Pointer,
    Reference,
    RvalueReference,
    MemberPointer,
    Array,
    /// Of the compiler's: `__m256`, `vector_size`.
    Vector,
    Struct,
    Union,
    Enum,
    Function,
    /// `decltype(nullptr)`
    Unspecified,
    /// Without its definition.
    Declared,
}

impl Shape {
    pub(super) fn word(self) -> &'static str {
        match self {
            Shape::Base => "number",
            Shape::Pointer => "pointer",
            Shape::Reference => "reference",
            Shape::RvalueReference => "rvalue reference",
            Shape::MemberPointer => "pointer to member",
            Shape::Array => "array",
            Shape::Vector => "vector",
            Shape::Struct | Shape::Declared => "struct",
            Shape::Union => "union",
            Shape::Enum => "enum",
            Shape::Function => "function",
            Shape::Unspecified => "type without values",
        }
    }
}

/// What a fact or an edge is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label<'a> {
    pub(super) what: &'static str,
    pub(super) of: &'a [u8],
}

/// A fact's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(i128),
    Bytes(&'a [u8]),
    /// Known at run time only.
    Varying,
}

/// Where an edge leads: a type, without typedefs and qualifiers; `None` is `void`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge<'a> {
    pub(super) label: Label<'a>,
    pub(super) to: Option<At>,
    /// An alignment that a typedef around the type demands.
    pub(super) alignment: Option<i128>,
    pub(super) is_atomic: bool,
}

/// What a type is made of.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    pub(super) shape: Shape,
    pub(super) name: Option<&'a [u8]>,
    /// The file that declares it.
    pub(super) file: Option<&'a [u8]>,
    pub(super) facts: Vec<(Label<'a>, Value<'a>)>,
    pub(super) edges: Vec<Edge<'a>>,
}

impl Node<'_> {
    pub(super) fn fact(&self, what: &str) -> Option<Value<'_>> {
        self.facts.iter().find(|(label, _)| label.what == what).map(|(_, value)| *value)
    }

    pub(super) fn size(&self) -> Option<i128> {
        match self.fact("size")? {
            Value::Number(size) => Some(size),
            _ => None,
        }
    }
}

/// Reads the types of one file.
pub(super) struct Reader<'a, 'i> {
    pub(super) index: &'i Index<'a>,
    pub(super) entries_read: Cell<u64>,
}

/// Parameters that a list of entries shows of a function.
struct Signature<'a> {
    returns: Option<Option<At>>,
    parameters: Vec<Edge<'a>>,
    is_variadic: bool,
    is_prototyped: bool,
}

impl<'a> Reader<'a, '_> {
    /// Reads an entry and visits its children, those of variants (Rust's enums) among them.
    fn visit(
        &self,
        at: At,
        children: &mut dyn FnMut(&Die<'a>) -> Result<(), String>,
    ) -> Result<Die<'a>, String> {
        let unit = &self.index.unit(at)?.unit;
        let offset = usize::try_from(at.offset).map_err(|error| error.to_string())?;
        let mut entries = unit.entries_raw(Some(gimli::UnitOffset(offset))).map_err(damaged)?;
        let mut die = Die::null();
        self.count()?;
        if !entries.read_entry(&mut die).map_err(damaged)? {
            return Err("its debug information refers to no entry".to_owned());
        }
        let first = die.clone();
        // The depth down to which all that encloses an entry is a variant.
        let mut open = 1;
        while first.has_children() && !entries.is_empty() && entries.next_depth() > 0 {
            self.count()?;
            if !entries.read_entry(&mut die).map_err(damaged)? || die.depth() > open {
                continue;
            }
            children(&die)?;
            let is_variant = [dw::DW_TAG_variant_part, dw::DW_TAG_variant].contains(&die.tag());
            open = if is_variant { die.depth() + 1 } else { die.depth() };
        }
        Ok(first)
    }

    /// Reads an entry alone.
    pub(super) fn entry(&self, at: At) -> Result<Die<'a>, String> {
        self.count()?;
        let unit = &self.index.unit(at)?.unit;
        let offset = usize::try_from(at.offset).map_err(|error| error.to_string())?;
        unit.entry(gimli::UnitOffset(offset)).map_err(damaged)
    }

    fn count(&self) -> Result<(), String> {
        let read = self.entries_read.get() + 1;
        self.entries_read.set(read);
        match read > MAX_ENTRIES_READ {
            true => Err(format!("more than {MAX_ENTRIES_READ} entries of debug information to compare")),
            false => Ok(()),
        }
    }

    /// An edge to what an attribute refers to, without typedefs and qualifiers.
    fn edge(&self, label: Label<'a>, at: At, die: &Die<'a>, attribute: DwAt) -> Result<Edge<'a>, String> {
        self.edge_to(label, self.index.reference(at, die, attribute)?)
    }

    /// An edge to a type, without typedefs and qualifiers.
    pub(super) fn edge_to(&self, label: Label<'a>, to: Option<At>) -> Result<Edge<'a>, String> {
        let mut edge = Edge { label, to, alignment: None, is_atomic: false };
        for _ in 0..MAX_CHAIN {
            let Some(at) = edge.to else { return Ok(edge) };
            let die = self.entry(at)?;
            if die.has_attr(dw::DW_AT_signature) {
                edge.to = self.index.reference(at, &die, dw::DW_AT_signature)?;
                continue;
            }
            match die.tag() {
                dw::DW_TAG_typedef
                | dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type
                | dw::DW_TAG_immutable_type
                | dw::DW_TAG_packed_type => {}
                dw::DW_TAG_atomic_type => edge.is_atomic = true,
                _ => return Ok(edge),
            }
            edge.alignment = edge.alignment.or(number(&die, dw::DW_AT_alignment));
            edge.to = self.index.reference(at, &die, dw::DW_AT_type)?;
        }
        Err(format!("a type of its has more than {MAX_CHAIN} names"))
    }

    /// What is at an edge's end.
    pub(super) fn node(&self, at: At) -> Result<Node<'a>, String> {
        let mut facts = Vec::new();
        let mut edges = Vec::new();
        let (mut members, mut is_scalable) = (0, false);
        let mut virtuals = Vec::new();
        let die = self.visit(at, &mut |child| {
            let here = At { unit: at.unit, offset: offset(child)? };
            let name = self.index.name(at, child).unwrap_or_default();
            let label = |what| Label { what, of: name };
            let mut facts_of = |child: &Die<'a>, wanted: &[(&'static str, DwAt)]| {
                for (what, attribute) in wanted {
                    facts.extend(value(child, *attribute).map(|value| (label(what), value)));
                }
            };
            match child.tag() {
                dw::DW_TAG_member if !is_static(child) => {
                    members += 1;
                    facts_of(child, &OF_MEMBERS);
                    edges.push(self.edge(label("member"), here, child, dw::DW_AT_type)?);
                }
                dw::DW_TAG_inheritance => {
                    facts_of(child, &OF_BASES);
                    edges.push(self.edge(label("base class"), here, child, dw::DW_AT_type)?);
                }
                dw::DW_TAG_variant | dw::DW_TAG_variant_part => {
                    facts_of(child, &[("discriminant", dw::DW_AT_discr_value)]);
                }
                dw::DW_TAG_enumerator => facts_of(child, &[("value", dw::DW_AT_const_value)]),
                dw::DW_TAG_subrange_type | dw::DW_TAG_enumeration_type => {
                    facts_of(child, &OF_DIMENSIONS);
                    is_scalable |= value(child, dw::DW_AT_upper_bound) == Some(Value::Varying);
                }
                dw::DW_TAG_formal_parameter => {
                    edges.push(self.edge(label("parameter"), here, child, dw::DW_AT_type)?);
                }
                dw::DW_TAG_unspecified_parameters => {
                    facts.push((label("further parameters"), Value::Number(1)));
                }
                dw::DW_TAG_subprogram if number(child, dw::DW_AT_virtuality).is_some_and(|it| it != 0) => {
                    facts_of(child, &[("place among the virtual functions", dw::DW_AT_vtable_elem_location)]);
                    virtuals.push(Edge {
                        label: label("virtual function"),
                        to: Some(here),
                        alignment: None,
                        is_atomic: false,
                    });
                }
                _ => {}
            }
            Ok(())
        })?;
        if die.tag() == dw::DW_TAG_subprogram {
            return self.function(at);
        }
        let mut node = Node {
            shape: shape(&die)?,
            name: self.index.name(at, &die),
            file: self.index.file(at, &die),
            facts: Vec::new(),
            edges,
        };
        node.edges.extend(virtuals);
        let label = |what| Label { what, of: &[] };
        for (what, attribute) in OF_TYPES {
            node.facts.extend(value(&die, attribute).map(|value| (label(what), value)));
        }
        if node.shape == Shape::Struct || node.shape == Shape::Union {
            node.facts.push((label("number of members"), Value::Number(members)));
        }
        if node.shape == Shape::Vector && is_scalable {
            node.facts.push((label("length"), Value::Varying));
        }
        // Two formats of the same size differ by their names: `long double` and `__float128`.
        let encoding = number(&die, dw::DW_AT_encoding).unwrap_or_default();
        if node.shape == Shape::Base && FLOATING.iter().any(|it| i128::from(it.0) == encoding) {
            node.facts.push((label("format"), Value::Bytes(node.name.unwrap_or_default())));
        }
        node.facts.extend(facts);
        match node.shape {
            Shape::Pointer | Shape::Reference | Shape::RvalueReference => {
                node.edges.push(self.edge(label("target"), at, &die, dw::DW_AT_type)?);
            }
            Shape::MemberPointer => {
                node.edges.push(self.edge(label("target"), at, &die, dw::DW_AT_type)?);
                node.edges.push(self.edge(label("class"), at, &die, dw::DW_AT_containing_type)?);
            }
            Shape::Array | Shape::Vector => {
                node.edges.push(self.edge(label("element"), at, &die, dw::DW_AT_type)?);
            }
            Shape::Enum if die.has_attr(dw::DW_AT_type) => {
                node.edges.push(self.edge(label("underlying type"), at, &die, dw::DW_AT_type)?);
            }
            Shape::Function => {
                node.edges.push(self.edge(label("return value"), at, &die, dw::DW_AT_type)?);
            }
            _ => {}
        }
        Ok(node)
    }

    /// A function with its parameters, which may be at its origin or at its declaration in a class.
    fn function(&self, at: At) -> Result<Node<'a>, String> {
        let mut found =
            Signature { returns: None, parameters: Vec::new(), is_variadic: false, is_prototyped: false };
        let (mut next, mut name) = (Some(at), None);
        for _ in 0..MAX_CHAIN {
            let Some(at) = next else { break };
            let mut parameters = Vec::new();
            let die = self.visit(at, &mut |child| {
                match child.tag() {
                    dw::DW_TAG_formal_parameter => {
                        let here = At { unit: at.unit, offset: offset(child)? };
                        parameters.push(self.parameter(here)?);
                    }
                    dw::DW_TAG_unspecified_parameters => found.is_variadic = true,
                    _ => {}
                }
                Ok(())
            })?;
            name = name.or(self.index.name(at, &die));
            found.is_prototyped |= is_set(&die, dw::DW_AT_prototyped);
            if parameters.len() > found.parameters.len() {
                found.parameters = parameters;
            }
            if let (Some(returns), None) = (self.index.reference(at, &die, dw::DW_AT_type)?, found.returns) {
                found.returns = Some(Some(returns));
            }
            next = match self.index.reference(at, &die, dw::DW_AT_abstract_origin)? {
                Some(origin) => Some(origin),
                None => self.index.reference(at, &die, dw::DW_AT_specification)?,
            };
        }
        let unit = self.index.unit(at)?;
        let is_typed = found.is_prototyped || found.returns.is_some() || !found.parameters.is_empty();
        if !is_typed && !unit.has_types {
            return Err("its debug information has no types; build with -g, not -g1".to_owned());
        }
        let label = |what| Label { what, of: &[] };
        let mut edges = vec![self.edge_to(label("return value"), found.returns.flatten())?];
        edges.extend(found.parameters);
        let facts = vec![(label("further parameters"), Value::Number(i128::from(found.is_variadic)))];
        Ok(Node { shape: Shape::Function, name, file: None, facts, edges })
    }

    /// A parameter, whose type may be at its origin.
    fn parameter(&self, at: At) -> Result<Edge<'a>, String> {
        let mut here = at;
        for _ in 0..MAX_CHAIN {
            let die = self.entry(here)?;
            if die.has_attr(dw::DW_AT_type) {
                let of = self.index.name(here, &die).unwrap_or_default();
                return self.edge(Label { what: "parameter", of }, here, &die, dw::DW_AT_type);
            }
            match self.index.reference(here, &die, dw::DW_AT_abstract_origin)? {
                Some(origin) => here = origin,
                None => break,
            }
        }
        Err("its debug information has a parameter without a type".to_owned())
    }

    /// The type of an object, which may be at its declaration.
    pub(super) fn object(&self, at: At) -> Result<Edge<'a>, String> {
        let (mut here, mut alignment) = (at, None);
        for _ in 0..MAX_CHAIN {
            let die = self.entry(here)?;
            alignment = alignment.or(number(&die, dw::DW_AT_alignment));
            if die.has_attr(dw::DW_AT_type) {
                let edge = self.edge(Label { what: "type", of: &[] }, here, &die, dw::DW_AT_type)?;
                return Ok(Edge { alignment: alignment.or(edge.alignment), ..edge });
            }
            let origin = match self.index.reference(here, &die, dw::DW_AT_specification)? {
                Some(declaration) => Some(declaration),
                None => self.index.reference(here, &die, dw::DW_AT_abstract_origin)?,
            };
            match origin {
                Some(origin) => here = origin,
                None => break,
            }
        }
        Err("its debug information has an object without a type; build with -g, not -g1".to_owned())
    }

    /// How many bytes a vector has which is all that a value consists of; the psABI passes such a value as it does the vector
    /// (x86-64 psABI, 3.2.3, "Classification"). 0 stands for a vector whose length only the CPU knows.
    pub(super) fn vector_bytes(&self, edge: &Edge<'a>) -> Result<Option<i128>, String> {
        self.vector_within(edge.to, MAX_WRAPPERS)
    }

    fn vector_within(&self, at: Option<At>, wrappers: usize) -> Result<Option<i128>, String> {
        let (Some(at), Some(fewer)) = (at, wrappers.checked_sub(1)) else { return Ok(None) };
        let node = self.node(at)?;
        match node.shape {
            Shape::Vector if node.fact("length") == Some(Value::Varying) => Ok(Some(0)),
            Shape::Vector => Ok(Some(self.vector_size(&node)?)),
            Shape::Struct | Shape::Union | Shape::Array => {
                // By a hidden pointer: it has a constructor or destructor of its own.
                if node.fact("calling convention")
                    == Some(Value::Number(i128::from(dw::DW_CC_pass_by_reference.0)))
                {
                    return Ok(None);
                }
                let (size, mut found) = (node.size(), None);
                let parts = node.edges.iter();
                for part in
                    parts.filter(|edge| ["member", "base class", "element"].contains(&edge.label.what))
                {
                    let bytes = self.vector_within(part.to, fewer)?;
                    let is_whole = match node.shape {
                        Shape::Array => dimensions(&node) == Some(1),
                        _ => size.is_some() && bytes == size,
                    };
                    match is_whole {
                        true => found = found.or(bytes),
                        // A union's other member makes it memory; a struct that the vector fills has only empty ones.
                        false if node.shape == Shape::Union => return Ok(None),
                        false => {}
                    }
                }
                Ok(found)
            }
            _ => Ok(None),
        }
    }

    /// The size of a vector: stated, or that of its elements.
    fn vector_size(&self, node: &Node<'a>) -> Result<i128, String> {
        if let Some(size) = node.size() {
            return Ok(size);
        }
        let element = node.edges.iter().find(|edge| edge.label.what == "element").and_then(|edge| edge.to);
        let element = match element {
            Some(element) => self.node(element)?.size().unwrap_or(0),
            None => 0,
        };
        Ok(element.saturating_mul(dimensions(node).unwrap_or(0)))
    }
}

/// How many elements an array has, if that is known.
fn dimensions(node: &Node<'_>) -> Option<i128> {
    let mut elements: i128 = 1;
    for (label, value) in &node.facts {
        match (label.what, value) {
            ("last index", Value::Number(last)) => elements = elements.saturating_mul(last.saturating_add(1)),
            ("number of elements", Value::Number(count)) => elements = elements.saturating_mul(*count),
            ("last index" | "number of elements", _) => return None,
            _ => {}
        }
    }
    Some(elements)
}

const OF_TYPES: [(&str, DwAt); 9] = [
    ("size", dw::DW_AT_byte_size),
    ("alignment", dw::DW_AT_alignment),
    ("encoding", dw::DW_AT_encoding),
    ("size in bits", dw::DW_AT_bit_size),
    ("byte order", dw::DW_AT_endianity),
    ("address class", dw::DW_AT_address_class),
    ("calling convention", dw::DW_AT_calling_convention),
    ("stride", dw::DW_AT_byte_stride),
    ("stride in bits", dw::DW_AT_bit_stride),
];
const OF_MEMBERS: [(&str, DwAt); 7] = [
    ("offset", dw::DW_AT_data_member_location),
    ("offset in bits", dw::DW_AT_data_bit_offset),
    ("offset in bits", dw::DW_AT_bit_offset),
    ("size in bits", dw::DW_AT_bit_size),
    ("size", dw::DW_AT_byte_size),
    ("alignment", dw::DW_AT_alignment),
    ("is virtual", dw::DW_AT_virtuality),
];
const OF_BASES: [(&str, DwAt); 2] =
    [("offset of the base class", dw::DW_AT_data_member_location), ("is virtual", dw::DW_AT_virtuality)];
const OF_DIMENSIONS: [(&str, DwAt); 4] = [
    ("first index", dw::DW_AT_lower_bound),
    ("last index", dw::DW_AT_upper_bound),
    ("number of elements", dw::DW_AT_count),
    ("stride", dw::DW_AT_byte_stride),
];
const FLOATING: [gimli::DwAte; 4] =
    [dw::DW_ATE_float, dw::DW_ATE_complex_float, dw::DW_ATE_imaginary_float, dw::DW_ATE_decimal_float];

fn shape(die: &Die<'_>) -> Result<Shape, String> {
    let is_declared = is_set(die, dw::DW_AT_declaration);
    Ok(match die.tag() {
        dw::DW_TAG_base_type => Shape::Base,
        dw::DW_TAG_pointer_type => Shape::Pointer,
        dw::DW_TAG_reference_type => Shape::Reference,
        dw::DW_TAG_rvalue_reference_type => Shape::RvalueReference,
        dw::DW_TAG_ptr_to_member_type => Shape::MemberPointer,
        dw::DW_TAG_array_type if is_set(die, dw::DW_AT_GNU_vector) => Shape::Vector,
        dw::DW_TAG_array_type => Shape::Array,
        dw::DW_TAG_structure_type
        | dw::DW_TAG_class_type
        | dw::DW_TAG_interface_type
        | dw::DW_TAG_union_type
        | dw::DW_TAG_enumeration_type
            if is_declared =>
        {
            Shape::Declared
        }
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_interface_type => Shape::Struct,
        dw::DW_TAG_union_type => Shape::Union,
        dw::DW_TAG_enumeration_type => Shape::Enum,
        dw::DW_TAG_subroutine_type => Shape::Function,
        dw::DW_TAG_unspecified_type => Shape::Unspecified,
        tag => return Err(format!("{tag} is a kind of type that is not compared")),
    })
}

/// A static member is an object of its own, with a symbol.
fn is_static(die: &Die<'_>) -> bool {
    is_set(die, dw::DW_AT_external) || is_set(die, dw::DW_AT_declaration)
}

fn number(die: &Die<'_>, attribute: DwAt) -> Option<i128> {
    match value_of(die, attribute)? {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

fn value<'a>(die: &Die<'a>, attribute: DwAt) -> Option<Value<'a>> {
    value_of(die, attribute)
}

/// An attribute as a fact: a constant, an expression as its bytes, or what only a run shows.
fn value_of<'a>(die: &Die<'a>, attribute: DwAt) -> Option<Value<'a>> {
    let attribute = die.attr(attribute)?;
    Some(match attribute.value() {
        AttributeValue::Block(bytes) => Value::Bytes(bytes.slice()),
        AttributeValue::Exprloc(expression) if attribute.name() == dw::DW_AT_upper_bound => {
            let _ = expression;
            Value::Varying
        }
        AttributeValue::Exprloc(expression) => Value::Bytes(expression.0.slice()),
        AttributeValue::Encoding(encoding) => Value::Number(encoding.0.into()),
        AttributeValue::Endianity(order) => Value::Number(order.0.into()),
        AttributeValue::CallingConvention(convention) => Value::Number(convention.0.into()),
        AttributeValue::Virtuality(virtuality) => Value::Number(virtuality.0.into()),
        AttributeValue::AddressClass(class) => Value::Number(class.0.into()),
        AttributeValue::Sdata(number) => Value::Number(number.into()),
        value => value
            .udata_value()
            .map(|number| Value::Number(number.into()))
            .or_else(|| attribute.sdata_value().map(|number| Value::Number(number.into())))
            .unwrap_or(Value::Varying),
    })
}

fn offset(die: &Die<'_>) -> Result<u32, String> {
    u32::try_from(die.offset().0).map_err(|error| error.to_string())
}
