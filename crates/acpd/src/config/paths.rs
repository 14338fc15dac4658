//! Paths of the configuration file.

use std::path::{Path, PathBuf};

use acpd_model::section::Folder;
use toml::de::DeTable;

/// Returns the directory of this file.
pub fn folder_of(file: &Path) -> Folder {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let path = file.parent().unwrap_or(Path::new("/"));
    Folder::new(path.to_owned(), std::env::home_dir())
}

/// Returns the data directory that a file names, even if other parts of the file are wrong.
pub fn data_dir_of(path: &Path, text: &str) -> Option<PathBuf> {
    let (table, _) = DeTable::parse_recoverable(text);
    let dir = table.get_ref().get("data_dir")?.get_ref().as_str()?;
    (!dir.is_empty()).then(|| folder_of(path).resolve(Path::new(dir)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/etc/acpd/config.toml";

    #[test]
    fn a_wrong_file_still_names_its_data_directory() {
        for text in ["data_dir = 'd'\n[policy", "nonsense = 1\ndata_dir = 'd'"] {
            let dir = data_dir_of(Path::new(PATH), text);
            assert_eq!(dir.as_deref(), Some(Path::new("/etc/acpd/d")), "{text}");
        }
        for text in ["data_dir = 1", "data_dir = ''", "data_dir = ''\n[policy", ""] {
            assert_eq!(data_dir_of(Path::new(PATH), text), None, "{text}");
        }
    }
}
