//! Output styles in files: how answers should be.

use serde::Serialize;

use crate::dirs::Places;
use crate::error::Problem;
use crate::extension::field::{Decoder, plain};
use crate::extension::folder::{Folder, Layout};
use crate::extension::named::{Named, add_first, add_over};
use crate::front_matter::FrontMatter;
use crate::origin::Origin;
use crate::request::{ProjectTrust, Sources};

const WHAT: &str = "output style";
/// Characters of guidelines.
const LIMIT: usize = 20_000;

/// How answers should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputStyle {
    /// The name by which it is chosen.
    pub name: String,
    /// What the model is told.
    pub guidelines: String,
    /// Who defined it, and in which file.
    #[serde(flatten)]
    pub origin: Origin,
}

impl Named for OutputStyle {
    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// All styles in files, and what is wrong with those that cannot be used.
#[derive(Clone, Debug, Default)]
pub struct OutputStyles {
    /// The styles, each name once.
    pub all: Vec<OutputStyle>,
    /// What was left out, and why.
    pub problems: Vec<Problem>,
}

impl OutputStyles {
    pub(crate) fn load(places: &Places, sources: Sources, trust: ProjectTrust) -> Self {
        let mut styles = Self::default();
        for folder in places.folders("output-styles", sources, trust) {
            styles.add_folder(&folder);
        }
        styles
    }

    /// Adds the styles of a folder; they count more than those before.
    pub(crate) fn add_folder(&mut self, folder: &Folder) {
        let mut found = Vec::new();
        for file in folder.read(Layout::Files, WHAT, &mut self.problems) {
            let style = file.decode(WHAT, &mut self.problems, |decoder, parsed| {
                let style = decoder.style(&file.name, parsed)?;
                Some(OutputStyle { name: folder.qualified(&style.name), ..style })
            });
            if let Some(style) = style {
                add_first(&mut found, style, &mut self.problems);
            }
        }
        found.into_iter().for_each(|style| add_over(&mut self.all, style));
    }
}

impl Decoder<'_> {
    fn style(&mut self, name: &str, parsed: &FrontMatter<'_>) -> Option<OutputStyle> {
        let mut name = name.to_owned();
        for (field, value) in parsed.fields.iter().filter(|(_, value)| !value.is_null()) {
            match plain(field).as_str() {
                "name" => name = self.text(field, value)?,
                // A style adds to how Tiller works and never takes anything away, so there is nothing to keep.
                "description" | "keepcodinginstructions" => {}
                _ => self.problem(field, "is not known here and is left out"),
            }
        }
        let guidelines = parsed.body.trim().to_owned();
        if guidelines.is_empty() {
            return self.unusable("", "is empty");
        }
        if guidelines.chars().count() > LIMIT {
            return self.unusable("", &format!("has more than {LIMIT} characters"));
        }
        Some(OutputStyle { name, guidelines, origin: self.origin.clone() })
    }
}
