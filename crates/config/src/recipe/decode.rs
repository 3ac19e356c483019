//! From a file to a recipe.

use std::path::PathBuf;

use serde_json::Value;

use super::Recipe;
use crate::extension::field::{Decoder, plain, wrong_name};
use crate::front_matter::FrontMatter;

/// Everything a recipe may say of itself.
#[derive(Clone, Copy)]
enum Field {
    Name,
    Description,
    WhenToUse,
    ArgumentHint,
    AllowedTools,
    DisallowedTools,
    Model,
    DisableModelInvocation,
    UserInvocable,
    /// What only matters to those who pass it on, or to how another agent shows it.
    Decoration,
}

impl Field {
    fn named(name: &str) -> Option<Self> {
        Some(match plain(name).as_str() {
            "name" => Self::Name,
            "description" => Self::Description,
            "whentouse" => Self::WhenToUse,
            "argumenthint" => Self::ArgumentHint,
            "allowedtools" => Self::AllowedTools,
            "disallowedtools" => Self::DisallowedTools,
            "model" => Self::Model,
            "disablemodelinvocation" => Self::DisableModelInvocation,
            "userinvocable" => Self::UserInvocable,
            "version" | "license" | "metadata" | "compatibility" | "author" | "tags" | "color"
            | "arguments" => Self::Decoration,
            _ => return None,
        })
    }
}

impl Decoder<'_> {
    /// A slash command. Its name is that of its file.
    pub(super) fn command(&mut self, name: &str, parsed: &FrontMatter<'_>) -> Option<Recipe> {
        let recipe = self.recipe(name, None, parsed)?;
        match wrong_name(name) {
            Some(wrong) => self.unusable("", &format!("the name {name} {wrong}")),
            None => Some(Recipe { name: name.to_owned(), for_model: false, for_user: true, ..recipe }),
        }
    }

    /// A skill. If it calls itself by something that cannot be typed, its folder has the name.
    pub(super) fn skill(
        &mut self,
        default_name: &str,
        folder: PathBuf,
        parsed: &FrontMatter<'_>,
    ) -> Option<Recipe> {
        let mut recipe = self.recipe(default_name, Some(folder), parsed)?;
        if let Some(wrong) = wrong_name(&recipe.name) {
            if wrong_name(default_name).is_some() {
                return self.unusable("name", &wrong);
            }
            self.problem("name", &format!("{wrong}; it is called {default_name} after its folder"));
            recipe.name = default_name.to_owned();
        }
        Some(recipe)
    }

    fn recipe(&mut self, name: &str, folder: Option<PathBuf>, parsed: &FrontMatter<'_>) -> Option<Recipe> {
        let mut recipe = Recipe {
            name: name.to_owned(),
            description: String::new(),
            argument_hint: None,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            model: None,
            folder,
            for_model: true,
            for_user: true,
            body: parsed.body.trim().to_owned(),
            plugin: None,
            origin: self.origin.clone(),
        };
        for (name, value) in parsed.fields.iter().filter(|(_, value)| !value.is_null()) {
            match Field::named(name) {
                Some(field) => self.recipe_field(field, name, value, &mut recipe)?,
                None => self.problem(name, "is not known here and is left out"),
            }
        }
        if recipe.body.is_empty() {
            return self.unusable("", "is empty: write the instructions below the fields");
        }
        if recipe.description.is_empty() {
            recipe.description = first_line(&recipe.body);
        }
        Some(recipe)
    }

    fn recipe_field(&mut self, field: Field, name: &str, value: &Value, recipe: &mut Recipe) -> Option<()> {
        match field {
            Field::Name => recipe.name = self.text(name, value)?,
            Field::Description => recipe.description = joined(&self.text(name, value)?, &recipe.description),
            Field::WhenToUse => recipe.description = joined(&recipe.description, &self.text(name, value)?),
            Field::ArgumentHint => recipe.argument_hint = Some(hint(value)),
            Field::AllowedTools => recipe.allowed_tools = self.names(name, value)?,
            Field::DisallowedTools => recipe.disallowed_tools = self.names(name, value)?,
            Field::Model => {
                let model = self.text(name, value)?;
                recipe.model = Some(model).filter(|model| !matches!(model.as_str(), "" | "inherit"));
            }
            Field::DisableModelInvocation => recipe.for_model = !self.yes_or_no(name, value)?,
            Field::UserInvocable => recipe.for_user = self.yes_or_no(name, value)?,
            Field::Decoration => {}
        }
        Some(())
    }
}

fn joined(first: &str, second: &str) -> String {
    [first, second].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// `argument-hint: [issue]` is a list in YAML, but means what it looks like.
fn hint(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(hint).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// What a recipe without a description is about.
fn first_line(body: &str) -> String {
    let line = body.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    line.unwrap_or_default().to_owned()
}
