//! `Skill`: opens instructions for a kind of work.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;
use tiller_protocol::effect::{Effect, SkillUse};

use crate::cx::{ToolCx, View};
use crate::tool::{Description, Done, Tool, ToolError};

const PROMPT: &str = include_str!("prompt.md");
/// Characters of one description.
const LONGEST_LINE: usize = 400;
/// Characters of all descriptions together, about 2,000 tokens. Skills that find no room are there by their names.
const ROOM: usize = 8_000;
/// Characters of the names without descriptions.
const ROOM_FOR_NAMES: usize = 2_000;

/// What the model is told of one skill before it opens it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillLine {
    /// Its name.
    pub name: String,
    /// What it is good for.
    pub description: String,
}

/// Opens a skill.
#[derive(Clone, Debug)]
pub struct Skill {
    skills: Vec<SkillLine>,
}

impl Skill {
    /// With these skills on offer.
    #[must_use]
    pub fn new(skills: Vec<SkillLine>) -> Self {
        Self { skills }
    }

    /// The list of skills. It costs every request something, so it is bounded.
    fn listing(&self) -> String {
        let (mut list, mut names) = (String::new(), Vec::new());
        for skill in &self.skills {
            let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = format!("- {}: {}\n", skill.name, cut(&description, LONGEST_LINE));
            if names.is_empty() && list.chars().count() + line.chars().count() <= ROOM {
                list.push_str(&line);
            } else {
                names.push(skill.name.as_str());
            }
        }
        if !names.is_empty() {
            list.push_str(&format!("- Further skills: {}\n", cut(&names.join(", "), ROOM_FOR_NAMES)));
        }
        list
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// What `Skill` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillInput {
    /// The name of the skill.
    skill: String,
    /// What the skill is to be applied to, if it takes something.
    #[serde(default)]
    args: Option<String>,
}

impl Tool for Skill {
    const NAME: &'static str = "Skill";
    type Input = SkillInput;

    fn describe(&self) -> Description {
        Description::new("Opens a skill", PROMPT).offering(self.listing(), "")
    }

    /// What comes of the skill is judged call by call.
    fn read_only(&self, _input: &SkillInput) -> bool {
        true
    }

    fn access(&self, _input: &SkillInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: SkillInput, cx: ToolCx) -> Result<Done, ToolError> {
        let name = input.skill.trim().trim_start_matches('/');
        if !self.skills.iter().any(|skill| skill.name == name) {
            let names: Vec<&str> = self.skills.iter().map(|skill| skill.name.as_str()).collect();
            let names = cut(&names.join(", "), ROOM_FOR_NAMES);
            return Err(ToolError::model(format!("There is no skill named {name}. Skills are: {names}.")));
        }
        let arguments = input.args.as_deref().unwrap_or_default().trim();
        let used = cx.host.open_skill(name, arguments).map_err(ToolError::Model)?;
        // It stays in the session's state, where nothing else would mask it.
        let used = SkillUse { content: cx.view.secrets.mask(&used.content).into_owned(), ..used };
        let text = format!("The skill {name} is open. {}", used.content);
        let detail = json!({"skill": used.name, "path": used.path, "allowedTools": used.allow});
        Ok(Done::text(&text).with_detail(detail).with_effect(Effect::SkillUsed(used)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize, description: &str) -> Skill {
        let line = |n| SkillLine { name: format!("skill-{n}"), description: description.to_owned() };
        Skill::new((0..count).map(line).collect())
    }

    #[test]
    fn the_list_is_bounded_however_many_skills_there_are() {
        assert_eq!(lines(1, "Does\nthings.").listing(), "- skill-0: Does things.\n");
        let long = lines(1, &"x".repeat(5_000)).listing();
        assert!(long.chars().count() <= LONGEST_LINE + 20 && long.contains('…'), "{long}");
        let many = lines(1_000, &"word ".repeat(60)).listing();
        assert!(many.chars().count() <= ROOM + ROOM_FOR_NAMES + 100, "{}", many.chars().count());
        assert!(many.contains("- skill-3: word word") && many.contains("Further skills: "), "{many}");
    }
}
