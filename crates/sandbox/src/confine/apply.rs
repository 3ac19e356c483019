//! Carries steps out. Runs between fork and exec: nothing here allocates, panics or takes a lock.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::fd::RawFd;
use std::ptr;

use rustix::io::Errno;

use super::step::{self, RawStep};
use crate::supervisor::close_range;

/// Where the Landlock ruleset is kept between its making and its enforcement.
pub(crate) const RULESET_FD: RawFd = 8;
/// Where the layers are reached after they have been covered.
pub(crate) const LAYERS_FD: RawFd = 9;
/// The first number for paths that are opened before mounts hide them.
pub(crate) const FIRST_FD: RawFd = 10;
/// The last of these numbers.
pub(crate) const LAST_FD: RawFd = 196;

/// Landlock rules on directory trees.
const RULE_PATH_BENEATH: c_int = 1;

/// Some steps in a mapped image.
#[derive(Clone, Copy)]
pub(crate) struct List {
    base: *const u8,
    steps: *const RawStep,
    count: usize,
    /// The number of the first one among all steps.
    first: i32,
}

/// The step that failed, and why.
#[derive(Clone, Copy)]
pub(crate) struct Failure {
    pub(crate) step: i32,
    pub(crate) errno: Errno,
}

impl List {
    /// # Safety
    /// `steps` must point to so many steps, whose strings lie in the image that begins at `base`.
    #[expect(unsafe_code, reason = "the image is read through pointers")]
    pub(crate) const unsafe fn new(base: *const u8, steps: *const RawStep, count: usize, first: i32) -> Self {
        Self { base, steps, count, first }
    }

    /// Carries out all steps in the process itself, or those for another process from outside of it.
    pub(crate) fn run(self, other: Option<i32>) -> Result<(), Failure> {
        for (number, index) in (self.first..).zip(0..self.count) {
            // SAFETY: see `new`.
            #[expect(unsafe_code, reason = "the image is read through pointers")]
            let step = unsafe { *self.steps.add(index) };
            let call = Call { base: self.base, step };
            call.run(other).map_err(|errno| Failure { step: number, errno })?;
        }
        Ok(())
    }
}

impl List {
    /// Calls `act` with each path on which something is mounted or which has rights of its own.
    #[expect(unsafe_code, reason = "the image is read through pointers")]
    pub(crate) fn each_place(self, mut act: impl FnMut(&CStr)) {
        for index in 0..self.count {
            // SAFETY: see `new`; the strings are terminated.
            unsafe {
                let call = Call { base: self.base, step: *self.steps.add(index) };
                match call.step.code {
                    step::MOUNT | step::MASK => act(CStr::from_ptr(call.text(1))),
                    step::OVERLAY | step::RULE => act(CStr::from_ptr(call.text(0))),
                    _ => {}
                }
            }
        }
    }
}

/// One step and where its strings are.
struct Call {
    base: *const u8,
    step: RawStep,
}

#[expect(unsafe_code, reason = "plain system calls on strings of the image and on numbers")]
impl Call {
    fn text(&self, index: usize) -> *const c_char {
        // SAFETY: the offset lies in the image, see `List::new`.
        unsafe { self.base.add(self.step.strings[index] as usize).cast() }
    }

    fn run(&self, other: Option<i32>) -> Result<(), Errno> {
        let [a, b, c] = self.step.numbers;
        let (one, two) = (self.text(0), self.text(1));
        // SAFETY: all strings are terminated, see `Steps::append_to`; no call keeps a pointer.
        unsafe {
            match self.step.code {
                step::IDS => map_ids(other.ok_or(Errno::SRCH)?, a, one, two),
                step::OPEN => open_as(one, a as RawFd),
                step::MOUNT => mount(one, two, self.text(2), a, self.text(3)),
                step::OVERLAY => overlay(one, [two, self.text(2)], a != 0),
                step::MASK => match mount(one, two, c"".as_ptr(), libc::MS_BIND, c"".as_ptr()) {
                    Err(Errno::NOENT) => Ok(()),
                    result => result,
                },
                step::ATTRIBUTES => attributes(one, a, b, c != 0),
                step::DIR => unless_exists(libc::mkdir(one, a as libc::mode_t)),
                step::OWNER => {
                    // Whoever may not give away keeps what the user made, which is the user's.
                    libc::lchown(one, a as libc::uid_t, b as libc::gid_t);
                    Ok(())
                }
                step::FILE => make_file(one, a as libc::mode_t),
                step::LINK => unless_exists(libc::symlink(one, two)),
                step::LOOPBACK => loopback_up(),
                step::CLOSE => {
                    close_range(LAYERS_FD, LAST_FD);
                    Ok(())
                }
                step::RULESET => ruleset([a, b, c]),
                step::RULE => rule(one, a),
                step::CAPABILITIES => drop_capabilities(a),
                step::RESTRICT => done(libc::syscall(libc::SYS_landlock_restrict_self, RULESET_FD, 0)),
                step::FILTER => install(a as u16, one.cast_mut().cast()),
                _ => Err(Errno::NOSYS),
            }
        }
    }
}

