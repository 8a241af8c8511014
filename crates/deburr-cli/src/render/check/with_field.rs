//! A struct that is written with one of its fields replaced, piece by piece: no copy of it is made.

use serde::Serialize;
use serde::ser::{Error, Impossible, SerializeStruct, Serializer};

/// A struct, the name of a field of it, and what is written for that field.
pub(super) struct WithField<'a, T, V> {
    pub(super) of: &'a T,
    pub(super) field: &'static str,
    pub(super) value: &'a V,
}

impl<T: Serialize, V: Serialize> Serialize for WithField<'_, T, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.of.serialize(Replacing { inner: serializer, field: self.field, value: self.value })
    }
}

/// Writes a struct. Other values have no fields, and are errors.
struct Replacing<'a, S, V> {
    inner: S,
    field: &'static str,
    value: &'a V,
}

impl<S: SerializeStruct, V: Serialize> SerializeStruct for Replacing<'_, S, V> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<F: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &F,
    ) -> Result<(), S::Error> {
        if name == self.field {
            self.inner.serialize_field(name, self.value)
        } else {
            self.inner.serialize_field(name, value)
        }
    }

    fn skip_field(&mut self, name: &'static str) -> Result<(), S::Error> {
        self.inner.skip_field(name)
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.inner.end()
    }
}

/// Refuses what is not a struct.
macro_rules! refuse {
    ($($name:ident($($argument:ty),*) -> $what:ty;)*) => {
        $(fn $name(self $(, _: $argument)*) -> Result<$what, S::Error> {
            Err(S::Error::custom("a struct was expected"))
        })*
    };
}

impl<'a, S: Serializer, V: Serialize> Serializer for Replacing<'a, S, V> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Impossible<S::Ok, S::Error>;
    type SerializeTuple = Impossible<S::Ok, S::Error>;
    type SerializeTupleStruct = Impossible<S::Ok, S::Error>;
    type SerializeTupleVariant = Impossible<S::Ok, S::Error>;
    type SerializeMap = Impossible<S::Ok, S::Error>;
    type SerializeStruct = Replacing<'a, S::SerializeStruct, V>;
    type SerializeStructVariant = Impossible<S::Ok, S::Error>;

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<Self::SerializeStruct, S::Error> {
        let Replacing { inner, field, value } = self;
        Ok(Replacing { inner: inner.serialize_struct(name, length)?, field, value })
    }

    refuse! {
        serialize_bool(bool) -> S::Ok;
        serialize_i8(i8) -> S::Ok;
        serialize_i16(i16) -> S::Ok;
        serialize_i32(i32) -> S::Ok;
        serialize_i64(i64) -> S::Ok;
        serialize_u8(u8) -> S::Ok;
        serialize_u16(u16) -> S::Ok;
        serialize_u32(u32) -> S::Ok;
        serialize_u64(u64) -> S::Ok;
        serialize_f32(f32) -> S::Ok;
        serialize_f64(f64) -> S::Ok;
        serialize_char(char) -> S::Ok;
        serialize_str(&str) -> S::Ok;
        serialize_bytes(&[u8]) -> S::Ok;
        serialize_none() -> S::Ok;
        serialize_unit() -> S::Ok;
        serialize_unit_struct(&'static str) -> S::Ok;
        serialize_unit_variant(&'static str, u32, &'static str) -> S::Ok;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<F: Serialize + ?Sized>(self, _: &F) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("a struct was expected"))
    }

    fn serialize_newtype_struct<F: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &F,
    ) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("a struct was expected"))
    }

    fn serialize_newtype_variant<F: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &F,
    ) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("a struct was expected"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Three {
        a: u8,
        #[serde(skip_serializing_if = "Option::is_none")]
        b: Option<u8>,
        c: Vec<u8>,
    }

    #[test]
    fn one_field_is_replaced_in_its_place_and_nothing_else_changes() {
        let of = Three { a: 1, b: None, c: vec![2, 3] };
        let with = |field| serde_json::to_string(&WithField { of: &of, field, value: &"x" }).unwrap();
        assert_eq!(with("c"), r#"{"a":1,"c":"x"}"#);
        assert_eq!(with("a"), r#"{"a":"x","c":[2,3]}"#);
        assert_eq!(with("d"), r#"{"a":1,"c":[2,3]}"#);
        let error = serde_json::to_string(&WithField { of: &5, field: "a", value: &1 }).unwrap_err();
        assert_eq!(error.to_string(), "a struct was expected");
    }
}
