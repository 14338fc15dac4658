//! Names of members of a tool call's input.
//!
//! In: nothing. Out: what agents call the same thing. Never: a list of the same thing somewhere else.

/// Members of a raw input that hold a command: a line, or a program with its arguments.
pub const COMMANDS: [&str; 4] = ["command", "cmd", "commandLine", "command_line"];

/// Members that are read with a command.
pub const ARGUMENTS: [&str; 2] = ["args", "env"];

/// Members that hold the directory it runs in.
pub const DIRECTORIES: [&str; 5] = [
    "cwd",
    "workdir",
    "working_directory",
    "workingDirectory",
    "dir_path",
];

/// Members that hold code, or a command in a form that is not read.
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

/// Members that hold a path, or a list of them.
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

/// Members that hold the directory that is listed or searched.
pub const SEARCHED: [&str; 1] = ["dir_path"];

/// Members that hold a path if something is moved.
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

/// Members that say where something goes.
pub const DESTINATIONS: [&str; 6] = [
    "destination",
    "destination_path",
    "dest",
    "dst",
    "new_path",
    "newPath",
];

/// Members that hold what a file is to contain, or a piece of it.
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

/// Members that hold instructions for an edit, not a text that a file will contain.
pub const INSTRUCTIONS: [&str; 6] = ["edits", "changes", "patch", "patch_text", "patchText", "diff"];

/// Members that hold the text that an edit replaces.
pub const REPLACED: [&str; 6] = [
    "old_string",
    "oldString",
    "old_str",
    "oldStr",
    "oldText",
    "old_text",
];

/// Members that turn reading into writing if they are true.
pub const FLAGS: [&str; 5] = ["write", "overwrite", "append", "delete", "remove"];

/// Members that name one of several things that a tool can do.
pub const OPERATIONS: [&str; 6] = ["command", "operation", "action", "op", "mode", "method"];

/// Members that name the tool.
pub const NAMES: [&str; 5] = ["tool", "tool_name", "toolName", "name", "function"];

/// Members that name an MCP server.
pub const MCP_SERVERS: [&str; 3] = ["server", "server_name", "serverName"];

/// Members that name the tool of an MCP server.
pub const MCP_TOOLS: [&str; 3] = ["tool", "tool_name", "toolName"];

/// Members that hold an address.
pub const URLS: [&str; 3] = ["url", "uri", "urls"];

/// Members of what is thought, or left to another agent, whose calls are judged by themselves.
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
