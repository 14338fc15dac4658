//! What each preset says.

use acpd_proto::policy::{Effect, Layers, Preset};

use crate::table::{effect, policy, request};

#[test]
fn policy_presets_say_what_is_written_about_them() {
    // permissive, standard, restricted, readonly
    let rows = [
        ("read a", "allow allow allow allow"),
        ("search src", "allow allow allow allow"),
        ("read /etc/passwd", "allow ask deny deny"),
        ("read ../x", "allow ask deny deny"),
        ("kind think", "allow allow allow allow"),
        ("edit a", "allow ask ask deny"),
        ("delete a", "allow ask ask deny"),
        ("move a", "allow ask ask deny"),
        ("edit /etc/passwd", "allow ask deny deny"),
        ("$ git status", "allow ask ask deny"),
        ("$ eval $X", "allow ask ask deny"),
        ("$ echo x > y", "allow ask ask deny"),
        ("fetch https://example.com", "allow ask deny deny"),
        ("mcp a b", "allow ask deny deny"),
        ("kind switch_mode", "allow ask deny deny"),
        ("kind other", "allow ask deny deny"),
        (r#"call {"kind":"other"}"#, "allow ask ask deny"),
        (r#"call {"kind":"execute"}"#, "allow ask ask deny"),
        (r#"call {"kind":"read"}"#, "allow ask ask ask"),
        (r#"call {"kind":"edit"}"#, "allow ask ask deny"),
    ];
    for (asked, expected) in rows {
        for (preset, expected) in Preset::ALL.into_iter().zip(expected.split(' ')) {
            let policy = preset.into();
            let layers = Layers {
                daemon: Some(&policy),
                ..Layers::default()
            };
            let decision = layers.decide(&request(asked));
            assert_eq!(
                decision.effect,
                effect(expected),
                "{}: {asked}: {}",
                preset.name(),
                decision.reason
            );
        }
    }
}

#[test]
fn policy_presets_have_all_their_rules() {
    let counts = Preset::ALL.map(|preset| {
        let policy = preset.policy();
        (policy.deny.len(), policy.ask.len(), policy.allow.len())
    });
    assert_eq!(counts, [(0, 0, 0), (0, 0, 2), (0, 4, 2), (5, 0, 2)]);
    for preset in Preset::ALL {
        assert_eq!(Preset::named(preset.name()), Some(preset));
        assert_eq!(policy(&format!("base {}", preset.name())).base, Some(preset));
    }
}

/// The web UI holds its own words against that table.
#[test]
fn the_table_in_the_documents_says_what_becomes_of_all_else() {
    let written = include_str!("../../../../docs/policy.md");
    let table = written
        .split("| Preset | Allows | Asks | Denies |\n")
        .nth(1)
        .unwrap();
    let rows = table.lines().skip(1).take_while(|row| row.starts_with('|'));
    let effects = [Effect::Allow, Effect::Ask, Effect::Deny];
    let told: Vec<(&str, Effect)> = rows
        .map(|row| {
            let mut cells = row.split('|').skip(1).map(str::trim);
            let name = cells.next().unwrap().trim_matches('`');
            let rest = cells.position(|cell| cell.starts_with("everything")).unwrap();
            (name, effects[rest])
        })
        .collect();
    let held = Preset::ALL.map(|preset| (preset.name(), preset.policy().default.unwrap()));
    assert_eq!(told, held);
}
