//! The file system as a command in namespaces sees it: everything read-only, with a few devices and its own processes,
//! and on top of it either throw-away layers or the places that may be written.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::apply::{FIRST_FD, LAST_FD, LAYERS_FD};
use super::layer::Lease;
use super::mounts::Mount;
use super::places::Places;
use super::sockets;
use super::step::{Reach, Step, c_path};
use crate::confinement::{Profile, TEMPORARY, Temporary};
use crate::error::SandboxError;

const READ_ONLY: u64 = 1;
const NO_SUID: u64 = 2;
const NO_DEVICES: u64 = 4;

const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// What root could change the whole machine with.
const MACHINE: &[&str] =
    &["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"];
/// Directories that are replaced by an empty, private one when read-only: for temporary files, and for sockets.
const COVERED: &[&str] = &["/tmp", "/var/tmp", "/run"];
/// What no layer is laid over.
const OF_THE_SYSTEM: &[&str] = &["/proc", "/sys", "/dev"];

/// The steps that make the view, and the directories over which kept layers are laid.
pub(crate) fn steps(
    profile: Profile,
    places: &Places,
    layers: Option<&Lease>,
    mounts: Vec<Mount>,
) -> Result<(Vec<Step>, Vec<PathBuf>), SandboxError> {
    let mut view = View { places, layers, mounts, steps: Vec::new(), next_fd: FIRST_FD, layered: Vec::new() };
    view.mount("none", "/", "", libc::MS_REC | libc::MS_PRIVATE, "")?;
    match profile {
        Profile::ReadOnly => view.throw_away()?,
        Profile::Workspace | Profile::Full => view.workspace()?,
    }
    view.mask_denied()?;
    view.steps.push(Step::Close);
    Ok((view.steps, view.layered))
}

/// What makes a view fit for a command that only looks, when it is there already: mounts of their own are closed, and
/// those that stay open may lie in them.
pub(crate) fn closing(places: &Places) -> Result<Vec<Step>, SandboxError> {
    let open: Vec<&PathBuf> = places.open_to_looking().collect();
    let closed = places.writable.iter().filter(|dir| !open.contains(dir));
    let close = closed.map(|dir| (dir, READ_ONLY, 0, Reach::Tree));
    let open_again = open.iter().map(|dir| (*dir, 0, READ_ONLY, Reach::Mount));
    let step = |(dir, set, clear, reach)| Ok(Step::Attributes { path: c_path(dir)?, set, clear, reach });
    close.chain(open_again).map(step).collect()
}

struct View<'a> {
    places: &'a Places,
    /// Where layers over caches are kept.
    layers: Option<&'a Lease>,
    mounts: Vec<Mount>,
    steps: Vec<Step>,
    next_fd: RawFd,
    /// Where kept layers are laid.
    layered: Vec<PathBuf>,
}

/// What is special about a path in a workspace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// What is written there stays.
    Writable,
    /// As around it, but it cannot be moved away.
    OnTheWay,
    /// It stays as it is.
    Protected,
}

