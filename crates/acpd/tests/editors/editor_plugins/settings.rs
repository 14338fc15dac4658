//! The command line in a plugin's settings.
//!
//! In: a document, or what `acpd editors install` prints. Out: the words of the command line. Never: understands more
//! Lua than these settings have.

/// Returns the command line in the settings that begin with `start`.
pub fn command_line(text: &str, start: &str) -> Vec<String> {
    let (_, rest) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("there are no settings with {start}:\n{text}"));
    let (settings, _) = rest.split_once("\n})").expect("the settings end");
    if let Some(all) = after(settings, "default") {
        return list(all);
    }
    let program = after(settings, "command").expect("the settings have a command");
    let (program, _) = program.split_once(',').expect("there is more than the command");
    let program: String = serde_json::from_str(program).expect("the command is a text");
    let args = after(settings, "args").expect("the settings have arguments");
    let mut line = vec![program];
    line.extend(list(args));
    line
}

/// Returns the text behind `name = `.
fn after<'t>(settings: &'t str, name: &str) -> Option<&'t str> {
    let (_, value) = settings.split_once(&format!(" {name} = "))?;
    Some(value)
}

/// Reads a list of texts at the start of `value`.
fn list(value: &str) -> Vec<String> {
    let inner = value
        .strip_prefix('{')
        .and_then(|inner| inner.split_once('}'))
        .map_or_else(|| panic!("not a list: {value}"), |(inner, _)| inner);
    serde_json::from_str(&format!("[{inner}]")).unwrap_or_else(|error| panic!("{error}: {inner}"))
}
