//! Bytes to text and back without loss: UTF-8, UTF-16 and Latin-1, with or without byte order mark.
//!
//! Invariant: `encode(decode(bytes)) == bytes` for every input that decodes.

use encoding_rs::WINDOWS_1252;

const UTF8_BOM: &[u8] = &[0xEF, 0xBB, 0xBF];
const UTF16_LE_BOM: &[u8] = &[0xFF, 0xFE];
const UTF16_BE_BOM: &[u8] = &[0xFE, 0xFF];

/// How a file's bytes stand for characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
    Latin1,
    Windows1252,
}

/// A file's text and how it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
}

/// Why bytes are not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotText {
    #[error("it is not text")]
    Binary,
    #[error("it is UTF-8 with invalid bytes, the first on line {line}")]
    BrokenUtf8 { line: usize },
}

/// A character that the encoding does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the file is stored as {}, which has no {character:?} (U+{:04X}); use other characters or convert the file first",
    .encoding.name(), u32::from(*.character)
)]
pub(crate) struct Unencodable {
    character: char,
    encoding: Encoding,
}

impl Encoding {
    /// The name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with byte order mark",
            Self::Utf16Le => "UTF-16 (little endian)",
            Self::Utf16Be => "UTF-16 (big endian)",
            Self::Latin1 => "Latin-1",
            Self::Windows1252 => "Windows-1252",
        }
    }

    /// Text without the byte order mark that this encoding adds by itself.
    pub(crate) fn without_mark(self, text: &str) -> &str {
        match self {
            Self::Utf8Bom | Self::Utf16Le | Self::Utf16Be => text.strip_prefix('\u{FEFF}').unwrap_or(text),
            Self::Utf8 | Self::Latin1 | Self::Windows1252 => text,
        }
    }

    /// The decoder for reading piece by piece; bytes that do not decode are replaced.
    pub(crate) fn streaming(self) -> encoding_rs::Decoder {
        match self {
            Self::Utf8 | Self::Utf8Bom => encoding_rs::UTF_8.new_decoder_with_bom_removal(),
            Self::Utf16Le => encoding_rs::UTF_16LE.new_decoder_with_bom_removal(),
            Self::Utf16Be => encoding_rs::UTF_16BE.new_decoder_with_bom_removal(),
            Self::Latin1 | Self::Windows1252 => WINDOWS_1252.new_decoder_without_bom_handling(),
        }
    }

    /// Text as bytes in this encoding.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, Unencodable> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Utf8Bom => Ok([UTF8_BOM, text.as_bytes()].concat()),
            Self::Utf16Le => Ok(utf16(UTF16_LE_BOM, text, u16::to_le_bytes)),
            Self::Utf16Be => Ok(utf16(UTF16_BE_BOM, text, u16::to_be_bytes)),
            Self::Latin1 => text.chars().map(|character| self.latin1(character)).collect(),
            Self::Windows1252 => self.windows1252(text),
        }
    }

    /// The control characters 80 to 9F are left out: a file with those bytes is taken for Windows-1252.
    fn latin1(self, character: char) -> Result<u8, Unencodable> {
        match u8::try_from(u32::from(character)) {
            Ok(byte) if !(0x80..0xA0).contains(&byte) => Ok(byte),
            _ => Err(Unencodable { character, encoding: self }),
        }
    }

    fn windows1252(self, text: &str) -> Result<Vec<u8>, Unencodable> {
        let (bytes, _, lossy) = WINDOWS_1252.encode(text);
        if !lossy {
            return Ok(bytes.into_owned());
        }
        let missing =
            text.chars().find(|character| WINDOWS_1252.encode(character.encode_utf8(&mut [0; 4])).2);
        Err(Unencodable { character: missing.unwrap_or(char::REPLACEMENT_CHARACTER), encoding: self })
    }
}

fn utf16(bom: &[u8], text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    bom.iter().copied().chain(text.encode_utf16().flat_map(bytes)).collect()
}

/// The text of a whole file.
pub(crate) fn decode(bytes: &[u8]) -> Result<Decoded, NotText> {
    let encoding = detect(bytes, Extent::Whole)?;
    let text = match encoding {
        Encoding::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
        Encoding::Utf8Bom => std::str::from_utf8(&bytes[UTF8_BOM.len()..]).ok().map(str::to_owned),
        Encoding::Utf16Le => from_utf16(&bytes[2..], u16::from_le_bytes),
        Encoding::Utf16Be => from_utf16(&bytes[2..], u16::from_be_bytes),
        Encoding::Latin1 | Encoding::Windows1252 => {
            Some(WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned())
        }
    };
    text.map(|text| Decoded { text, encoding }).ok_or(NotText::Binary)
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, []) = bytes.as_chunks::<2>() else { return None };
    let text: Result<String, _> = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect();
    text.ok().filter(|text| !text.contains('\0'))
}

/// Whether all of a file was looked at, or its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    Beginning,
}

