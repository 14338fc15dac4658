//! Arguments of the commands about backups.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct BackupArgs {
    /// File of the backup
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Include the owner's token, hashes of other tokens and of browsers, and the key of the certificate
    #[arg(long)]
    pub with_secrets: bool,
    /// Replace FILE if it exists
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// File of the backup
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Replace the existing data directory, which is kept beside the new one under another name
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
