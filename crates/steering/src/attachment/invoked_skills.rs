//! `invoked_skills`: skills that are in use, after compaction.

use std::path::PathBuf;

use serde::Serialize;

use super::text::{Filled, fill};
use super::{Kind, Rendered};

const TEXT: &str = include_str!("invoked_skills.md");
const SKILL: &str = include_str!("invoked_skill.md");

/// The skills that were used in the session.
#[derive(Clone, Debug, Serialize)]
pub struct InvokedSkills {
    /// In the order of their use.
    pub skills: Vec<InvokedSkill>,
}

/// One skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvokedSkill {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// What it says.
    pub content: String,
}

impl Kind for InvokedSkills {
    const NAME: &'static str = "invoked_skills";

    fn render(&self) -> Rendered {
        if self.skills.is_empty() {
            return Rendered::default();
        }
        let skills = self.skills.iter().map(InvokedSkill::told);
        Rendered::reminder(&skills.fold(fill(TEXT, &[]), |text, skill| text.then(&skill)))
    }
}

impl InvokedSkill {
    fn told(&self) -> Filled {
        let path = self.path.to_string_lossy();
        fill(SKILL, &[("name", &self.name), ("path", &path), ("content", &self.content)])
    }
}
