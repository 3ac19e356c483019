//! Settings, directories and switches, resolved once.
