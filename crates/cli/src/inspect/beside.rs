//! Which calls of a step ran side by side, by the order in which the log tells of their beginnings and ends.

use super::report::Call;

/// Puts calls into groups: a group is over when nothing of it is running any more.
pub(super) fn arrange(calls: &mut [Call]) {
    let spans: Vec<_> = calls.iter().map(|call| call.span).collect();
    let overlaps = |a: usize, b: usize| match (spans[a], spans[b]) {
        ((Some(begun), ended), (Some(other_begun), other_ended)) => {
            begun < other_ended && other_begun < ended
        }
        _ => false,
    };
    let mut begun: Vec<usize> = (0..calls.len()).filter(|at| spans[*at].0.is_some()).collect();
    begun.sort_by_key(|at| spans[*at].0);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut busy_until = 0;
    for at in begun {
        let (start, end) = (spans[at].0.unwrap_or_default(), spans[at].1);
        match groups.last_mut() {
            Some(group) if start < busy_until => group.push(at),
            _ => groups.push(vec![at]),
        }
        busy_until = busy_until.max(end);
    }
    // What never began stands alone.
    groups.extend((0..calls.len()).filter(|at| spans[*at].0.is_none()).map(|at| vec![at]));
    groups.sort_by_key(|group| group.iter().min().copied());
    for (number, group) in (1..).zip(&groups) {
        group.iter().for_each(|at| calls[*at].group = number);
    }
    let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
    for (at, call) in calls.iter_mut().enumerate() {
        let others = (0..ids.len()).filter(|other| *other != at && overlaps(at, *other));
        call.beside = others.map(|other| ids[other].clone()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: usize, span: (Option<u64>, u64)) -> Call {
        Call { id: id.to_string(), span, ..Call::default() }
    }

    fn arranged(spans: &[(Option<u64>, u64)]) -> Vec<(u32, String)> {
        let mut calls: Vec<Call> = spans.iter().enumerate().map(|(at, span)| call(at, *span)).collect();
        arrange(&mut calls);
        calls.into_iter().map(|call| (call.group, call.beside.join(" "))).collect()
    }

    fn group(number: u32, beside: &str) -> (u32, String) {
        (number, beside.to_owned())
    }

    #[test]
    fn overlapping_calls_are_one_group() {
        let spans = [(Some(1), 5), (Some(2), 3), (Some(4), 9), (Some(10), 12)];
        assert_eq!(arranged(&spans), [group(1, "1 2"), group(1, "0"), group(1, "0"), group(2, "")]);
    }

    #[test]
    fn what_never_began_or_never_ended_finds_its_place() {
        let spans = [(None, 3), (Some(4), u64::MAX), (Some(5), 6)];
        assert_eq!(arranged(&spans), [group(1, ""), group(2, "2"), group(2, "1")]);
        assert_eq!(arranged(&[]), []);
    }
}
