//! `critical_system_reminder`: a text that is repeated every time.

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{CriticalSystemReminder, attach};

pub(super) struct CriticalSystemReminders;

impl Source for CriticalSystemReminders {
    const LABEL: &'static str = "critical_system_reminder";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["critical_system_reminder"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let text = cx.facts.critical_reminder.clone().filter(|text| !text.trim().is_empty());
        let why = "whoever defined the agent wants it repeated every time";
        Ok(text.map(|content| attach(&CriticalSystemReminder { content }, Self::LABEL, why)).into())
    }
}

#[cfg(test)]
mod tests {
    use tiller_protocol::id::AgentId;

    use super::super::Facts;
    use super::super::trial::observed;
    use super::*;
    use crate::reminder::wrap;

    // STEER-47 STEER-50
    #[tokio::test]
    async fn the_text_comes_word_for_word_for_every_agent() {
        let text = " Only read. {path}\n";
        let main = Facts { critical_reminder: Some(text.to_owned()), ..Facts::default() };
        let agent = Facts { agent: Some(AgentId::from("a1")), ..main.clone() };
        for facts in [main, agent] {
            let observation = observed(&CriticalSystemReminders, &facts).await;
            assert_eq!(observation.attachments[0].rendered[0].as_text().unwrap(), wrap(text));
        }
        assert_eq!(observed(&CriticalSystemReminders, &Facts::default()).await, Observation::nothing());
    }
}
