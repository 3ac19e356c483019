//! Where a sequence stands in another one, in a time that grows with both and not with their product: files repeat
//! themselves, and so do the texts that models send (Knuth, Morris and Pratt).

/// For each item of `text`, how many items of the beginning of `wanted` end there.
pub(super) fn matched<T: PartialEq>(text: &[T], wanted: &[T]) -> impl Iterator<Item = usize> {
    let borders = borders(wanted);
    let mut length = 0;
    text.iter().map(move |item| {
        while length > 0 && wanted.get(length) != Some(item) {
            length = borders[length - 1];
        }
        length += usize::from(wanted.get(length) == Some(item));
        length
    })
}

/// For each beginning of `wanted`, how long the longest shorter beginning is that it ends with.
fn borders<T: PartialEq>(wanted: &[T]) -> Vec<usize> {
    let mut borders = vec![0; wanted.len()];
    for at in 1..wanted.len() {
        let mut length = borders[at - 1];
        while length > 0 && wanted[length] != wanted[at] {
            length = borders[length - 1];
        }
        borders[at] = length + usize::from(wanted[length] == wanted[at]);
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_is_found_where_it_ends() {
        let lengths = |text: &str, wanted: &str| -> Vec<usize> {
            matched(text.as_bytes(), wanted.as_bytes()).collect()
        };
        assert_eq!(lengths("aaaa", "aa"), [1, 2, 2, 2]);
        assert_eq!(lengths("ababac", "abac"), [1, 2, 3, 2, 3, 4]);
        assert_eq!(lengths("xyz", "a"), [0, 0, 0]);
        assert_eq!(lengths("xyz", ""), [0, 0, 0]);
    }
}
