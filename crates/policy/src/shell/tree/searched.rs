//! What programs that print the names of files in which they find something search: their input has no name.

use tree_sitter::Node;

use super::Walker;
use super::names::Names;
use crate::shell::{Form, Word};

/// Options with a value in the next word, by their letters and names.
const VALUED: (&str, &[&str]) =
    ("egjt", &["--exclude", "--exclude-dir", "--glob", "--iglob", "--include", "--regexp", "--type"]);

/// Where a program searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Searched {
    /// In files.
    Files,
    /// In what lies below, unless there is an input.
    BelowUnlessFed,
    /// Perhaps in its input.
    Input,
}

/// Where `grep` or `rg` searches when it is asked with these words. `is_name`: whether what is put into a word is a name.
fn searched(program: &str, rest: &[Word], mut is_name: impl FnMut(&Word) -> bool) -> Searched {
    let (options, operands) = apart(rest);
    let has = |letter: char, names: &[&str]| {
        options.iter().any(|option| {
            let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            letters.is_some_and(|letters| letters.contains(letter)) || names.contains(option)
        })
    };
    let gives_pattern = has('e', &["--regexp"]) || program == "rg" && has('\0', &["--files"]);
    // What the shell puts in may be a `-`, which is the input.
    let is_open = |word: &Word| word.form == Form::Dynamic && word.certain().is_empty();
    let mut files = operands.iter().skip(usize::from(!gives_pattern));
    if files.any(|word| word.text == "-" || is_open(word) && !is_name(word)) {
        return Searched::Input;
    }
    // A word that may vanish is neither a pattern nor a file for certain.
    let certain = operands.iter().filter(|word| !word.splits).count();
    let walks = has('r', &["--recursive"]) || has('R', &["--dereference-recursive"]);
    match program {
        "rg" if has('\0', &["--files"]) => Searched::Files,
        _ if certain > usize::from(!gives_pattern) => Searched::Files,
        "rg" => Searched::BelowUnlessFed,
        _ if walks => Searched::Files,
        _ => Searched::Input,
    }
}

/// Options, and words that are neither options nor their values.
fn apart(rest: &[Word]) -> (Vec<&str>, Vec<&Word>) {
    let (mut options, mut operands) = (Vec::new(), Vec::new());
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "--" {
            operands.extend(words);
            break;
        }
        if text.len() < 2 || !text.starts_with('-') {
            operands.push(word);
            continue;
        }
        options.push(text);
        let is_long = text.starts_with("--");
        if is_long && VALUED.1.contains(&text) || !is_long && text.ends_with(|c| VALUED.0.contains(c)) {
            words.next();
        }
    }
    (options, operands)
}

impl Walker<'_> {
    /// What a command prints at the start of a pipeline, or by itself.
    pub(super) fn listed_by(&mut self, words: &[Word], node: Node<'_>) -> Names {
        let Some((program, rest)) = words.split_first() else { return Names::ANY };
        if !matches!(program.text.as_str(), "grep" | "rg") {
            return Names::listed_by(words);
        }
        // What it may hold besides is seen in the end.
        let is_name = |word: &Word| {
            let held = word.parameter().filter(|name| matches!(self.out.variables.get(*name), Some(Some(_))));
            held.is_some_and(|name| {
                self.out.searched.insert(name.to_owned());
                true
            })
        };
        match searched(&program.text, rest, is_name) {
            Searched::Input => Names::ANY,
            Searched::BelowUnlessFed if self.may_be_fed(node) => Names::ANY,
            _ => Names::listed_by(words),
        }
    }

    /// Whether what a node runs may have another input than the whole script has.
    pub(super) fn may_be_fed(&self, node: Node<'_>) -> bool {
        let mut inner = node;
        while let Some(outer) = inner.parent() {
            let feeds = match outer.kind() {
                "pipeline" => outer.named_child(0).is_none_or(|first| first.id() != inner.id()),
                // What is redirected gets it, and not what makes it.
                "redirected_statement" => {
                    !inner.kind().ends_with("_redirect") && self.text(outer).contains('<')
                }
                "function_definition" => true,
                _ => false,
            };
            if feeds {
                return true;
            }
            inner = outer;
        }
        self.base > 0
    }
}
