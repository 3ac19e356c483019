//! When features were last used.

use tiller_config::{Feature, note_use};

// PERM-14
#[test]
fn the_last_use_of_each_feature_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let config_dir = dir.path().join("config");
    note_use(&config_dir, Feature::PlanMode, 1).unwrap();
    note_use(&config_dir, Feature::AcceptEdits, 2).unwrap();
    note_use(&config_dir, Feature::PlanMode, 3).unwrap();
    let text = fs_err::read_to_string(config_dir.join("state.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(kept, serde_json::json!({"lastPlanModeUse": 3, "lastAcceptEditsUse": 2}));
}
