//! What `awk` can be asked without changing anything: programs that neither write files nor run or read anything that the
//! command line does not name.

use super::effects::Deed;
use super::listers;
use super::options::{Grammar, leading};
use super::sed::after_bracket;
use crate::shell::Word;

const AWK: Grammar = Grammar { valued: "Fvf", ..Grammar::NONE };

/// Whether a call of `awk` only looks. `rest`: the words after `awk`.
pub(crate) fn looks(rest: &[Word]) -> bool {
    let Some(options) = leading(&AWK, rest) else { return false };
    let plain = options.given.iter().all(|given| {
        let value = given.value.as_ref().and_then(Word::known);
        // Its escapes could spell anything, and a program in a file is not seen.
        given.name != "f" && value.is_some_and(|value| !value.contains('\\') || given.name == "F")
    });
    let Some((program, files)) = rest[options.end..].split_first() else { return false };
    let program = program.known().map(conduct);
    plain && program == Some(Conduct::Harmless) && files.iter().all(|file| file.lead && !file.splits)
}

/// The files that a call reads. Where its options are not understood, every word could be one.
pub(crate) fn files(rest: &[Word]) -> Vec<Word> {
    let Some(options) = leading(&AWK, rest) else { return rest.to_vec() };
    let programs = options.given.iter().filter(|given| given.name == "f");
    let programs: Vec<Word> = programs.filter_map(|given| given.value.clone()).collect();
    let operands = rest[options.end..].iter().skip(usize::from(programs.is_empty())).cloned();
    programs.iter().cloned().chain(operands).collect()
}

/// Whether a call of `awk` may run other programs, and put their names together as it pleases.
pub(crate) fn may_run(rest: &[Word]) -> bool {
    let Some(options) = leading(&AWK, rest) else { return true };
    let is_in_file = options.given.iter().any(|given| given.name == "f");
    let program = rest.get(options.end).filter(|_| !is_in_file);
    listers::takes_script_from_input(rest)
        || program
            .is_some_and(|program| program.known().map(conduct).is_none_or(|found| found == Conduct::Runs))
}

/// The files that a program reads and writes, as far as it spells out their names. Where the name of what is written is put
/// together, any text and any value could be it.
pub(crate) fn reached(rest: &[Word]) -> Vec<(Deed, Word)> {
    let Some(options) = leading(&AWK, rest) else { return Vec::new() };
    let program = rest.get(options.end).filter(|program| conduct(&program.text) != Conduct::Harmless);
    let Some(program) = program else { return Vec::new() };
    // Every other piece is a text.
    let pieces: Vec<&str> = program.text.split('"').collect();
    let sign = |before: &str| before.trim_end_matches([' ', '\t', '(']).chars().last();
    let is_open = pieces.iter().step_by(2).any(|code| {
        let behind = code.trim_end_matches([' ', '\t', '(']).trim_end_matches('>');
        behind.contains('>')
    });
    let texts = pieces.iter().zip(pieces.iter().skip(1)).enumerate().filter_map(|(at, (before, text))| {
        let deed = match sign(before) {
            Some('>') => Deed::Write,
            Some('<') => Deed::Read,
            _ if is_open && at % 2 == 0 => Deed::Write,
            _ => return None,
        };
        Some((deed, *text))
    });
    let values = options.given.iter().filter(|given| is_open && given.name == "v");
    let values =
        values.filter_map(|given| Some((Deed::Write, given.value.as_ref()?.text.split_once('=')?.1)));
    // What it runs, or reads by a name of its own making, may be any file that its texts name.
    let reads_any = conduct(&program.text) == Conduct::Runs
        || ["getline", "ARGV"].iter().any(|reads| program.text.contains(reads));
    let given =
        options.given.iter().filter(|given| given.name == "v").filter_map(|given| given.value.as_ref());
    let given = given.filter_map(|value| Some(value.text.split_once('=')?.1));
    let all = pieces.iter().skip(1).step_by(2).copied().chain(given).filter(|_| reads_any);
    let read = all.flat_map(str::split_whitespace).map(|name| (Deed::Read, name));
    let named = texts.chain(values).chain(read).filter(|(_, text)| !text.is_empty());
    named.map(|(deed, text)| (deed, program.piece(text))).collect()
}

/// What a program does besides printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Conduct {
    Harmless,
    /// It reads or writes files.
    Reaches,
    /// It may run other programs, or is not understood.
    Runs,
}

