//! Reads the text of the configuration file.

use std::path::Path;

use super::error::ConfigError;
use super::file::File;
use super::mistakes::mistakes;
use super::paths::Folder;

impl File {
    /// Parses the text of the file at `path`, and makes its paths absolute.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let deserializer =
            toml::Deserializer::parse(text).map_err(|error| ConfigError::syntax(path, text, &error))?;
        let read = serde_path_to_error::deserialize(deserializer);
        let mut file: Self = read.map_err(|error| {
            // The deserializer reads tables by their names, and the user reads the file from its beginning.
            let first = mistakes(path, text).into_iter().next();
            first.unwrap_or_else(|| ConfigError::value(path, text, &error))
        })?;
        if let Some(problem) = file.problems().into_iter().next() {
            return Err(ConfigError::meaning(path, problem));
        }
        file.resolve_paths(&Folder::of(path));
        Ok(file)
    }
}
