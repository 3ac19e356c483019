//! Conversations that steps back have left behind, as they can be told from a log.

use crate::rewind::Stretch;

/// A step back that left a conversation behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The number of its entry.
    pub seq: u64,
    /// What was no part of the conversation before it.
    pub before: Vec<Stretch>,
}

/// A conversation that was left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The number of the step that left it.
    pub step: u64,
    /// The numbers of its prompts, oldest first.
    pub prompts: Vec<u64>,
}

/// The conversations that steps back have left behind, oldest first. One that the present conversation (all `prompts`
/// but the `abandoned` ones) or another branch goes on from is not listed: going there, and back from there, leads to it.
#[must_use]
pub fn branches(prompts: &[u64], left: &[Left], abandoned: &[Stretch]) -> Vec<Branch> {
    let seen = |until: u64, hidden: &[Stretch]| -> Vec<u64> {
        let is_part = |seq: &u64| *seq < until && !hidden.iter().any(|stretch| stretch.holds(*seq));
        prompts.iter().copied().filter(is_part).collect()
    };
    let current = seen(u64::MAX, abandoned);
    let all: Vec<Branch> =
        left.iter().map(|left| Branch { step: left.seq, prompts: seen(left.seq, &left.before) }).collect();
    let is_contained = |at: usize, own: &[u64]| {
        let mut others = all.iter().enumerate().filter(|(other, _)| *other != at);
        current.starts_with(own)
            || others.any(|(other, branch)| {
                (branch.prompts.len() > own.len() || other > at) && branch.prompts.starts_with(own)
            })
    };
    let distinct = all.iter().enumerate().filter(|(at, branch)| !is_contained(*at, &branch.prompts));
    distinct.map(|(_, branch)| branch.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(from: u64, until: u64) -> Stretch {
        Stretch { from, until }
    }

    fn branch(step: u64, prompts: &[u64]) -> Branch {
        Branch { step, prompts: prompts.to_vec() }
    }

    #[test]
    fn what_the_conversation_goes_on_from_is_no_branch() {
        let left = [Left { seq: 30, before: Vec::new() }, Left { seq: 50, before: vec![stretch(20, 30)] }];
        // 10 and 20, back to before 20, then 40, back to before 40.
        let abandoned = [stretch(20, 30), stretch(40, 50)];
        assert_eq!(
            branches(&[10, 20, 40], &left, &abandoned),
            [branch(30, &[10, 20]), branch(50, &[10, 40])]
        );
        // The last step is undone: 10 and 40 again.
        let undone = Left { seq: 60, before: abandoned.to_vec() };
        let abandoned = [stretch(20, 30), stretch(50, 60)];
        let left = [left.to_vec(), vec![undone]].concat();
        assert_eq!(branches(&[10, 20, 40], &left, &abandoned), [branch(30, &[10, 20])]);
    }
}