/// Names that lead to files and variables that the command line does not show.
const REACHING: &[&str] =
    &["ARGC", "ARGV", "ENVIRON", "FUNCTAB", "PROCINFO", "SYMTAB", "close", "fflush", "getline"];

/// After these words, which every `awk` has, `/` begins a pattern.
const BEFORE_PATTERN: &[&str] = &["do", "else", "print", "printf", "return"];

/// Words that are names to some kinds of `awk` and have a meaning to others, or need not have brackets behind them: nobody
/// can tell whether `/` begins a pattern there or divides. After any other name it divides.
const OPEN: &[&str] = &[
    "BEGIN",
    "BEGINFILE",
    "END",
    "ENDFILE",
    "and",
    "asort",
    "asorti",
    "atan2",
    "bindtextdomain",
    "break",
    "case",
    "close",
    "compl",
    "continue",
    "cos",
    "dcgettext",
    "dcngettext",
    "default",
    "delete",
    "exit",
    "exp",
    "fflush",
    "for",
    "func",
    "function",
    "gensub",
    "getline",
    "gsub",
    "if",
    "in",
    "index",
    "int",
    "isarray",
    "length",
    "log",
    "lshift",
    "match",
    "mkbool",
    "mktime",
    "next",
    "nextfile",
    "or",
    "patsplit",
    "rand",
    "rshift",
    "sin",
    "split",
    "sprintf",
    "sqrt",
    "srand",
    "strftime",
    "strtonum",
    "sub",
    "substr",
    "switch",
    "system",
    "systime",
    "tolower",
    "toupper",
    "typeof",
    "while",
    "xor",
];

/// Goes through a program piece by piece. Texts and patterns are only looked at for where they end.
fn conduct(program: &str) -> Conduct {
    let mut found = Conduct::Harmless;
    let mut scan =
        Scan { rest: program, before: Before::Nothing, prints: false, open: Vec::new(), next: Before::Value };
    while !scan.rest.is_empty() {
        match scan.piece() {
            Some(piece) => found = found.max(piece),
            None => return Conduct::Runs,
        }
    }
    found
}

struct Scan<'a> {
    rest: &'a str,
    before: Before,
    /// Whether a statement began that prints, so that `>` may name a file.
    prints: bool,
    /// What the brackets that are open are for what follows them.
    open: Vec<Before>,
    /// What the next ones will be.
    next: Before,
}

/// What stands before the next piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing, or something that is followed by a value.
    Nothing,
    /// A value.
    Value,
    /// Something that leaves it open.
    Either,
}

impl<'a> Scan<'a> {
    /// Takes one piece. `None` if it is not understood.
    fn piece(&mut self) -> Option<Conduct> {
        let first = self.rest.chars().next()?;
        match first {
            ' ' | '\t' => self.take(1),
            '\n' => {
                self.take(1);
                // It may end the statement, so that a pattern can follow.
                self.before = if self.before == Before::Nothing { Before::Nothing } else { Before::Either };
            }
            '\\' => self.take(self.rest.starts_with("\\\n").then_some(2)?),
            '#' => {
                let length = self.rest.find('\n').unwrap_or(self.rest.len());
                (!self.rest[..length].ends_with('\\')).then_some(())?;
                self.take(length);
            }
            '"' => {
                self.rest = after_text(self.rest.get(1..)?)?;
                self.before = Before::Value;
            }
            '/' => match self.before {
                Before::Nothing => {
                    let rest = after_pattern(self.rest.get(1..)?)?;
                    let pattern = &self.rest[..self.rest.len() - rest.len()];
                    (!reads_like_code(pattern)).then_some(())?;
                    self.rest = rest;
                    self.before = Before::Value;
                }
                Before::Value => self.sign(1),
                Before::Either => return None,
            },
            'a'..='z' | 'A'..='Z' | '_' => return Some(self.name()),
            '0'..='9' | '.' => {
                self.rest = after_number(self.rest)?;
                self.before = Before::Value;
            }
            _ => return self.other(first),
        }
        Some(Conduct::Harmless)
    }

