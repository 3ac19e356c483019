//! Help for a model whose text was not found: what the file has instead.

use std::collections::HashSet;

use super::matched::matched;
use crate::change::numbered;

/// Lines shown of a near miss.
const SHOWN: usize = 8;
/// Likeness below which a line is no help.
const ALIKE: f64 = 0.5;

/// Larger texts are not searched for near misses.
const SEARCHED_UP_TO: usize = 4 * 1024 * 1024;

/// What the file has that comes close to `old`.
pub(super) fn closest(text: &str, old: &str) -> String {
    if text.len() > SEARCHED_UP_TO {
        return "In a file of this size it has to match exactly; read the place again.".to_owned();
    }
    if old.lines().any(has_number) {
        return "It contains the line numbers that Read adds; leave out everything up to the arrow →."
            .to_owned();
    }
    let (lines, wanted): (Vec<&str>, Vec<&str>) = (text.lines().collect(), old.lines().collect());
    match best_run(&lines, &wanted) {
        Some((start, matching)) => {
            let shown = &lines[start..lines.len().min(start + wanted.len().min(matching + 3).min(SHOWN))];
            format!(
                "Its first {matching} line(s) are like line {} and following, then it differs. The file has:\n{}",
                start + 1,
                numbered(shown, start + 1),
            )
        }
        None => alike(&lines, &wanted),
    }
}

/// Whether a line begins like a line of `Read`'s output.
fn has_number(line: &str) -> bool {
    line.trim_start()
        .split_once('→')
        .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Where most of the wanted lines follow each other, white space aside: start and number.
fn best_run(lines: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    if wanted.first()?.trim().is_empty() {
        return None;
    }
    let (lines, wanted) = (trimmed(lines), trimmed(wanted));
    let runs = matched(&lines, &wanted).enumerate().filter(|(_, length)| *length > 0);
    let runs = runs.map(|(at, length)| (at + 1 - length, length));
    runs.max_by_key(|(start, length)| (*length, std::cmp::Reverse(*start)))
}

fn trimmed<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().map(|line| line.trim()).collect()
}

fn alike(lines: &[&str], wanted: &[&str]) -> String {
    let Some(pivot) = wanted.iter().max_by_key(|line| line.trim().len()) else { return String::new() };
    let pairs = pairs(pivot);
    let mut scored: Vec<(usize, f64)> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (at, likeness(&pairs, line)))
        .filter(|(_, score)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.truncate(3);
    if scored.is_empty() {
        return "No line of the file is like it; read the file again.".to_owned();
    }
    let shown: Vec<String> = scored.iter().map(|(at, _)| numbered(&lines[*at..=*at], at + 1)).collect();
    format!("The closest lines of the file are:\n{}", shown.join("\n"))
}

fn pairs(line: &str) -> HashSet<(char, char)> {
    line.trim().chars().zip(line.trim().chars().skip(1)).collect()
}

/// The share of neighbouring characters that two lines have in common.
fn likeness(wanted: &HashSet<(char, char)>, line: &str) -> f64 {
    let line = pairs(line);
    if wanted.is_empty() || line.is_empty() {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "lines are short")]
    let share = 2.0 * wanted.intersection(&line).count() as f64 / (wanted.len() + line.len()) as f64;
    share
}
