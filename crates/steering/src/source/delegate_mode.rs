//! `delegate_mode`, `delegate_mode_exit`: the mode in which a lead only coordinates.

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{DelegateMode, DelegateModeExit, attach};

pub(super) struct DelegateModes;

impl Source for DelegateModes {
    const LABEL: &'static str = "delegate_mode";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["delegate_mode"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let active = cx.facts.delegate.active;
        Ok(active.then(|| attach(&DelegateMode {}, Self::LABEL, "delegate mode is on")).into())
    }
}

pub(super) struct DelegateModeExits;

impl Source for DelegateModeExits {
    const LABEL: &'static str = "delegate_mode_exit";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["delegate_mode_exit"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let due = cx.facts.delegate.exit_notice_due && !cx.facts.delegate.active;
        Ok(due.then(|| attach(&DelegateModeExit {}, Self::LABEL, "delegate mode was left")).into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::observed;
    use super::super::{Delegate, Facts};
    use super::*;

    // STEER-31
    #[tokio::test]
    async fn the_mode_is_noted_and_its_end_is_told() {
        let facts = |active, exit_notice_due| Facts {
            delegate: Delegate { active, exit_notice_due },
            ..Facts::default()
        };
        let noted = observed(&DelegateModes, &facts(true, false)).await;
        assert_eq!(noted.attachments[0].kind(), "delegate_mode");
        assert!(noted.attachments[0].rendered.is_empty());
        let left = observed(&DelegateModeExits, &facts(false, true)).await;
        assert!(left.attachments[0].rendered[0].as_text().unwrap().contains("all your tools"));
        for quiet in [facts(false, false), facts(true, true)] {
            assert_eq!(observed(&DelegateModeExits, &quiet).await, Observation::nothing());
        }
        assert_eq!(observed(&DelegateModes, &facts(false, true)).await, Observation::nothing());
    }
}
