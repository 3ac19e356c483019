//! Answers that are written as a line, for terminals on which nothing can be marked.
//!
//! Only what was offered counts. A line that was meant for something else, or an empty one, chooses nothing.

/// What can be answered to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// How many choices there are; none if there is only something to read.
    pub(crate) count: usize,
    /// Which one "yes" means, if it can mean only one.
    pub(crate) yes: Option<usize>,
    /// What "no" means, if it can mean only one thing.
    pub(crate) no: Option<Said>,
    /// The one that takes the user's own words.
    pub(crate) words: Option<Words>,
    /// Whether several can be chosen.
    pub(crate) several: bool,
}

/// A choice that takes the user's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// Which one.
    pub(crate) index: usize,
    /// Whether it means nothing without them.
    pub(crate) needed: bool,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// These choices, with the words that one of them takes.
    Chosen(Vec<usize>, String),
    /// Nothing of what was offered.
    Refused,
}

impl Said {
    /// One choice that takes no words.
    pub(crate) fn one(index: usize) -> Self {
        Self::Chosen(vec![index], String::new())
    }

    /// The choice, where there can be only one.
    pub(crate) fn index(&self) -> Option<usize> {
        match self {
            Self::Chosen(indices, _) => indices.first().copied(),
            Self::Refused => None,
        }
    }
}

impl Form {
    /// One of so many choices, or none of them.
    pub(crate) fn choices(count: usize) -> Self {
        Self { count, no: Some(Said::Refused), ..Self::default() }
    }

    /// What a line answers; nothing if it is no answer.
    pub(crate) fn read(&self, line: &str) -> Option<Said> {
        let line = line.trim();
        match line.to_ascii_lowercase().as_str() {
            "y" | "yes" => return self.yes.map(Said::one),
            "n" | "no" => return self.no.clone(),
            _ => {}
        }
        let (mut indices, words) = numbers(line)?;
        indices.sort_unstable();
        indices.dedup();
        let is_offered =
            indices.iter().all(|index| *index < self.count) && (self.several || indices.len() == 1);
        let takes_words = self.words.filter(|words| indices.contains(&words.index));
        let lacks_words = words.is_empty() && takes_words.is_some_and(|words| words.needed);
        let has_spare_words = !words.is_empty() && takes_words.is_none();
        (is_offered && !lacks_words && !has_spare_words).then(|| Said::Chosen(indices, words.to_owned()))
    }

    /// Says what can be typed.
    pub(crate) fn prompt(&self) -> String {
        let numbers = match (self.several, self.count) {
            (true, count) => format!("one or more of the numbers 1 to {count}, such as 1,2"),
            (false, 1) => "the number 1".to_owned(),
            (false, count) => format!("one of the numbers 1 to {count}"),
        };
        let mut ways = vec![numbers];
        ways.extend(self.yes.map(|_| "yes".to_owned()));
        ways.extend(self.no.as_ref().map(|_| "no".to_owned()));
        ways.extend(self.words.map(|words| format!("\"{} your words\"", words.index + 1)));
        format!("Type {}:", ways.join(", or "))
    }
}

/// The numbers with commas between them that a line begins with, counted from zero, and the words after them.
fn numbers(line: &str) -> Option<(Vec<usize>, &str)> {
    let mut indices = Vec::new();
    let mut rest = line;
    loop {
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        indices.push(number.parse::<usize>().ok()?.checked_sub(1)?);
        match after.trim_start().strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None if after.is_empty() || after.starts_with(char::is_whitespace) => {
                return Some((indices, after.trim()));
            }
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission() -> Form {
        Form {
            count: 4,
            yes: Some(0),
            no: Some(Said::one(2)),
            words: Some(Words { index: 3, needed: true }),
            several: false,
        }
    }

    #[test]
    fn only_what_is_offered_is_an_answer() {
        let form = permission();
        for (line, index) in [("1", 0), (" 3 ", 2), ("y", 0), ("Yes", 0), ("n", 2), ("no", 2)] {
            assert_eq!(form.read(line), Some(Said::one(index)), "{line}");
        }
        assert_eq!(form.read("4 use a trait"), Some(Said::Chosen(vec![3], "use a trait".to_owned())));
        assert_eq!(form.read("4 2 files"), Some(Said::Chosen(vec![3], "2 files".to_owned())));
        for line in [
            "",
            " ",
            "0",
            "5",
            "9",
            "10",
            "4",
            "1,2",
            "1 2",
            "1 please",
            "1.",
            "1x",
            "-1",
            "no way",
            "yes but",
            "nope",
            "/status",
            "use a trait instead",
            "１",
            "99999999999999999999999",
            ",",
            "1,",
            "\r",
            "\u{1b}",
        ] {
            assert_eq!(form.read(line), None, "{line:?}");
        }
    }

    #[test]
    fn where_yes_and_no_are_ambiguous_they_are_no_answers() {
        let form = Form { count: 3, ..Form::default() };
        for line in ["y", "yes", "n", "no"] {
            assert_eq!(form.read(line), None, "{line}");
        }
        assert_eq!(Form::choices(3).read("no"), Some(Said::Refused));
    }

    #[test]
    fn several_can_be_chosen_with_words_for_one_of_them() {
        let words = Some(Words { index: 3, needed: true });
        let form = Form { count: 4, several: true, words, ..Form::default() };
        assert_eq!(form.read("1,2"), Some(Said::Chosen(vec![0, 1], String::new())));
        assert_eq!(form.read("3 , 1, 1"), Some(Said::Chosen(vec![0, 2], String::new())));
        assert_eq!(form.read("4,1 my own"), Some(Said::Chosen(vec![0, 3], "my own".to_owned())));
        for line in ["1 2", "1,5", "1,4", "1,2 words", "1,,2", "0,1"] {
            assert_eq!(form.read(line), None, "{line}");
        }
    }

    #[test]
    fn the_prompt_says_what_can_be_typed() {
        assert_eq!(
            permission().prompt(),
            "Type one of the numbers 1 to 4, or yes, or no, or \"4 your words\":"
        );
        assert_eq!(Form { count: 2, ..Form::default() }.prompt(), "Type one of the numbers 1 to 2:");
    }
}