fn done(result: i64) -> Result<(), Errno> {
    if result >= 0 { Ok(()) } else { Err(last_errno()) }
}

#[expect(unsafe_code, reason = "the error number is behind a pointer")]
pub(crate) fn last_errno() -> Errno {
    // SAFETY: the pointer is always valid.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

fn unless_exists(result: c_int) -> Result<(), Errno> {
    match done(result.into()) {
        Err(Errno::EXIST) => Ok(()),
        result => result,
    }
}

#[expect(unsafe_code, reason = "descriptors by number")]
unsafe fn open_as(path: *const c_char, fd: RawFd) -> Result<(), Errno> {
    // SAFETY: the caller vouches for the string; the number is free by convention.
    unsafe {
        let opened = libc::open(path, libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW);
        done(opened.into())?;
        if opened != fd {
            let moved = libc::dup3(opened, fd, libc::O_CLOEXEC);
            libc::close(opened);
            done(moved.into())?;
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "a plain system call")]
unsafe fn mount(
    source: *const c_char,
    target: *const c_char,
    kind: *const c_char,
    flags: u64,
    data: *const c_char,
) -> Result<(), Errno> {
    // SAFETY: the caller vouches for the strings.
    done(unsafe { libc::mount(source, target, kind, flags, data.cast()) }.into())
}

/// Tries both sets of options, unless one is empty.
#[expect(unsafe_code, reason = "a plain system call")]
unsafe fn overlay(target: *const c_char, options: [*const c_char; 2], needed: bool) -> Result<(), Errno> {
    let kind = c"overlay".as_ptr();
    let mut result = Err(Errno::INVAL);
    for data in options {
        // SAFETY: the caller vouches for the strings, which are terminated and thus not without a first byte.
        result = unsafe {
            if *data == 0 {
                continue;
            }
            mount(kind, target, kind, libc::MS_NOSUID | libc::MS_NODEV, data)
        };
        if result.is_ok() {
            break;
        }
    }
    match result {
        // The kinds of lower layer that overlays refuse. What is there is read-only already.
        Err(Errno::INVAL | Errno::LOOP | Errno::OPNOTSUPP) if !needed => Ok(()),
        result => result,
    }
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

#[expect(unsafe_code, reason = "a system call without wrapper")]
unsafe fn attributes(path: *const c_char, set: u64, clear: u64, tree: bool) -> Result<(), Errno> {
    let attributes = MountAttributes { set, clear, propagation: 0, userns: 0 };
    let flags = if tree { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the caller vouches for the string; the structure is as the kernel wants it.
    let changed = done(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path,
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    });
    if set == 0 { Ok(()) } else { changed }
}

#[expect(unsafe_code, reason = "a plain system call")]
unsafe fn make_file(path: *const c_char, mode: libc::mode_t) -> Result<(), Errno> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_RDONLY;
    // SAFETY: the caller vouches for the string.
    let file = unsafe { libc::open(path, flags, mode) };
    unless_exists(file)?;
    // SAFETY: closes what was opened here; a failed open gave a number that is never valid.
    unsafe { libc::close(file) };
    Ok(())
}

/// Writes a map of ids for another process: of all ids if privileges allow it, otherwise of the user's own.
#[expect(unsafe_code, reason = "strings of the image")]
unsafe fn map_ids(process: i32, groups: u64, all: *const c_char, own: *const c_char) -> Result<(), Errno> {
    // SAFETY: the caller vouches for the strings.
    let (all, own) = unsafe { (CStr::from_ptr(all), CStr::from_ptr(own)) };
    let file: &[u8] = if groups == 0 { b"/uid_map" } else { b"/gid_map" };
    if write_proc(process, file, all.to_bytes()).is_ok() {
        return Ok(());
    }
    if groups != 0 {
        write_proc(process, b"/setgroups", b"deny")?;
    }
    write_proc(process, file, own.to_bytes())
}

/// Writes to `/proc/PROCESS` + `file` without allocating the path.
fn write_proc(process: i32, file: &[u8], content: &[u8]) -> Result<(), Errno> {
    let mut path = [0_u8; 48];
    let mut digits = [0_u8; 10];
    let mut first = digits.len();
    let mut rest = process.unsigned_abs();
    while first == digits.len() || rest > 0 {
        first -= 1;
        digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    for (at, byte) in path.iter_mut().zip(b"/proc/".iter().chain(&digits[first..]).chain(file)) {
        *at = *byte;
    }
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::NAMETOOLONG)?;
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty())?;
    rustix::io::write(&file, content).map(drop)
}

#[expect(unsafe_code, reason = "ioctl has no safe wrapper")]
fn loopback_up() -> Result<(), Errno> {
    // SAFETY: a zeroed request is valid; the name is shorter than its field.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        done(socket.into())?;
        let mut request: libc::ifreq = std::mem::zeroed();
        for (at, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *at = byte.cast_signed();
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let up = libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw mut request);
        libc::close(socket);
        done(up.into())
    }
}

