//! What a binary file seems to be, by its first bytes.

/// First bytes and what they tell.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x7fELF", "an ELF program or library"),
    (b"MZ", "a Windows program"),
    (b"\xCF\xFA\xED\xFE", "a macOS program or library"),
    (b"\xCA\xFE\xBA\xBE", "Java bytecode or a macOS program"),
    (b"\0asm", "WebAssembly"),
    (b"PK\x03\x04", "a ZIP archive (also used by office documents and jar files)"),
    (b"\x1F\x8B", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xFD7zXZ\0", "xz-compressed data"),
    (b"\x28\xB5\x2F\xFD", "zstd-compressed data"),
    (b"7z\xBC\xAF\x27\x1C", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"!<arch>", "a static library"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xFF\xD8\xFF", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\x01\0", "an icon"),
    (b"ID3", "an MP3 sound"),
    (b"OggS", "an Ogg sound or film"),
    (b"fLaC", "a FLAC sound"),
    (b"wOF2", "a font"),
    (b"wOFF", "a font"),
    (b"RIFF", "a RIFF container (WAV, AVI or WebP)"),
    (b"\xD0\xCF\x11\xE0", "an old office document"),
];

/// What the bytes seem to be.
pub(crate) fn of(bytes: &[u8]) -> &'static str {
    if bytes.get(4..8) == Some(b"ftyp") {
        return "a film or image of the MP4 family";
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return "a tar archive";
    }
    let known = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature));
    known.map_or("binary data", |(_, kind)| kind)
}
