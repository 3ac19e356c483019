//! Whether paths still lead to what they led to when a command's view was made. Between then and its start a directory
//! may have been moved away or replaced, and what was mounted on it went with it.
//!
//! Runs where nothing may be allocated, see [`crate::supervisor`].

use std::ffi::CStr;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use crate::image::Image;

/// So many paths are remembered at most.
pub(crate) const MOST: usize = 256;

/// What the paths of a view lead to.
pub(crate) struct Footing {
    places: [Place; MOST],
    count: usize,
}

/// A mount, and the file or directory in it. Nothing if there is none, or none that can be told from others.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    mount: u64,
    device: (u32, u32),
    inode: u64,
}

impl Footing {
    /// As it is now: of all that the steps of the image made, and of the directory to start in.
    #[expect(unsafe_code, reason = "the image is read through pointers")]
    pub(crate) fn of(image: &Image) -> Self {
        let mut footing = Self { places: [Place::default(); MOST], count: 0 };
        image.before.each_place(|path| footing.note(path));
        // SAFETY: strings of an image are terminated.
        footing.note(unsafe { CStr::from_ptr(image.cwd) });
        footing
    }

    /// Whether nothing has changed since. What could not be remembered counts as changed.
    pub(crate) fn holds(&self, image: &Image) -> bool {
        let now = Self::of(image);
        let counts = self.count == now.count && self.count <= MOST;
        counts && self.places[..self.count] == now.places[..now.count]
    }

    fn note(&mut self, path: &CStr) {
        if let Some(place) = self.places.get_mut(self.count) {
            *place = look(path);
        }
        self.count += 1;
    }
}

fn look(path: &CStr) -> Place {
    let wanted = StatxFlags::INO | StatxFlags::MNT_ID;
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    match statx(CWD, path, flags, wanted) {
        Ok(stat) => Place {
            mount: stat.stx_mnt_id,
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
        },
        Err(_) => Place::default(),
    }
}
