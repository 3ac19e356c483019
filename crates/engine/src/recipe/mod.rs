//! Skills and slash commands from a call for one to the text that is followed.

mod template;

use std::path::Path;

use tiller_config::Recipe;
use tiller_protocol::effect::{RecipeCall, SkillUse};
use tiller_tools::SkillLine;

pub(crate) use template::{Piece, expand, given};

/// What the model is told of the skills that it can open.
#[must_use]
pub fn skill_lines(recipes: &[Recipe]) -> Vec<SkillLine> {
    let skills = recipes.iter().filter(|recipe| recipe.is_skill() && recipe.for_model);
    let line =
        |recipe: &Recipe| SkillLine { name: recipe.name.clone(), description: recipe.description.clone() };
    skills.map(line).collect()
}

/// Text behind the name of a recipe that the user types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Invocation<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a str,
}

impl<'a> Invocation<'a> {
    /// What a prompt calls for: `/name` and what follows. A path is no such name.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix('/')?;
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (name, arguments) = rest.split_at(end);
        let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':' | '.');
        let is_name = name.starts_with(char::is_alphanumeric) && name.chars().all(fits);
        is_name.then(|| Self { name, arguments: arguments.trim() })
    }

    /// Whether it could as well be the path of something that exists: whoever writes about /tmp means the folder.
    pub(crate) fn names_a_path(&self) -> bool {
        Path::new("/").join(self.name).exists()
    }
}

/// A call for a recipe, as far as the model is told of it.
pub(crate) fn call(recipe: &Recipe, arguments: String) -> RecipeCall {
    RecipeCall { name: recipe.name.clone(), folder: recipe.folder.clone(), arguments }
}

/// What stands before the text of a recipe that the user calls for.
pub(crate) fn introduced(call: &RecipeCall) -> String {
    let RecipeCall { name, folder, arguments } = call;
    let with = if arguments.is_empty() { String::new() } else { format!(" with: {arguments}") };
    match folder {
        None => format!("The user has called for the command /{name}{with}\nIt says:\n\n"),
        Some(folder) => format!("The user has called for the skill {name}{with}\n{}", followed(folder, "")),
    }
}

/// What the model is told of a skill that it has called for itself. Commands in it are the model's to run, so that each
/// is judged as one of its own.
pub(crate) fn skill_for_model(recipe: &Recipe, arguments: &str) -> SkillUse {
    let pieces = expand(recipe, arguments).into_iter().map(|piece| match piece {
        Piece::Text(text) => text,
        Piece::Command(command) => format!("!`{command}`"),
    });
    let text: String = pieces.collect();
    let folder = recipe.folder.as_deref().unwrap_or(Path::new(""));
    used(recipe, followed(folder, &text))
}

/// A skill as it stays in the session's state.
pub(crate) fn used(recipe: &Recipe, content: String) -> SkillUse {
    SkillUse {
        name: recipe.name.clone(),
        path: recipe.origin.file.clone().unwrap_or_default(),
        content,
        allow: recipe.allowed_tools.clone(),
        deny: recipe.disallowed_tools.clone(),
    }
}

fn followed(folder: &Path, text: &str) -> String {
    format!(
        "Follow it until its task is done. Its files are in {}; paths in it start there. Read them when you need them.\n\n{text}",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_behind_a_slash_is_a_call() {
        for (text, expected) in [
            ("/review", Some(("review", ""))),
            ("/front:build  a \"b c\"\nmore ", Some(("front:build", "a \"b c\"\nmore"))),
            ("/usr/bin/env is missing", None),
            ("/tmp is full", Some(("tmp", "is full"))),
            (" /review", None),
            ("/ review", None),
            ("/", None),
            ("//x", None),
            ("/-x", None),
            ("review", None),
        ] {
            let call = Invocation::parse(text).map(|call| (call.name, call.arguments));
            assert_eq!(call, expected, "{text}");
        }
    }
}