/// How a file is stored, judged by all of it or its beginning.
pub(crate) fn detect(bytes: &[u8], extent: Extent) -> Result<Encoding, NotText> {
    if bytes.starts_with(UTF16_LE_BOM) {
        return Ok(Encoding::Utf16Le);
    }
    if bytes.starts_with(UTF16_BE_BOM) {
        return Ok(Encoding::Utf16Be);
    }
    if bytes.contains(&0) {
        return Err(NotText::Binary);
    }
    let utf8 = if bytes.starts_with(UTF8_BOM) { Encoding::Utf8Bom } else { Encoding::Utf8 };
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(utf8),
        Err(error) if extent == Extent::Beginning && error.error_len().is_none() => Ok(utf8),
        Err(error) => detect_single_byte(bytes, error.valid_up_to()),
    }
}

fn detect_single_byte(bytes: &[u8], first_invalid: usize) -> Result<Encoding, NotText> {
    let control = |byte: &&u8| **byte < 0x20 && !b"\t\n\r\x08\x0C\x1B".contains(byte);
    if bytes.iter().filter(control).count() * 100 > bytes.len() {
        return Err(NotText::Binary);
    }
    let wide: usize =
        bytes.utf8_chunks().map(|chunk| chunk.valid().chars().filter(|c| !c.is_ascii()).count()).sum();
    let invalid = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    if wide > invalid || bytes.starts_with(UTF8_BOM) {
        let line = 1 + bytes[..first_invalid].iter().filter(|byte| **byte == b'\n').count();
        return Err(NotText::BrokenUtf8 { line });
    }
    let extended = bytes.iter().any(|byte| (0x80..0xA0).contains(byte));
    Ok(if extended { Encoding::Windows1252 } else { Encoding::Latin1 })
}

/// How lines end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    /// How most lines of a text end.
    pub(crate) fn of(text: &str) -> Self {
        let crlf = text.matches("\r\n").count();
        if crlf * 2 > text.matches('\n').count() { Self::CrLf } else { Self::Lf }
    }

    /// The characters.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }

    /// Text with bare line feeds written this way; carriage returns that are there stay.
    pub(crate) fn adapt(self, text: &str) -> String {
        match self {
            Self::Lf => text.to_owned(),
            Self::CrLf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bytes: &[u8], text: &str, encoding: Encoding) {
        let decoded = decode(bytes).unwrap();
        assert_eq!((decoded.text.as_str(), decoded.encoding), (text, encoding));
        assert_eq!(encoding.encode(text).unwrap(), bytes);
    }

    #[test]
    fn encodings_are_told_apart() {
        check("naïve\n".as_bytes(), "naïve\n", Encoding::Utf8);
        check(b"\xEF\xBB\xBFx", "x", Encoding::Utf8Bom);
        check(b"\xFF\xFEa\0\r\0\n\0", "a\r\n", Encoding::Utf16Le);
        check(b"\xFE\xFF\0a", "a", Encoding::Utf16Be);
        check(b"na\xEFve caf\xE9", "naïve café", Encoding::Latin1);
        check(b"\x93na\xEFve\x94", "“naïve”", Encoding::Windows1252);
        check(b"", "", Encoding::Utf8);
    }

    #[test]
    fn what_is_not_text_is_refused() {
        assert_eq!(decode(b"\x7fELF\0\0"), Err(NotText::Binary));
        assert_eq!(decode(b"\xFF\xFEa"), Err(NotText::Binary));
        assert_eq!(decode(b"\xFF\xFE\x00\xD8"), Err(NotText::Binary));
        assert_eq!(decode(&(1..=255).rev().collect::<Vec<u8>>()), Err(NotText::Binary));
        let broken = [("é".repeat(20) + "\n").as_bytes(), b"\xFF"].concat();
        assert_eq!(decode(&broken), Err(NotText::BrokenUtf8 { line: 2 }));
    }

    // EDIT-02
    #[test]
    fn characters_an_encoding_lacks_are_refused() {
        assert!(Encoding::Latin1.encode("10 €").unwrap_err().to_string().contains("'€' (U+20AC)"));
        assert!(Encoding::Windows1252.encode("10 €").is_ok());
        assert!(Encoding::Windows1252.encode("λ").is_err());
    }

    #[test]
    fn a_cut_character_at_the_end_of_a_sample_is_still_utf8() {
        assert_eq!(detect(&"é".as_bytes()[..1], Extent::Beginning), Ok(Encoding::Utf8));
        assert_eq!(detect(&"é".as_bytes()[..1], Extent::Whole), Ok(Encoding::Latin1));
    }

    proptest! {
        // EDIT-02
        #[test]
        fn decoding_loses_nothing(bytes: Vec<u8>) {
            if let Ok(Decoded { text, encoding }) = decode(&bytes) {
                prop_assert_eq!(encoding.encode(&text).unwrap(), bytes);
            }
        }

        // EDIT-02
        #[test]
        fn every_single_byte_text_survives(bytes in proptest::collection::vec(prop_oneof![0x20_u8..0x7F, 0x80_u8..=0xFF], 0..200)) {
            if let Ok(Decoded { text, encoding }) = decode(&bytes) {
                prop_assert_eq!(encoding.encode(&text).unwrap(), bytes);
            }
        }

        // EDIT-02
        #[test]
        fn utf16_survives(text in "[^\0]*", big: bool) {
            let encoding = if big { Encoding::Utf16Be } else { Encoding::Utf16Le };
            let bytes = encoding.encode(&text).unwrap();
            prop_assert_eq!(decode(&bytes), Ok(Decoded { text, encoding }));
        }
    }
}
