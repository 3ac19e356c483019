//! What a private network counts as out of reach. A command can print whatever it likes; these numbers are the kernel's.
//!
//! Runs where nothing may be allocated, see [`crate::supervisor`].

use std::ffi::CStr;

use rustix::fs::{Mode, OFlags};
use rustix::io::read;

/// Packets without a way, by the name of their line or column: to other machines, to a resolver on this machine that is
/// not there, and to servers of this machine.
const IN_TABLE: &[(&[u8], &[u8])] =
    &[(b"Ip:", b"OutNoRoutes"), (b"Udp:", b"NoPorts"), (b"Tcp:", b"AttemptFails")];
const IN_LINES: &[&[u8]] = &[b"Ip6OutNoRoutes", b"Udp6NoPorts"];

/// How often something was tried that the network of this process does not reach.
pub(crate) fn times() -> i32 {
    let mut buffer = [0; 8192];
    let table = contents(c"/proc/self/net/snmp", &mut buffer);
    let mut times: u64 = IN_TABLE.iter().filter_map(|(line, column)| in_table(table, line, column)).sum();
    let lines = contents(c"/proc/self/net/snmp6", &mut buffer);
    times += IN_LINES.iter().filter_map(|name| in_lines(lines, name)).sum::<u64>();
    i32::try_from(times).unwrap_or(i32::MAX)
}

fn contents<'a>(path: &CStr, buffer: &'a mut [u8]) -> &'a [u8] {
    let Ok(file) = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return &[];
    };
    let mut length = 0;
    while let Ok(more @ 1..) = read(&file, &mut buffer[length..]) {
        length += more;
    }
    &buffer[..length]
}

/// Of a table in which each line of names is followed by one of numbers.
fn in_table(table: &[u8], line: &[u8], column: &[u8]) -> Option<u64> {
    let mut lines = table.split(|byte| *byte == b'\n').filter(|text| text.starts_with(line));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = words(names).position(|name| name == column)?;
    number(words(numbers).nth(at)?)
}

/// Of lines that consist of a name and a number.
fn in_lines(text: &[u8], name: &[u8]) -> Option<u64> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let line = lines.find(|line| words(line).next() == Some(name))?;
    number(words(line).nth(1)?)
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_name() {
        let table = b"Ip: Forwarding OutNoRoutes\nIp: 1 12\nUdp: InDatagrams NoPorts\nUdp: 3 4\nTcp: a\n";
        assert_eq!(in_table(table, b"Ip:", b"OutNoRoutes"), Some(12));
        assert_eq!(in_table(table, b"Udp:", b"NoPorts"), Some(4));
        assert_eq!((in_table(table, b"Tcp:", b"a"), in_table(b"", b"Ip:", b"x")), (None, None));
        let lines = b"Ip6InReceives      5\nIp6OutNoRoutes   \t7\n";
        assert_eq!(in_lines(lines, b"Ip6OutNoRoutes"), Some(7));
        assert_eq!(
            (in_lines(lines, b"Ip6Out"), number(b"1x"), number(b"99999999999999999999")),
            (None, None, None)
        );
    }
}
