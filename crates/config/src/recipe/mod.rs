//! Recipes: instructions in a file that are followed when somebody calls for them. A slash command is one that the user
//! calls for; a skill is one in a folder of its own, with whatever else it needs, that the model may call for as well.

mod decode;

use std::path::PathBuf;

use serde::Serialize;

use crate::dirs::Places;
use crate::error::Problem;
use crate::extension::folder::{Folder, Layout};
use crate::extension::named::{Named, add_first, add_over};
use crate::key::closest;
use crate::origin::{Layer, Origin};
use crate::request::{ProjectTrust, Sources};

/// Instructions in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recipe {
    /// The name by which it is called for.
    pub name: String,
    /// What it is good for, and when.
    pub description: String,
    /// What may be given with it, e.g. `<issue>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    /// Rules for what needs no question while it is followed.
    pub allowed_tools: Vec<String>,
    /// Rules for what is refused while it is followed.
    pub disallowed_tools: Vec<String>,
    /// The model that follows it, if it is not the one of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The folder of a skill; slash commands have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Whether the model may call for it.
    pub for_model: bool,
    /// Whether the user may call for it.
    pub for_user: bool,
    /// The instructions.
    pub body: String,
    /// The plugin that brings it.
    #[serde(skip)]
    pub plugin: Option<String>,
    /// Who defined it, and in which file.
    #[serde(flatten)]
    pub origin: Origin,
}

impl Recipe {
    /// Whether the user has written it, rather than whoever made a project or a plugin.
    #[must_use]
    pub fn is_of_user(&self) -> bool {
        self.plugin.is_none() && self.origin.layer != Layer::Project
    }

    /// Whether it is a skill.
    #[must_use]
    pub fn is_skill(&self) -> bool {
        self.folder.is_some()
    }

    /// What kind of recipe it is, in a word.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.is_skill() { SKILL } else { COMMAND }
    }
}

impl Named for Recipe {
    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

const COMMAND: &str = "command";
const SKILL: &str = "skill";

/// All recipes there are, and what is wrong with those that could not be used as they were meant.
#[derive(Clone, Debug, Default)]
pub struct Recipes {
    /// The recipes, each name once.
    pub all: Vec<Recipe>,
    /// What was left out, and why.
    pub problems: Vec<Problem>,
}

impl Recipes {
    /// Reads the recipes of all places, with the precedence of agents. A skill wins over a command of the same place.
    pub(crate) fn load(places: &Places, sources: Sources, trust: ProjectTrust) -> Self {
        let mut recipes = Self::default();
        let commands = places.folders("commands", sources, trust);
        let skills = places.folders("skills", sources, trust);
        for (commands, skills) in commands.iter().zip(&skills) {
            recipes.add_commands(commands);
            recipes.add_skills(skills);
        }
        recipes
    }

    /// Adds the slash commands of a folder; they count more than what was there before.
    pub(crate) fn add_commands(&mut self, folder: &Folder) {
        let mut found = Vec::new();
        for file in folder.read(Layout::Files, COMMAND, &mut self.problems) {
            let name = folder.qualified(&file.name);
            let recipe =
                file.decode(COMMAND, &mut self.problems, |decoder, parsed| decoder.command(&name, parsed));
            if let Some(recipe) = recipe {
                let plugin = folder.plugin.as_ref().map(|plugin| plugin.name.clone());
                add_first(&mut found, Recipe { plugin, ..recipe }, &mut self.problems);
            }
        }
        found.into_iter().for_each(|recipe| add_over(&mut self.all, recipe));
    }

    /// Adds the skills of a folder; they count more than what was there before.
    pub(crate) fn add_skills(&mut self, folder: &Folder) {
        let mut found = Vec::new();
        for file in folder.read(Layout::Skills, SKILL, &mut self.problems) {
            let own = file.path.parent().unwrap_or(&file.path).to_owned();
            let recipe = file.decode(SKILL, &mut self.problems, |decoder, parsed| {
                let skill = decoder.skill(&file.name, own, parsed)?;
                Some(Recipe { name: folder.qualified(&skill.name), ..skill })
            });
            if let Some(recipe) = recipe {
                let plugin = folder.plugin.as_ref().map(|plugin| plugin.name.clone());
                add_first(&mut found, Recipe { plugin, ..recipe }, &mut self.problems);
            }
        }
        found.into_iter().for_each(|recipe| add_over(&mut self.all, recipe));
    }
}

/// What a name that the user types means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// This.
    Recipe(&'a Recipe),
    /// One of several, which all end in that name.
    Ambiguous(&'a Recipe, &'a Recipe),
    /// Nothing; this comes close.
    Nothing(Option<&'a str>),
}

/// Finds what the user may call for. The last part of a name is enough if there is only one of that name.
#[must_use]
pub fn find_recipe<'a>(recipes: &'a [Recipe], name: &str) -> Meaning<'a> {
    let callable = || recipes.iter().filter(|recipe| recipe.for_user);
    if let Some(recipe) = callable().find(|recipe| recipe.name == name) {
        return Meaning::Recipe(recipe);
    }
    let mut ending = callable().filter(|recipe| recipe.name.rsplit(':').next() == Some(name));
    match (ending.next(), ending.next()) {
        (Some(recipe), None) => Meaning::Recipe(recipe),
        (Some(one), Some(other)) => Meaning::Ambiguous(one, other),
        (None, _) => Meaning::Nothing(closest(name, callable().map(|recipe| recipe.name.as_str()))),
    }
}
