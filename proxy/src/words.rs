//! Names of values in recordings: `Display` writes them and `FromStr` reads them.
//!
//! With the feature `io` a [`Word`] is serialised as its name.

/// A value that serde writes and reads as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<T>(pub T);

#[cfg(feature = "io")]
pub use serial::{UNKNOWN, seconds, variants};
#[cfg(feature = "io")]
pub(crate) use serial::{deserialize, serialize};

#[cfg(feature = "io")]
mod serial {
    use std::{
        fmt::{self, Display},
        marker::PhantomData,
        str::FromStr,
    };

    use serde::{
        Deserialize, Deserializer, Serialize, Serializer,
        de::{self, Visitor, value::Error as NoValue},
        forward_to_deserialize_any,
    };

    use super::Word;

    /// Start of the error for a name that no value has, as a later version may write.
    pub const UNKNOWN: &str = "unknown word";

    impl<T: Display> Serialize for Word<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serialize(&self.0, serializer)
        }
    }

    impl<'de, T: FromStr> Deserialize<'de> for Word<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserialize(deserializer).map(Self)
        }
    }

    /// Writes a value as its name; for `#[serde(with)]`.
    ///
    /// # Errors
    /// Returns the errors of the serialiser.
    pub(crate) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    /// Reads a value from its name; for `#[serde(with)]`.
    ///
    /// # Errors
    /// [`UNKNOWN`] for a name that no value has; otherwise the errors of the deserialiser.
    pub(crate) fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        struct Name<T>(PhantomData<T>);
        impl<T: FromStr> de::Visitor<'_> for Name<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<T, E> {
                name.parse()
                    .map_err(|_| E::custom(format_args!("{UNKNOWN} {name:?}")))
            }
        }
        deserializer.deserialize_str(Name(PhantomData))
    }

    /// Returns the names of the variants that the [`Deserialize`] implementation of an enum accepts.
    #[must_use]
    pub fn variants<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
        let mut names: &[&str] = &[];
        let _no_value = T::deserialize(Variants(&mut names));
        names
    }

    /// A deserializer that records the names of an enum's variants and then fails.
    struct Variants<'n>(&'n mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Variants<'_> {
        type Error = NoValue;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
            Err(de::Error::custom("not an enum"))
        }

        fn deserialize_enum<V: Visitor<'de>>(
            self,
            _: &'static str,
            names: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, NoValue> {
            *self.0 = names;
            Err(de::Error::custom("only the names"))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map struct identifier ignored_any
        }
    }

    /// Durations as seconds; for `#[serde(with)]`.
    pub mod seconds {
        use std::time::Duration;

        use serde::{Deserialize as _, Deserializer, Serializer, de};

        /// Writes a duration as seconds.
        ///
        /// # Errors
        /// Returns the errors of the serialiser.
        pub fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_f64(time.as_secs_f64())
        }

        /// Reads seconds as a duration.
        ///
        /// # Errors
        /// If the number is negative or too large for a [`Duration`]; otherwise the errors of the
        /// deserialiser.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
            let seconds = f64::deserialize(deserializer)?;
            Duration::try_from_secs_f64(seconds).map_err(de::Error::custom)
        }
    }
}
