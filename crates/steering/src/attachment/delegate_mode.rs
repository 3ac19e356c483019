//! `delegate_mode`, `delegate_mode_exit`: the mode in which a lead only coordinates.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const EXIT: &str = include_str!("delegate_mode_exit.md");

/// The mode is on. The prompt of the team says what that means, so there is nothing to add.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DelegateMode {}

impl Kind for DelegateMode {
    const NAME: &'static str = "delegate_mode";

    fn render(&self) -> Rendered {
        Rendered::default()
    }
}

/// The mode was left.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DelegateModeExit {}

impl Kind for DelegateModeExit {
    const NAME: &'static str = "delegate_mode_exit";

    fn render(&self) -> Rendered {
        Rendered::reminder(&fill(EXIT, &[]))
    }
}
