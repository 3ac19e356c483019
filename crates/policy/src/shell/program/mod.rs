//! Programs: what they do when they are run with given words. One file a program whose words are a language of their own,
//! and tables for the rest.

pub(super) mod archives;
pub(super) mod awk;
pub(super) mod bc;
pub(super) mod changes;
pub(super) mod condition;
pub(super) mod date;
pub(super) mod effects;
pub(super) mod find;
pub(super) mod git;
pub(super) mod input;
pub(super) mod jq;
pub(super) mod landing;
pub(super) mod listers;
pub(super) mod lookers;
pub(super) mod meaning;
pub(super) mod name_ends;
pub(super) mod object_files;
pub(super) mod options;
pub(super) mod printf;
pub(super) mod ps;
pub(super) mod read_only;
pub(super) mod revision;
pub(super) mod runners;
pub(super) mod search;
pub(super) mod second_file;
pub(super) mod sed;
pub(super) mod separators;
pub(super) mod versions;
pub(super) mod ways;
pub(super) mod wrapper;
pub(super) mod writers;
pub(super) mod yq;

pub(crate) use changes::{changes, named_in_script};
pub(crate) use effects::{Deed, Touch, redirect_touch, touches};
pub(crate) use find::runs_no_more;
pub(crate) use git::{git_deed, git_subcommand, possible_subcommands};
pub(crate) use landing::{Landing, Manner, Name, landings};
pub(crate) use listers::{
    ends_options, found_names, gets_names, lists_bare_names, lists_links, lists_names, lists_revisions,
    only_prints, run_files, shown_inside, takes_names_apart, takes_script_from_input,
};
pub(crate) use lookers::{is_known_program, is_option, program_name};
pub(crate) use meaning::{gives_meaning, has_meaning, keeps_options};
pub(crate) use options::before_end;
pub(crate) use read_only::only_looks;
pub(crate) use revision::{prints_commit_lines, prints_commits};
pub(crate) use runners::{Runs, runs};
pub(crate) use ways::{Way, way};
