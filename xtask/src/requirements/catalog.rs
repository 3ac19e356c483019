//! The list of requirements: lines `- AREA-NN what is required`.

use std::collections::BTreeSet;

use anyhow::bail;

use super::scan;

/// All requirements, in the order of the list.
#[derive(Debug)]
pub(crate) struct Catalog(Vec<Requirement>);

/// One requirement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub(crate) id: String,
    pub(crate) text: String,
}

impl Requirement {
    fn area(&self) -> &str {
        self.id.split('-').next().unwrap_or_default()
    }
}

impl Catalog {
    /// Reads the list. Headings and prose between the items are passed over.
    ///
    /// # Errors
    /// When an id occurs twice, or there is none.
    pub(crate) fn parse(markdown: &str) -> anyhow::Result<Self> {
        let mut seen = BTreeSet::new();
        let mut requirements = Vec::new();
        for item in markdown.lines().filter_map(|line| line.strip_prefix("- ")) {
            let (id, text) = item.split_once(' ').unwrap_or((item, ""));
            if !scan::is_id(id) {
                continue;
            }
            if !seen.insert(id) {
                bail!("docs/requirements.md lists {id} twice");
            }
            requirements.push(Requirement { id: id.to_owned(), text: text.trim().to_owned() });
        }
        if requirements.is_empty() {
            bail!("docs/requirements.md has no line of the form \"- AREA-01 what is required\"");
        }
        Ok(Self(requirements))
    }

    /// The areas, in order of appearance.
    pub(crate) fn areas(&self) -> Vec<&str> {
        let mut areas = Vec::new();
        for area in self.0.iter().map(Requirement::area) {
            if !areas.contains(&area) {
                areas.push(area);
            }
        }
        areas
    }

    /// The requirements of an area.
    pub(crate) fn of<'a>(&'a self, area: &'a str) -> impl Iterator<Item = &'a Requirement> {
        self.0.iter().filter(move |requirement| requirement.area() == area)
    }

    /// The requirements of an area that are not carried.
    pub(crate) fn missing<'a>(&'a self, area: &'a str, carried: &BTreeSet<String>) -> Vec<&'a Requirement> {
        self.of(area).filter(|requirement| !carried.contains(&requirement.id)).collect()
    }

    /// Whether the list has this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|requirement| requirement.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_and_everything_else_is_passed_over() {
        let catalog = Catalog::parse(
            "# List\n\n## BBB\n\n- BBB-01 One.\n- see also\n- BBB-02  Two. \n\n- AAA-01 Three.\n",
        )
        .unwrap();
        assert_eq!(catalog.areas(), ["BBB", "AAA"]);
        let texts: Vec<_> = catalog.of("BBB").map(|requirement| requirement.text.as_str()).collect();
        assert_eq!(texts, ["One.", "Two."]);
        assert!(catalog.has("AAA-01") && !catalog.has("AAA-02"));
    }

    #[test]
    fn a_list_with_mistakes_is_refused() {
        assert!(Catalog::parse("- AAA-01 x\n- AAA-01 y\n").unwrap_err().to_string().contains("twice"));
        assert!(Catalog::parse("nothing").is_err());
    }
}
