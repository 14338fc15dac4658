//! Converts `SQLite`'s errors to those of the log.

use rusqlite::ErrorCode;

use crate::LogError;

impl From<rusqlite::Error> for LogError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
        let damaged = matches!(
            error,
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..)
        ) || matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        );
        if damaged {
            Self::Damaged(error.to_string())
        } else {
            Self::Storage(error.to_string())
        }
    }
}
