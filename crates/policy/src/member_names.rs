//! Names of the members of a tool call's input.
//!
//! In: nothing. Out: the names that agents use for the same member. Never: leaves another list of the same names
//! elsewhere.

/// Members that contain a command: a line, or a program with its arguments.
pub const COMMANDS: [&str; 4] = ["command", "cmd", "commandLine", "command_line"];

/// Members that belong to a command.
pub const ARGUMENTS: [&str; 2] = ["args", "env"];

/// Members that contain the working directory of a command.
pub const DIRECTORIES: [&str; 5] = [
    "cwd",
    "workdir",
    "working_directory",
    "workingDirectory",
    "dir_path",
];

/// Members that contain code, or a command in an unsupported form.
pub const CODE: [&str; 9] = [
    "code",
    "script",
    "shell",
    "bash",
    "shell_command",
    "shellCommand",
    "argv",
    "chars",
    "program",
];

/// Members that contain a path, or a list of paths.
pub const PATHS: [&str; 24] = [
    "path",
    "file_path",
    "filePath",
    "filepath",
    "abs_path",
    "absPath",
    "absolute_path",
    "notebook_path",
    "notebookPath",
    "target_file",
    "targetFile",
    "file",
    "filename",
    "old_path",
    "new_path",
    "oldPath",
    "newPath",
    "source_path",
    "destination_path",
    "paths",
    "files",
    "file_paths",
    "filePaths",
    "absolutePath",
];

/// Members that contain the directory to list or search.
pub const SEARCHED: [&str; 1] = ["dir_path"];

/// Members that contain patterns of file names, or in other tools a text to look for.
pub const PATTERNS: [&str; 2] = ["pattern", "query"];

/// Members that contain patterns of file names, which some tools split at commas and blanks.
pub const GLOBS: [&str; 5] = ["glob", "include", "include_pattern", "file_glob", "file_pattern"];

/// Members that contain a path in a move.
pub const MOVES: [&str; 9] = [
    "source",
    "destination",
    "src",
    "dst",
    "dest",
    "from",
    "to",
    "target",
    "uri",
];

/// Members that contain the destination of a move.
pub const DESTINATIONS: [&str; 6] = [
    "destination",
    "destination_path",
    "dest",
    "dst",
    "new_path",
    "newPath",
];

/// Members that contain the new content of a file, or a part of it.
pub const TEXTS: [&str; 15] = [
    "content",
    "contents",
    "file_text",
    "fileText",
    "new_string",
    "newString",
    "new_str",
    "newStr",
    "newText",
    "new_text",
    "new_source",
    "new_content",
    "newContent",
    "replacement",
    "insert_text",
];

/// Members that contain edit instructions instead of a file's new text.
pub const INSTRUCTIONS: [&str; 6] = ["edits", "changes", "patch", "patch_text", "patchText", "diff"];

/// Members that contain the text that an edit replaces.
pub const REPLACED: [&str; 6] = [
    "old_string",
    "oldString",
    "old_str",
    "oldStr",
    "oldText",
    "old_text",
];

/// Members that turn a read into a write if they are true.
pub const FLAGS: [&str; 5] = ["write", "overwrite", "append", "delete", "remove"];

/// Members that select one of a tool's operations.
pub const OPERATIONS: [&str; 6] = ["command", "operation", "action", "op", "mode", "method"];

/// Members that contain the tool's name.
pub const NAMES: [&str; 5] = ["tool", "tool_name", "toolName", "name", "function"];

/// Members that contain the name of an MCP server.
pub const MCP_SERVERS: [&str; 3] = ["server", "server_name", "serverName"];

/// Members that contain the name of an MCP server's tool.
pub const MCP_TOOLS: [&str; 3] = ["tool", "tool_name", "toolName"];

/// Members that contain a URL.
pub const URLS: [&str; 3] = ["url", "uri", "urls"];

/// Members with thoughts, or with instructions for another agent, whose calls are judged separately.
pub const THOUGHTS: [&str; 14] = [
    "thought",
    "thoughts",
    "text",
    "plan",
    "steps",
    "todos",
    "task_list",
    "title",
    "summary",
    "explanation",
    "description",
    "prompt",
    "subagent_type",
    "kind",
];
