//! The filter of system calls, as a program for the kernel.
//!
//! Invariant: whatever is not named here is allowed; files are the business of mounts and Landlock. The filter closes
//! what those two leave open.

use libc::{c_long, sock_filter};

use crate::confinement::{Confinement, Level, Profile};

/// When a call is refused.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// The low half of this argument has one of these bits.
    Bits(u32, u32),
    /// The low half of this argument is this.
    Is(u32, u32),
    /// The low half of this argument is none of these.
    NoneOf(u32, &'static [u32]),
}

struct Rule {
    call: c_long,
    when: When,
    errno: i32,
}

/// Calls that reach beyond the confinement by themselves, or into the kernel deeper than builds and tests need.
const FORBIDDEN: &[c_long] = &[
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Calls that act on other processes, which a pid namespace hides.
const ON_OTHERS: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
];

/// Calls that change files or objects without being asked about by Landlock.
const CHANGING: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// A way around every filter; programs that would like it have another way.
const RINGS: &[c_long] = &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Requests that type into a terminal.
const TYPING: [u32; 2] = [0x5412, 0x541c];
/// Requests that change the attributes of a file opened for reading, in their forms for 32 and 64 bits.
const FLAGGING: [u32; 5] = [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4004_7602, 0x4008_7602];

// The same on all architectures; younger than the C library's headers.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const FILE_SETATTR: c_long = 469;
const OPEN_TREE_ATTR: c_long = 467;

const UNIX: u32 = 1;
const PRIVATE_FAMILIES: &[u32] = &[UNIX, 2, 10, 16];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
/// From here on calls have pointers of 32 bits, with numbers of their own.
const X32: u32 = 0x4000_0000;

/// The program for a confinement at a level.
pub(crate) fn program(confinement: &Confinement, level: Level) -> Vec<sock_filter> {
    let mut program = vec![
        load(ARCHITECTURE_AT),
        jump(EQUAL, ARCHITECTURE, 1, 0),
        refuse(libc::ENOSYS),
        load(NUMBER_AT),
        jump(AT_LEAST, X32, 0, 1),
        refuse(libc::ENOSYS),
    ];
    rules(confinement, level).iter().for_each(|rule| rule.append_to(&mut program));
    program.push(op(RETURN, 0, 0, ALLOW));
    program
}

fn rules(confinement: &Confinement, level: Level) -> Vec<Rule> {
    let always = |calls: &[c_long], errno| -> Vec<Rule> {
        calls.iter().map(|call| Rule { call: *call, when: When::Always, errno }).collect()
    };
    let one = |call, when| Rule { call, when, errno: libc::EPERM };
    let mut rules = always(FORBIDDEN, libc::EPERM);
    rules.extend(always(&[OPEN_TREE_ATTR], libc::EPERM));
    rules.extend(always(RINGS, libc::ENOSYS));
    rules.extend(TYPING.map(|request| one(libc::SYS_ioctl, When::Is(1, request))));
    let read_only = confinement.profile == Profile::ReadOnly;
    if level < Level::Namespaces {
        rules.extend(always(ON_OTHERS, libc::EPERM));
        rules.push(one(libc::SYS_prlimit64, When::NoneOf(0, &[0])));
    }
    if read_only {
        let namespace = libc::CLONE_NEWUSER.cast_unsigned();
        rules.push(one(libc::SYS_unshare, When::Bits(0, namespace)));
        rules.push(one(libc::SYS_clone, When::Bits(0, namespace)));
        // Its flags are out of a filter's sight; without it the C library uses `clone`.
        rules.extend(always(&[libc::SYS_clone3], libc::ENOSYS));
    }
    if read_only && level < Level::Namespaces {
        rules.extend(always(CHANGING, libc::EPERM));
        rules.extend(FLAGGING.map(|request| one(libc::SYS_ioctl, When::Is(1, request))));
    }
    if let Some(families) = families(confinement, level) {
        rules.push(Rule { call: libc::SYS_socket, when: When::NoneOf(0, families), errno: libc::EACCES });
    }
    rules
}

/// The kinds of socket that stay harmless; none if all are.
fn families(confinement: &Confinement, level: Level) -> Option<&'static [u32]> {
    match (confinement.denies_network(), level, confinement.profile) {
        (false, ..) => None,
        (_, Level::Namespaces, _) => Some(PRIVATE_FAMILIES),
        (_, _, Profile::ReadOnly) => Some(&[]),
        _ => Some(&[UNIX]),
    }
}

impl Rule {
    /// Expects the number of the call to be loaded and leaves it so.
    fn append_to(&self, program: &mut Vec<sock_filter>) {
        let number = u32::try_from(self.call).unwrap_or(u32::MAX);
        let mut body = match self.when {
            When::Always => vec![refuse(self.errno)],
            When::Is(argument, value) => {
                vec![load(argument_at(argument)), jump(EQUAL, value, 0, 1), refuse(self.errno)]
            }
            When::Bits(argument, bits) => {
                vec![load(argument_at(argument)), jump(ANY_BIT, bits, 0, 1), refuse(self.errno)]
            }
            When::NoneOf(argument, values) => {
                let mut body = vec![load(argument_at(argument))];
                let count = u8::try_from(values.len()).unwrap_or(0);
                body.extend(
                    (1..=count).zip(values).map(|(nth, value)| jump(EQUAL, *value, count - nth + 1, 0)),
                );
                body.push(refuse(self.errno));
                body
            }
        };
        if !matches!(self.when, When::Always) {
            body.push(load(NUMBER_AT));
        }
        program.push(jump(EQUAL, number, 0, u8::try_from(body.len()).unwrap_or(0)));
        program.append(&mut body);
    }
}

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const LOAD: u16 = 0x20;
const RETURN: u16 = 0x06;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;

/// Where the low half of an argument is.
fn argument_at(argument: u32) -> u32 {
    16 + 8 * argument
}

fn op(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn load(at: u32) -> sock_filter {
    op(LOAD, 0, 0, at)
}

fn jump(test: u16, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    op(test, if_true, if_false, value)
}

fn refuse(errno: i32) -> sock_filter {
    op(RETURN, 0, 0, ERRNO | errno.unsigned_abs())
}