#[expect(unsafe_code, reason = "Landlock has no wrapper that does not allocate")]
fn ruleset(attributes: [u64; 3]) -> Result<(), Errno> {
    // SAFETY: the three words are the structure that the kernel wants; the number is free by convention.
    unsafe {
        let size = size_of_val(&attributes);
        let made = libc::syscall(libc::SYS_landlock_create_ruleset, attributes.as_ptr(), size, 0);
        done(made)?;
        let made = RawFd::try_from(made).map_err(|_| Errno::BADF)?;
        if made != RULESET_FD {
            let moved = libc::dup3(made, RULESET_FD, libc::O_CLOEXEC);
            libc::close(made);
            done(moved.into())?;
        }
    }
    Ok(())
}

#[repr(C, packed)]
struct PathBeneath {
    rights: u64,
    parent: i32,
}

#[expect(unsafe_code, reason = "Landlock has no wrapper that does not allocate")]
unsafe fn rule(path: *const c_char, rights: u64) -> Result<(), Errno> {
    // SAFETY: the caller vouches for the string; the structure is as the kernel wants it.
    unsafe {
        let parent = libc::open(path, libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW);
        match done(parent.into()) {
            Err(Errno::NOENT | Errno::ACCESS) => return Ok(()),
            opened => opened?,
        }
        let beneath = PathBeneath { rights, parent };
        let number = libc::SYS_landlock_add_rule;
        let added = libc::syscall(number, RULESET_FD, RULE_PATH_BENEATH, &raw const beneath, 0);
        let result = done(added);
        libc::close(parent);
        result
    }
}

/// Also forbids to regain privileges. Without the right to change the bounding set there are no capabilities to drop.
#[expect(unsafe_code, reason = "plain system calls")]
fn drop_capabilities(keep: u64) -> Result<(), Errno> {
    // SAFETY: numbers only.
    unsafe {
        for capability in 0..64_u64 {
            if keep & (1 << capability) == 0 {
                libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
            }
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())
    }
}

#[expect(unsafe_code, reason = "a system call without wrapper")]
unsafe fn install(length: u16, program: *mut libc::sock_filter) -> Result<(), Errno> {
    let program = libc::sock_fprog { len: length, filter: program };
    let (mode, no_flags): (c_int, c_int) = (1, 0);
    // SAFETY: the caller vouches for so many instructions.
    done(unsafe {
        libc::syscall(libc::SYS_seccomp, mode, no_flags, ptr::from_ref(&program).cast::<c_void>())
    })
}
