//! Where words lead: into directories, through what only one process sees, and to what is made on the way.

mod inside;
mod on_the_way;
mod own_view;

use super::*;
