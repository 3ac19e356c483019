//! Where the user stands with a service.

use super::Challenge;

/// What a service has refused, and whether signing in has helped.
#[derive(Default)]
pub(crate) struct Standing {
    /// What the service said last.
    challenge: Option<Challenge>,
    /// What it had said when the user signed in.
    answered: Option<Challenge>,
    /// How often the user has signed in because of that, and was not let in.
    times: u32,
}

impl Standing {
    pub(crate) fn challenge(&self) -> Option<&Challenge> {
        self.challenge.as_ref()
    }

    pub(crate) fn refuse(&mut self, challenge: Option<Challenge>) {
        self.challenge = challenge;
    }

    pub(crate) fn sign_in(&mut self) {
        let challenge = self.challenge.take();
        self.times = if self.answered == challenge { self.times + 1 } else { 1 };
        self.answered = challenge;
    }

    pub(crate) fn let_in(&mut self) {
        // Whoever wanted more is let in anyway.
        if self.answered.as_ref().is_none_or(|challenge| !challenge.wants_more) {
            self.times = 0;
        }
    }

    /// Whether the user has signed in because of this, and the service says it all the same. A user who is known and was
    /// not granted what it takes need not try again; one who is not known may try once more, because the service may have
    /// changed its mind about who says so.
    pub(crate) fn is_in_vain(&self, challenge: &Challenge) -> bool {
        let enough = if challenge.wants_more { 1 } else { 2 };
        self.answered.as_ref() == Some(challenge) && self.times >= enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(said: &str, wants_more: bool) -> Challenge {
        Challenge { said: said.to_owned(), wants_more }
    }

    // MCP-07
    #[test]
    fn nobody_signs_in_for_the_same_again_and_again() {
        let (unknown, narrow) = (challenge("who?", false), challenge("not this", true));
        let mut standing = Standing::default();
        assert!(!standing.is_in_vain(&unknown));
        for _ in 0..2 {
            assert!(!standing.is_in_vain(&unknown));
            standing.refuse(Some(unknown.clone()));
            standing.sign_in();
        }
        assert!(standing.is_in_vain(&unknown) && !standing.is_in_vain(&narrow));
        standing.let_in();
        assert!(!standing.is_in_vain(&unknown), "what the user was given may have run out");
        standing.refuse(Some(narrow.clone()));
        standing.sign_in();
        standing.let_in();
        assert!(standing.is_in_vain(&narrow), "the service has not granted it");
    }
}
