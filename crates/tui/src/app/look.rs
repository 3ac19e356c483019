//! How things are shown: size, colours, detail.

use std::path::PathBuf;

use crate::cell::{Detail, Paper};
use crate::screen::Size;
use crate::theme::Theme;

/// What the looks depend on.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) size: Size,
    pub(crate) theme: Theme,
    pub(crate) cwd: PathBuf,
}

impl Look {
    pub(crate) fn paper(&self) -> Paper<'_> {
        let columns = self.size.width.max(10);
        Paper { columns, theme: &self.theme, cwd: &self.cwd, detail: Detail::Brief }
    }
}
