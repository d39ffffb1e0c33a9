//! Overrides from a file: a map of names.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::{Override, Overrides, text};
use crate::mode::Mode;

/// Available with the feature `serde`.
impl<'de> Deserialize<'de> for Overrides {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Overrides;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from the names of partitions and dependencies to what to change of them")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Overrides, A::Error> {
        let mut overrides = Overrides::new();
        while let Some((name, says)) = map.next_entry::<String, Override>()? {
            // Some formats let a later one win in silence.
            if overrides.names(&name) {
                return Err(A::Error::custom(format_args!("`{name}` is given twice")));
            }
            overrides = overrides.with(name, says);
        }
        Ok(overrides)
    }
}

/// Available with the feature `serde`: `enforce`, `observe`, `off`.
impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|error| D::Error::custom(format_args!("{error}, found `{text}`")))
    }
}

/// `"25ms"`
pub(super) fn duration<'de, D>(deserializer: D) -> Result<Option<Duration>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text::duration(&text).map_err(D::Error::custom))
        .transpose()
}