impl View<'_> {
    fn throw_away(&mut self) -> Result<(), SandboxError> {
        let targets = self.layer_targets(&self.places.layered);
        let covers: Vec<PathBuf> = COVERED.iter().map(PathBuf::from).filter(|dir| is_real_dir(dir)).collect();
        let devices = self.open_devices()?;
        let scratch = self
            .places
            .scratch
            .clone()
            .map(|dir| Ok::<_, SandboxError>((self.open(&dir)?, dir)))
            .transpose()?;
        let lowers = targets.iter().map(|target| self.open(target)).collect::<Result<Vec<_>, _>>()?;
        self.close_the_tree()?;
        self.base(devices, &targets)?;
        let mut layers: Vec<(&Path, Option<usize>)> =
            covers.iter().map(|dir| (dir.as_path(), None)).collect();
        layers.extend(targets.iter().enumerate().map(|(index, dir)| (dir.as_path(), Some(index))));
        layers.sort();
        for (dir, layer) in layers {
            self.make_below(&covers, dir)?;
            match layer {
                None => self.cover(dir)?,
                Some(index) => self.overlay(dir, lowers[index], index, None)?,
            }
        }
        for dir in &self.places.expected {
            self.make_below(&covers, dir)?;
        }
        if let Some((fd, dir)) = scratch {
            self.make_below(&covers, &dir)?;
            self.mount(fd_path(fd), &dir, "", libc::MS_BIND, "")?;
            self.attributes(&dir, 0, READ_ONLY, Reach::Mount)?;
        }
        let private: Vec<PathBuf> = covers.into_iter().chain(targets).collect();
        self.mask_sockets(&private)
    }

    fn workspace(&mut self) -> Result<(), SandboxError> {
        let caches = self.layer_targets(&self.places.caches);
        let lowers = caches.iter().map(|cache| self.open(cache)).collect::<Result<Vec<_>, _>>()?;
        let covers = self.private_dirs();
        let is_hidden = |dir: &&PathBuf| caches.iter().chain(&covers).any(|over| dir.starts_with(over));
        let mut hidden = BTreeMap::new();
        for dir in self.places.writable.iter().filter(is_hidden) {
            hidden.insert(dir.clone(), self.open(dir)?);
        }
        let devices = self.open_devices()?;
        self.close_the_tree()?;
        self.base(devices, &caches)?;
        covers.iter().try_for_each(|dir| self.cover(dir))?;
        hidden.keys().try_for_each(|dir| self.make_below(&covers, dir))?;
        let is_behind = |path: &Path| caches.iter().any(|cache| path.starts_with(cache));
        let (behind, others): (Vec<_>, Vec<_>) =
            self.marks().into_iter().partition(|(path, _)| is_behind(path));
        // What is closed around a cache must not close its layer; what is special inside of it lies upon the layer.
        for (path, mark) in &others {
            self.make_special(path, *mark, hidden.get(path).copied())?;
        }
        self.lay_over(&caches, &lowers)?;
        for (path, mark) in &behind {
            self.make_special(path, *mark, hidden.get(path).copied())?;
        }
        let reachable = [self.places.roots.clone(), self.places.sockets.clone(), covers].concat();
        self.mask_sockets(&reachable)
    }

    /// Temporary directories in whose place the command gets empty ones.
    fn private_dirs(&self) -> Vec<PathBuf> {
        let private = TEMPORARY.iter().filter(|_| self.places.temporary == Temporary::Private);
        private.map(PathBuf::from).filter(|dir| is_real_dir(dir)).collect()
    }

    fn make_special(&mut self, path: &Path, mark: Mark, real: Option<RawFd>) -> Result<(), SandboxError> {
        if mark == Mark::Writable {
            return self.open_up(path, real);
        }
        self.mount(path, path, "", libc::MS_BIND | libc::MS_REC, "")?;
        match mark {
            Mark::Protected => self.attributes(path, READ_ONLY, 0, Reach::Tree),
            Mark::OnTheWay | Mark::Writable => Ok(()),
        }
    }

    /// Layers over caches, kept where the next command finds them if that is possible.
    fn lay_over(&mut self, caches: &[PathBuf], lowers: &[RawFd]) -> Result<(), SandboxError> {
        let kept = match self.layers.filter(|_| !caches.is_empty()) {
            None => None,
            Some(lease) => {
                let dir = lease.dir();
                self.mount(dir, dir, "", libc::MS_BIND, "")?;
                self.attributes(dir, 0, READ_ONLY, Reach::Mount)?;
                Some((lease, self.open(dir)?))
            }
        };
        for (index, (cache, lower)) in caches.iter().zip(lowers).enumerate() {
            let layer = kept.map(|(_, fd)| (fd, Lease::name_for(cache)));
            self.layered.extend(kept.map(|_| cache.clone()));
            self.overlay(cache, *lower, index, layer)?;
        }
        if let Some((lease, _)) = kept {
            self.attributes(lease.dir(), READ_ONLY, 0, Reach::Mount)?;
        }
        Ok(())
    }

    /// Makes a directory writable, with what is mounted in it and was writable before.
    fn open_up(&mut self, dir: &Path, source: Option<RawFd>) -> Result<(), SandboxError> {
        let source = source.map_or_else(|| dir.to_owned(), |fd| PathBuf::from(fd_path(fd)));
        self.mount(source, dir, "", libc::MS_BIND | libc::MS_REC, "")?;
        self.attributes(dir, 0, READ_ONLY, Reach::Mount)?;
        let inside: Vec<PathBuf> =
            self.mounts_below(dir).filter(|mount| mount.writable).map(|mount| mount.at.clone()).collect();
        inside.into_iter().try_for_each(|at| self.attributes(&at, 0, READ_ONLY, Reach::Mount))
    }

    /// What is special, outermost first: of two marks on the way to a file, the inner one counts.
    fn marks(&self) -> Vec<(PathBuf, Mark)> {
        let writable = &self.places.writable;
        let is_inside = |path: &&PathBuf| writable.iter().any(|dir| path.starts_with(dir));
        let mut marks: BTreeMap<PathBuf, Mark> = BTreeMap::new();
        marks.extend(self.on_the_way().map(|dir| (dir.to_owned(), Mark::OnTheWay)));
        marks.extend(writable.iter().map(|dir| (dir.clone(), Mark::Writable)));
        let protected = self.places.protected.iter().filter(is_inside);
        marks.extend(protected.map(|path| (path.clone(), Mark::Protected)));
        marks.into_iter().collect()
    }

    /// The directories on the way to what is protected or denied become mounts: what is a mount cannot be renamed,
    /// nor replaced by something that is neither.
    fn on_the_way(&self) -> impl Iterator<Item = &Path> {
        self.places.protected.iter().chain(&self.places.denied).flat_map(|path| {
            let root = self.places.writable.iter().filter(|dir| path.starts_with(dir)).min();
            let way = root.map(|root| path.ancestors().skip(1).take_while(move |dir| *dir != root.as_path()));
            way.into_iter().flatten()
        })
    }

    fn close_the_tree(&mut self) -> Result<(), SandboxError> {
        self.attributes("/", READ_ONLY | NO_SUID | NO_DEVICES, 0, Reach::Tree)
    }

    /// Devices, processes, and the place for the upper layers, which nobody sees.
    fn base(&mut self, devices: Vec<(&'static str, RawFd)>, layered: &[PathBuf]) -> Result<(), SandboxError> {
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        self.mount("layers", "/dev", "tmpfs", flags, "mode=0700")?;
        for (index, dir) in layered.iter().enumerate() {
            let meta = fs_err::metadata(dir)?;
            let upper = format!("/dev/{index}u");
            self.dir(&upper, meta.mode() & 0o7777)?;
            self.steps.push(Step::Owner { path: c_path(upper)?, user: meta.uid(), group: meta.gid() });
            self.dir(format!("/dev/{index}w"), 0o700)?;
        }
        self.file("/dev/void", 0)?;
        self.dir("/dev/nothing", 0)?;
        self.mount("/dev/nothing", "/dev/nothing", "", libc::MS_BIND, "")?;
        self.attributes("/dev/nothing", READ_ONLY, 0, Reach::Mount)?;
        self.steps.push(Step::Open { path: c_path("/dev")?, fd: LAYERS_FD });
        self.mount("dev", "/dev", "tmpfs", libc::MS_NOSUID, "mode=0755")?;
        for (name, fd) in devices {
            let at = Path::new("/dev").join(name);
            self.file(&at, 0o666)?;
            self.mount(fd_path(fd), &at, "", libc::MS_BIND, "")?;
        }
        self.attributes("/dev", 0, NO_DEVICES, Reach::Tree)?;
        self.dir("/dev/shm", 0o1777)?;
        self.dir("/dev/pts", 0o755)?;
        self.mount(
            "devpts",
            "/dev/pts",
            "devpts",
            libc::MS_NOSUID | libc::MS_NOEXEC,
            "newinstance,ptmxmode=0666,mode=0620",
        )?;
        for (name, to) in DEVICE_LINKS {
            self.link(to, Path::new("/dev").join(name))?;
        }
        self.mount("proc", "/proc", "proc", flags | libc::MS_NOEXEC, "")?;
        self.guard_machine()
    }

    fn guard_machine(&mut self) -> Result<(), SandboxError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        static PRESENT: OnceLock<Vec<&str>> = OnceLock::new();
        // Which of them there are is a matter of the kernel.
        let present = || MACHINE.iter().copied().filter(|path| Path::new(path).exists()).collect();
        for path in PRESENT.get_or_init(present) {
            self.mount(path, path, "", libc::MS_BIND, "")?;
            self.attributes(path, READ_ONLY, 0, Reach::Mount)?;
        }
        Ok(())
    }

    /// An empty directory, except for symbolic links: some systems are reached through links in `/run`.
    fn cover(&mut self, dir: &Path) -> Result<(), SandboxError> {
        let is_run = dir == Path::new("/run");
        let mode = if is_run { "mode=0755" } else { "mode=1777" };
        self.mount("private", dir, "tmpfs", libc::MS_NOSUID | libc::MS_NODEV, mode)?;
        for entry in fs_err::read_dir(dir).into_iter().flatten().flatten().filter(|_| is_run) {
            if let Ok(to) = fs_err::read_link(entry.path()) {
                self.link(to, entry.path())?;
            }
        }
        Ok(())
    }

    /// Lays a layer over a directory: a kept one, or one in memory.
    fn overlay(
        &mut self,
        dir: &Path,
        lower: RawFd,
        index: usize,
        kept: Option<(RawFd, String)>,
    ) -> Result<(), SandboxError> {
        let lower = fd_path(lower);
        let options = |fd, name: &str| {
            let layers = fd_path(fd);
            format!("lowerdir={lower},upperdir={layers}/{name}u,workdir={layers}/{name}w,userxattr")
        };
        // What is in a cache may be lost in a crash of the machine; without this, each command would end by waiting for
        // the whole disk.
        let kept = kept.map(|(fd, name)| options(fd, &name) + ",volatile").unwrap_or_default();
        let (data, otherwise) = (c_path(kept)?, c_path(options(LAYERS_FD, &index.to_string()))?);
        self.steps.push(Step::Overlay {
            target: c_path(dir)?,
            data,
            otherwise,
            needed: self.places.must_layer,
        });
        Ok(())
    }

    /// Makes a directory, and those on the way to it, in the covered directory it lies in, if any.
    fn make_below(&mut self, covers: &[PathBuf], dir: &Path) -> Result<(), SandboxError> {
        let Some(cover) = covers.iter().find(|cover| dir.starts_with(cover)) else { return Ok(()) };
        let way: Vec<&Path> = dir.ancestors().take_while(|at| at != cover).collect();
        way.into_iter().rev().try_for_each(|at| self.dir(at, 0o755))
    }

    /// Where layers are laid: a file system below which others are mounted cannot be a lower layer, so there it is
    /// done one level deeper.
    fn layer_targets(&self, dirs: &[PathBuf]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for dir in dirs.iter().filter(|dir| !COVERED.iter().any(|cover| *dir == Path::new(cover))) {
            self.split(dir, &mut found);
        }
        found.sort();
        found.dedup();
        let covered_since = |above: &Path, dir: &Path| {
            COVERED.iter().any(|cover| Path::new(cover).starts_with(above) && dir.starts_with(cover))
        };
        let mut targets: Vec<PathBuf> = Vec::new();
        for dir in found {
            if !targets.iter().any(|above| dir.starts_with(above) && !covered_since(above, &dir)) {
                targets.push(dir);
            }
        }
        targets.truncate(usize::try_from(LAST_FD - FIRST_FD).unwrap_or(0) - DEVICES.len() - 1);
        targets
    }

    fn split(&self, dir: &Path, targets: &mut Vec<PathBuf>) {
        if OF_THE_SYSTEM.iter().any(|system| dir.starts_with(system)) || !is_real_dir(dir) {
            return;
        }
        if self.mounts_below(dir).next().is_none() {
            targets.push(dir.to_owned());
            return;
        }
        for entry in fs_err::read_dir(dir).into_iter().flatten().flatten() {
            self.split(&entry.path(), targets);
        }
    }

    fn mounts_below<'a>(&'a self, dir: &'a Path) -> impl Iterator<Item = &'a Mount> {
        self.mounts.iter().filter(move |mount| mount.at.starts_with(dir) && mount.at != dir)
    }

    fn mask_denied(&mut self) -> Result<(), SandboxError> {
        self.places.denied.iter().try_for_each(|path| self.mask(path))
    }

    /// A socket is reached through its path even on a read-only mount, and from another network namespace.
    fn mask_sockets(&mut self, except: &[PathBuf]) -> Result<(), SandboxError> {
        let sockets = sockets::reachable(&self.places.resolver, &self.places.socket_dirs, &self.mounts);
        let outside = sockets.iter().filter(|path| !except.iter().any(|dir| path.starts_with(dir)));
        outside.into_iter().try_for_each(|path| self.mask(path))
    }

    /// Puts something empty that nobody may read in the place of a file or directory.
    fn mask(&mut self, path: &Path) -> Result<(), SandboxError> {
        let name = if path.is_dir() { "nothing" } else { "void" };
        let empty = c_path(format!("{}/{name}", fd_path(LAYERS_FD)))?;
        self.steps.push(Step::Mask { empty, path: c_path(path)? });
        Ok(())
    }

    fn open_devices(&mut self) -> Result<Vec<(&'static str, RawFd)>, SandboxError> {
        let present = DEVICES.iter().filter(|name| Path::new("/dev").join(name).exists());
        present.map(|name| Ok((*name, self.open(&Path::new("/dev").join(name))?))).collect()
    }

    fn open(&mut self, path: &Path) -> Result<RawFd, SandboxError> {
        let fd = self.next_fd;
        self.next_fd += 1;
        self.steps.push(Step::Open { path: c_path(path)?, fd });
        Ok(fd)
    }

    fn mount(
        &mut self,
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        kind: &str,
        flags: u64,
        data: &str,
    ) -> Result<(), SandboxError> {
        let (source, target) = (c_path(source)?, c_path(target)?);
        self.steps.push(Step::Mount { source, target, kind: c_path(kind)?, flags, data: c_path(data)? });
        Ok(())
    }

    fn attributes(
        &mut self,
        path: impl AsRef<Path>,
        set: u64,
        clear: u64,
        reach: Reach,
    ) -> Result<(), SandboxError> {
        self.steps.push(Step::Attributes { path: c_path(path)?, set, clear, reach });
        Ok(())
    }

    fn dir(&mut self, path: impl AsRef<Path>, mode: u32) -> Result<(), SandboxError> {
        self.steps.push(Step::Dir { path: c_path(path)?, mode });
        Ok(())
    }

    fn file(&mut self, path: impl AsRef<Path>, mode: u32) -> Result<(), SandboxError> {
        self.steps.push(Step::File { path: c_path(path)?, mode });
        Ok(())
    }

    fn link(&mut self, to: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<(), SandboxError> {
        self.steps.push(Step::Link { to: c_path(to)?, path: c_path(path)? });
        Ok(())
    }
}

fn fd_path(fd: RawFd) -> String {
    format!("/proc/self/fd/{fd}")
}

fn is_real_dir(path: &Path) -> bool {
    fs_err::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}
