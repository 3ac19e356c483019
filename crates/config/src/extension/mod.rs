//! What extends Tiller: agents, slash commands, skills, output styles, and the plugins that bring any of these.
//!
//! All of it is read here, in the same way: a file that cannot be used is told with its place and left out; it never keeps
//! a session from starting. Of two definitions with the same name the nearest counts: project before user, `.tiller`
//! before `.claude`. What a plugin brings has the plugin's name before its own, so that it stands in nobody's way.

pub(crate) mod field;
pub(crate) mod folder;
pub(crate) mod named;

use std::path::PathBuf;

use crate::agent::{Agents, agents};
use crate::dirs::Places;
use crate::error::Problem;
use crate::origin::Origin;
use crate::plugin::{Plugins, unpack};
use crate::recipe::Recipes;
use crate::request::{ProjectTrust, Sources};
use crate::style::OutputStyles;
use folder::whole;

/// Everything that extends Tiller.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    /// Whom work can be delegated to.
    pub agents: Agents,
    /// Slash commands and skills.
    pub recipes: Recipes,
    /// How answers can be.
    pub styles: OutputStyles,
    /// Who brings any of this, and hooks and servers.
    pub plugins: Plugins,
}

impl Extensions {
    /// Reads all of it, the plugins in `given` included.
    #[must_use]
    pub fn load(places: &Places, sources: Sources, trust: ProjectTrust, given: &[PathBuf]) -> Self {
        let mut extensions = Self {
            agents: agents(places, sources, trust),
            recipes: Recipes::load(places, sources, trust),
            styles: OutputStyles::load(places, sources, trust),
            plugins: Plugins::default(),
        };
        for unpacked in unpack(places, sources, trust, given, &mut extensions.plugins.problems) {
            unpacked.agents.iter().for_each(|folder| extensions.agents.add_folder(folder));
            unpacked.commands.iter().for_each(|folder| extensions.recipes.add_commands(folder));
            unpacked.skills.iter().for_each(|folder| extensions.recipes.add_skills(folder));
            unpacked.styles.iter().for_each(|folder| extensions.styles.add_folder(folder));
            extensions.plugins.all.push(unpacked.plugin);
        }
        extensions
    }

    /// Leaves a plugin out with all that it brings, because of what is wrong with it.
    pub fn leave_out_plugin(&mut self, name: &str, why: &str) {
        let Some(at) = self.plugins.all.iter().position(|plugin| plugin.name == name) else { return };
        let plugin = self.plugins.all.remove(at);
        let stays = |origin: &Origin| !origin.file.as_ref().is_some_and(|file| file.starts_with(&plugin.dir));
        self.agents.definitions.retain(|agent| stays(&agent.origin));
        self.recipes.all.retain(|recipe| stays(&recipe.origin));
        self.styles.all.retain(|style| stays(&style.origin));
        self.plugins.problems.push(whole(plugin.origin, &format!("{why}; the plugin is left out")));
    }

    /// Everything that could not be used as it was meant.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        let lists =
            [&self.plugins.problems, &self.agents.problems, &self.recipes.problems, &self.styles.problems];
        lists.into_iter().flatten()
    }
}
