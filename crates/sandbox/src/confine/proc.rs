//! Files that the kernel writes while they are read.

use std::io::{self, ErrorKind, Read};

/// More than most of them hold: their size is not known before, and each further read costs as much as the first.
const ROOM: usize = 16 << 10;

/// All of a file.
pub(crate) fn read(path: &str) -> io::Result<Vec<u8>> {
    read_open(&mut fs_err::File::open(path)?)
}

/// The rest of an open file.
pub(crate) fn read_open(file: &mut fs_err::File) -> io::Result<Vec<u8>> {
    let mut content = vec![0; ROOM];
    let mut length = 0;
    loop {
        match file.read(&mut content[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if content.len() - length < ROOM / 2 {
            content.resize(content.len() * 2, 0);
        }
    }
    content.truncate(length);
    Ok(content)
}
