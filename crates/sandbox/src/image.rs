//! A program as it is handed from Tiller to the supervisor, which may not allocate: a header, room for the tables of
//! pointers that `execve` wants, then path, directory, arguments and variables, each ended by a zero byte, and at last
//! the steps of the confinement.

use std::ffi::{c_char, c_void};
use std::os::fd::RawFd;
use std::ptr;

use rustix::io::Errno;

use crate::confine::apply::List;
use crate::confine::step::RawStep;

const WORD: usize = size_of::<usize>();

/// Words of the header: arguments, variables, flags for namespaces, where the steps begin, and how many there are in
/// each of the four lists.
pub(crate) const HEADER: usize = 8;

/// Where the strings begin.
pub(crate) fn table_end(argc: usize, envc: usize) -> usize {
    (HEADER + argc + 1 + envc + 1) * WORD
}

/// A program in memory that is never unmapped.
#[derive(Clone, Copy)]
pub(crate) struct Image {
    pub(crate) path: *const c_char,
    pub(crate) cwd: *const c_char,
    pub(crate) argv: *const *const c_char,
    pub(crate) envp: *const *const c_char,
    /// Flags for `clone`; none without namespaces.
    pub(crate) namespaces: u64,
    pub(crate) outside: List,
    pub(crate) before: List,
    pub(crate) sealing: List,
    pub(crate) closing: List,
}

impl Image {
    pub(crate) const fn has_own_network(&self) -> bool {
        self.namespaces & libc::CLONE_NEWNET as u64 != 0
    }

    /// Maps the file and fills in the tables.
    #[expect(unsafe_code, reason = "the tables hold addresses")]
    pub(crate) fn map(file: RawFd, length: usize) -> Result<Self, Errno> {
        // SAFETY: a private mapping of a file that was written by `Program::to_file`; its layout is described above,
        // so all reads and writes stay inside, and pages start at addresses that fit words.
        unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let base = libc::mmap(ptr::null_mut(), length, access, libc::MAP_PRIVATE, file, 0);
            if base == libc::MAP_FAILED {
                return Err(Errno::NOMEM);
            }
            let words = base.cast::<usize>();
            let (argc, envc) = (*words, *words.add(1));
            let argv = words.add(HEADER).cast::<*const c_char>();
            let envp = argv.add(argc + 1);
            let path = base.cast::<c_char>().add(table_end(argc, envc)).cast_const();
            let cwd = after(path);
            let rest = fill(argv, argc, after(cwd));
            fill(envp, envc, rest);
            let [outside, before, sealing, closing] = lists(words);
            let (argv, envp) = (argv.cast_const(), envp.cast_const());
            let namespaces = *words.add(2) as u64;
            Ok(Self { path, cwd, argv, envp, namespaces, outside, before, sealing, closing })
        }
    }
}

/// The steps, which follow each other.
#[expect(unsafe_code, reason = "the image is read through pointers")]
unsafe fn lists(words: *const usize) -> [List; 4] {
    let mut first = 0;
    // SAFETY: the caller vouches for an image with the layout described above.
    [4, 5, 6, 7].map(|word| unsafe {
        let (at, count) = (*words.add(3), *words.add(word));
        let steps = words.cast::<u8>().add(at).cast::<RawStep>().add(first);
        let list = List::new(words.cast(), steps, count, i32::try_from(first).unwrap_or(i32::MAX));
        first += count;
        list
    })
}

/// Points the table's entries to strings that follow each other; gives what comes after them.
#[expect(unsafe_code, reason = "the tables hold addresses")]
unsafe fn fill(table: *mut *const c_char, count: usize, mut string: *const c_char) -> *const c_char {
    for at in 0..count {
        // SAFETY: the caller vouches for so many entries and strings.
        unsafe {
            table.add(at).write(string);
            string = after(string);
        }
    }
    string
}

#[expect(unsafe_code, reason = "strings follow each other")]
unsafe fn after(string: *const c_char) -> *const c_char {
    // SAFETY: the caller vouches for a terminated string.
    unsafe { string.add(libc::strlen(string) + 1) }
}

/// For the shell's start: what it is and how it went.
#[repr(C)]
pub(crate) struct Start {
    pub(crate) image: Image,
    /// The number under which Tiller knows the command, if that is not the shell's own.
    pub(crate) known_as: Option<i32>,
    pub(crate) errno: i32,
}

impl Start {
    /// The form in which a thread function gets its argument.
    pub(crate) fn as_argument(&mut self) -> *mut c_void {
        (&raw mut *self).cast()
    }
}
