//! Where words lead: through what only one process sees.

mod own_view;

use super::*;