    fn take(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn sign(&mut self, bytes: usize) {
        self.take(bytes);
        self.before = Before::Nothing;
    }

    fn name(&mut self) -> Conduct {
        let length =
            self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let name = &self.rest[..length];
        self.take(length);
        self.prints |= matches!(name, "print" | "printf");
        // Behind a question stands a statement, behind other brackets the rest of an expression.
        self.next = match name {
            "if" | "for" | "while" => Before::Nothing,
            "switch" => Before::Either,
            _ => Before::Value,
        };
        self.before = match name {
            _ if BEFORE_PATTERN.contains(&name) => Before::Nothing,
            _ if OPEN.contains(&name) => Before::Either,
            _ => Before::Value,
        };
        match name {
            "system" => Conduct::Runs,
            _ if REACHING.contains(&name) => Conduct::Reaches,
            _ => Conduct::Harmless,
        }
    }

    fn other(&mut self, first: char) -> Option<Conduct> {
        match first {
            '|' if self.rest.starts_with("||") => self.sign(2),
            // A command to write to or to read from.
            '|' | '@' => return None,
            '>' => {
                self.sign(1);
                return Some(if self.prints { Conduct::Reaches } else { Conduct::Harmless });
            }
            ';' | '}' => {
                self.sign(1);
                self.prints = false;
            }
            '(' => {
                self.sign(1);
                self.open.push(std::mem::replace(&mut self.next, Before::Value));
            }
            ')' => {
                self.take(1);
                self.before = self.open.pop()?;
            }
            ']' => {
                self.sign(1);
                self.before = Before::Value;
            }
            '+' | '-' if self.rest[1..].starts_with(first) => {
                self.take(2);
                self.before = Before::Either;
            }
            '{' | '[' | '$' | ',' | '!' | '~' | '&' | '?' | ':' | '=' | '<' | '+' | '-' | '*' | '%' | '^' => {
                self.sign(1);
            }
            _ => return None,
        }
        Some(Conduct::Harmless)
    }
}

/// What follows a number. A name right behind it is one of its own to `awk`, but `None` here: what is a number of base 16
/// to some is none to others.
fn after_number(text: &str) -> Option<&str> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let part = text[whole..].strip_prefix('.').map_or(0, |part| digits(part) + 1);
    if whole + part.saturating_sub(1) == 0 {
        return None;
    }
    let rest = &text[whole + part..];
    let power = rest.strip_prefix(['e', 'E']).map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
    let rest = power.filter(|power| digits(power) > 0).map_or(rest, |power| &power[digits(power)..]);
    (!rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).then_some(rest)
}

/// Whether a pattern would run or read something if it was none after all.
fn reads_like_code(pattern: &str) -> bool {
    let is_followed = |what: &str, by: char| {
        pattern.match_indices(what).any(|(at, _)| pattern[at + what.len()..].trim_start().starts_with(by))
    };
    pattern.contains("getline")
        || is_followed("system", '(')
        || is_followed("|", '"')
        || is_followed("\"", '|')
        || is_followed(">", '"')
}

/// What follows a text whose first quote is gone.
fn after_text(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '"' => return Some(chars.as_str()),
            '\n' => return None,
            '\\' => drop(chars.next().filter(|escaped| *escaped != '\n')?),
            _ => {}
        }
    }
}

/// What follows a pattern whose first slash is gone.
fn after_pattern(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let mut chars = rest.chars();
        rest = match chars.next()? {
            '/' => return Some(chars.as_str()),
            '\n' => return None,
            '\\' => {
                chars.next().filter(|escaped| *escaped != '\n')?;
                chars.as_str()
            }
            '[' => after_set(chars.as_str())?,
            _ => chars.as_str(),
        };
    }
}

