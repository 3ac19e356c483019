//! The real world: the only place that reads the clock, makes ids and looks at the environment.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;
use tiller_protocol::env::{Clock, Env, Ids};
use uuid::Uuid;

struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

struct SystemIds;

impl Ids for SystemIds {
    #[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that makes random numbers")]
    fn random(&self) -> f64 {
        let bits = Uuid::new_v4().as_u128() >> 75;
        // 53 random bits fill a double's mantissa exactly.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let fraction = bits as f64 / (1_u64 << 53) as f64;
        fraction
    }
}

/// The environment of this process.
pub(crate) fn env() -> anyhow::Result<Env> {
    let cwd =
        std::env::current_dir().context("the current directory is not accessible; change to one that is")?;
    let vars: std::collections::BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let home =
        vars.get("HOME").filter(|home| !home.is_empty()).map_or_else(|| PathBuf::from("/"), PathBuf::from);
    Ok(Env { clock: Arc::new(SystemClock), ids: Arc::new(SystemIds), vars: Arc::new(vars), home, cwd })
}
