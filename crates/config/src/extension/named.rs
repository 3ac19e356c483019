//! Definitions by name.

use crate::error::Problem;
use crate::origin::Origin;

use super::folder::whole;

/// Something that is asked for by its name.
pub(crate) trait Named {
    fn name(&self) -> &str;
    fn origin(&self) -> &Origin;
}

/// Adds what one folder defines: of two with the same name the first counts.
pub(crate) fn add_first<T: Named>(known: &mut Vec<T>, new: T, problems: &mut Vec<Problem>) {
    match known.iter().find(|known| known.name() == new.name()) {
        None => known.push(new),
        Some(known) => {
            let text = format!("{} defines {} as well and takes precedence", known.origin(), new.name());
            problems.push(whole(new.origin().clone(), &text));
        }
    }
}

/// Adds what counts more than everything before.
pub(crate) fn add_over<T: Named>(known: &mut Vec<T>, new: T) {
    match known.iter_mut().find(|known| known.name() == new.name()) {
        Some(known) => *known = new,
        None => known.push(new),
    }
}
