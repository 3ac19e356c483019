//! Where words lead: into directories, and through what only one process sees.

mod inside;
mod own_view;

use super::*;
