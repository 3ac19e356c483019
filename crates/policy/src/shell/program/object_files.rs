//! Programs that show what object files hold. Such a file may name others, from which debug information is taken: an
//! option that asks for any of that reads what no word names.

use super::lookers::is_option;
use super::options::{Grammar, before_end, sorted};
use crate::shell::{Form, Word};

/// Without those that show debug information or sources, or follow the links to where they lie.
const OBJDUMP: Grammar = Grammar {
    flags: "CDFHRTadfhiprstvwxz",
    valued: "EMbjm",
    optional: "U",
    long: &[
        "all-headers",
        "archive-headers",
        "disassemble",
        "disassemble-all",
        "disassemble-zeroes",
        "dynamic-reloc",
        "dynamic-syms",
        "file-headers",
        "file-offsets",
        "full-contents",
        "headers",
        "help",
        "info",
        "no-addresses",
        "no-recurse-limit",
        "no-show-raw-insn",
        "prefix-addresses",
        "private-headers",
        "recurse-limit",
        "reloc",
        "section-headers",
        "show-all-symbols",
        "show-raw-insn",
        "special-syms",
        "syms",
        "version",
        "wide",
    ],
    long_valued: &[
        "adjust-vma",
        "architecture",
        "disassembler-color",
        "disassembler-options",
        "endian",
        "insn-width",
        "section",
        "start-address",
        "stop-address",
        "target",
        "unicode",
    ],
    long_optional: &["demangle", "disassemble", "visualize-jumps"],
};

const READELF: Grammar = Grammar {
    flags: "ACDHILSTVWacdeghlnrstuvz",
    valued: "Rpx",
    optional: "U",
    long: &[
        "all",
        "arch-specific",
        "archive-index",
        "decompress",
        "dyn-syms",
        "dynamic",
        "enable-checks",
        "file-header",
        "headers",
        "help",
        "histogram",
        "lint",
        "lto-syms",
        "no-demangle",
        "no-recurse-limit",
        "notes",
        "program-headers",
        "recurse-limit",
        "relocs",
        "section-details",
        "section-groups",
        "section-headers",
        "sections",
        "segments",
        "silent-truncation",
        "symbols",
        "syms",
        "unwind",
        "use-dynamic",
        "version",
        "version-info",
        "wide",
    ],
    long_valued: &["hex-dump", "relocated-dump", "string-dump", "sym-base", "unicode"],
    long_optional: &["demangle"],
};

/// Options of the others that load a program, or name the lines of sources.
const HARMFUL: &[(&str, &[&str])] =
    &[("nm", &["-l", "--line-numbers", "--plugin"]), ("size", &["--plugin"]), ("strings", &[])];

/// Whether a call only looks at the files that it names. `None` if it is none of these programs.
pub(crate) fn looks(name: &str, rest: &[Word]) -> Option<bool> {
    let harmful = HARMFUL.iter().find(|(program, _)| *program == name).map(|(_, harmful)| harmful);
    let has_plain_options = match (name, harmful) {
        ("objdump", _) => has_only(&OBJDUMP, rest),
        ("readelf", _) => has_only(&READELF, rest),
        (_, Some(harmful)) => !before_end(rest).iter().any(|word| is_harmful(word, harmful)),
        _ => return None,
    };
    Some(has_plain_options && rest.iter().all(is_no_word_list))
}

/// Whether all options are of these, and no value looks like another one: to programs of the same name it may be one.
fn has_only(grammar: &Grammar, rest: &[Word]) -> bool {
    let found = sorted(grammar, rest);
    let mut values = found.given.iter().filter_map(|given| given.value.as_ref());
    found.unclear.is_empty() && values.all(|value| !value.text.starts_with('-'))
}

fn is_harmful(word: &Word, harmful: &[&str]) -> bool {
    word.is_unclear_option() || harmful.iter().any(|option| is_option(&word.text, option))
}

/// Whether a word certainly is no name after `@`, which would be that of a file with further words. Of those that others
/// have listed, only what `find` puts in is none.
fn is_no_word_list(word: &Word) -> bool {
    let is_listed = word.form == Form::Found && word.text != "{}";
    word.lead && !word.splits && !is_listed && !word.text.starts_with('@')
}
