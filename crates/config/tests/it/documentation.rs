//! The documentation says what the definitions say.

use std::path::Path;

#[test]
fn the_table_of_settings_is_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let document = fs_err::read_to_string(path).unwrap();
    let table = tiller_config::reference();
    assert!(document.contains(&table), "put this table into docs/configuration.md:\n\n{table}");
}
