//! Skills that were used: what of them comes back after a conversation was folded.

use tiller_protocol::effect::SkillUse;

use super::carry::shortened;
use super::estimate::text_tokens;
use crate::attachment::InvokedSkill;

/// Tokens of one skill.
const SKILL_TOKENS: u64 = 5_000;
/// Tokens of all of them.
const ALL_SKILLS_TOKENS: u64 = 20_000;

/// The skills of a session's state as they come back, in the order of their use. The latest ones find room first; a long
/// one loses its middle and says so.
#[must_use]
pub fn skills_in_use(used: &[SkillUse]) -> Vec<InvokedSkill> {
    let mut room = ALL_SKILLS_TOKENS;
    let fitting = used.iter().rev().map_while(|used| {
        let content = shortened(&used.content, SKILL_TOKENS);
        room = room.checked_sub(text_tokens(&content))?;
        Some(InvokedSkill { name: used.name.clone(), path: used.path.clone(), content })
    });
    let mut skills: Vec<InvokedSkill> = fitting.collect();
    skills.reverse();
    skills
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(name: &str, content: &str) -> SkillUse {
        SkillUse {
            name: name.to_owned(),
            path: format!("/skills/{name}/SKILL.md").into(),
            content: content.to_owned(),
            ..SkillUse::default()
        }
    }

    // STEER-35
    #[test]
    fn the_latest_skills_come_back_within_their_room() {
        let short = [used("a", "Do a."), used("b", "Do b.")];
        let back = skills_in_use(&short);
        assert_eq!(back.iter().map(|skill| skill.content.as_str()).collect::<Vec<_>>(), ["Do a.", "Do b."]);
        assert_eq!(back[0].path.to_str(), Some("/skills/a/SKILL.md"));

        let long: Vec<SkillUse> = (0..7).map(|n| used(&n.to_string(), &"x".repeat(40_000))).collect();
        let back = skills_in_use(&long);
        assert_eq!(back.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["3", "4", "5", "6"]);
        assert!(back.iter().all(|skill| skill.content.contains("characters left out")));
        assert!(back.iter().map(|skill| text_tokens(&skill.content)).sum::<u64>() <= ALL_SKILLS_TOKENS);
    }
}