/// What follows a set of characters, of which the bracket is gone. One that holds a bracket which begins no class ends
/// elsewhere to some.
fn after_set(text: &str) -> Option<&str> {
    let rest = after_bracket(text, '/')?;
    let set = &text[..text.len() - rest.len()];
    let mut brackets = set.match_indices('[').map(|(at, _)| &set[at + 1..]);
    brackets.all(|behind| behind.starts_with(':')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    // RULE-01
    #[test]
    fn a_program_is_judged_by_its_pieces() {
        for (program, expected) in [
            ("{print $1}", Conduct::Harmless),
            ("NR>=10 && NR<=20", Conduct::Harmless),
            ("$3 > 5", Conduct::Harmless),
            ("length > 80", Conduct::Harmless),
            ("{print}; $3 > 5", Conduct::Harmless),
            ("/a|b/ || /c>d/", Conduct::Harmless),
            ("{printf \"%s\\n\", $1}", Conduct::Harmless),
            ("{print $1 \"|\" $2 \" > \" $3}", Conduct::Harmless),
            ("{a[$1] += $2 / 2} END {for (k in a) print k, a[k] / 3}", Conduct::Harmless),
            ("{gsub(/[^0-9]/, \"\"); print} # | system", Conduct::Harmless),
            ("{print > \"x\"}", Conduct::Reaches),
            ("{print($1) >> \"x\"}", Conduct::Reaches),
            ("{if (1) print a,\n b > \"x\"}", Conduct::Reaches),
            ("{printf(\"%s\", $1) > $2}", Conduct::Reaches),
            ("BEGIN{SYMTAB[\"AR\" \"GV\"][1]=\"x\"}", Conduct::Reaches),
            ("{while ((getline l < \"x\") > 0) print l}", Conduct::Reaches),
            ("{print | \"sh\"}", Conduct::Runs),
            ("{\"sh\" |& getline}", Conduct::Runs),
            ("BEGIN{system(\"x\")}", Conduct::Runs),
            ("BEGIN{awk::system(\"x\")}", Conduct::Runs),
            ("BEGIN{@f()}", Conduct::Runs),
            ("{a / \"/\" ; system(\"x\") ; \"/\"}", Conduct::Runs),
            ("{x++ / system(\"x\") / 1}", Conduct::Runs),
            ("{x++ /\"/ | \"sh\" #/}", Conduct::Runs),
            ("/[/]\"/ | \"sh\" #]/", Conduct::Runs),
            ("{print \"a\\\" | \"b\"}", Conduct::Runs),
            ("{$/\"/ | \"sh\" #\"}", Conduct::Runs),
            ("{if (1) /\"/ | \"sh\" #\"}", Conduct::Runs),
            ("{print (a + b) / 2 \" | \"}", Conduct::Harmless),
        ] {
            assert_eq!(conduct(program), expected, "{program}");
        }
    }

    // RULE-01
    #[test]
    fn a_number_ends_where_awk_ends_it() {
        for program in
            ["{x = 1.5e-3 / .5 + 1. - 10e2}", "{print 1.2.3}", "{print $1/2, NF*.5}", "NR==1{print 1}"]
        {
            assert_eq!(conduct(program), Conduct::Harmless, "{program}");
        }
        for program in [
            "{x = 1system(\"x\")}",
            "{print $1system(\"x\")}",
            "{x = 1e5system(\"x\")}",
            "{x = 1e+5system(\"x\")}",
            "{x = 1e+system(\"x\")}",
            "{x = .5system(\"x\")}",
            "{x = 1.system(\"x\")}",
            "{x = 0x1system(\"x\")}",
            "{x = 1_system(\"x\")}",
            "{1getline < \"/etc/passwd\"}",
            "{x = .system(\"x\")}",
            "{x = 1.2.3system(\"x\")}",
        ] {
            assert_eq!(conduct(program), Conduct::Runs, "{program}");
        }
    }

    // RULE-01
    #[test]
    fn what_is_a_pattern_to_some_kinds_of_awk_only_is_none() {
        for program in [
            "/a/ {print}\n/b/ {print}",
            "BEGIN {x = 1}\n\n# it's said\n/\"b\"/ {print}",
            "{if (/a/)\n/b/\nelse print}",
            "{print length(x) / 2, int(x) / 2}",
        ] {
            assert_eq!(conduct(program), Conduct::Harmless, "{program}");
        }
        for program in [
            "BEGIN{x = case / system(\"x\") / 1}",
            "function switch(a){return a} BEGIN{x = switch(1) / system(\"x\") / 1}",
            "BEGIN{switch(1) {case /a\"/: system(\"x\")}}",
            "1\n/\"/ {system(\"x\")} #\"",
            "f(x)\n/\"/ {system(\"x\")} #\"",
            "{print \"a\"\n/\"/; system(\"x\") #\"\n}",
            "BEGIN{if (0) delete /\"/; system(\"x\") #\"\n}",
            "{print default / system(\"x\") / 1}",
            "{print rand /\"/; system(\"x\") #\"\n}",
            "/[[x]/ \"/; {system(\" #\" )}",
            "/ + system(\"x\") + /",
            "/ | \"sh\" /",
            "# x \\\n1",
            "{print x in /\"/; system(\"x\") #\"\n}",
        ] {
            assert_eq!(conduct(program), Conduct::Runs, "{program}");
        }
    }
}
