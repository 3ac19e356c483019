//! Numbers as models write them: `5`, `5.0` or `"5"`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Unexpected};
use serde::{Deserialize, de};

/// A whole number, also when it was written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer(pub i64);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(i64),
    Fraction(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written =
            Written::deserialize(deserializer).map_err(|_| D::Error::custom("expected a whole number"))?;
        match written {
            Written::Whole(number) => Ok(Self(number)),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be a whole number of moderate size"
            )]
            Written::Fraction(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Ok(Self(number as i64))
            }
            Written::Fraction(number) => Err(invalid(Unexpected::Float(number))),
            Written::Text(text) => text.trim().parse().map(Self).map_err(|_| invalid(Unexpected::Str(&text))),
        }
    }
}

fn invalid<E: de::Error>(found: Unexpected<'_>) -> E {
    E::invalid_value(found, &"a whole number")
}

impl JsonSchema for Integer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Integer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_in_every_spelling() {
        for (json, number) in [("5", 5), ("-3", -3), ("5.0", 5), ("\"12\"", 12), ("\" -7 \"", -7)] {
            assert_eq!(serde_json::from_str::<Integer>(json).unwrap(), Integer(number), "{json}");
        }
        for json in ["1.5", "\"x\"", "true", "[]"] {
            assert!(serde_json::from_str::<Integer>(json).is_err(), "{json}");
        }
    }
}
